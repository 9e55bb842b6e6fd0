//! Aggregates give MySQL's results, by DataFusion and row by row.

use super::*;
use crate::arrow_map::{ValueArrayBuilder, field_for, value_at};
use crate::build::ExprBuilder;
use crate::expr::{BoundExpr, ColumnRef, ExecutionSlot, sql_error_from};
use crate::test_context::context;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::Schema;
use datafusion::datasource::MemTable;
use datafusion::execution::context::{SessionConfig, SessionContext};
use datafusion::logical_expr::{Expr, col};
use squall_registry::{Coercibility, ExprType, Registry};
use squall_statement_context::StatementContext;
use squall_types::json::Document;
use squall_types::{CollationId, Decimal, SqlType, Value};
use std::sync::Arc;

fn column(ordinal: usize, name: &str, sql_type: SqlType) -> BoundExpr {
    let ty = ExprType { sql_type, nullable: true, coercibility: Coercibility::Implicit };
    BoundExpr::Column(Arc::new(ColumnRef {
        ordinal,
        relation: None,
        name: name.into(),
        display: name.into(),
        ty,
        depth: Default::default(),
    }))
}

fn table_columns() -> Vec<BoundExpr> {
    vec![
        column(0, "g", SqlType::INT),
        column(1, "n", SqlType::INT),
        column(2, "d", SqlType::decimal(10, 2)),
        column(3, "s", SqlType::varchar(20, CollationId::UTF8MB4_0900_AI_CI)),
        column(4, "f", SqlType::DOUBLE),
    ]
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text).value)
}

fn rows() -> Vec<Vec<Value>> {
    let row = |g, n: Option<i64>, d: &str, s: &str, f| {
        vec![Value::Int(g), n.map_or(Value::Null, Value::Int), decimal(d), Value::from(s), Value::Double(f)]
    };
    vec![
        row(1, Some(1), "1.50", "b", 1.0),
        row(1, Some(2), "2.50", "A", 2.0),
        row(1, None, "1.50", "a", 4.0),
        row(2, Some(7), "-0.01", "é", 0.5),
        row(2, Some(7), "0.00", "z", 0.5),
    ]
}

/// Runs aggregates grouped by `g` with several partitions, so that partial states are merged.
async fn run(context: Arc<StatementContext>, calls: &[Arc<AggregateCall>], grouped: bool) -> Vec<Vec<Value>> {
    let columns = table_columns();
    let fields: Vec<_> = columns
        .iter()
        .map(|c| if let BoundExpr::Column(c) = c { field_for(&c.name, &c.ty) } else { panic!() })
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let partition = |rows: &[Vec<Value>]| {
        let arrays: Vec<ArrayRef> = columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let mut builder = ValueArrayBuilder::new(&column.sql_type(), rows.len());
                rows.iter().for_each(|row| builder.append(&row[at]).unwrap());
                builder.finish()
            })
            .collect();
        vec![RecordBatch::try_new(schema.clone(), arrays).unwrap()]
    };
    let rows = rows();
    let partitions = rows.chunks(2).map(partition).collect();
    let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(3));
    let table = Arc::new(MemTable::try_new(schema.clone(), partitions).unwrap());
    let slot = ExecutionSlot::new(context);
    let aggregates: Vec<Expr> =
        calls.iter().enumerate().map(|(at, call)| call.to_datafusion(&slot).unwrap().alias(format!("r{at}"))).collect();
    let groups = if grouped { vec![col("g")] } else { vec![] };
    let frame = session.read_table(table).unwrap().aggregate(groups, aggregates).unwrap();
    let frame = if grouped { frame.sort_by(vec![col("g")]).unwrap() } else { frame };
    let names: Vec<String> = (0..calls.len()).map(|at| format!("r{at}")).collect();
    let frame = frame.select_columns(&names.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let batches = frame.collect().await.map_err(sql_error_from).unwrap();
    let mut result = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let values = calls
                .iter()
                .enumerate()
                .map(|(at, call)| value_at(batch.column(at), row, &call.ty.sql_type).unwrap())
                .collect();
            result.push(values);
        }
    }
    result
}

/// The same by the kernels' own row-wise states.
fn run_row_wise(context: &Arc<StatementContext>, call: &AggregateCall, group: Option<i64>) -> Value {
    let mut accumulator = call.kernel.accumulator(context.clone());
    for row in rows().iter().filter(|row| group.is_none_or(|group| row[0] == Value::Int(group))) {
        let args: Vec<Value> = call.args.iter().map(|arg| arg.eval(row, context).unwrap()).collect();
        accumulator.update(&args).unwrap();
    }
    accumulator.evaluate().unwrap()
}

#[tokio::test]
async fn aggregates_agree_with_mysql() {
    let mut registry = Registry::default();
    register(&mut registry);
    let context = Arc::new(context());
    let build = ExprBuilder::new(&registry, &context);
    let columns = table_columns();
    let arg = |at: usize| vec![columns[at].clone()];
    let mut calls = Vec::new();
    let mut expected = Vec::new();
    let mut case = |call: Arc<AggregateCall>, sql_type: SqlType, values: [Value; 2]| {
        assert_eq!(call.ty.sql_type, sql_type, "{}", call.name);
        calls.push(call);
        expected.push(values);
    };
    let aggregate = |name: &str, at: usize, distinct| build.aggregate(name, arg(at), distinct).unwrap();
    let int = Value::Int;
    case(build.aggregate("COUNT", vec![], false).unwrap(), SqlType::BIGINT, [int(3), int(2)]);
    case(aggregate("COUNT", 1, false), SqlType::BIGINT, [int(2), int(2)]);
    case(aggregate("COUNT", 3, true), SqlType::BIGINT, [int(2), int(2)]);
    let pair = vec![columns[1].clone(), columns[3].clone()];
    case(build.aggregate("COUNT", pair, true).unwrap(), SqlType::BIGINT, [int(2), int(2)]);
    case(aggregate("SUM", 1, false), SqlType::decimal(32, 0), [decimal("3"), decimal("14")]);
    case(aggregate("SUM", 1, true), SqlType::decimal(32, 0), [decimal("3"), decimal("7")]);
    case(aggregate("SUM", 2, false), SqlType::decimal(32, 2), [decimal("5.50"), decimal("-0.01")]);
    case(aggregate("SUM", 4, false), SqlType::DOUBLE, [Value::Double(7.0), Value::Double(1.0)]);
    case(aggregate("AVG", 1, false), SqlType::decimal(14, 4), [decimal("1.5000"), decimal("7.0000")]);
    case(aggregate("AVG", 2, false), SqlType::decimal(14, 6), [decimal("1.833333"), decimal("-0.005000")]);
    case(aggregate("MIN", 1, false), SqlType::INT, [int(1), int(7)]);
    case(aggregate("MAX", 2, false), SqlType::decimal(10, 2), [decimal("2.50"), decimal("0.00")]);
    let text = columns[3].sql_type();
    case(aggregate("MIN", 3, false), text.clone(), [Value::from("A"), Value::from("é")]);
    case(aggregate("MAX", 3, false), text, [Value::from("b"), Value::from("z")]);
    case(aggregate("BIT_OR", 1, false), SqlType::BIGINT_UNSIGNED, [Value::UInt(3), Value::UInt(7)]);
    case(aggregate("BIT_XOR", 1, false), SqlType::BIGINT_UNSIGNED, [Value::UInt(3), Value::UInt(0)]);
    case(aggregate("VARIANCE", 4, false), SqlType::DOUBLE, [Value::Double(14.0 / 9.0), Value::Double(0.0)]);
    case(aggregate("STDDEV_SAMP", 1, false), SqlType::DOUBLE, [Value::Double(0.5_f64.sqrt()), Value::Double(0.0)]);
    case(
        aggregate("JSON_ARRAYAGG", 1, false),
        SqlType::Json,
        [Value::Json(Document::from_stored("[1, 2, null]")), Value::Json(Document::from_stored("[7, 7]"))],
    );

    let results = run(context.clone(), &calls, true).await;
    for (at, (call, expected)) in calls.iter().zip(&expected).enumerate() {
        for (group, expected) in expected.iter().enumerate() {
            assert_close(&results[group][at], expected, &call.name);
            if !call.distinct {
                assert_close(&run_row_wise(&context, call, Some(group as i64 + 1)), expected, &call.name);
            }
        }
    }
}

fn assert_close(value: &Value, expected: &Value, name: &str) {
    match (value, expected) {
        (Value::Double(value), Value::Double(expected)) => assert!((value - expected).abs() < 1e-12, "{name}: {value}"),
        // Partial results may be joined in any order.
        (Value::Json(value), Value::Json(expected)) => {
            assert_eq!(value.text().len(), expected.text().len(), "{name}: {value:?}")
        }
        _ => assert_eq!(value, expected, "{name}"),
    }
}

#[tokio::test]
async fn group_concat_orders_separates_and_cuts() {
    let mut registry = Registry::default();
    register(&mut registry);
    let mut context = context();
    Arc::make_mut(&mut context.settings).group_concat_max_len = 6;
    let context = Arc::new(context);
    let build = ExprBuilder::new(&registry, &context);
    let columns = table_columns();
    let ordered = |distinct, separator: &str, limit| GroupConcatOptions {
        distinct,
        order_by: vec![(columns[3].clone(), true)],
        separator: Some(separator.to_string()),
        limit,
    };
    let text = || vec![columns[3].clone()];
    let calls = vec![
        build.group_concat(text(), ordered(false, "", None)).unwrap(),
        build.group_concat(text(), ordered(true, "/", None)).unwrap(),
        build.group_concat(text(), ordered(false, ";", Some((1, 2)))).unwrap(),
        build.group_concat(vec![columns[0].clone(), columns[1].clone()], ordered(false, ",", None)).unwrap(),
    ];
    let results = run(context.clone(), &calls, true).await;
    assert_eq!(results[1], [Value::from("zé"), Value::from("z/é"), Value::from("é"), Value::from("27,27")]);
    let Value::String(first) = &results[0][1] else { panic!("{results:?}") };
    assert!(first == "b/A" || first == "b/a", "{first}");
    assert_eq!(context.diagnostics.count(), 0);

    let all = vec![build.group_concat(text(), GroupConcatOptions::default()).unwrap()];
    let results = run(context.clone(), &all, false).await;
    let Value::String(cut) = &results[0][0] else { panic!("{results:?}") };
    assert!(cut.len() <= 6 && cut.len() >= 5, "{cut}");
    assert_eq!(context.diagnostics.take()[0].error.code, 1260);
}

#[tokio::test]
async fn no_rows_have_a_result_too() {
    let mut registry = Registry::default();
    register(&mut registry);
    let context = Arc::new(context());
    let build = ExprBuilder::new(&registry, &context);
    let n = || vec![table_columns()[1].clone()];
    for (name, expected) in [
        ("COUNT", Value::Int(0)),
        ("SUM", Value::Null),
        ("AVG", Value::Null),
        ("MAX", Value::Null),
        ("BIT_AND", Value::UInt(u64::MAX)),
        ("BIT_OR", Value::UInt(0)),
        ("STD", Value::Null),
        ("JSON_ARRAYAGG", Value::Null),
    ] {
        let call = build.aggregate(name, n(), false).unwrap();
        assert_eq!(run_row_wise(&context, &call, Some(99)), expected, "{name}");
    }
    let error = build.aggregate("SUM", vec![], false).unwrap_err();
    assert_eq!(error.code, 1582);
}
