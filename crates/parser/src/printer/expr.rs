//! Expressions.

use super::*;
use crate::keyword::Keyword as K;

impl Printer {
    pub(super) fn exprs(&mut self, exprs: &[Expr]) {
        self.list(exprs, ",", Self::expr);
    }

    pub(super) fn expr(&mut self, expr: &Expr) {
        self.deeper(|printer| printer.expr_inner(expr));
    }

    fn expr_inner(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Column(name) => self.column_name(name),
            Expr::Placeholder(_) => self.put("?"),
            Expr::UserVariable(name) => self.user_variable(name),
            Expr::Assign { variable, value } => self.assignment(variable, value),
            Expr::SystemVariable(variable) => {
                self.put("@@");
                self.system_variable(variable);
            }
            Expr::Unary { op, operand } => self.unary(*op, operand),
            Expr::Deep(expr) => self.expr_inner(expr),
            Expr::Chain { first, rest } => self.chain(first, rest),
            Expr::Binary { op, left, right } => self.binary(left, binary_op(*op), right),
            Expr::And(operands) => self.operands(operands, " and "),
            Expr::Or(operands) => self.operands(operands, " or "),
            Expr::Is { operand, test, negated } => self.is(operand, test, *negated),
            Expr::Between { operand, low, high, negated } => self.between(operand, low, high, *negated),
            Expr::InList { operand, list, negated } => self.is_in(operand, *negated, |printer| printer.exprs(list)),
            Expr::InLiterals { operand, list, negated } => {
                self.is_in(operand, *negated, |printer| printer.packed_literals(list));
            }
            Expr::InSubquery { operand, query, negated } => {
                self.is_in(operand, *negated, |printer| printer.query(query));
            }
            Expr::Like { operand, pattern, escape, negated } => {
                self.like(operand, pattern, escape.as_deref(), *negated)
            }
            Expr::Regexp { operand, pattern, negated } => {
                self.binary(operand, if *negated { " not regexp " } else { " regexp " }, pattern);
            }
            Expr::MemberOf { value, array } => self.member_of(value, array),
            Expr::Quantified { op, quantifier, left, query } => self.quantified(*op, quantifier, left, query),
            Expr::Exists(query) => self.enclosed("exists(", |printer| printer.query(query)),
            Expr::Subquery(query) => self.enclosed("(", |printer| printer.query(query)),
            Expr::Row(values) => {
                self.put_if(values.len() < 2, "row");
                self.paren_list(values, Self::expr);
            }
            Expr::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref());
            }
            Expr::Cast(cast) => self.cast(cast),
            Expr::ConvertUsing { operand, charset } => self.convert_using(operand, charset),
            Expr::Collate { operand, collation } => self.collate(operand, collation),
            Expr::Interval { value, unit } => self.interval(value, *unit),
            Expr::Function(call) => self.function(call),
            Expr::Aggregate(call) => self.aggregate(call),
            Expr::Window(call) => self.window_call(call),
            Expr::Grouping(operands) => {
                self.put("grouping");
                self.paren_list(operands, Self::expr);
            }
            Expr::Extract { unit, operand } => self.extract(*unit, operand),
            Expr::Trim { side, remove, operand } => self.trim(side, remove.as_deref(), operand),
            Expr::TimestampAdd { unit, amount, operand } => self.timestamp("timestampadd(", *unit, amount, operand),
            Expr::TimestampDiff { unit, from, to } => self.timestamp("timestampdiff(", *unit, from, to),
            Expr::GetFormat { kind, format } => self.get_format(kind, format),
            Expr::Char { arguments, charset } => self.char(arguments, charset.as_deref()),
            Expr::WeightString { operand, conversion } => self.weight_string(operand, conversion.as_ref()),
            Expr::Match { columns, against, mode } => self.match_against(columns, against, mode),
            Expr::JsonArrow { operand, path, unquote } => {
                self.expr(operand);
                self.put(if *unquote { "->>" } else { "->" });
                self.sql_string(path);
            }
            Expr::JsonValue(value) => self.json_value(value),
            Expr::Default => self.put("default"),
            Expr::DefaultOf(column) => self.enclosed("default(", |printer| printer.column_name(column)),
            Expr::InsertValue(column) => self.enclosed("values(", |printer| printer.column_name(column)),
            Expr::Sequence { operation, sequence } => self.sequence(operation, sequence),
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.put("NULL"),
            Literal::Boolean(value) => self.put(if *value { "true" } else { "false" }),
            Literal::Integer(text) | Literal::Decimal(text) | Literal::Float(text) => self.put(text),
            Literal::String(literal) => self.string_literal(literal),
            Literal::Hex { introducer, value } => {
                self.introducer(introducer);
                self.put_if(introducer.is_some(), " ");
                // Some servers take only this form for a number; it cannot be empty.
                if value.as_bytes().is_empty() {
                    self.hex(value);
                } else {
                    self.put("0x");
                    self.hex_digits(value);
                }
            }
            Literal::Bit { introducer, value } => {
                self.introducer(introducer);
                self.put_if(introducer.is_some(), " ");
                self.put("b'");
                for byte in value.as_bytes() {
                    self.text.push_str(&format!("{byte:08b}"));
                }
                self.put("'");
            }
            Literal::Temporal { kind, text } => {
                self.put(match kind {
                    TemporalKind::Date => "DATE",
                    TemporalKind::Time => "TIME",
                    TemporalKind::Timestamp => "TIMESTAMP",
                });
                self.string(text);
            }
        }
    }

    fn introducer(&mut self, introducer: &Option<Box<str>>) {
        if let Some(charset) = introducer {
            self.put("_");
            self.put(charset);
        }
    }

    fn string_literal(&mut self, literal: &StringLiteral) {
        self.introducer(&literal.introducer);
        let first = literal.first_length as usize;
        match literal.value.as_str() {
            Some(text) if first < text.len() && text.is_char_boundary(first) => {
                self.string(&text[..first]);
                self.put(" ");
                self.string(&text[first..]);
            }
            Some(text) => self.string(text),
            None => {
                self.put_if(literal.introducer.is_some(), " ");
                self.hex(&literal.value);
            }
        }
    }

    /// `[scope.][prefix.]name`, behind `@@`.
    pub(super) fn system_variable(&mut self, variable: &SystemVariable) {
        if let Some(scope) = variable.scope {
            self.put(match scope {
                VariableScope::Global => "global.",
                VariableScope::Session => "session.",
                VariableScope::Persist => "persist.",
                VariableScope::PersistOnly => "persist_only.",
            });
        }
        if let Some(prefix) = &variable.prefix {
            self.ident(prefix);
            self.put(".");
        }
        self.ident(&variable.name);
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        let (before, after) = match op {
            UnaryOp::Not => ("(not ", ")"),
            UnaryOp::Binary => ("(binary ", ")"),
            UnaryOp::Minus => ("-", ""),
            UnaryOp::Plus => ("+", ""),
            UnaryOp::BitNot => ("~", ""),
        };
        self.put(before);
        // Two signs in a row could be read as a comment.
        let sign = matches!(operand.peeled(), Expr::Unary { op: UnaryOp::Minus | UnaryOp::Plus | UnaryOp::BitNot, .. });
        self.put_if(sign, "(");
        self.expr(operand);
        self.put_if(sign, ")");
        self.put(after);
    }

    fn timestamp(&mut self, name: &str, unit: IntervalUnit, first: &Expr, second: &Expr) {
        self.put(name);
        self.put(interval_unit(unit));
        self.put(",");
        self.expr(first);
        self.put(",");
        self.expr(second);
        self.put(")");
    }

    pub(super) fn json_response(&mut self, response: &Option<JsonResponse>, event: &str) {
        match response {
            None => return,
            Some(JsonResponse::Null) => self.put(" null"),
            Some(JsonResponse::Error) => self.put(" error"),
            Some(JsonResponse::Default(value)) => {
                self.put(" default ");
                self.expr(value);
            }
        }
        self.put(event);
    }

    fn function(&mut self, call: &FunctionCall) {
        if let Some(schema) = &call.schema {
            self.ident(schema);
            self.put(".");
            self.ident(&call.name);
        } else if is_plain_function(&call.name) {
            self.put(&call.name);
        } else {
            self.ident(&call.name);
        }
        self.put("(");
        self.put_if(call.distinct, "distinct ");
        for (index, argument) in call.arguments.iter().enumerate() {
            self.put_if(index > 0, ",");
            self.expr(argument);
            if let Some(Some(name)) = call.argument_names.get(index) {
                self.put(" as ");
                self.ident_or_string(name);
            }
        }
        self.put(")");
    }

    fn aggregate(&mut self, call: &AggregateCall) {
        self.put(call.function.name());
        self.put("(");
        self.put_if(call.distinct, "distinct ");
        if call.arguments.is_empty() {
            self.put("*");
        }
        self.exprs(&call.arguments);
        self.order_by(&call.order_by);
        if let Some(separator) = &call.separator {
            self.put(" separator ");
            self.sql_string(separator);
        }
        self.limit(&call.limit);
        self.put(")");
        if let Some(over) = &call.over {
            self.over(over);
        }
    }

    fn window_call(&mut self, call: &WindowCall) {
        self.put(call.function.name());
        self.paren_list(&call.arguments, Self::expr);
        self.put_if(call.from_last, " from last");
        self.put_if(call.ignore_nulls, " ignore nulls");
        self.over(&call.over);
    }

    fn over(&mut self, over: &WindowReference) {
        self.put(" over ");
        match over {
            WindowReference::Name(name) => self.ident(name),
            WindowReference::Specification(window) => self.window(window),
        }
    }
}

/// Whether a function's name stands without quotes: it does unless the word means something else before `(`.
fn is_plain_function(name: &str) -> bool {
    let mut bytes = name.bytes();
    if !bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        || name.as_bytes().first().is_none_or(u8::is_ascii_digit)
    {
        return false;
    }
    match K::find(name.as_bytes()) {
        K::If | K::Left | K::Right | K::Repeat | K::Replace | K::Insert | K::Mod | K::Database | K::Schema => true,
        K::CurrentDate
        | K::CurrentTime
        | K::CurrentTimestamp
        | K::CurrentUser
        | K::CurrentRole
        | K::Localtime
        | K::Localtimestamp
        | K::UtcDate
        | K::UtcTime
        | K::UtcTimestamp => true,
        // These are written again by the parser, always in capitals.
        K::Interval | K::Substring => name.bytes().all(|byte| byte.is_ascii_uppercase()),
        K::Cast
        | K::Value
        | K::Extract
        | K::Trim
        | K::Position
        | K::Substr
        | K::Mid
        | K::Timestampadd
        | K::Timestampdiff
        | K::GetFormat
        | K::WeightString
        | K::JsonValue
        | K::Nextval
        | K::Lastval
        | K::Setval
        | K::Any
        | K::Some
        | K::Rollup => false,
        keyword => !keyword.is_reserved() && AggregateFunction::of(name).is_none(),
    }
}

impl AggregateFunction {
    /// MySQL's name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            AggregateFunction::Count => "count",
            AggregateFunction::Sum => "sum",
            AggregateFunction::Avg => "avg",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
            AggregateFunction::BitAnd => "bit_and",
            AggregateFunction::BitOr => "bit_or",
            AggregateFunction::BitXor => "bit_xor",
            AggregateFunction::GroupConcat => "group_concat",
            AggregateFunction::JsonArrayAgg => "json_arrayagg",
            AggregateFunction::JsonObjectAgg => "json_objectagg",
            AggregateFunction::StddevPop => "stddev_pop",
            AggregateFunction::StddevSamp => "stddev_samp",
            AggregateFunction::VarPop => "var_pop",
            AggregateFunction::VarSamp => "var_samp",
            AggregateFunction::StCollect => "st_collect",
        }
    }

    /// The aggregate a name means, in any case.
    fn of(name: &str) -> Option<Self> {
        Some(match K::find(name.as_bytes()) {
            K::Count => Self::Count,
            K::Sum => Self::Sum,
            K::Avg => Self::Avg,
            K::Min => Self::Min,
            K::Max => Self::Max,
            K::BitAnd => Self::BitAnd,
            K::BitOr => Self::BitOr,
            K::BitXor => Self::BitXor,
            K::GroupConcat => Self::GroupConcat,
            K::JsonArrayagg => Self::JsonArrayAgg,
            K::JsonObjectagg => Self::JsonObjectAgg,
            K::Std | K::Stddev | K::StddevPop => Self::StddevPop,
            K::StddevSamp => Self::StddevSamp,
            K::Variance | K::VarPop => Self::VarPop,
            K::VarSamp => Self::VarSamp,
            K::StCollect => Self::StCollect,
            _ => return None,
        })
    }
}

impl WindowFunction {
    /// MySQL's name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            WindowFunction::RowNumber => "row_number",
            WindowFunction::Rank => "rank",
            WindowFunction::DenseRank => "dense_rank",
            WindowFunction::PercentRank => "percent_rank",
            WindowFunction::CumeDist => "cume_dist",
            WindowFunction::Ntile => "ntile",
            WindowFunction::Lead => "lead",
            WindowFunction::Lag => "lag",
            WindowFunction::FirstValue => "first_value",
            WindowFunction::LastValue => "last_value",
            WindowFunction::NthValue => "nth_value",
        }
    }
}

pub(super) fn binary_op(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => " + ",
        BinaryOp::Subtract => " - ",
        BinaryOp::Multiply => " * ",
        BinaryOp::Divide => " / ",
        BinaryOp::IntegerDivide => " DIV ",
        BinaryOp::Modulo => " % ",
        BinaryOp::BitAnd => " & ",
        BinaryOp::BitOr => " | ",
        BinaryOp::BitXor => " ^ ",
        BinaryOp::ShiftLeft => " << ",
        BinaryOp::ShiftRight => " >> ",
        BinaryOp::Equal => " = ",
        BinaryOp::NullSafeEqual => " <=> ",
        BinaryOp::NotEqual => " <> ",
        BinaryOp::Less => " < ",
        BinaryOp::LessOrEqual => " <= ",
        BinaryOp::Greater => " > ",
        BinaryOp::GreaterOrEqual => " >= ",
        BinaryOp::Xor => " xor ",
        BinaryOp::Concat => " || ",
        BinaryOp::SoundsLike => " sounds like ",
    }
}

pub(super) fn interval_unit(unit: IntervalUnit) -> &'static str {
    match unit {
        IntervalUnit::Microsecond => "microsecond",
        IntervalUnit::Second => "second",
        IntervalUnit::Minute => "minute",
        IntervalUnit::Hour => "hour",
        IntervalUnit::Day => "day",
        IntervalUnit::Week => "week",
        IntervalUnit::Month => "month",
        IntervalUnit::Quarter => "quarter",
        IntervalUnit::Year => "year",
        IntervalUnit::SecondMicrosecond => "second_microsecond",
        IntervalUnit::MinuteMicrosecond => "minute_microsecond",
        IntervalUnit::MinuteSecond => "minute_second",
        IntervalUnit::HourMicrosecond => "hour_microsecond",
        IntervalUnit::HourSecond => "hour_second",
        IntervalUnit::HourMinute => "hour_minute",
        IntervalUnit::DayMicrosecond => "day_microsecond",
        IntervalUnit::DaySecond => "day_second",
        IntervalUnit::DayMinute => "day_minute",
        IntervalUnit::DayHour => "day_hour",
        IntervalUnit::YearMonth => "year_month",
    }
}
