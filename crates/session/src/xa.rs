//! XA: branches of global transactions. A session works in a branch from XA START to XA PREPARE. Then the store owns it, and any
//! session may commit it or roll it back.

use crate::database::Shared;
use crate::result::{Outcome, ResultSet, number_column, typed_column};
use crate::session::{Session, SessionState};
use crate::state::xa::XaBranch;
use crate::statement_kind::ends_transaction;
use squall_catalog::{Need, Privileges};
use squall_parser::ast::{self, Statement, Transaction, Xa, XaJoin};
use squall_row_store::Xid;
use squall_statement_context::StatementContext;
use squall_types::{CollationId, ErrorCode, Level, SqlError, SqlResult, SqlType, Value};

/// Of a session that is in no branch.
const NO_BRANCH: &str = "NON-EXISTING";

/// Bytes of a branch's name, as hexadecimal digits.
const DATA_LENGTH: u32 = 2 * 128 + 2;

fn rmfail(state: &str) -> SqlError {
    SqlError::new(ErrorCode::XaerRmfail, &[&state])
}

fn xid_of(xid: &ast::Xid) -> Xid {
    Xid { format: xid.format, global: xid.global.as_bytes().to_vec(), branch: xid.branch.as_bytes().to_vec() }
}

/// The error of a branch whose transaction was rolled back.
fn failure_of(error: u16) -> ErrorCode {
    match error {
        code if code == ErrorCode::LockWaitTimeout.number() => ErrorCode::XaRbtimeout,
        code if code == ErrorCode::Deadlock.number() => ErrorCode::XaRbdeadlock,
        _ => ErrorCode::XaRbrollback,
    }
}

/// Whether a statement works in the transaction that is open.
fn works_in_transaction(statement: &Statement) -> bool {
    match statement {
        Statement::Query(query) => query.as_select().is_none_or(|select| !select.from.is_empty()),
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::LoadData(_)
        | Statement::Call(_)
        | Statement::Handler(_)
        | Statement::Transaction(_) => true,
        _ => false,
    }
}

impl Session {
    /// XA.
    pub(crate) async fn run_xa(&mut self, xa: &Xa, context: &StatementContext) -> SqlResult<Outcome> {
        match xa {
            Xa::Start { xid, join } => self.start_branch(xid_of(xid), *join)?,
            Xa::End { xid, suspend } => {
                if suspend.is_some() {
                    return Err(SqlError::new(ErrorCode::XaerInval, &[]));
                }
                self.end_branch(&xid_of(xid))?;
            }
            Xa::Prepare(xid) => self.prepare_branch(&xid_of(xid)).await?,
            Xa::Commit { xid, one_phase } => self.commit_branch(xid_of(xid), *one_phase).await?,
            Xa::Rollback(xid) => self.roll_back_branch(xid_of(xid)).await?,
            Xa::Recover { convert_xid } => return self.prepared_branches(*convert_xid, context),
        }
        Ok(Outcome::done())
    }

    fn start_branch(&mut self, xid: Xid, join: Option<XaJoin>) -> SqlResult<()> {
        if let Some(branch) = self.xa.as_mut().filter(|branch| branch.is_idle && branch.failure.is_none())
            && join == Some(XaJoin::Resume)
        {
            if *branch.branch.xid() != xid {
                return Err(SqlError::new(ErrorCode::XaerNota, &[]));
            }
            branch.is_idle = false;
            return Ok(());
        }
        if join.is_some() {
            return Err(SqlError::new(ErrorCode::XaerInval, &[]));
        }
        self.check_no_branch()?;
        if self.held_locks.tables.is_some() || self.transaction.is_open() {
            return Err(SqlError::new(ErrorCode::XaerOutside, &[]));
        }
        let branch = self.shared.branches.begin(xid)?.ok_or_else(|| SqlError::new(ErrorCode::XaerDupid, &[]))?;
        self.open_explicit_transaction();
        self.xa = Some(XaBranch { branch, is_idle: false, failure: None });
        Ok(())
    }

    async fn prepare_branch(&mut self, xid: &Xid) -> SqlResult<()> {
        if let Some(branch) = self.xa.as_ref().filter(|branch| !branch.is_idle || branch.failure.is_some()) {
            return Err(rmfail(branch.state()));
        }
        self.branch_called(xid)?;
        // Without one the branch stays as it is.
        let place = self.shared.runtime.waiting_threads().take()?;
        let open = self.transaction.open.take().and_then(|open| open.transaction);
        let (Some(XaBranch { branch, .. }), Some(transaction)) = (self.xa.take(), open) else {
            return Err(SqlError::new(ErrorCode::XaRbrollback, &[]));
        };
        let prepare = move |shared: &Shared| shared.branches.prepare(branch, transaction);
        let prepared = self.shared.waiting_in(place, prepare).await;
        self.branch_has_ended(prepared.is_ok());
        prepared.map_err(|error| match failure_of(error.code) {
            // What is not supported, or went wrong, says more.
            ErrorCode::XaRbrollback => error,
            failure => SqlError::new(failure, &[]),
        })
    }

    async fn commit_branch(&mut self, xid: Xid, one_phase: bool) -> SqlResult<()> {
        if let Some(branch) = self.xa.as_ref().filter(|_| self.is_own_branch(&xid)) {
            if let Some(failure) = branch.failure {
                self.xa = None;
                self.rollback().await;
                return Err(SqlError::new(failure, &[]));
            }
            if !branch.is_idle || !one_phase {
                return Err(rmfail(branch.state()));
            }
            self.xa = None;
            return self.commit().await;
        }
        self.check_outside()?;
        if one_phase && self.shared.branches.prepared().contains(&xid) {
            return Err(rmfail("PREPARED"));
        }
        let session = self.process.id;
        let _pass = self.read_lock_pass().await?;
        // Others may wait for its rows in all places.
        let place = self.shared.runtime.waiting_threads().take_beyond();
        let commit = move |shared: &Shared| shared.branches.commit(&xid, session).unwrap_or_else(unknown);
        self.shared.waiting_in(place, commit).await
    }

    async fn roll_back_branch(&mut self, xid: Xid) -> SqlResult<()> {
        if let Some(branch) = self.xa.as_ref().filter(|_| self.is_own_branch(&xid)) {
            if !branch.is_idle && branch.failure.is_none() {
                return Err(rmfail(branch.state()));
            }
            self.xa = None;
            self.rollback().await;
            return Ok(());
        }
        self.check_outside()?;
        let _pass = self.read_lock_pass().await?;
        self.blocking(move |shared| shared.branches.roll_back(&xid).unwrap_or_else(unknown)).await
    }

    /// XA RECOVER. Without the privilege the error is the one that the protocol of transaction managers knows.
    fn prepared_branches(&self, convert: bool, context: &StatementContext) -> SqlResult<Outcome> {
        let needed = Need::server(Privileges::NONE, &["XA_RECOVER_ADMIN"], "XA_RECOVER_ADMIN");
        if let Err(denied) = self.security().check_needs(&[needed]) {
            context.diagnostics.push(Level::Error, denied);
            return Err(SqlError::new(ErrorCode::XaerRmerr, &[]));
        }
        let data = match convert {
            true => SqlType::varchar(DATA_LENGTH, CollationId::UTF8MB4_0900_AI_CI),
            false => SqlType::varchar(DATA_LENGTH, CollationId::BINARY),
        };
        let mut columns: Vec<_> = ["formatID", "gtrid_length", "bqual_length"].map(number_column).into();
        columns.push(typed_column("data", data, true));
        let mut result = ResultSet::new(columns);
        for Xid { format, global, branch } in self.shared.branches.prepared() {
            let lengths = [global.len(), branch.len()].map(|length| Value::Int(length as i64));
            let bytes = [global, branch].concat();
            let data = match convert {
                true => Value::String(format!("0x{}", hex_of(&bytes))),
                false => Value::Bytes(bytes),
            };
            let [global_length, branch_length] = lengths;
            let format = Value::Int(i64::try_from(format).unwrap_or(i64::MAX));
            result.rows.push(vec![format, global_length, branch_length, data]);
        }
        Ok(Outcome::Rows(result))
    }
}

impl SessionState {
    /// The error of statements that an open branch forbids: to end its transaction otherwise, and once it has ended to work in
    /// it.
    ///
    /// # Errors
    /// 1399; 1402, 1613 or 1614 where its transaction has been rolled back; 4091 for a new TEMPORARY table.
    pub(crate) fn check_branch(&self, statement: &Statement) -> SqlResult<()> {
        let Some(branch) = &self.xa else { return Ok(()) };
        if matches!(statement, Statement::Transaction(Transaction::Xa(_))) {
            return Ok(());
        }
        if ends_transaction(statement) {
            return Err(rmfail(branch.state()));
        }
        if works_in_transaction(statement) {
            match branch.failure {
                Some(failure) if !branch.is_idle => return Err(SqlError::new(failure, &[])),
                None if !branch.is_idle => {}
                _ => return Err(rmfail(branch.state())),
            }
        }
        match statement {
            Statement::CreateTable(create) if create.temporary => Err(SqlError::new(ErrorCode::XaTempTable, &[])),
            _ => Ok(()),
        }
    }

    /// 1399 while the session works in a branch, whose transaction only XA ends.
    pub(crate) fn check_no_branch(&self) -> SqlResult<()> {
        self.xa.as_ref().map_or(Ok(()), |branch| Err(rmfail(branch.state())))
    }

    /// Notes that an error has rolled a branch's transaction back.
    pub(crate) fn note_branch_failure(&mut self, error: u16) {
        if !self.transaction.is_open()
            && let Some(branch) = &mut self.xa
        {
            branch.failure.get_or_insert(failure_of(error));
        }
    }

    /// The branch that the session works in, if it is in one that is so called.
    fn branch_called(&mut self, xid: &Xid) -> SqlResult<&mut XaBranch> {
        match &mut self.xa {
            Some(branch) if *branch.branch.xid() == *xid => Ok(branch),
            Some(_) => Err(SqlError::new(ErrorCode::XaerNota, &[])),
            None => Err(rmfail(NO_BRANCH)),
        }
    }

    fn end_branch(&mut self, xid: &Xid) -> SqlResult<()> {
        if let Some(branch) = self.xa.as_ref().filter(|branch| branch.is_idle) {
            return Err(rmfail(branch.state()));
        }
        let branch = self.branch_called(xid)?;
        branch.is_idle = true;
        match branch.failure {
            Some(failure) => Err(SqlError::new(failure, &[])),
            None => Ok(()),
        }
    }

    /// Looks for a branch that is not the session's own: the session is to be in none, and in no other transaction.
    fn check_outside(&self) -> SqlResult<()> {
        self.check_no_branch()?;
        match self.transaction.is_open() {
            true => Err(rmfail(NO_BRANCH)),
            false => Ok(()),
        }
    }

    fn is_own_branch(&self, xid: &Xid) -> bool {
        self.xa.as_ref().is_some_and(|branch| branch.branch.xid() == xid)
    }
}

fn unknown() -> SqlResult<()> {
    Err(SqlError::new(ErrorCode::XaerNota, &[]))
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
