//! REGEXP.

use parking_lot::Mutex;
use regex::{Regex, RegexBuilder};
use squall_registry::{ScalarKernel, StatementContext};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::fmt::{self, Debug, Formatter};

/// Bytes that one compiled expression may take.
const COMPILED_BYTES_MAX: usize = 8 << 20;

/// Compiles an expression, and keeps the last one, since most statements have one constant one.
pub struct RegexCache {
    last: Mutex<Option<(String, Regex)>>,
}

impl RegexCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self { last: Mutex::new(None) }
    }

    /// The compiled expression with MySQL's match type letters (`c`, `i`, `m`, `n`, `u`) on top of a default.
    pub fn compile(&self, pattern: &str, match_type: &str, case_sensitive: bool) -> SqlResult<Regex> {
        let key = format!("{match_type}\0{case_sensitive}\0{pattern}");
        let mut last = self.last.lock();
        if let Some((known, regex)) = last.as_ref()
            && *known == key
        {
            return Ok(regex.clone());
        }
        let regex = compile(pattern, match_type, case_sensitive)?;
        *last = Some((key, regex.clone()));
        Ok(regex)
    }
}

impl Default for RegexCache {
    fn default() -> Self {
        Self::new()
    }
}

/// Caches do not tell kernels apart.
impl Debug for RegexCache {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("RegexCache")
    }
}

fn compile(pattern: &str, match_type: &str, case_sensitive: bool) -> SqlResult<Regex> {
    if pattern.is_empty() {
        return Err(regexp_error(3685, "Illegal argument to a regular expression."));
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
        regex::Error::CompiledTooBig(_) => regexp_error(3699, "Timeout exceeded in regular expression match."),
        other => {
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
            SqlError::new(ErrorCode::RegexpError, &[&reason])
        }
    })
}

/// Errors of regular expressions that the table of codes does not list.
fn regexp_error(code: u16, message: &str) -> SqlError {
    SqlError { code, sqlstate: *b"HY000", message: message.to_string() }
}

/// `text REGEXP pattern`.
#[derive(Debug)]
pub struct RegexpKernel {
    /// Whether case counts.
    pub case_sensitive: bool,
    /// NOT REGEXP.
    pub negated: bool,
    /// The compiled expression.
    pub cache: RegexCache,
}

impl ScalarKernel for RegexpKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        match arguments {
            [Value::String(text), Value::String(pattern)] => {
                let regex = self.cache.compile(pattern, "", self.case_sensitive)?;
                Ok(Value::from(regex.is_match(text) != self.negated))
            }
            _ => Ok(Value::Null),
        }
    }
}
