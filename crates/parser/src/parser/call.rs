//! Calls: plain functions, aggregates and window functions.

use super::*;

/// Functions that MySQL's grammar spells out, with the fewest and most arguments it takes: another number is a syntax error.
const GRAMMAR_COUNTS: &[(&str, usize, usize)] = &[
    ("ADDDATE", 2, 2),
    ("ASCII", 1, 1),
    ("CHARSET", 1, 1),
    ("COALESCE", 1, usize::MAX),
    ("COLLATION", 1, 1),
    ("CURDATE", 0, 0),
    ("CURTIME", 0, 1),
    ("DATABASE", 0, 0),
    ("DATE", 1, 1),
    ("DAY", 1, 1),
    ("FORMAT", 2, 3),
    ("HOUR", 1, 1),
    ("IF", 3, 3),
    ("INSERT", 4, 4),
    ("LEFT", 2, 2),
    ("MICROSECOND", 1, 1),
    ("MID", 2, 3),
    ("MINUTE", 1, 1),
    ("MOD", 2, 2),
    ("MONTH", 1, 1),
    ("NOW", 0, 1),
    ("QUARTER", 1, 1),
    ("REPEAT", 2, 2),
    ("REPLACE", 3, 3),
    ("REVERSE", 1, 1),
    ("RIGHT", 2, 2),
    ("ROW_COUNT", 0, 0),
    ("SCHEMA", 0, 0),
    ("SECOND", 1, 1),
    ("SESSION_USER", 0, 0),
    ("SUBDATE", 2, 2),
    ("SUBSTR", 2, 3),
    ("SUBSTRING", 2, 3),
    ("SYSDATE", 0, 1),
    ("SYSTEM_USER", 0, 0),
    ("TIME", 1, 1),
    ("TIMESTAMP", 1, 2),
    ("TRUNCATE", 2, 2),
    ("USER", 0, 0),
    ("WEEK", 1, 2),
    ("YEAR", 1, 1),
];

impl Parser<'_> {
    /// The call of a function whose name has been read.
    pub(super) fn call(&mut self, schema: Option<Ident>, name: Ident, start: u32) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let of_grammar = if schema.is_none() { self.counts_of_grammar(start, &name) } else { None };
        let is_generic = of_grammar.is_none();
        let takes_names = schema.is_none() && is_generic;
        let counts = of_grammar.unwrap_or(0..=usize::MAX);
        let distinct = is_generic && self.accept(K::Distinct);
        let mut arguments = Vec::new();
        let mut argument_names = Vec::new();
        if (distinct || !self.at_kind(TokenKind::RightParen)) && *counts.end() > 0 {
            loop {
                arguments.push(self.argument()?);
                if takes_names && (self.accept(K::As) || self.at_ident() || self.at_kind(TokenKind::String)) {
                    argument_names.resize(arguments.len() - 1, None);
                    argument_names.push(Some(self.ident_or_string()?));
                }
                if arguments.len() == *counts.end() || !self.accept_kind(TokenKind::Comma) {
                    break;
                }
            }
        }
        if arguments.len() < *counts.start() {
            return Err(self.unexpected());
        }
        self.expect_kind(TokenKind::RightParen)?;
        if !argument_names.is_empty() {
            argument_names.resize(arguments.len(), None);
        }
        if self.in_program && schema.is_none() {
            self.note_called(&name);
        }
        let call = FunctionCall { schema, name, distinct, arguments, argument_names, span: self.span_from(start) };
        if is_generic && self.at(K::Over) {
            return self.unsupported("OVER after a stored aggregate function; group in a derived table and join it");
        }
        Ok(Expr::Function(Box::new(call)))
    }

    /// Takes down that a stored program calls a function.
    fn note_called(&mut self, name: &Ident) {
        let name = name.to_ascii_uppercase();
        if !self.called.contains(&*name) {
            self.called.insert(name.into());
        }
    }

    /// How many arguments the grammar lets a function have, if it knows it by name.
    fn counts_of_grammar(&self, start: u32, name: &Ident) -> Option<std::ops::RangeInclusive<usize>> {
        // In quotes it is the name of any function.
        let quoted = self.sql.get(start as usize).is_some_and(|first| matches!(first, b'`' | b'"'));
        let known = GRAMMAR_COUNTS.iter().find(|(known, ..)| !quoted && known.eq_ignore_ascii_case(name.as_str()));
        known.map(|(_, least, most)| *least..=*most)
    }

    /// An argument; only those of the date functions may be amounts of time.
    fn argument(&mut self) -> Result<Expr> {
        if !self.at(K::Interval) {
            return self.expr();
        }
        match self.interval()? {
            interval @ Expr::Interval { .. } if !self.at_kind(TokenKind::Plus) => Ok(interval),
            other => self.expr_after(other),
        }
    }

    pub(super) fn aggregate_or_window(&mut self, keyword: K, paren: bool) -> Result<Option<Expr>> {
        if !paren {
            return Ok(None);
        }
        let (function, checks_space) = match keyword {
            K::Count => (AggregateFunction::Count, true),
            K::Sum => (AggregateFunction::Sum, true),
            K::Avg => (AggregateFunction::Avg, false),
            K::Min => (AggregateFunction::Min, true),
            K::Max => (AggregateFunction::Max, true),
            K::BitAnd => (AggregateFunction::BitAnd, true),
            K::BitOr => (AggregateFunction::BitOr, true),
            K::BitXor => (AggregateFunction::BitXor, true),
            K::GroupConcat => (AggregateFunction::GroupConcat, true),
            K::JsonArrayagg => (AggregateFunction::JsonArrayAgg, true),
            K::JsonObjectagg => (AggregateFunction::JsonObjectAgg, true),
            K::Std | K::Stddev | K::StddevPop => (AggregateFunction::StddevPop, true),
            K::StddevSamp => (AggregateFunction::StddevSamp, true),
            K::Variance | K::VarPop => (AggregateFunction::VarPop, true),
            K::VarSamp => (AggregateFunction::VarSamp, true),
            K::StCollect => (AggregateFunction::StCollect, true),
            K::RowNumber => return self.window_call(WindowFunction::RowNumber, 0..=0).map(Some),
            K::Rank => return self.window_call(WindowFunction::Rank, 0..=0).map(Some),
            K::DenseRank => return self.window_call(WindowFunction::DenseRank, 0..=0).map(Some),
            K::PercentRank => return self.window_call(WindowFunction::PercentRank, 0..=0).map(Some),
            K::CumeDist => return self.window_call(WindowFunction::CumeDist, 0..=0).map(Some),
            K::Ntile => return self.window_call(WindowFunction::Ntile, 1..=1).map(Some),
            K::Lead => return self.window_call(WindowFunction::Lead, 1..=3).map(Some),
            K::Lag => return self.window_call(WindowFunction::Lag, 1..=3).map(Some),
            K::FirstValue => return self.window_call(WindowFunction::FirstValue, 1..=1).map(Some),
            K::LastValue => return self.window_call(WindowFunction::LastValue, 1..=1).map(Some),
            K::NthValue => return self.window_call(WindowFunction::NthValue, 2..=2).map(Some),
            _ => return Ok(None),
        };
        if checks_space && !self.at_kind(TokenKind::FunctionName) {
            return Ok(None);
        }
        self.aggregate(function).map(Some)
    }

    fn aggregate(&mut self, function: AggregateFunction) -> Result<Expr> {
        use AggregateFunction::*;
        let start = self.advance().start;
        self.expect_kind(TokenKind::LeftParen)?;
        let mut call = AggregateCall {
            function,
            distinct: false,
            arguments: Vec::new(),
            order_by: Vec::new(),
            separator: None,
            limit: None,
            over: None,
            span: Span::default(),
        };
        if !matches!(function, JsonObjectAgg) {
            let takes_distinct = matches!(function, Count | Sum | Avg | Min | Max | GroupConcat | StCollect);
            call.distinct = takes_distinct && self.accept(K::Distinct);
            if !call.distinct && !matches!(function, GroupConcat) {
                self.accept(K::All);
            }
        }
        if function == Count && !call.distinct && self.accept_kind(TokenKind::Star) {
        } else if matches!(function, GroupConcat) || (function == Count && call.distinct) {
            call.arguments = self.expr_list()?;
        } else {
            call.arguments.push(self.expr()?);
            if function == JsonObjectAgg {
                self.expect_kind(TokenKind::Comma)?;
                call.arguments.push(self.expr()?);
            }
        }
        if function == GroupConcat {
            call.order_by = self.order_by()?;
            if self.accept(K::Separator) {
                call.separator = Some(self.sql_string()?);
            }
            call.limit = self.limit()?;
            if call.separator.is_none() && self.accept(K::Separator) {
                call.separator = Some(self.sql_string()?);
            }
        }
        self.expect_kind(TokenKind::RightParen)?;
        if self.at(K::Over) {
            call.over = Some(self.over()?);
        }
        call.span = self.span_from(start);
        Ok(Expr::Aggregate(Box::new(call)))
    }

    fn window_call(&mut self, function: WindowFunction, count: std::ops::RangeInclusive<usize>) -> Result<Expr> {
        let start = self.advance().start;
        self.expect_kind(TokenKind::LeftParen)?;
        let mut arguments = Vec::new();
        while arguments.len() < *count.end() {
            if arguments.len() >= *count.start() && self.at_kind(TokenKind::RightParen) {
                break;
            }
            if !arguments.is_empty() {
                self.expect_kind(TokenKind::Comma)?;
            }
            arguments.push(self.expr()?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        let mut from_last = false;
        if function == WindowFunction::NthValue && self.accept(K::From) {
            from_last = self.expect_any(&[K::First, K::Last])? == K::Last;
        }
        let mut ignore_nulls = false;
        if self.at_any(&[K::Respect, K::Ignore]) {
            ignore_nulls = self.advance().keyword == K::Ignore;
            self.expect(K::Nulls)?;
        }
        let over = self.over()?;
        let span = self.span_from(start);
        Ok(Expr::Window(Box::new(WindowCall { function, arguments, from_last, ignore_nulls, over, span })))
    }
}
