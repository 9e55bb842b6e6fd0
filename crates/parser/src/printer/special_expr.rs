//! Predicates, and calls that are not written as a name and a list of arguments.

use super::expr::{binary_op, interval_unit};
use super::*;

impl Printer {
    /// `name` ends in an opening parenthesis.
    pub(super) fn enclosed(&mut self, name: &str, argument: impl FnOnce(&mut Self)) {
        self.put(name);
        argument(self);
        self.put(")");
    }

    pub(super) fn assignment(&mut self, variable: &str, value: &Expr) {
        self.put("(");
        self.user_variable(variable);
        self.put(":=");
        self.expr(value);
        self.put(")");
    }

    pub(super) fn chain(&mut self, first: &Expr, rest: &[(BinaryOp, Expr)]) {
        self.put("(");
        self.expr(first);
        for (op, operand) in rest {
            self.put(binary_op(*op));
            self.expr(operand);
        }
        self.put(")");
    }

    pub(super) fn binary(&mut self, left: &Expr, op: &str, right: &Expr) {
        self.put("(");
        self.expr(left);
        self.put(op);
        self.expr(right);
        self.put(")");
    }

    pub(super) fn operands(&mut self, operands: &[Expr], op: &str) {
        self.put("(");
        self.list(operands, op, Self::expr);
        self.put(")");
    }

    pub(super) fn is(&mut self, operand: &Expr, test: &IsTest, negated: bool) {
        self.put("(");
        self.expr(operand);
        self.put(if negated { " is not " } else { " is " });
        self.put(match test {
            IsTest::Null => "null)",
            IsTest::True => "true)",
            IsTest::False => "false)",
            IsTest::Unknown => "unknown)",
        });
    }

    pub(super) fn between(&mut self, operand: &Expr, low: &Expr, high: &Expr, negated: bool) {
        self.put("(");
        self.expr(operand);
        self.put(if negated { " not between " } else { " between " });
        self.expr(low);
        self.put(" and ");
        self.expr(high);
        self.put(")");
    }

    pub(super) fn is_in(&mut self, operand: &Expr, negated: bool, set: impl FnOnce(&mut Self)) {
        self.put("(");
        self.expr(operand);
        self.enclosed(if negated { " not in (" } else { " in (" }, set);
        self.put(")");
    }

    pub(super) fn packed_literals(&mut self, list: &PackedValues) {
        let mut reader = list.reader();
        let mut between = "";
        while let Some(PackedValue::Leaf(item)) = reader.next_value() {
            self.put(between);
            self.expr(&item);
            between = ",";
        }
    }

    pub(super) fn like(&mut self, operand: &Expr, pattern: &Expr, escape: Option<&Expr>, negated: bool) {
        self.put("(");
        self.expr(operand);
        self.put(if negated { " not like " } else { " like " });
        self.expr(pattern);
        if let Some(escape) = escape {
            self.put(" escape ");
            self.expr(escape);
        }
        self.put(")");
    }

    pub(super) fn member_of(&mut self, value: &Expr, array: &Expr) {
        self.put("(");
        self.expr(value);
        self.enclosed(" member of (", |printer| printer.expr(array));
        self.put(")");
    }

    pub(super) fn quantified(&mut self, op: BinaryOp, quantifier: &Quantifier, left: &Expr, query: &Query) {
        self.put("(");
        self.expr(left);
        self.put(binary_op(op));
        self.enclosed(if *quantifier == Quantifier::Any { "any (" } else { "all (" }, |printer| printer.query(query));
        self.put(")");
    }

    pub(super) fn case(&mut self, operand: Option<&Expr>, branches: &[CaseBranch], otherwise: Option<&Expr>) {
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

    pub(super) fn cast(&mut self, cast: &Cast) {
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

    pub(super) fn convert_using(&mut self, operand: &Expr, charset: &str) {
        self.put("convert(");
        self.expr(operand);
        self.put(" using ");
        self.name_or_string(charset);
        self.put(")");
    }

    pub(super) fn collate(&mut self, operand: &Expr, collation: &str) {
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

    pub(super) fn interval(&mut self, value: &Expr, unit: IntervalUnit) {
        self.put("interval ");
        // A list in parentheses would make it the function of that name.
        self.put_if(matches!(value, Expr::Row(values) if values.len() > 1), "row");
        self.expr(value);
        self.put(" ");
        self.put(interval_unit(unit));
    }

    pub(super) fn extract(&mut self, unit: IntervalUnit, operand: &Expr) {
        self.put("extract(");
        self.put(interval_unit(unit));
        self.put(" from ");
        self.expr(operand);
        self.put(")");
    }

    pub(super) fn trim(&mut self, side: &TrimSide, remove: Option<&Expr>, operand: &Expr) {
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

    pub(super) fn get_format(&mut self, kind: &GetFormatKind, format: &Expr) {
        let name = match kind {
            GetFormatKind::Date => "get_format(date,",
            GetFormatKind::Time => "get_format(time,",
            GetFormatKind::DateTime => "get_format(datetime,",
        };
        self.enclosed(name, |printer| printer.expr(format));
    }

    pub(super) fn char(&mut self, arguments: &[Expr], charset: Option<&str>) {
        self.put("char(");
        self.exprs(arguments);
        if let Some(charset) = charset {
            self.put(" using ");
            self.name_or_string(charset);
        }
        self.put(")");
    }

    pub(super) fn weight_string(&mut self, operand: &Expr, conversion: Option<&WeightStringType>) {
        self.put("weight_string(");
        self.expr(operand);
        if let Some(conversion) = conversion {
            let (word, length) = match conversion {
                WeightStringType::Char(length) => (" as char(", length),
                WeightStringType::Binary(length) => (" as binary(", length),
            };
            self.enclosed(word, |printer| printer.number(length));
        }
        self.put(")");
    }

    pub(super) fn match_against(&mut self, columns: &[ColumnName], against: &Expr, mode: &MatchMode) {
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

    pub(super) fn json_value(&mut self, value: &JsonValue) {
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

    pub(super) fn sequence(&mut self, operation: &SequenceOperation, sequence: &ObjectName) {
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
