//! Messages that scripts have written by `console.log`, for each session.

use parking_lot::Mutex;
use squall_accounting::SessionMemory;
use squall_statement_context::StatementContext;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// Most bytes that are kept for a session.
const BYTES_MAX: usize = 64 << 10;
/// Number of sessions with a log from which the logs of ended sessions are removed.
const SESSIONS: usize = 64;

/// The logs of all sessions.
#[derive(Debug, Default)]
pub struct SessionLogs(Mutex<BTreeMap<u64, Log>>);

#[derive(Debug)]
struct Log {
    /// Goes with its session.
    session: Weak<SessionMemory>,
    lines: VecDeque<Box<str>>,
    bytes: usize,
    /// The number of the first line that is here.
    first: u64,
}

impl SessionLogs {
    /// Adds the lines of a text.
    pub fn add(&self, context: &StatementContext, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut logs = self.0.lock();
        if logs.len() >= SESSIONS && !logs.contains_key(&context.connection_id) {
            logs.retain(|_, log| log.session.strong_count() > 0);
        }
        let session = Arc::downgrade(&context.memory);
        let log = logs.entry(context.connection_id).or_insert_with(|| Log::new(session.clone()));
        if !log.session.ptr_eq(&session) {
            *log = Log::new(session);
        }
        text.lines().for_each(|line| log.add(line));
    }

    /// Numbers and texts of the lines that are kept for a session.
    pub fn lines(&self, context: &StatementContext) -> Vec<(u64, String)> {
        let logs = self.0.lock();
        let Some(log) = logs.get(&context.connection_id) else { return Vec::new() };
        if !log.session.ptr_eq(&Arc::downgrade(&context.memory)) {
            return Vec::new();
        }
        (log.first..).zip(&log.lines).map(|(number, line)| (number, line.to_string())).collect()
    }
}

impl Log {
    fn new(session: Weak<SessionMemory>) -> Log {
        Log { session, lines: VecDeque::new(), bytes: 0, first: 1 }
    }

    fn add(&mut self, line: &str) {
        self.bytes += line.len() + 1;
        self.lines.push_back(line.into());
        while self.bytes > BYTES_MAX
            && self.lines.len() > 1
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.len() + 1;
            self.first += 1;
        }
    }
}
