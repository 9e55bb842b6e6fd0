//! Filters of rows as JSON: `{"age": {"$gt": 5}, "$or": [{"name": "a"}, {"name": null}]}`.
//!
//! The members of an object all have to hold. A member is a column with a value or an object of operators, or one of `$and` and `$or` (with
//! a list of filters) and `$not` (with a filter). The operators of columns are `$eq $ne $lt $lte $gt $gte $in $like $null $not`. A column
//! whose name begins with `$` is written with another `$` before it.
//!
//! Conditions are those of SQL: a comparison with NULL does not hold, and neither does its `$not`. Values become parameters, never text.

use crate::json::Json;
use crate::values::compared_value;
use squall_types::{SqlType, Value};
use std::fmt::{self, Display, Formatter};

/// Longest filter, bytes.
pub const BYTES_MAX: usize = 32 << 10;
/// Most levels of objects and lists.
pub const DEPTH_MAX: usize = 16;
/// Most conditions.
pub const CONDITIONS_MAX: usize = 256;
/// Most values of a `$in`.
pub const LIST_MAX: usize = 1000;

/// A column that filters may name.
#[derive(Clone, Copy, Debug)]
pub struct FilterColumn<'c> {
    /// Its name, compared without letter case.
    pub name: &'c str,
    /// Its type.
    pub sql_type: &'c SqlType,
}

/// A condition of SQL.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Its text; names are quoted.
    pub sql: String,
    /// A value for each `?`.
    pub values: Vec<Value>,
}

/// Why a text is no filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Where: the names of members from the outside, such as `$or[1].age.$gt`; empty for the whole.
    pub place: String,
    /// What is wrong.
    pub what: String,
}

impl Display for FilterError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            return formatter.write_str(&self.what);
        }
        write!(formatter, "at {}: {}", self.place, self.what)
    }
}

impl std::error::Error for FilterError {}

/// A name as SQL has it.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The condition that a filter is.
///
/// # Errors
/// For a text that is no filter of these columns, with its place; for one that is too long, too deep, or has too many conditions or values.
pub fn condition(text: &str, columns: &[FilterColumn<'_>]) -> Result<Condition, FilterError> {
    let filter = Json::parse(text, BYTES_MAX).map_err(|what| FilterError { place: String::new(), what })?;
    let condition = Condition { sql: String::new(), values: Vec::new() };
    let mut writer = Writer { columns, condition, place: Vec::new(), conditions: 0 };
    writer.filter(&filter)?;
    Ok(writer.condition)
}

/// The operators that compare a column with one value.
const COMPARISONS: [(&str, &str); 6] =
    [("$eq", "="), ("$ne", "<>"), ("$lt", "<"), ("$lte", "<="), ("$gt", ">"), ("$gte", ">=")];

struct Writer<'c> {
    columns: &'c [FilterColumn<'c>],
    condition: Condition,
    place: Vec<String>,
    conditions: usize,
}

type Written = Result<(), FilterError>;

impl Writer<'_> {
    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, FilterError> {
        Err(FilterError { place: self.place.join("."), what: what.into() })
    }

    fn push(&mut self, sql: &str) {
        self.condition.sql.push_str(sql);
    }

    /// Writes what is inside of a member.
    fn within(&mut self, name: &str, write: impl FnOnce(&mut Self) -> Written) -> Written {
        if self.place.len() >= DEPTH_MAX {
            return self.wrong(format!("there are more than {DEPTH_MAX} levels"));
        }
        self.place.push(name.to_owned());
        write(self)?;
        self.place.pop();
        Ok(())
    }

    fn count(&mut self) -> Written {
        self.conditions += 1;
        match self.conditions > CONDITIONS_MAX {
            true => self.wrong(format!("there are more than {CONDITIONS_MAX} conditions")),
            false => Ok(()),
        }
    }

    fn filter(&mut self, filter: &Json) -> Written {
        let Json::Object(members) = filter else { return self.wrong("an object is needed") };
        if members.is_empty() {
            self.count()?;
            self.push("TRUE");
        }
        for (at, (name, value)) in members.iter().enumerate() {
            self.push(if at == 0 { "(" } else { " AND (" });
            self.within(name, |writer| match name.as_str() {
                "$and" => writer.all(value, " AND ", "TRUE"),
                "$or" => writer.all(value, " OR ", "FALSE"),
                "$not" => {
                    writer.push("NOT (");
                    writer.filter(value)?;
                    writer.push(")");
                    Ok(())
                }
                _ => writer.column(name, value),
            })?;
            self.push(")");
        }
        Ok(())
    }

    /// A list of filters.
    fn all(&mut self, filters: &Json, between: &str, of_none: &str) -> Written {
        let Json::List(filters) = filters else { return self.wrong("an array of objects is needed") };
        if filters.is_empty() {
            self.count()?;
            self.push(of_none);
        }
        let list = self.place.pop().unwrap_or_default();
        for (at, filter) in filters.iter().enumerate() {
            self.push(if at == 0 { "(" } else { between });
            self.push(if at == 0 { "" } else { "(" });
            self.within(&format!("{list}[{at}]"), |writer| writer.filter(filter))?;
            self.push(")");
        }
        self.place.push(list);
        Ok(())
    }

    fn column(&mut self, name: &str, value: &Json) -> Written {
        let own = match name.strip_prefix('$') {
            Some(rest) if rest.starts_with('$') => rest,
            Some(_) => return self.wrong("there is no such operator here"),
            None => name,
        };
        let known = |column: &&FilterColumn<'_>| column.name.to_lowercase() == own.to_lowercase();
        let Some(column) = self.columns.iter().find(known).copied() else {
            return self.wrong("there is no such column");
        };
        match value {
            // JSON has objects of its own, which are given by $eq.
            Json::Object(operators) => self.operators(column, operators),
            value => self.compare(column, "=", value),
        }
    }

    fn operators(&mut self, column: FilterColumn<'_>, operators: &[(String, Json)]) -> Written {
        if operators.is_empty() {
            return self.wrong("an operator is needed");
        }
        for (at, (operator, value)) in operators.iter().enumerate() {
            self.push(if at == 0 { "" } else { " AND " });
            self.within(operator, |writer| {
                if let Some((_, sign)) = COMPARISONS.iter().find(|(name, _)| name == operator) {
                    return writer.compare(column, sign, value);
                }
                match (operator.as_str(), value) {
                    ("$in", Json::List(values)) => writer.list(column, values),
                    ("$in", _) => writer.wrong("an array of values is needed"),
                    ("$like", Json::Text(pattern)) => {
                        writer.count()?;
                        writer.push(&format!("{} LIKE ?", quoted(column.name)));
                        writer.condition.values.push(Value::from(pattern.as_str()));
                        Ok(())
                    }
                    ("$like", _) => writer.wrong("a string is needed"),
                    ("$null", Json::Bool(is_null)) => writer.null(column, *is_null),
                    ("$null", _) => writer.wrong("true or false is needed"),
                    ("$not", Json::Object(operators)) => {
                        writer.push("NOT (");
                        writer.operators(column, operators)?;
                        writer.push(")");
                        Ok(())
                    }
                    ("$not", _) => writer.wrong("an object of operators is needed"),
                    _ => writer.wrong("there is no such operator here"),
                }
            })?;
        }
        Ok(())
    }

    fn null(&mut self, column: FilterColumn<'_>, is_null: bool) -> Written {
        self.count()?;
        self.push(&format!("{} IS {}NULL", quoted(column.name), if is_null { "" } else { "NOT " }));
        Ok(())
    }

    fn compare(&mut self, column: FilterColumn<'_>, sign: &str, value: &Json) -> Written {
        match (sign, value) {
            ("=", Json::Null) => return self.null(column, true),
            ("<>", Json::Null) => return self.null(column, false),
            (_, Json::Null) => return self.wrong("nothing is less or greater than null"),
            _ => {}
        }
        self.count()?;
        self.push(&format!("{} {sign} ", quoted(column.name)));
        self.value(column, value)
    }

    fn list(&mut self, column: FilterColumn<'_>, values: &[Json]) -> Written {
        if values.len() > LIST_MAX {
            return self.wrong(format!("there are more than {LIST_MAX} values"));
        }
        self.count()?;
        if values.is_empty() {
            self.push("FALSE");
            return Ok(());
        }
        self.push(&format!("{} IN (", quoted(column.name)));
        for (at, value) in values.iter().enumerate() {
            if *value == Json::Null {
                return self.wrong("null is in no list: $null asks for it");
            }
            self.push(if at == 0 { "" } else { ", " });
            self.value(column, value)?;
        }
        self.push(")");
        Ok(())
    }

    fn value(&mut self, column: FilterColumn<'_>, value: &Json) -> Written {
        match compared_value(column.sql_type, value) {
            Ok(value) => {
                self.push(if *column.sql_type == SqlType::Json { "CAST(? AS JSON)" } else { "?" });
                self.condition.values.push(value);
                Ok(())
            }
            Err(refused) => self.wrong(refused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use squall_types::CollationId;

    fn with_columns<T>(ask: impl FnOnce(&[FilterColumn<'_>]) -> T) -> T {
        let text = SqlType::longtext(CollationId::UTF8MB4_BIN);
        let blob = SqlType::longtext(CollationId::BINARY);
        let columns = [
            ("id", &SqlType::BIGINT),
            ("name", &text),
            ("a`b", &blob),
            ("$x", &SqlType::DOUBLE),
            ("doc", &SqlType::Json),
        ];
        let columns = columns.map(|(name, sql_type)| FilterColumn { name, sql_type });
        ask(&columns)
    }

    fn of(text: &str) -> Result<Condition, FilterError> {
        with_columns(|columns| condition(text, columns))
    }

    fn sql(text: &str) -> (String, usize) {
        let condition = of(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        (condition.sql, condition.values.len())
    }

    #[test]
    fn filters_are_conditions_with_values() {
        for (text, expected, values) in [
            ("{}", "TRUE", 0),
            (r#"{"id":5}"#, "(`id` = ?)", 1),
            (r#"{"ID":{"$gt":5,"$lte":"9"}}"#, "(`id` > ? AND `id` <= ?)", 2),
            (r#"{"name":null,"id":{"$ne":null}}"#, "(`name` IS NULL) AND (`id` IS NOT NULL)", 0),
            (r#"{"a`b":"AP8="}"#, "(`a``b` = ?)", 1),
            (r#"{"$$x":1e3}"#, "(`$x` = ?)", 1),
            (r#"{"doc":{"$eq":{"a":1}}}"#, "(`doc` = CAST(? AS JSON))", 1),
            (r#"{"$or":[{"id":1},{"name":{"$like":"a%"}}]}"#, "(((`id` = ?)) OR ((`name` LIKE ?)))", 2),
            (r#"{"$or":[],"$and":[]}"#, "(FALSE) AND (TRUE)", 0),
            (r#"{"id":{"$in":[1,"2"]}}"#, "(`id` IN (?, ?))", 2),
            (r#"{"id":{"$in":[]}}"#, "(FALSE)", 0),
            (r#"{"$not":{"id":{"$not":{"$null":true}}}}"#, "(NOT ((NOT (`id` IS NULL))))", 0),
        ] {
            assert_eq!(sql(text), (expected.to_owned(), values), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let deep = format!("{}{{}}{}", "{\"$not\":".repeat(20), "}".repeat(20));
        let many = format!("{{\"$or\":[{}{{}}]}}", "{\"id\":1},".repeat(CONDITIONS_MAX));
        let list = format!("{{\"id\":{{\"$in\":[{}1]}}}}", "1,".repeat(LIST_MAX));
        let long = format!("{{\"name\":\"{}\"}}", "x".repeat(BYTES_MAX));
        let deepest = ["$not"; DEPTH_MAX].join(".");
        for (text, place, what) in [
            ("[]", "", "an object is needed"),
            ("{\"id\":1", "", "EOF while parsing"),
            (r#"{"id":1,"id":2}"#, "", "comes twice"),
            (r#"{"other":1}"#, "other", "no such column"),
            (r#"{"$gt":1}"#, "$gt", "no such operator"),
            (r#"{"id":{"gt":1}}"#, "id.gt", "no such operator"),
            (r#"{"id":{}}"#, "id", "an operator is needed"),
            (r#"{"id":[1]}"#, "id", "a number is needed"),
            (r#"{"name":5}"#, "name", "a string is needed"),
            (r#"{"$or":[{"id":1},{"id":{"$gt":"x"}}]}"#, "$or[1].id.$gt", "a number is needed"),
            (r#"{"$or":{}}"#, "$or", "an array of objects"),
            (r#"{"id":{"$lt":null}}"#, "id.$lt", "null"),
            (r#"{"id":{"$in":[1,null]}}"#, "id.$in", "null"),
            (r#"{"id":{"$null":1}}"#, "id.$null", "true or false"),
            (deep.as_str(), deepest.as_str(), "levels"),
            (many.as_str(), "", "conditions"),
            (list.as_str(), "id.$in", "values"),
            (long.as_str(), "", "bytes"),
        ] {
            let error = of(text).expect_err(text);
            assert!(error.what.contains(what), "{text}: {error}");
            assert!(place.is_empty() || error.place == place, "{text}: {error}");
        }
    }

    proptest! {
        /// Whatever a client sends: an error, or a condition with as many `?` outside of names as values.
        #[test]
        fn any_text_is_a_condition_or_an_error(
            parts in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"id\"", "\"name\"", "\"a`b\"", "\"$$x\"", "\"$or\"", "\"$not\"",
                "\"$in\"", "\"$gt\"", "\"$null\"", "1", "-1.5", "null", "true", "\"?\"", "\"'; --\"",
            ]), 0..40)
        ) {
            if let Ok(condition) = of(&parts.concat()) {
                prop_assert_eq!(condition.sql.matches('?').count(), condition.values.len());
                prop_assert!(!condition.sql.contains('\'') && !condition.sql.contains(';'));
            }
        }
    }
}
