//! Names of the arithmetic operators.

/// The arithmetic operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithmeticOp {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `DIV`.
    IntegerDivide,
    /// `%`, MOD.
    Modulo,
}

impl ArithmeticOp {
    /// As SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            ArithmeticOp::Add => "+",
            ArithmeticOp::Subtract => "-",
            ArithmeticOp::Multiply => "*",
            ArithmeticOp::Divide => "/",
            ArithmeticOp::IntegerDivide => "DIV",
            ArithmeticOp::Modulo => "%",
        }
    }

    /// Whether a zero on the right gives NULL.
    pub(crate) fn divides(self) -> bool {
        matches!(self, ArithmeticOp::Divide | ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo)
    }
}
