//! Parses a script into blocks.

#[derive(Debug, PartialEq)]
pub(super) enum Mode {
    Run,
    Waits,
    GoesOn,
    Until,
}

/// How statements are sent, and how what comes back is shown.
#[derive(Clone, Copy, Default)]
pub(super) struct Show {
    pub(super) sorted: bool,
    pub(super) lines: bool,
    pub(super) types: bool,
    pub(super) prepared: bool,
    /// How often what can be repeated is executed.
    pub(super) executions: usize,
}

/// In which ways a block is not run.
#[derive(Clone, Copy, Default)]
pub(super) struct Limits {
    /// Never prepared.
    pub(super) by_text: bool,
    /// Executed once, also where it could be executed again.
    pub(super) once: bool,
    /// Always with `query_route = AUTO`.
    pub(super) any_route: bool,
}

impl Limits {
    /// Adds the limit of a name; whether it is one.
    fn add(&mut self, name: &str) -> bool {
        let limit = match name {
            "by text" => &mut self.by_text,
            "once" => &mut self.once,
            "any route" => &mut self.any_route,
            _ => return false,
        };
        *limit = true;
        true
    }
}

pub(super) struct Block {
    pub(super) line: usize,
    pub(super) comment: String,
    pub(super) head_and_sql: String,
    pub(super) session: String,
    pub(super) mode: Mode,
    pub(super) show: Show,
    pub(super) limits: Limits,
    pub(super) statements: Vec<String>,
    pub(super) expected: String,
}

/// What stands in the first block of a script that shows what the server as a whole has seen.
const OWN_SERVER: &str = "-- server of its own";

/// Whether a script has to run on a server that no other script has used.
pub(super) fn needs_own_server(text: &str) -> bool {
    text.lines().take_while(|line| *line != "----").any(|line| line == OWN_SERVER)
}

pub(super) fn parse(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut all = Limits::default();
    let mut lines = text.lines().enumerate().peekable();
    while lines.peek().is_some() {
        let mut comment = String::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| line.is_empty() || line.starts_with('#')) {
            comment.push_str(line);
            comment.push('\n');
        }
        let Some(&(number, _)) = lines.peek() else { break };
        let mut block = Block {
            line: number + 1,
            comment,
            head_and_sql: String::new(),
            session: "main".to_string(),
            mode: Mode::Run,
            show: Show::default(),
            limits: all,
            statements: Vec::new(),
            expected: String::new(),
        };
        let mut sql = String::new();
        loop {
            let Some((number, line)) = lines.next() else {
                return Err(format!("line {}: a block without ----", block.line));
            };
            if line == "----" {
                break;
            }
            block.head_and_sql.push_str(line);
            block.head_and_sql.push('\n');
            if let Some(head) = line.strip_prefix("-- session ") {
                let (name, mode) = head.split_once(", ").unwrap_or((head, ""));
                block.session = name.to_string();
                block.mode = match mode {
                    "" => Mode::Run,
                    "waits" => Mode::Waits,
                    "goes on" => Mode::GoesOn,
                    "until" => Mode::Until,
                    other => return Err(format!("line {}: unknown mode `{other}`", number + 1)),
                };
            } else if line == "-- sorted" {
                block.show.sorted = true;
            } else if line == "-- lines" {
                block.show.lines = true;
            } else if line == "-- types" {
                block.show.types = true;
            } else if line == OWN_SERVER && blocks.is_empty() {
                // What runs the script has asked for it: `needs_own_server`.
            } else if let Some(directive) = line.strip_prefix("-- ") {
                let known = match directive.strip_prefix("all ") {
                    Some(name) => all.add(name) && block.limits.add(name),
                    None => block.limits.add(directive),
                };
                if !known {
                    return Err(format!("line {}: unknown directive `{line}`", number + 1));
                }
            } else {
                sql.push_str(line);
                if line.ends_with(';') {
                    sql.pop();
                    block.statements.push(std::mem::take(&mut sql));
                } else {
                    sql.push('\n');
                }
            }
        }
        if !sql.trim().is_empty() {
            return Err(format!("line {}: the last statement does not end with `;`", block.line));
        }
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty()) {
            block.expected.push_str(line);
            block.expected.push('\n');
        }
        blocks.push(block);
    }
    Ok(blocks)
}
