//! REGEXP.

use regex::{Regex, RegexBuilder};
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes that one compiled expression may take.
const COMPILED_BYTES_MAX: usize = 8 << 20;

/// Bytes of an expression. What reads one takes some two hundred times its length, and cannot be stopped.
const PATTERN_BYTES_MAX: usize = 256 << 10;

/// Compiled expressions that a thread keeps, since a statement has few and runs them on many rows.
const KEPT_MAX: usize = 16;

thread_local! {
    static KEPT: RefCell<VecDeque<(String, Arc<Regex>)>> = const { RefCell::new(VecDeque::new()) };
}

/// The compiled expression with MySQL's match type letters (`c`, `i`, `m`, `n`, `u`) on top of a default.
pub fn compile_once(pattern: &str, match_type: &str, case_sensitive: bool) -> SqlResult<Arc<Regex>> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(too_big());
    }
    let key = format!("{match_type}\0{case_sensitive}\0{pattern}");
    let known = KEPT.with_borrow(|kept| kept.iter().find(|(text, _)| *text == key).map(|(_, regex)| regex.clone()));
    if let Some(regex) = known {
        return Ok(regex);
    }
    let regex = Arc::new(compile(pattern, match_type, case_sensitive)?);
    KEPT.with_borrow_mut(|kept| {
        if kept.len() == KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back((key, regex.clone()));
    });
    Ok(regex)
}

fn compile(pattern: &str, match_type: &str, case_sensitive: bool) -> SqlResult<Regex> {
    if pattern.is_empty() {
        return Err(SqlError::new(ErrorCode::RegexpIllegalArgument, &[]));
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(COMPILED_BYTES_MAX).case_insensitive(!case_sensitive);
    for letter in match_type.chars() {
        match letter {
            'c' => builder.case_insensitive(false),
            'i' => builder.case_insensitive(true),
            'm' => builder.multi_line(true),
            'n' => builder.dot_matches_new_line(true),
            'u' => builder.crlf(false),
            _ => return Err(SqlError::new(ErrorCode::WrongArguments, &[&"regexp_like"])),
        };
    }
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => too_big(),
        other => {
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
            SqlError::new(ErrorCode::RegexpError, &[&reason])
        }
    })
}

fn too_big() -> SqlError {
    SqlError::new(ErrorCode::RegexpPatternTooBig, &[])
}

/// `text REGEXP pattern`.
#[derive(Debug)]
pub struct RegexpKernel {
    /// Whether case counts.
    pub case_sensitive: bool,
    /// NOT REGEXP.
    pub negated: bool,
}

impl ScalarKernel for RegexpKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        match arguments {
            [Value::String(text), Value::String(pattern)] => {
                let regex = compile_once(pattern, "", self.case_sensitive)?;
                Ok(Value::from(regex.is_match(text) != self.negated))
            }
            _ => Ok(Value::Null),
        }
    }
}
