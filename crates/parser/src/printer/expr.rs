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
            Expr::Assign { variable, value } => {
                self.put("(");
                self.user_variable(variable);
                self.put(":=");
                self.expr(value);
                self.put(")");
            }
            Expr::SystemVariable(variable) => {
                self.put("@@");
                self.system_variable(variable);
            }
            Expr::Unary { op, operand } => self.unary(*op, operand),
            Expr::Deep(expr) => self.expr_inner(expr),
            Expr::Chain { first, rest } => {
                self.put("(");
                self.expr(first);
                for (op, operand) in rest {
                    self.put(binary_op(*op));
                    self.expr(operand);
                }
                self.put(")");
            }
            Expr::Binary { op, left, right } => {
                self.put("(");
                self.expr(left);
                self.put(binary_op(*op));
                self.expr(right);
                self.put(")");
            }
            Expr::And(operands) => {
                self.put("(");
                self.list(operands, " and ", Self::expr);
                self.put(")");
            }
            Expr::Or(operands) => {
                self.put("(");
                self.list(operands, " or ", Self::expr);
                self.put(")");
            }
            Expr::Is { operand, test, negated } => {
                self.put("(");
                self.expr(operand);
                self.put(if *negated { " is not " } else { " is " });
                self.put(match test {
                    IsTest::Null => "null)",
                    IsTest::True => "true)",
                    IsTest::False => "false)",
                    IsTest::Unknown => "unknown)",
                });
            }
            Expr::Between { operand, low, high, negated } => {
                self.put("(");
                self.expr(operand);
                self.put(if *negated { " not between " } else { " between " });
                self.expr(low);
                self.put(" and ");
                self.expr(high);
                self.put(")");
            }
            Expr::InList { operand, list, negated } => {
                self.put("(");
                self.expr(operand);
                self.put(if *negated { " not in (" } else { " in (" });
                self.exprs(list);
                self.put("))");
            }
            Expr::InLiterals { operand, list, negated } => {
                self.put("(");
                self.expr(operand);
                self.put(if *negated { " not in (" } else { " in (" });
                let mut reader = list.reader();
                let mut between = "";
                while let Some(PackedValue::Leaf(item)) = reader.next_value() {
                    self.put(between);
                    self.expr(&item);
                    between = ",";
                }
                self.put("))");
            }
            Expr::InSubquery { operand, query, negated } => {
                self.put("(");
                self.expr(operand);
                self.put(if *negated { " not in (" } else { " in (" });
                self.query(query);
                self.put("))");
            }
            Expr::Like { operand, pattern, escape, negated } => {
                self.put("(");
                self.expr(operand);
                self.put(if *negated { " not like " } else { " like " });
                self.expr(pattern);
                if let Some(escape) = escape {
                    self.put(" escape ");
                    self.expr(escape);
                }
                self.put(")");
            }
            Expr::Regexp { operand, pattern, negated } => {
                self.put("(");
                self.expr(operand);
                self.put(if *negated { " not regexp " } else { " regexp " });
                self.expr(pattern);
                self.put(")");
            }
            Expr::MemberOf { value, array } => {
                self.put("(");
                self.expr(value);
                self.put(" member of (");
                self.expr(array);
                self.put("))");
            }
            Expr::Quantified { op, quantifier, left, query } => {
                self.put("(");
                self.expr(left);
                self.put(binary_op(*op));
                self.put(if *quantifier == Quantifier::Any { "any (" } else { "all (" });
                self.query(query);
                self.put("))");
            }
            Expr::Exists(query) => {
                self.put("exists(");
                self.query(query);
                self.put(")");
            }
            Expr::Subquery(query) => {
                self.put("(");
                self.query(query);
                self.put(")");
            }
            Expr::Row(values) => {
                self.put_if(values.len() < 2, "row");
                self.paren_list(values, Self::expr);
            }
            Expr::Case { operand, branches, otherwise } => {
                self.put("(case");
                if let Some(operand) = operand {
                    self.put(" ");
                    self.expr(operand);
                }
                for branch in branches {
                    self.put(" when ");
                    self.expr(&branch.when);
                    self.put(" then ");
                    self.expr(&branch.then);
                }
                if let Some(otherwise) = otherwise {
                    self.put(" else ");
                    self.expr(otherwise);
                }
                self.put(" end)");
            }
            Expr::Cast(cast) => {
                self.put("cast(");
                self.expr(&cast.operand);
                if let Some(zone) = &cast.time_zone {
                    self.put(" at time zone ");
                    self.string(zone);
                }
                self.put(" as ");
                self.cast_type(&cast.target);
                self.put(if cast.array { " array)" } else { ")" });
            }
            Expr::ConvertUsing { operand, charset } => {
                self.put("convert(");
                self.expr(operand);
                self.put(" using ");
                self.name_or_string(charset);
                self.put(")");
            }
            Expr::Collate { operand, collation } => {
                self.put("(");
                // COLLATE binds more tightly than a sign.
                let sign = matches!(operand.peeled(), Expr::Unary { .. });
                self.put_if(sign, "(");
                self.expr(operand);
                self.put_if(sign, ")");
                self.put(" collate ");
                self.name_or_string(collation);
                self.put(")");
            }
            Expr::Interval { value, unit } => {
                self.put("interval ");
                // A list in parentheses would make it the function of that name.
                self.put_if(matches!(&**value, Expr::Row(values) if values.len() > 1), "row");
                self.expr(value);
                self.put(" ");
                self.put(interval_unit(*unit));
            }
            Expr::Function(call) => self.function(call),
            Expr::Aggregate(call) => self.aggregate(call),
            Expr::Window(call) => self.window_call(call),
            Expr::Grouping(operands) => {
                self.put("grouping");
                self.paren_list(operands, Self::expr);
            }
            Expr::Extract { unit, operand } => {
                self.put("extract(");
                self.put(interval_unit(*unit));
                self.put(" from ");
                self.expr(operand);
                self.put(")");
            }
            Expr::Trim { side, remove, operand } => {
                self.put(match (side, remove) {
                    (TrimSide::Both, None) => "trim(",
                    (TrimSide::Both, Some(_)) => "trim(both ",
                    (TrimSide::Leading, _) => "trim(leading ",
                    (TrimSide::Trailing, _) => "trim(trailing ",
                });
                if let Some(remove) = remove {
                    self.expr(remove);
                    self.put(" ");
                }
                self.put_if(*side != TrimSide::Both || remove.is_some(), "from ");
                self.expr(operand);
                self.put(")");
            }
            Expr::TimestampAdd { unit, amount, operand } => self.timestamp("timestampadd(", *unit, amount, operand),
            Expr::TimestampDiff { unit, from, to } => self.timestamp("timestampdiff(", *unit, from, to),
            Expr::GetFormat { kind, format } => {
                self.put(match kind {
                    GetFormatKind::Date => "get_format(date,",
                    GetFormatKind::Time => "get_format(time,",
                    GetFormatKind::DateTime => "get_format(datetime,",
                });
                self.expr(format);
                self.put(")");
            }
            Expr::Char { arguments, charset } => {
                self.put("char(");
                self.exprs(arguments);
                if let Some(charset) = charset {
                    self.put(" using ");
                    self.name_or_string(charset);
                }
                self.put(")");
            }
            Expr::WeightString { operand, conversion } => {
                self.put("weight_string(");
                self.expr(operand);
                if let Some(conversion) = conversion {
                    let (word, length) = match conversion {
                        WeightStringType::Char(length) => (" as char(", length),
                        WeightStringType::Binary(length) => (" as binary(", length),
                    };
                    self.put(word);
                    self.number(length);
                    self.put(")");
                }
                self.put(")");
            }
            Expr::Match { columns, against, mode } => {
                self.put("match ");
                self.paren_list(columns, Self::column_name);
                self.put(" against (");
                self.expr(against);
                self.put(match mode {
                    MatchMode::NaturalLanguage => ")",
                    MatchMode::NaturalLanguageWithQueryExpansion => " in natural language mode with query expansion)",
                    MatchMode::Boolean => " in boolean mode)",
                    MatchMode::QueryExpansion => " with query expansion)",
                });
            }
            Expr::JsonArrow { operand, path, unquote } => {
                self.expr(operand);
                self.put(if *unquote { "->>" } else { "->" });
                self.sql_string(path);
            }
            Expr::JsonValue(value) => {
                self.put("json_value(");
                self.expr(&value.document);
                self.put(",");
                self.expr(&value.path);
                if let Some(returning) = &value.returning {
                    self.put(" returning ");
                    self.cast_type(returning);
                }
                self.json_response(&value.on_empty, " on empty");
                self.json_response(&value.on_error, " on error");
                self.put(")");
            }
            Expr::Default => self.put("default"),
            Expr::DefaultOf(column) => {
                self.put("default(");
                self.column_name(column);
                self.put(")");
            }
            Expr::InsertValue(column) => {
                self.put("values(");
                self.column_name(column);
                self.put(")");
            }
            Expr::Sequence { operation, sequence } => {
                self.put(match operation {
                    SequenceOperation::Next => "nextval(",
                    SequenceOperation::Previous => "lastval(",
                    SequenceOperation::Set(_) => "setval(",
                });
                self.object_name(sequence);
                if let SequenceOperation::Set(values) = operation {
                    self.put(",");
                    self.exprs(values);
                }
                self.put(")");
            }
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
        // These are written anew by the parser, always in capitals.
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
