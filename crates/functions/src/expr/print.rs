//! Bound expressions as text, for error messages and EXPLAIN: near to how MySQL prints its own.

use super::{BoundExpr, Call};
use squall_types::Value;
use squall_types::double_text::write_double;
use std::fmt::{self, Display, Formatter};

impl Display for BoundExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            BoundExpr::Literal(value, _) => write_value(value, f),
            BoundExpr::Column(column) => f.write_str(&column.display),
            BoundExpr::Parameter { .. } => f.write_str("?"),
            BoundExpr::Call(call) => call.fmt(f),
            BoundExpr::And(list) => write_list(list, " and ", f),
            BoundExpr::Or(list) => write_list(list, " or ", f),
            BoundExpr::Not(operand) => write!(f, "(not({operand}))"),
            BoundExpr::Xor(left, right) => write!(f, "({left} xor {right})"),
            BoundExpr::IsNull { operand, negated: false } => write!(f, "({operand} is null)"),
            BoundExpr::IsNull { operand, negated: true } => write!(f, "({operand} is not null)"),
            BoundExpr::IsTruth { operand, truth, negated } => {
                write!(f, "({operand} is {}{truth})", if *negated { "not " } else { "" })
            }
            BoundExpr::Compare { op, left, right, .. } => write!(f, "({left} {} {right})", op.symbol()),
            BoundExpr::InList { operand, list, negated, .. } => {
                write!(f, "({operand} {}in ", if *negated { "not " } else { "" })?;
                write_list(list, ",", f)?;
                f.write_str(")")
            }
            BoundExpr::Case(case) => {
                f.write_str("(case")?;
                for (when, then) in &case.branches {
                    write!(f, " when {when} then {then}")?;
                }
                if let Some(otherwise) = &case.otherwise {
                    write!(f, " else {otherwise}")?;
                }
                f.write_str(" end)")
            }
            BoundExpr::Coalesce { values, .. } => {
                f.write_str("coalesce")?;
                write_list(values, ",", f)
            }
            BoundExpr::Opaque { expr, .. } => expr.fmt(f),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A conversion that the binder put in is not in the statement's text.
        if let (true, [operand]) = (self.name.starts_with("convert to "), self.args.as_slice()) {
            return operand.fmt(f);
        }
        match (self.name.chars().all(|c| !c.is_ascii_alphabetic()), self.args.as_slice()) {
            (true, [operand]) => write!(f, "{}({operand})", self.name),
            (true, [left, right]) => write!(f, "({left} {} {right})", self.name),
            (false, [left, right]) if matches!(&*self.name, "DIV" | "LIKE" | "REGEXP") => {
                write!(f, "({left} {} {right})", self.name)
            }
            _ => {
                f.write_str(&self.name.to_lowercase())?;
                write_list(&self.args, ",", f)
            }
        }
    }
}

/// An operand as the statement has it, as far as that is known: a whole number without a sign has come from a CAST, unless it is too large for
/// a number with one.
struct Operand<'a>(&'a BoundExpr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            BoundExpr::Literal(Value::UInt(number), _) if i64::try_from(*number).is_ok() => {
                write!(f, "cast({number} as unsigned)")
            }
            BoundExpr::Call(call) => write_source(call, f),
            other => other.fmt(f),
        }
    }
}

fn write_source(call: &Call, f: &mut Formatter<'_>) -> fmt::Result {
    let is_operator = call.name.chars().all(|c| !c.is_ascii_alphabetic()) || &*call.name == "DIV";
    match call.args.as_slice() {
        [operand] if call.name.starts_with("convert to ") => Operand(operand).fmt(f),
        [left, right] if is_operator => write!(f, "({} {} {})", Operand(left), call.name, Operand(right)),
        _ => call.fmt(f),
    }
}

impl Call {
    /// Its text, as errors show it.
    pub(super) fn source(&self) -> impl Display + '_ {
        struct Source<'a>(&'a Call);

        impl Display for Source<'_> {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                write_source(self.0, f)
            }
        }

        Source(self)
    }
}

fn write_list(list: &[BoundExpr], separator: &str, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("(")?;
    for (position, expr) in list.iter().enumerate() {
        if position > 0 {
            f.write_str(separator)?;
        }
        expr.fmt(f)?;
    }
    f.write_str(")")
}

fn write_value(value: &Value, f: &mut Formatter<'_>) -> fmt::Result {
    match value {
        Value::Null => f.write_str("NULL"),
        Value::Int(value) => value.fmt(f),
        Value::UInt(value) => value.fmt(f),
        Value::Double(value) => {
            let mut text = Vec::new();
            write_double(*value, &mut text);
            f.write_str(&String::from_utf8_lossy(&text))
        }
        Value::Decimal(value) => write!(f, "{value}"),
        Value::String(text) => write!(f, "'{}'", text.replace('\'', "\\'")),
        Value::Json(document) => write!(f, "'{}'", document.text().replace('\'', "\\'")),
        Value::Bytes(bytes) => {
            f.write_str("0x")?;
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        }
        Value::Date(value) => write!(f, "DATE'{}'", value.to_text()),
        Value::DateTime(value) => write!(f, "TIMESTAMP'{}'", value.to_text(6)),
        Value::Time(value) => write!(f, "TIME'{}'", value.to_text(6)),
    }
}
