//! Windows.

use super::*;

impl Parser<'_> {
    /// `OVER name` or `OVER (…)`.
    pub(super) fn over(&mut self) -> Result<WindowReference> {
        self.expect(K::Over)?;
        if self.at_kind(TokenKind::LeftParen) {
            return self.window_specification().map(WindowReference::Specification);
        }
        self.ident().map(WindowReference::Name)
    }

    /// `WINDOW name AS (…), …` or nothing.
    pub(super) fn named_windows(&mut self) -> Result<Vec<NamedWindow>> {
        if !self.accept(K::Window) {
            return Ok(Vec::new());
        }
        self.comma_list(|parser| {
            let name = parser.ident()?;
            parser.expect(K::As)?;
            Ok(NamedWindow { name, window: parser.window_specification()? })
        })
    }

    fn window_specification(&mut self) -> Result<WindowSpecification> {
        self.parenthesized(|parser| {
            let base = if parser.at_ident() && !parser.at(K::Rows) { Some(parser.ident()?) } else { None };
            let mut partition_by = Vec::new();
            if parser.accept(K::Partition) {
                parser.expect(K::By)?;
                partition_by = parser.expr_list()?;
            }
            let order_by = parser.order_by()?;
            let frame = parser.window_frame()?;
            Ok(WindowSpecification { base, partition_by, order_by, frame })
        })
    }

    fn window_frame(&mut self) -> Result<Option<WindowFrame>> {
        let unit = match self.keyword() {
            K::Rows => FrameUnit::Rows,
            K::Range => FrameUnit::Range,
            K::Groups => FrameUnit::Groups,
            _ => return Ok(None),
        };
        self.advance();
        let (start, end) = if self.accept(K::Between) {
            let start = self.frame_bound()?;
            self.expect(K::And)?;
            (start, Some(self.frame_bound()?))
        } else {
            (self.frame_bound()?, None)
        };
        let mut exclusion = None;
        if self.accept(K::Exclude) {
            exclusion = Some(if self.accept_both(K::Current, K::Row) {
                FrameExclusion::CurrentRow
            } else if self.accept_both(K::No, K::Others) {
                FrameExclusion::NoOthers
            } else if self.accept(K::Group) {
                FrameExclusion::Group
            } else {
                self.expect(K::Ties)?;
                FrameExclusion::Ties
            });
        }
        Ok(Some(WindowFrame { unit, start, end, exclusion }))
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.accept_both(K::Current, K::Row) {
            return Ok(FrameBound::CurrentRow);
        }
        if self.at(K::Unbounded) {
            self.advance();
            return Ok(match self.expect_any(&[K::Preceding, K::Following])? {
                K::Preceding => FrameBound::UnboundedPreceding,
                _ => FrameBound::UnboundedFollowing,
            });
        }
        let start = self.current.start;
        let value = if self.at(K::Interval) { self.interval()? } else { self.bit_expr()? };
        // Distances are written, or parameters.
        let is_written = matches!(
            value.peeled(),
            Expr::Interval { .. }
                | Expr::Placeholder(_)
                | Expr::Literal(Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_))
        );
        if !is_written {
            return Err(self.syntax_error(start));
        }
        Ok(match self.expect_any(&[K::Preceding, K::Following])? {
            K::Preceding => FrameBound::Preceding(value),
            _ => FrameBound::Following(value),
        })
    }
}
