//! The plan of an ALTER TABLE, as EXPLAIN shows it.

use crate::change_plan::{ChangePlan, NOTHING, Step};
use crate::session::{Session, StatementRun};
use squall_definitions::alter_table::Work;
use squall_definitions::execute::altered_table;
use squall_definitions::explain::{AlterationEstimate, explain_alter};
use squall_parser::ast::AlterTable;
use squall_types::SqlResult;
use std::time::Duration;

/// What waits while rows are read for keys or copied.
const WRITES: &str = "writes of the table";

impl Session {
    /// The steps of an ALTER TABLE.
    pub(crate) fn explain_alter_table(&self, statement: &AlterTable, run: &StatementRun<'_>) -> SqlResult<ChangePlan> {
        self.authorize_statement(run)?;
        let env = self.ddl_env(&run.context);
        let name = env.qualify(&statement.name)?;
        let catalog = self.shared.catalog.load();
        let old = match self.security().temporary_table_named(&statement.name) {
            Some(table) => table,
            None => altered_table(&catalog, &name, statement)?.clone(),
        };
        let estimate = explain_alter(&self.shared, &env, &catalog, statement, (&name, &old))?;
        Ok(self.plan_of_alteration(&estimate))
    }

    fn plan_of_alteration(&self, estimate: &AlterationEstimate) -> ChangePlan {
        let times = &self.shared.definition_times;
        let name = || Some(estimate.old.name.clone());
        let bytes = i64::try_from(estimate.bytes).unwrap_or(i64::MAX);
        let rows = format!("{} rows", estimate.rows);
        let blocks = if estimate.is_online { NOTHING } else { WRITES };
        let mut steps = vec![Step {
            action: "check",
            name: name(),
            blocks: NOTHING,
            time: Some(Duration::ZERO),
            is_reversible: true,
            note: Some(format!("ALGORITHM={}", estimate.work.algorithm())),
            ..Step::default()
        }];
        match estimate.work {
            Work::Metadata => {}
            Work::Indexes => steps.extend(estimate.new_keys.iter().map(|key| Step {
                action: "build index",
                name: Some(key.clone()),
                blocks,
                time: times.build_index.estimate(estimate.rows),
                bytes: key_bytes(estimate, key),
                is_reversible: true,
                note: Some(rows.clone()),
                ..Step::default()
            })),
            Work::Rebuild | Work::Copy => steps.push(Step {
                action: "copy rows",
                name: name(),
                blocks,
                time: times.copy_rows.estimate(estimate.rows),
                bytes,
                is_reversible: true,
                note: Some(rows),
                ..Step::default()
            }),
        }
        steps.push(Step {
            action: "publish",
            name: name(),
            applies: Some("immediate"),
            blocks: NOTHING,
            time: times.publish.mean(),
            is_reversible: estimate.is_reversible,
            note: Some("waits for transactions that have changed the table".to_owned()),
            ..Step::default()
        });
        if matches!(estimate.work, Work::Rebuild | Work::Copy) {
            steps.push(Step {
                action: "drop old rows",
                name: name(),
                blocks: NOTHING,
                time: Some(Duration::ZERO),
                bytes: -bytes,
                is_reversible: true,
                note: Some("in the background".to_owned()),
                ..Step::default()
            });
        }
        ChangePlan { steps }
    }
}

/// The bytes of a key: as much of the rows as its columns are of all columns.
fn key_bytes(estimate: &AlterationEstimate, key: &str) -> i64 {
    let parts = estimate.new.index(key).map_or(0, |index| index.parts.len() as u64);
    let columns = (estimate.old.columns.len() as u64).max(1);
    i64::try_from(estimate.bytes / columns * parts).unwrap_or(i64::MAX)
}
