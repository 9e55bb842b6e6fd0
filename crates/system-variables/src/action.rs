//! What the server does when a global value changes: what EXPLAIN SET tells, and what decides which parts follow a SET.

/// What the server does when a global value changes, beside showing the new one to statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing else: what reads the variable finds the new value.
    Publish,
    /// A cache, buffer or pool of the store gets another size; what does not fit any more is freed.
    Resize,
    /// Logs get new settings; files whose names change are opened and closed.
    ReconfigureLogs,
    /// A listener is opened, closed or moved.
    MoveListener,
    /// Connections of accounts that may not stay are ended.
    EndConnections,
}

impl Action {
    /// All of them.
    pub const ALL: [Action; 5] =
        [Action::Publish, Action::Resize, Action::ReconfigureLogs, Action::MoveListener, Action::EndConnections];

    /// Its name, as EXPLAIN SET shows it.
    pub fn name(self) -> &'static str {
        match self {
            Action::Publish => "publish",
            Action::Resize => "resize",
            Action::ReconfigureLogs => "reconfigure logs",
            Action::MoveListener => "move listener",
            Action::EndConnections => "end connections",
        }
    }

    /// What waits, or ends, while it is done.
    pub fn blocks(self) -> &'static str {
        match self {
            Action::Publish | Action::Resize | Action::ReconfigureLogs => "nothing",
            Action::MoveListener => "new connections of the listener",
            Action::EndConnections => "accounts without CONNECTION_ADMIN",
        }
    }

    /// Whether setting the old value again brings everything back.
    pub fn is_reversible(self) -> bool {
        self != Action::EndConnections
    }
}
