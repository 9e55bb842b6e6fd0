//! Expressions that begin with a keyword and have their own syntax.

use super::name::is_ident;
use super::*;

impl Parser<'_> {
    /// The expression that this keyword begins here, if it begins one.
    pub(super) fn special(&mut self, keyword: K) -> Result<Option<Expr>> {
        let paren = self.peek_kind(1, TokenKind::LeftParen);
        let expr = match keyword {
            K::Case => self.case()?,
            K::Exists if paren => {
                self.advance();
                Expr::Exists(Box::new(self.subquery()?))
            }
            K::Row if paren => {
                self.advance();
                Expr::Row(self.parenthesized_list(Self::expr)?)
            }
            K::Interval => {
                let expr = self.interval()?;
                // An amount of time is no value: something must be added to it.
                if matches!(expr, Expr::Interval { .. }) && !self.at_kind(TokenKind::Plus) {
                    return Err(self.unexpected());
                }
                expr
            }
            K::Cast if self.at_kind(TokenKind::FunctionName) => self.cast()?,
            K::Convert if paren => self.convert()?,
            K::Default => {
                self.advance();
                if !self.at_kind(TokenKind::LeftParen) {
                    return Err(self.unexpected());
                }
                Expr::DefaultOf(Box::new(self.parenthesized(Self::column_name)?))
            }
            K::Values | K::Value if paren => {
                self.advance();
                Expr::InsertValue(Box::new(self.parenthesized(Self::column_name)?))
            }
            K::Match => self.match_against()?,
            K::Date | K::Time | K::Timestamp if self.peek_kind(1, TokenKind::String) => {
                self.temporal_literal(keyword)?
            }
            K::Char if paren => self.char_function()?,
            K::CurrentDate
            | K::CurrentTime
            | K::CurrentTimestamp
            | K::Localtime
            | K::Localtimestamp
            | K::UtcDate
            | K::UtcTime
            | K::UtcTimestamp
            | K::CurrentUser => self.parenless_call()?,
            K::CurrentRole if paren => self.parenless_call()?,
            reserved if paren && is_function(reserved) => {
                let start = self.current.start;
                let token = self.advance();
                let name = self.ident_of(token)?;
                self.call(None, name, start)?
            }
            K::Extract if self.at_kind(TokenKind::FunctionName) => self.extract()?,
            K::Trim if self.at_kind(TokenKind::FunctionName) => self.trim()?,
            K::Position if self.at_kind(TokenKind::FunctionName) => self.position()?,
            K::Substring | K::Substr | K::Mid if self.at_kind(TokenKind::FunctionName) => self.substring()?,
            K::Timestampadd if paren => self.timestamp_add()?,
            K::Timestampdiff if paren => self.timestamp_difference()?,
            K::GetFormat if paren => self.get_format()?,
            K::WeightString if paren => self.weight_string()?,
            K::JsonValue if paren => self.json_value()?,
            K::Next | K::Previous if self.peek_is(1, K::Value) && self.peek_is(2, K::For) => {
                self.advance();
                self.advance();
                self.advance();
                let operation = if keyword == K::Next { SequenceOperation::Next } else { SequenceOperation::Previous };
                Expr::Sequence { operation, sequence: Box::new(self.object_name()?) }
            }
            K::Nextval | K::Lastval | K::Setval if paren => self.sequence_function(keyword)?,
            K::Grouping if paren => {
                self.advance();
                Expr::Grouping(self.parenthesized_list(Self::expr)?)
            }
            _ => return self.aggregate_or_window(keyword, paren),
        };
        Ok(Some(expr))
    }

    /// `DATE 'text'` and its relatives.
    fn temporal_literal(&mut self, keyword: K) -> Result<Expr> {
        let kind = match keyword {
            K::Date => TemporalKind::Date,
            K::Time => TemporalKind::Time,
            _ => TemporalKind::Timestamp,
        };
        self.advance();
        Ok(Expr::Literal(Literal::Temporal { kind, text: self.string()? }))
    }

    /// `NEXTVAL(sequence)`, `LASTVAL(sequence)` and `SETVAL(sequence, …)`.
    fn sequence_function(&mut self, keyword: K) -> Result<Expr> {
        self.advance();
        self.expect_kind(TokenKind::LeftParen)?;
        let sequence = Box::new(self.object_name()?);
        let operation = match keyword {
            K::Nextval => SequenceOperation::Next,
            K::Lastval => SequenceOperation::Previous,
            _ => {
                self.expect_kind(TokenKind::Comma)?;
                SequenceOperation::Set(self.expr_list()?)
            }
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Sequence { operation, sequence })
    }

    /// `POSITION(needle IN hay)`, which is LOCATE.
    fn position(&mut self) -> Result<Expr> {
        let start = self.advance().start;
        self.expect_kind(TokenKind::LeftParen)?;
        let needle = self.bit_expr()?;
        self.expect(K::In)?;
        let hay = self.expr()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(self.plain_call("LOCATE", vec![needle, hay], start))
    }

    /// `TIMESTAMPADD(unit, amount, time)`.
    fn timestamp_add(&mut self) -> Result<Expr> {
        self.advance();
        self.parenthesized(|parser| {
            let unit = parser.timestamp_unit()?;
            parser.expect_kind(TokenKind::Comma)?;
            let amount = parser.boxed_expr()?;
            parser.expect_kind(TokenKind::Comma)?;
            Ok(Expr::TimestampAdd { unit, amount, operand: parser.boxed_expr()? })
        })
    }

    /// `TIMESTAMPDIFF(unit, from, to)`.
    fn timestamp_difference(&mut self) -> Result<Expr> {
        self.advance();
        self.parenthesized(|parser| {
            let unit = parser.timestamp_unit()?;
            parser.expect_kind(TokenKind::Comma)?;
            let from = parser.boxed_expr()?;
            parser.expect_kind(TokenKind::Comma)?;
            Ok(Expr::TimestampDiff { unit, from, to: parser.boxed_expr()? })
        })
    }

    /// `GET_FORMAT(kind, standard)`.
    fn get_format(&mut self) -> Result<Expr> {
        self.advance();
        self.parenthesized(|parser| {
            let kind = match parser.current.keyword {
                K::Date => GetFormatKind::Date,
                K::Time => GetFormatKind::Time,
                K::Datetime | K::Timestamp => GetFormatKind::DateTime,
                _ => return Err(parser.unexpected()),
            };
            parser.advance();
            parser.expect_kind(TokenKind::Comma)?;
            Ok(Expr::GetFormat { kind, format: parser.boxed_expr()? })
        })
    }

    /// `EXTRACT(unit FROM time)`.
    fn extract(&mut self) -> Result<Expr> {
        self.advance();
        self.parenthesized(|parser| {
            let unit = parser.interval_unit()?;
            parser.expect(K::From)?;
            Ok(Expr::Extract { unit, operand: parser.boxed_expr()? })
        })
    }

    pub(super) fn plain_call(&self, name: &str, arguments: Vec<Expr>, start: u32) -> Expr {
        Expr::Function(Box::new(FunctionCall {
            schema: None,
            name: Ident { value: name.into(), span: Span::new(start, start) },
            arguments,
            distinct: false,
            argument_names: Vec::new(),
            span: self.span_from(start),
        }))
    }

    fn case(&mut self) -> Result<Expr> {
        self.advance();
        let operand = if self.at(K::When) { None } else { Some(self.boxed_expr()?) };
        let mut branches = Vec::new();
        while self.accept(K::When)
            || branches.is_empty() && {
                self.expect(K::When)?;
                true
            }
        {
            let when = self.expr()?;
            self.expect(K::Then)?;
            branches.push(CaseBranch { when, then: self.expr()? });
        }
        let otherwise = if self.accept(K::Else) { Some(self.boxed_expr()?) } else { None };
        self.expect(K::End)?;
        Ok(Expr::Case { operand, branches, otherwise })
    }

    /// `INTERVAL value unit`, or the function `INTERVAL(a, b, …)`.
    pub(super) fn interval(&mut self) -> Result<Expr> {
        let start = self.advance().start;
        let value = if self.at_kind(TokenKind::LeftParen) && !self.query_follows_paren() {
            self.advance();
            let first = self.expr()?;
            if self.accept_kind(TokenKind::Comma) {
                let mut arguments = vec![first];
                arguments.extend(self.expr_list()?);
                self.expect_kind(TokenKind::RightParen)?;
                return Ok(self.plain_call("INTERVAL", arguments, start));
            }
            self.expect_kind(TokenKind::RightParen)?;
            self.expr_after(first)?
        } else {
            self.expr()?
        };
        let unit = self.interval_unit()?;
        Ok(Expr::Interval { value: Box::new(value), unit })
    }

    pub(super) fn interval_unit(&mut self) -> Result<IntervalUnit> {
        let unit = match self.keyword() {
            K::Microsecond => IntervalUnit::Microsecond,
            K::Second => IntervalUnit::Second,
            K::Minute => IntervalUnit::Minute,
            K::Hour => IntervalUnit::Hour,
            K::Day => IntervalUnit::Day,
            K::Week => IntervalUnit::Week,
            K::Month => IntervalUnit::Month,
            K::Quarter => IntervalUnit::Quarter,
            K::Year => IntervalUnit::Year,
            K::SecondMicrosecond => IntervalUnit::SecondMicrosecond,
            K::MinuteMicrosecond => IntervalUnit::MinuteMicrosecond,
            K::MinuteSecond => IntervalUnit::MinuteSecond,
            K::HourMicrosecond => IntervalUnit::HourMicrosecond,
            K::HourSecond => IntervalUnit::HourSecond,
            K::HourMinute => IntervalUnit::HourMinute,
            K::DayMicrosecond => IntervalUnit::DayMicrosecond,
            K::DaySecond => IntervalUnit::DaySecond,
            K::DayMinute => IntervalUnit::DayMinute,
            K::DayHour => IntervalUnit::DayHour,
            K::YearMonth => IntervalUnit::YearMonth,
            K::SqlTsiSecond => IntervalUnit::Second,
            K::SqlTsiMinute => IntervalUnit::Minute,
            K::SqlTsiHour => IntervalUnit::Hour,
            K::SqlTsiDay => IntervalUnit::Day,
            K::SqlTsiWeek => IntervalUnit::Week,
            K::SqlTsiMonth => IntervalUnit::Month,
            K::SqlTsiQuarter => IntervalUnit::Quarter,
            K::SqlTsiYear => IntervalUnit::Year,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(unit)
    }

    /// A unit of TIMESTAMPADD and TIMESTAMPDIFF: one that is not made of two.
    fn timestamp_unit(&mut self) -> Result<IntervalUnit> {
        if self.text(self.current).contains(&b'_') && !self.text(self.current)[..3].eq_ignore_ascii_case(b"SQL") {
            return Err(self.unexpected());
        }
        self.interval_unit()
    }

    fn cast(&mut self) -> Result<Expr> {
        self.advance();
        self.expect_kind(TokenKind::LeftParen)?;
        let operand = self.expr()?;
        let mut time_zone = None;
        if self.accept_word("AT") {
            self.expect_word("TIME")?;
            self.expect_word("ZONE")?;
            self.accept(K::Interval);
            time_zone = Some(self.string()?);
        }
        self.expect(K::As)?;
        let target = self.cast_type()?;
        let array = self.accept_word("ARRAY");
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Cast(Box::new(Cast { operand, target, array, time_zone })))
    }

    fn convert(&mut self) -> Result<Expr> {
        self.advance();
        self.expect_kind(TokenKind::LeftParen)?;
        let operand = self.expr()?;
        let expr = if self.accept(K::Using) {
            Expr::ConvertUsing { operand: Box::new(operand), charset: self.charset_name()? }
        } else {
            self.expect_kind(TokenKind::Comma)?;
            let target = self.cast_type()?;
            Expr::Cast(Box::new(Cast { operand, target, array: false, time_zone: None }))
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(expr)
    }

    fn match_against(&mut self) -> Result<Expr> {
        self.advance();
        let columns = if self.at_kind(TokenKind::LeftParen) {
            self.parenthesized_list(Self::column_name)?
        } else {
            self.comma_list(Self::column_name)?
        };
        self.expect(K::Against)?;
        self.expect_kind(TokenKind::LeftParen)?;
        let against = Box::new(self.bit_expr()?);
        let mode = if self.accept(K::In) {
            if self.accept(K::Boolean) {
                self.expect(K::Mode)?;
                MatchMode::Boolean
            } else {
                self.expect(K::Natural)?;
                self.expect_all(&[K::Language, K::Mode])?;
                if self.query_expansion()? {
                    MatchMode::NaturalLanguageWithQueryExpansion
                } else {
                    MatchMode::NaturalLanguage
                }
            }
        } else if self.query_expansion()? {
            MatchMode::QueryExpansion
        } else {
            MatchMode::NaturalLanguage
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Match { columns, against, mode })
    }

    fn query_expansion(&mut self) -> Result<bool> {
        if !self.accept(K::With) {
            return Ok(false);
        }
        self.expect_all(&[K::Query, K::Expansion])?;
        Ok(true)
    }

    /// `CHAR(n, … [USING charset])`.
    fn char_function(&mut self) -> Result<Expr> {
        self.advance();
        self.expect_kind(TokenKind::LeftParen)?;
        let arguments = self.expr_list()?;
        let charset = if self.accept(K::Using) { Some(self.charset_name()?) } else { None };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Char { arguments, charset })
    }

    /// A call that may do without parentheses: `CURRENT_TIMESTAMP(3)`, `CURRENT_USER`.
    fn parenless_call(&mut self) -> Result<Expr> {
        let token = self.advance();
        let name = self.ident_of(token)?;
        let mut arguments = Vec::new();
        if self.accept_kind(TokenKind::LeftParen) {
            if !self.at_kind(TokenKind::RightParen) {
                arguments.push(self.expr()?);
            }
            self.expect_kind(TokenKind::RightParen)?;
        }
        Ok(Expr::Function(Box::new(FunctionCall {
            schema: None,
            name,
            arguments,
            distinct: false,
            argument_names: Vec::new(),
            span: self.span_from(token.start),
        })))
    }

    fn trim(&mut self) -> Result<Expr> {
        self.advance();
        self.expect_kind(TokenKind::LeftParen)?;
        let side = match self.keyword() {
            K::Both => Some(TrimSide::Both),
            K::Leading => Some(TrimSide::Leading),
            K::Trailing => Some(TrimSide::Trailing),
            _ => None,
        };
        if side.is_some() {
            self.advance();
        }
        let mut remove = None;
        let operand = if side.is_some() && self.accept(K::From) {
            self.boxed_expr()?
        } else {
            let first = self.boxed_expr()?;
            if self.accept(K::From) {
                remove = Some(first);
                self.boxed_expr()?
            } else if side.is_some() {
                return Err(self.unexpected());
            } else {
                first
            }
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Trim { side: side.unwrap_or(TrimSide::Both), remove, operand })
    }

    /// `SUBSTRING(a, b[, c])` and `SUBSTRING(a FROM b [FOR c])`.
    fn substring(&mut self) -> Result<Expr> {
        let start = self.advance().start;
        self.expect_kind(TokenKind::LeftParen)?;
        let mut arguments = vec![self.expr()?];
        if self.accept(K::From) {
            arguments.push(self.expr()?);
            if self.accept(K::For) {
                arguments.push(self.expr()?);
            }
        } else {
            self.expect_kind(TokenKind::Comma)?;
            arguments.push(self.expr()?);
            if self.accept_kind(TokenKind::Comma) {
                arguments.push(self.expr()?);
            }
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(self.plain_call("SUBSTRING", arguments, start))
    }

    fn weight_string(&mut self) -> Result<Expr> {
        self.advance();
        self.expect_kind(TokenKind::LeftParen)?;
        let operand = self.boxed_expr()?;
        let mut conversion = None;
        if self.accept(K::As) {
            conversion = Some(if self.accept(K::Binary) {
                WeightStringType::Binary(self.parenthesized_number()?)
            } else {
                self.expect(K::Char)?;
                WeightStringType::Char(self.parenthesized_number()?)
            });
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::WeightString { operand, conversion })
    }

    fn json_value(&mut self) -> Result<Expr> {
        self.advance();
        self.expect_kind(TokenKind::LeftParen)?;
        let document = self.expr()?;
        self.expect_kind(TokenKind::Comma)?;
        let path = self.expr()?;
        let returning = if self.accept(K::Returning) { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.json_responses(false)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::JsonValue(Box::new(JsonValue { document, path, returning, on_empty, on_error })))
    }

    /// `… ON EMPTY` and `… ON ERROR`, in either order if that is allowed.
    pub(super) fn json_responses(
        &mut self,
        either_order: bool,
    ) -> Result<(Option<JsonResponse>, Option<JsonResponse>)> {
        let (mut on_empty, mut on_error) = (None, None);
        loop {
            let response = match self.keyword() {
                K::Null => {
                    self.advance();
                    JsonResponse::Null
                }
                K::Error => {
                    self.advance();
                    JsonResponse::Error
                }
                K::Default => {
                    self.advance();
                    if self.keyword() == K::Null {
                        return Err(self.unexpected());
                    }
                    JsonResponse::Default(self.expr()?)
                }
                _ => return Ok((on_empty, on_error)),
            };
            self.expect(K::On)?;
            if self.keyword() == K::Empty && on_empty.is_none() && (either_order || on_error.is_none()) {
                self.advance();
                on_empty = Some(response);
            } else if on_error.is_none() {
                self.expect(K::Error)?;
                on_error = Some(response);
            } else {
                return Err(self.unexpected());
            }
        }
    }

    /// Whether an identifier stands at `distance`.
    pub(super) fn peek_ident(&mut self, distance: usize) -> bool {
        is_ident(self.peek(distance))
    }
}

/// Whether a reserved word is the name of a function before a parenthesis; KILL and SIGNAL are Drizzle's.
fn is_function(word: K) -> bool {
    matches!(
        word,
        K::If
            | K::Left
            | K::Right
            | K::Repeat
            | K::Replace
            | K::Insert
            | K::Mod
            | K::Database
            | K::Schema
            | K::Kill
            | K::Signal
    )
}
