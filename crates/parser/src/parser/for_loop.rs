//! MariaDB's loop over numbers: `FOR i IN [REVERSE] low..high DO … END FOR`.
//!
//! It is read as what it means, a block with two variables and a WHILE. The variable moves before the body runs, so that ITERATE goes on
//! with the next number.

use super::*;

/// The variable with the end of a loop; no program can name it by accident.
const END: &str = "[end of FOR]";

impl Parser<'_> {
    /// From FOR on.
    pub(super) fn for_loop(&mut self, label: Option<Ident>) -> Result<ProgramStatement> {
        let start = self.current.start;
        self.expect(K::For)?;
        let variable = self.ident()?;
        self.expect(K::In)?;
        let reverse = self.at_word("reverse") && !self.peek_kind(1, TokenKind::LeftParen);
        if reverse {
            self.advance();
        }
        let low = self.expr()?;
        self.expect_kind(TokenKind::DotDot)?;
        let high = self.expr()?;
        self.expect(K::Do)?;
        let head = self.span_from(start);
        let body = self.some_steps(&[K::End])?;
        self.expect_all(&[K::End, K::For])?;
        self.end_label(&label)?;
        let (first, last) = if reverse { (high, low) } else { (low, high) };
        let (forward, backward) =
            if reverse { (BinaryOp::Subtract, BinaryOp::Add) } else { (BinaryOp::Add, BinaryOp::Subtract) };
        let goes_on = if reverse { BinaryOp::Greater } else { BinaryOp::Less };
        let step = Set::Items(vec![SetItem::System {
            variable: SystemVariable { scope: None, prefix: None, name: variable.clone() },
            value: binary(forward, column(&variable), one()),
        }]);
        let mut steps = Vec::with_capacity(body.len() + 1);
        steps.push(Step { statement: Statement::Set(step), span: head });
        steps.extend(body);
        let end = Ident::new(END);
        let condition = binary(goes_on, column(&variable), column(&end));
        let looping = ProgramStatement::While { label, condition, body: steps };
        let number = |name: Ident, default: Expr| Declaration::Variables {
            names: vec![name],
            data_type: DataType::Integer { kind: IntegerKind::BigInt, width: None, sign: NumericSign::default() },
            default: Some(default),
        };
        Ok(ProgramStatement::Block(Block {
            label: None,
            not_atomic: false,
            // The end comes first: it may name a variable that the loop's hides.
            declarations: vec![number(end, last), number(variable, binary(backward, first, one()))],
            steps: vec![Step { statement: Statement::Program(Box::new(looping)), span: head }],
        }))
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
}

fn column(name: &Ident) -> Expr {
    Expr::Column(Box::new(ColumnName::new(name.as_str())))
}

fn one() -> Expr {
    Expr::Literal(Literal::Integer("1".into()))
}
