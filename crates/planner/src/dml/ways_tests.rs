//! The ways that rules allow, compared with what the slow way does around a row.

use super::references::Child;
use super::rules::{DefaultRule, Referencing, TableRules, UniqueKey};
use super::ways::{RowEvent, WayOptions};
use squall_catalog::{ForeignKey, ReferencedColumns, ReferentialAction, TableDef, TriggerEvent, TriggerTime};
use squall_functions::expr::BoundExpr;
use squall_registry::{Coercibility, ExprType};
use squall_types::{CollationId, SqlType, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A thing that the slow way does for a row beside writing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Evaluates expressions over the row: generated columns, checks.
    EvaluateRow,
    /// Evaluates the condition of a view.
    EvaluateView,
    /// Looks for the row that it refers to.
    FindParent,
    /// Looks for rows that refer to it.
    FindChildren,
    /// Changes rows that refer to it.
    ChangeChildren,
    /// Runs statements of a trigger or a stored function.
    RunPrograms,
    /// Chooses the partition.
    ChoosePartition,
    /// Changes or deletes the row in the way of a new one.
    ChangeExisting,
    /// Gives the row's result before the next row.
    GiveResult,
    /// Moves the row to another key.
    MoveRow,
    /// Writes where only the session itself may look, or keeps to a transaction of several statements.
    UseTransaction,
}

/// A rule of a table, or a property of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    Plain,
    Generated,
    Check,
    View,
    ForeignKey,
    ReferencedRestrict,
    ReferencedDelete,
    ReferencedUpdate,
    Trigger(TriggerEvent),
    Partitions,
    Temporary,
    Programs,
    OneByOne,
    InTransaction,
    NoForeignKeyChecks,
}

const RULES: [Rule; 17] = [
    Rule::Plain,
    Rule::Generated,
    Rule::Check,
    Rule::View,
    Rule::ForeignKey,
    Rule::ReferencedRestrict,
    Rule::ReferencedDelete,
    Rule::ReferencedUpdate,
    Rule::Trigger(TriggerEvent::Insert),
    Rule::Trigger(TriggerEvent::Update),
    Rule::Trigger(TriggerEvent::Delete),
    Rule::Partitions,
    Rule::Temporary,
    Rule::Programs,
    Rule::OneByOne,
    Rule::InTransaction,
    Rule::NoForeignKeyChecks,
];

/// Columns: 0 is the primary key, which others refer to; 1 refers to another table; 2 is plain, 3 generated.
const EVENTS: [RowEvent<'static>; 7] = [
    RowEvent::Insert,
    RowEvent::Replace,
    RowEvent::InsertOrUpdate(&[2]),
    RowEvent::InsertOrUpdate(&[0]),
    RowEvent::Update(&[2]),
    RowEvent::Update(&[0]),
    RowEvent::Delete,
];

fn key(on_delete: ReferentialAction, on_update: ReferentialAction) -> ForeignKey {
    ForeignKey {
        name: "fk".into(),
        columns: Vec::new(),
        parent_database: "test".into(),
        parent_table: "t".into(),
        parent_columns: ReferencedColumns::Names(vec!["id".into()]),
        on_delete,
        on_update,
    }
}

fn child(on_delete: ReferentialAction, on_update: ReferentialAction) -> Child {
    Child {
        database: "test".into(),
        def: Arc::new(TableDef::empty("child", CollationId::BINARY, false, 0)),
        key: key(on_delete, on_update),
        columns: vec![1],
        parent_columns: vec![0],
    }
}

fn expr() -> BoundExpr {
    let ty = ExprType { sql_type: SqlType::BIGINT, nullable: false, coercibility: Coercibility::Literal };
    BoundExpr::Literal(Value::Int(1), ty)
}

fn rules(of: &[Rule]) -> (TableRules, WayOptions) {
    let mut rules = TableRules {
        defaults: vec![DefaultRule::None, DefaultRule::None, DefaultRule::None, DefaultRule::None],
        unique: vec![UniqueKey { primary: true, columns: vec![0] }],
        ..TableRules::default()
    };
    let mut options = WayOptions { alone: true, engine_changes_at_once: true, ..WayOptions::default() };
    let mut children = Vec::new();
    for rule in of {
        match rule {
            Rule::Plain => {}
            Rule::Generated => rules.generated.push((3, expr())),
            Rule::Check => rules.checks.push(("c".into(), expr())),
            Rule::View => options.by_view = true,
            Rule::ForeignKey => {
                let key = key(ReferentialAction::Restrict, ReferentialAction::Restrict);
                rules.referencing.push(Referencing { key, columns: vec![1] });
                rules.row_by_row = true;
            }
            Rule::ReferencedRestrict => children.push(child(ReferentialAction::Restrict, ReferentialAction::NoAction)),
            Rule::ReferencedDelete => children.push(child(ReferentialAction::Cascade, ReferentialAction::Restrict)),
            Rule::ReferencedUpdate => children.push(child(ReferentialAction::Restrict, ReferentialAction::SetNull)),
            Rule::Trigger(event) => rules.triggers.push((TriggerTime::After, *event)),
            Rule::Partitions => rules.row_by_row = true,
            Rule::Temporary => rules.temporary = true,
            Rule::Programs => options.calls_programs = true,
            Rule::OneByOne => options.one_by_one = true,
            Rule::InTransaction => options.alone = false,
            Rule::NoForeignKeyChecks => options.foreign_key_checks = false,
        }
    }
    rules.referenced_by = children.into();
    (rules, options)
}

/// The steps of the slow way.
fn slow_steps(of: &[Rule], event: RowEvent<'_>) -> BTreeSet<Step> {
    let inserts = matches!(event, RowEvent::Insert | RowEvent::Replace | RowEvent::InsertOrUpdate(_));
    let deletes = matches!(event, RowEvent::Replace | RowEvent::Delete);
    let assigned: Option<&[usize]> = match event {
        RowEvent::Update(assigned) | RowEvent::InsertOrUpdate(assigned) => Some(assigned),
        RowEvent::Insert | RowEvent::Replace | RowEvent::Delete => None,
    };
    let moves = assigned.is_some_and(|assigned| assigned.contains(&0));
    let checks_keys = !of.contains(&Rule::NoForeignKeyChecks);
    let mut steps = BTreeSet::new();
    let mut add = |does: bool, step: Step| steps.extend(does.then_some(step));
    add(matches!(event, RowEvent::Replace | RowEvent::InsertOrUpdate(_)), Step::ChangeExisting);
    add(moves, Step::MoveRow);
    for rule in of {
        match rule {
            Rule::Plain | Rule::NoForeignKeyChecks => {}
            Rule::Generated | Rule::Check => add(inserts || assigned.is_some(), Step::EvaluateRow),
            Rule::View => add(inserts || assigned.is_some(), Step::EvaluateView),
            Rule::ForeignKey => add(checks_keys && (inserts || assigned.is_some()), Step::FindParent),
            Rule::ReferencedRestrict => add(checks_keys && (deletes || moves), Step::FindChildren),
            Rule::ReferencedDelete => {
                add(checks_keys && (deletes || moves), Step::FindChildren);
                add(checks_keys && deletes, Step::ChangeChildren);
            }
            Rule::ReferencedUpdate => {
                add(checks_keys && (deletes || moves), Step::FindChildren);
                add(checks_keys && moves, Step::ChangeChildren);
            }
            Rule::Trigger(TriggerEvent::Insert) => add(inserts, Step::RunPrograms),
            Rule::Trigger(TriggerEvent::Update) => add(assigned.is_some(), Step::RunPrograms),
            Rule::Trigger(TriggerEvent::Delete) => add(deletes, Step::RunPrograms),
            Rule::Partitions => add(inserts || assigned.is_some(), Step::ChoosePartition),
            Rule::Temporary | Rule::InTransaction => add(true, Step::UseTransaction),
            Rule::Programs => add(true, Step::RunPrograms),
            Rule::OneByOne => add(inserts || event == RowEvent::Delete, Step::GiveResult),
        }
    }
    steps
}

/// The steps that a faster way does as well.
fn done_by(way: &str) -> &'static [Step] {
    use Step::*;
    match way {
        // It is the slow way, on a thread where nothing may take long.
        "inline" => &[
            EvaluateRow,
            EvaluateView,
            FindParent,
            FindChildren,
            ChangeExisting,
            GiveResult,
            MoveRow,
            UseTransaction,
            ChoosePartition,
        ],
        // The manifest changes in the statement's transaction.
        "at once" => &[EvaluateRow, EvaluateView, UseTransaction],
        "bulk" => &[EvaluateRow, EvaluateView],
        "direct" => &[],
        _ => unreachable!("{way}"),
    }
}

#[test]
fn no_way_leaves_out_a_step_of_the_slow_one() {
    let mut allowed = BTreeSet::new();
    for first in RULES {
        for second in RULES {
            let of = [first, second];
            let (rules, options) = rules(&of);
            for event in EVENTS {
                let ways = rules.ways(event, &options);
                let slow = slow_steps(&of, event);
                let each =
                    [("inline", ways.inline), ("at once", ways.at_once), ("bulk", ways.bulk), ("direct", ways.direct)];
                for (way, is_allowed) in each {
                    let left_out: Vec<Step> =
                        slow.iter().copied().filter(|step| !done_by(way).contains(step)).collect();
                    assert!(
                        !is_allowed || left_out.is_empty(),
                        "{way} for {event:?} with {of:?} leaves out {left_out:?}"
                    );
                    if is_allowed {
                        allowed.insert(way);
                    }
                }
            }
        }
    }
    assert_eq!(allowed.into_iter().collect::<Vec<_>>(), ["at once", "bulk", "direct", "inline"]);
}

#[test]
fn ways_are_as_fast_as_rules_allow() {
    let ways = |of: &[Rule], event| {
        let (rules, options) = rules(of);
        let ways = rules.ways(event, &options);
        (ways.inline, ways.at_once, ways.bulk, ways.direct)
    };
    let other = RowEvent::Update(&[2]);
    assert_eq!(ways(&[], RowEvent::Insert), (true, false, true, true));
    assert_eq!(ways(&[Rule::Check], RowEvent::Insert), (true, false, true, false));
    assert_eq!(ways(&[Rule::Trigger(TriggerEvent::Delete)], RowEvent::Insert), (true, false, true, true));
    assert_eq!(ways(&[Rule::ReferencedDelete], RowEvent::Insert), (true, false, true, true));
    assert_eq!(ways(&[Rule::ReferencedDelete], RowEvent::Delete), (false, false, false, false));
    assert_eq!(ways(&[Rule::ReferencedDelete, Rule::NoForeignKeyChecks], RowEvent::Delete), (true, true, false, false));
    assert_eq!(ways(&[Rule::ReferencedRestrict], RowEvent::Delete), (true, false, false, false));
    assert_eq!(ways(&[Rule::Generated], other), (true, true, false, false));
    assert_eq!(ways(&[Rule::InTransaction], other), (true, true, false, false));
    assert_eq!(ways(&[], RowEvent::Update(&[0])), (true, false, false, false));
}
