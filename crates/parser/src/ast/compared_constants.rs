//! Finds the constants that the conditions of a query compare with something: what a plan may take as parameters.

use super::{BinaryOp, Expr, Literal, NameMut, Query, UnaryOp, with_stack};

impl Query {
    /// Calls `found` with each literal (a number with a minus included) and each `?` that WHERE, HAVING or a join's ON compares with
    /// something else, in the query and its subqueries, as far as no column is named by them. Two queries that differ in their literals
    /// alone have them in the same order.
    pub fn for_each_compared_constant_mut(&mut self, found: &mut dyn FnMut(&mut Expr)) {
        self.for_each_name_mut(&mut |name| {
            if let NameMut::Condition(condition) = name {
                compared_constants(condition, found);
            }
        });
    }
}

/// Looks through AND, OR and NOT alone: what other operators make of a comparison is a value.
fn compared_constants(condition: &mut Expr, found: &mut dyn FnMut(&mut Expr)) {
    match condition {
        Expr::Deep(condition) => with_stack(|| compared_constants(condition, found)),
        Expr::And(parts) | Expr::Or(parts) => parts.iter_mut().for_each(|part| compared_constants(part, found)),
        Expr::Unary { op: UnaryOp::Not, operand } => compared_constants(operand, found),
        Expr::Binary { op, left, right } if compares(*op) => match (is_constant(left), is_constant(right)) {
            (false, true) => found(right),
            (true, false) => found(left),
            _ => {}
        },
        Expr::Between { operand, low, high, .. } if !is_constant(operand) => {
            [low, high].into_iter().filter(|bound| is_constant(bound)).for_each(|bound| found(bound));
        }
        Expr::InList { operand, list, .. } if !is_constant(operand) && list.iter().all(is_constant) => {
            list.iter_mut().for_each(found);
        }
        _ => {}
    }
}

fn compares(op: BinaryOp) -> bool {
    use BinaryOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual, NullSafeEqual};
    matches!(op, Equal | NullSafeEqual | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual)
}

fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) | Expr::Placeholder(_) => true,
        Expr::Unary { op: UnaryOp::Minus, operand } => {
            matches!(**operand, Expr::Literal(Literal::Integer(_)) | Expr::Placeholder(_))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::{Expr, Statement};
    use crate::{ParseOptions, parse};

    fn found(sql: &str) -> Vec<String> {
        let mut statement = parse(sql, &ParseOptions::default()).expect("a statement").statement;
        let Statement::Query(query) = &mut statement else { panic!("a query") };
        let mut found = Vec::new();
        query.for_each_compared_constant_mut(&mut |constant| found.push(constant.to_string()));
        found
    }

    #[test]
    fn constants_of_conditions_are_found() {
        let sql = "SELECT 1, a = 2 FROM t JOIN u ON t.a = u.a AND u.b > 3
                   WHERE (4 < c OR NOT d BETWEEN -5 AND 6) AND e IN (7, 'x') AND 8 = 9 AND f + 10 > 11
                     AND g LIKE 'y' AND EXISTS (SELECT 12 FROM v WHERE h <=> 13)
                   GROUP BY 14 HAVING COUNT(*) > 15 ORDER BY 16 LIMIT 17";
        assert_eq!(found(sql), ["3", "4", "-5", "6", "7", "'x'", "11", "13", "15"].map(str::to_owned));
    }

    #[test]
    fn other_literals_are_found_at_the_same_places() {
        let sql = |values: [&str; 4]| {
            let [a, b, c, d] = values;
            format!(
                "WITH q AS (SELECT a FROM t WHERE a = {a}) SELECT * FROM q
                 WHERE a IN (SELECT b FROM u WHERE c > {b} AND d = -{c}) OR a = {d}"
            )
        };
        assert_eq!(found(&sql(["1", "2", "3", "'4'"])).len(), 4);
        assert_eq!(found(&sql(["?", "?", "?", "?"])).len(), 4);
    }

    #[test]
    fn texts_that_name_columns_are_left_out() {
        let sql = "SELECT (SELECT a FROM t WHERE b = 1), (SELECT a FROM t WHERE b = 2) AS c FROM (SELECT d FROM u WHERE e = 3) q";
        assert_eq!(found(sql), ["2", "3"].map(str::to_owned));
    }

    #[test]
    fn what_is_found_can_be_changed() {
        let mut statement =
            parse("SELECT a FROM t WHERE a = 1", &ParseOptions::default()).expect("a statement").statement;
        let Statement::Query(query) = &mut statement else { panic!("a query") };
        query.for_each_compared_constant_mut(&mut |constant| *constant = Expr::Placeholder(0));
        assert_eq!(query.to_string().matches('?').count(), 1);
    }
}
