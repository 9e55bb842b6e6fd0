//! The names of a query's result columns.

use super::{Expr, Literal, SelectExpr, UnaryOp};
use crate::lexer::without_version_comments;

/// Longest name of a column that has no alias, bytes; longer ones are cut, as MySQL does.
const OWN_NAME_MAX: usize = 256;

impl SelectExpr {
    /// The name of the result column: the alias, the name an expression brings along (a column has one, and
    /// so has a literal), or the beginning of the source text. `sql` is the text the parser was given.
    pub fn column_name(&self, sql: &[u8]) -> String {
        if let Some(alias) = &self.alias {
            // Blanks at the front of a name are dropped.
            return alias.value.trim_start_matches(|c: char| c <= ' ').to_string();
        }
        own_name(&self.expr).unwrap_or_else(|| {
            let source = without_version_comments(self.span.bytes(sql));
            beginning(&source)
        })
    }
}

/// As much of a text as a name holds.
fn beginning(text: &[u8]) -> String {
    // A character that is cut in two becomes a longer one here, and goes with what is too long.
    let mut name = String::from_utf8_lossy(&text[..text.len().min(OWN_NAME_MAX + 4)]).into_owned();
    name.truncate(name.floor_char_boundary(OWN_NAME_MAX));
    name
}

/// The name of an expression itself, without its context: `(5)` and `+5` are `5`.
fn own_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Column(name) => Some(name.column.value.to_string()),
        Expr::Literal(Literal::Null) => Some("NULL".to_string()),
        Expr::Literal(Literal::Boolean(value)) => Some(if *value { "TRUE" } else { "FALSE" }.to_string()),
        Expr::Literal(Literal::Integer(text) | Literal::Decimal(text) | Literal::Float(text)) => {
            Some(beginning(text.as_bytes()))
        }
        Expr::Literal(Literal::String(literal)) => {
            let bytes = literal.value.as_bytes();
            let first = bytes.get(..literal.first_length as usize).unwrap_or(bytes);
            Some(beginning(first))
        }
        Expr::Unary { op: UnaryOp::Plus, operand } => own_name(operand),
        // NAME_CONST names its value.
        Expr::Function(call) if call.schema.is_none() && call.name.is("NAME_CONST") => match call.arguments.first() {
            Some(name @ Expr::Literal(Literal::String(_))) => own_name(name),
            _ => None,
        },
        _ => None,
    }
}
