//! Writes trees as SQL.

use super::tree::{Expr, Operator, Query, QueryError};
use crate::quote::{self, Dialect};

/// Where the SQL will be run.
#[derive(Clone, Copy, Debug)]
pub struct SqlOptions<'a> {
    /// The table, as SQL names it: `` `database`.`name` ``.
    pub table: &'a str,
    /// What FROM may call it, beside its whole name.
    pub partition: &'a str,
    /// How texts are written.
    pub dialect: Dialect,
}

/// What the SQL gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// The rows.
    Rows,
    /// No row, but the columns.
    Columns,
    /// The rows in a file.
    File {
        /// Its path.
        path: &'a str,
        /// Which columns (from 0) are texts, in which `"` is doubled.
        texts: &'a [bool],
    },
    /// One value: the list of the one column's values with commas between, each as SQL writes it. Rows without a value are
    /// left out.
    List {
        /// Whether the values are texts.
        text: bool,
    },
}

/// Longest SQL text, bytes: some functions name their argument twice, and calls within calls add up.
const SQL_BYTES_MAX: usize = 4 << 20;

impl Query {
    /// The query in SQL.
    ///
    /// # Errors
    /// If FROM names another table, a name is not the table's, or the text gets too long.
    pub fn to_sql(&self, options: &SqlOptions<'_>, output: Output<'_>) -> Result<String, QueryError> {
        for name in &self.from {
            if name != options.partition {
                return Err(QueryError::Failed(format!("FROM names the unknown partition '{name}'")));
            }
        }
        let mut writer = Writer { query: self, options, out: String::from("SELECT ") };
        writer.select(output)?;
        Ok(writer.out)
    }

    /// The condition alone, in SQL.
    ///
    /// # Errors
    /// If there is more than a condition, and as for [`Query::to_sql`].
    pub fn condition_sql(&self, options: &SqlOptions<'_>) -> Result<String, QueryError> {
        let more = !self.items.is_empty() || !self.from.is_empty() || !self.order.is_empty() || self.limit.is_some();
        let Some(condition) = self.condition.as_ref().filter(|condition| !more && !condition.has_aggregate()) else {
            return Err(QueryError::Failed("a condition is wanted and nothing else".to_string()));
        };
        let mut writer = Writer { query: self, options, out: String::new() };
        writer.expr(condition)?;
        Ok(writer.out)
    }

    /// Whether [`Output::List`] can be asked for: the rows are those of the table in any order.
    pub fn is_plain(&self) -> bool {
        let one = self.items.len() == 1 && self.items.iter().all(|item| item.expr.is_some());
        one && !self.is_aggregated() && self.order.is_empty() && self.limit.is_none()
    }

    /// Whether rows are grouped.
    fn is_aggregated(&self) -> bool {
        self.exprs().any(Expr::has_aggregate) || self.order.iter().any(|(expr, _)| expr.has_aggregate())
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.items.iter().filter_map(|item| item.expr.as_ref())
    }
}

struct Writer<'a> {
    query: &'a Query,
    options: &'a SqlOptions<'a>,
    out: String,
}

impl<'a> Writer<'a> {
    fn select(&mut self, output: Output<'_>) -> Result<(), QueryError> {
        match output {
            Output::List { text } => self.list_item(text)?,
            _ => self.items(output)?,
        }
        self.push(" FROM ");
        self.push(self.options.table);
        if let Some(condition) = &self.query.condition {
            if condition.has_aggregate() {
                return Err(QueryError::Failed("an aggregate in WHERE".to_string()));
            }
            self.push(" WHERE ");
            self.expr(condition)?;
        }
        if !matches!(output, Output::List { .. }) {
            self.grouping()?;
            self.order()?;
        }
        match (output, self.query.limit) {
            (Output::Columns, _) => self.push(" LIMIT 0"),
            (_, Some((start, count))) => self.push(&format!(" LIMIT {start}, {count}")),
            (_, None) => {}
        }
        if let Output::File { path, .. } = output {
            self.push(" INTO OUTFILE ");
            self.options.dialect.push_text(path, &mut self.out);
            self.push(" CHARACTER SET utf8mb4 FIELDS TERMINATED BY ', ' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY ''");
        }
        Ok(())
    }

    fn items(&mut self, output: Output<'_>) -> Result<(), QueryError> {
        if self.query.items.is_empty() {
            return self.all_columns(output);
        }
        for (at, item) in self.query.items.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            let Some(expr) = &item.expr else {
                if self.query.items.len() > 1 {
                    return Err(QueryError::Failed("'*' beside other columns".to_string()));
                }
                return self.all_columns(output);
            };
            let doubled = matches!(output, Output::File { texts, .. } if texts.get(at) == Some(&true));
            self.push(if doubled { "REPLACE(" } else { "" });
            self.expr(expr)?;
            self.push(if doubled { ", '\"', '\"\"')" } else { "" });
            if let Some(name) = &item.name {
                self.push(" AS ");
                quote::push_name(name, &mut self.out);
            }
        }
        Ok(())
    }

    /// A file has its texts' quotes doubled, which needs the columns by name.
    fn all_columns(&mut self, output: Output<'_>) -> Result<(), QueryError> {
        if let Output::File { .. } = output {
            return Err(QueryError::Failed("'*' was not resolved".to_string()));
        }
        self.push("*");
        Ok(())
    }

    fn list_item(&mut self, text: bool) -> Result<(), QueryError> {
        let [item] = self.query.items.as_slice() else { return Err(not_one_column()) };
        let Some(expr) = &item.expr else { return Err(not_one_column()) };
        if !text {
            self.push("GROUP_CONCAT(");
            self.expr(expr)?;
            self.push(")");
            return Ok(());
        }
        // What QUOTE() gives is not read alike under every sql_mode.
        self.push("GROUP_CONCAT(CONCAT('''', REPLACE(");
        if self.options.dialect.no_backslash_escapes {
            self.expr(expr)?;
        } else {
            self.push("REPLACE(");
            self.expr(expr)?;
            self.push(r", '\\', '\\\\')");
        }
        self.push(", '''', ''''''), ''''))");
        Ok(())
    }

    /// Everything that is neither an aggregate nor a constant is what rows are grouped by, and ordered by unless another order is wanted.
    fn grouping(&mut self) -> Result<(), QueryError> {
        if !self.query.is_aggregated() {
            return Ok(());
        }
        let keys: Vec<&Expr> = self.query.exprs().filter(|expr| !expr.has_aggregate() && expr.has_column()).collect();
        for (clause, wanted) in [(" GROUP BY ", true), (" ORDER BY ", self.query.order.is_empty())] {
            for (at, key) in keys.iter().enumerate().filter(|_| wanted) {
                self.push(if at == 0 { clause } else { ", " });
                self.expr(key)?;
            }
        }
        Ok(())
    }

    fn order(&mut self) -> Result<(), QueryError> {
        for (at, (expr, descending)) in self.query.order.iter().enumerate() {
            self.push(if at == 0 { " ORDER BY " } else { ", " });
            let aliased = self.aliased(expr);
            self.expr(aliased.unwrap_or(expr))?;
            self.push(if *descending { " DESC" } else { "" });
        }
        Ok(())
    }

    /// What an alias of the select list stands for.
    fn aliased(&self, expr: &Expr) -> Option<&'a Expr> {
        let Expr::Column { partition: None, name } = expr else { return None };
        let named =
            |item: &&super::tree::Item| item.name.as_ref().is_some_and(|alias| alias.eq_ignore_ascii_case(name));
        self.query.items.iter().find(named).and_then(|item| item.expr.as_ref())
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// An expression, in brackets wherever it is not a single word.
    fn expr(&mut self, expr: &Expr) -> Result<(), QueryError> {
        if self.out.len() > SQL_BYTES_MAX {
            return Err(QueryError::Failed("the query is too long".to_string()));
        }
        match expr {
            Expr::Column { partition, name } => {
                if let Some(partition) = partition.as_ref().filter(|partition| *partition != self.options.partition) {
                    return Err(QueryError::Failed(format!("there is no partition '{partition}'")));
                }
                quote::push_name(name, &mut self.out);
            }
            Expr::Number(number) => self.push(number),
            Expr::Text(text) => self.options.dialect.push_text(text, &mut self.out),
            Expr::Null => self.push("NULL"),
            Expr::Binary { operator: Operator::Power, left, right } => {
                self.push("POW(");
                self.expr(left)?;
                self.push(", ");
                self.expr(right)?;
                self.push(")");
            }
            Expr::Binary { operator, left, right } => self.infix(left, symbol(*operator), right)?,
            Expr::Row { first, rest } => self.row(first, rest)?,
            Expr::Chain { first, rest } => self.chain(first, rest)?,
            Expr::Negate(operand) => {
                self.push("(- ");
                self.expr(operand)?;
                self.push(")");
            }
            Expr::Not(operand) => {
                self.push("(NOT ");
                self.expr(operand)?;
                self.push(")");
            }
            Expr::IsNull { operand, negated } => {
                self.push("(");
                self.expr(operand)?;
                self.push(if *negated { " IS NOT NULL)" } else { " IS NULL)" });
            }
            Expr::Between { operand, low, high, negated } => {
                self.push("(");
                self.expr(operand)?;
                self.push(if *negated { " NOT BETWEEN " } else { " BETWEEN " });
                self.expr(low)?;
                self.push(" AND ");
                self.expr(high)?;
                self.push(")");
            }
            Expr::In { operand, list, negated } => self.in_list(operand, list, *negated)?,
            Expr::Like { operand, pattern, negated } => {
                self.infix(operand, if *negated { "NOT LIKE" } else { "LIKE" }, pattern)?;
            }
            Expr::Call { function, arguments } => self.call(function.sql, arguments)?,
            Expr::Aggregate { aggregate, argument } => {
                let (before, behind) = aggregate.sql();
                self.push(before);
                match argument {
                    Some(argument) => self.expr(argument)?,
                    None => self.push("*"),
                }
                self.push(behind);
            }
        }
        Ok(())
    }

    fn row(&mut self, first: &Expr, rest: &[(Operator, Expr)]) -> Result<(), QueryError> {
        self.push("(");
        self.expr(first)?;
        for (operator, right) in rest {
            self.push(" ");
            self.push(symbol(*operator));
            self.push(" ");
            self.expr(right)?;
        }
        self.push(")");
        Ok(())
    }

    fn chain(&mut self, first: &Expr, rest: &[(Operator, Expr)]) -> Result<(), QueryError> {
        self.push("(");
        let mut left = first;
        for (at, (operator, right)) in rest.iter().enumerate() {
            self.push(if at > 0 { " AND " } else { "" });
            self.infix(left, symbol(*operator), right)?;
            left = right;
        }
        self.push(")");
        Ok(())
    }

    fn in_list(&mut self, operand: &Expr, list: &[Expr], negated: bool) -> Result<(), QueryError> {
        self.push("(");
        self.expr(operand)?;
        self.push(if negated { " NOT IN (" } else { " IN (" });
        for (at, expr) in list.iter().enumerate() {
            self.push(if at > 0 { ", " } else { "" });
            self.expr(expr)?;
        }
        self.push("))");
        Ok(())
    }

    fn infix(&mut self, left: &Expr, symbol: &str, right: &Expr) -> Result<(), QueryError> {
        self.push("(");
        self.expr(left)?;
        self.push(" ");
        self.push(symbol);
        self.push(" ");
        self.expr(right)?;
        self.push(")");
        Ok(())
    }

    /// A function's SQL with its arguments in the places of `$1` and `$2`.
    fn call(&mut self, sql: &str, arguments: &[Expr]) -> Result<(), QueryError> {
        for (at, part) in sql.split('$').enumerate() {
            if at == 0 {
                self.push(part);
                continue;
            }
            let argument = if part.starts_with('1') { arguments.first() } else { arguments.get(1) };
            match argument {
                Some(argument) => self.expr(argument)?,
                None => return Err(QueryError::Failed("an argument is missing".to_string())),
            }
            self.push(part.get(1..).unwrap_or_default());
        }
        Ok(())
    }
}

fn not_one_column() -> QueryError {
    QueryError::Failed("a list is made of one column".to_string())
}

fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Or => "OR",
        Operator::Xor => "XOR",
        Operator::And => "AND",
        Operator::Equal => "=",
        Operator::NotEqual => "<>",
        Operator::Less => "<",
        Operator::LessOrEqual => "<=",
        Operator::Greater => ">",
        Operator::GreaterOrEqual => ">=",
        Operator::BitOr => "|",
        Operator::BitAnd => "&",
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        // FastBit divides as floating-point numbers.
        Operator::Divide => "* 1e0 /",
        Operator::Remainder => "%",
        Operator::Power => "**",
    }
}
