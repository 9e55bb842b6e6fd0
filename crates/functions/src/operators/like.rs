//! LIKE.

use arrow::array::{Array, ArrayRef, AsArray, Int64Builder};
use parking_lot::Mutex;
use squall_registry::{KernelMemory, ScalarKernel};
use squall_statement_context::StatementContext;
use squall_types::collation::LikePattern;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, Value};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

/// `text LIKE pattern ESCAPE escape`; the third argument is the escape character, NULL or empty for none.
#[derive(Debug)]
pub struct LikeKernel {
    /// How characters compare.
    pub collation: CollationId,
    /// NOT LIKE.
    pub negated: bool,
    /// The pattern made ready.
    pub cache: PatternCache,
}

/// The last pattern made ready, since most statements have one constant one.
#[derive(Default)]
pub struct PatternCache {
    last: Mutex<Option<ReadyPattern>>,
}

struct ReadyPattern {
    text: String,
    escape: Option<char>,
    pattern: Arc<LikePattern>,
}

impl PatternCache {
    fn ready(&self, collation: CollationId, text: &str, escape: Option<char>) -> Arc<LikePattern> {
        let mut last = self.last.lock();
        if let Some(ready) = last.as_ref()
            && ready.text == text
            && ready.escape == escape
        {
            return ready.pattern.clone();
        }
        let pattern = Arc::new(LikePattern::new(collation, text, escape));
        *last = Some(ReadyPattern { text: text.to_string(), escape, pattern: pattern.clone() });
        pattern
    }
}

/// Caches do not tell kernels apart.
impl Debug for PatternCache {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("PatternCache")
    }
}

impl ScalarKernel for LikeKernel {
    fn memory(&self) -> KernelMemory {
        KernelMemory::OfArguments
    }

    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let (Some(text), Some(pattern)) = (arguments.first(), arguments.get(1)) else { return Ok(Value::Null) };
        let stopped = || context.kill.check().is_err();
        let matched = match (text, pattern) {
            (Value::Null, _) | (_, Value::Null) => return Ok(Value::Null),
            (Value::String(text), Value::String(pattern)) => {
                let escape = match arguments.get(2) {
                    Some(Value::String(escape)) => single_char(escape)?,
                    _ => None,
                };
                self.cache.ready(self.collation, pattern, escape).matches_unless(text, &stopped)
            }
            (Value::Bytes(text), Value::Bytes(pattern)) => {
                let escape = match arguments.get(2) {
                    Some(Value::Bytes(escape)) => escape.first().copied(),
                    Some(Value::String(escape)) => escape.as_bytes().first().copied(),
                    _ => None,
                };
                LikePattern::matches_bytes_unless(pattern, escape, text, &stopped)
            }
            _ => return Err(SqlError::internal("LIKE of a text and of bytes")),
        };
        let Some(matched) = matched else {
            context.kill.check()?;
            return Ok(Value::Null);
        };
        Ok(Value::from(matched != self.negated))
    }

    fn has_eval_arrays(&self) -> bool {
        true
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let stopped = || context.kill.check().is_err();
        let [texts, patterns, escapes] = arguments else { return None };
        let (texts, patterns) = (texts.as_string_view_opt()?, patterns.as_string_view_opt()?);
        let escapes = escapes.as_string_view_opt()?;
        let mut result = Int64Builder::with_capacity(texts.len());
        let mut ready: Option<(&str, Option<&str>, Arc<LikePattern>)> = None;
        for ((text, pattern), escape) in texts.iter().zip(patterns).zip(escapes) {
            let (Some(text), Some(pattern)) = (text, pattern) else {
                result.append_null();
                continue;
            };
            let known = ready.as_ref().filter(|(known, known_escape, _)| *known == pattern && *known_escape == escape);
            let matcher = match known {
                Some((_, _, matcher)) => matcher.clone(),
                None => {
                    let matcher = self.cache.ready(self.collation, pattern, single_char(escape.unwrap_or("")).ok()?);
                    ready = Some((pattern, escape, matcher.clone()));
                    matcher
                }
            };
            result.append_value(i64::from(matcher.matches_unless(text, &stopped)? != self.negated));
        }
        Some(Ok(Arc::new(result.finish())))
    }
}

fn single_char(text: &str) -> SqlResult<Option<char>> {
    let mut chars = text.chars();
    let first = chars.next();
    if chars.next().is_some() {
        return Err(SqlError::new(ErrorCode::WrongArguments, &[&"ESCAPE"]));
    }
    Ok(first)
}
