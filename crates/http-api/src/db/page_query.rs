//! The parameters of `GET /1.0/db/{schema}/{table}`, and the statements that they mean.

use super::path::{decoded, decoded_list, encoded_list};
use super::resource::{Resource, unknown_column};
use crate::problem::Problem;
use crate::query::{find, find_raw};
use squall_row_json::filter::{Condition, FilterColumn, condition};
use squall_types::Value;

/// Names of the parameters.
pub(super) const PARAMETERS: [&str; 8] = ["limit", "offset", "after", "fields", "order", "where", "total", "numbers"];

const LIMIT_DEFAULT: u64 = 25;
const LIMIT_MAX: u64 = 10_000;

/// A page of a table's rows.
#[derive(Debug)]
pub(super) struct PageQuery {
    /// Most rows, from 1 to 10,000.
    pub limit: u64,
    /// Rows before the page, if it is not told by a key.
    pub offset: u64,
    /// The key of the row before the page, as it is written.
    after: Option<Vec<String>>,
    /// Ordinals of the columns that the rows have.
    pub fields: Vec<usize>,
    /// Ordinals of columns, and whether greater values come first.
    order: Vec<(usize, bool)>,
    condition: Option<Condition>,
    /// Whether all rows that the filter lets through are counted.
    pub total: bool,
    /// The rows are in the order of their keys: the next page begins behind the last row.
    pub is_by_key: bool,
}

/// A statement with its values.
#[derive(Debug)]
pub(super) struct Statement {
    pub sql: String,
    pub values: Vec<Value>,
}

impl PageQuery {
    /// Reads the query of a URL, whose parameters have been checked.
    ///
    /// # Errors
    /// 400.
    pub fn parse(query: &str, resource: &Resource) -> Result<PageQuery, Problem> {
        let wrong = |detail: &str| Err(Problem::bad_request(detail));
        let limit = match number(query, "limit")?.unwrap_or(LIMIT_DEFAULT) {
            limit @ 1..=LIMIT_MAX => limit,
            _ => return wrong("limit is a number from 1 to 10000"),
        };
        let offset = number(query, "offset")?;
        let total = match find(query, "total").as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return wrong("total is true or false"),
        };
        let fields = match find_raw(query, "fields") {
            None => resource.shown(),
            Some(names) => columns(names, resource)?,
        };
        let given = find_raw(query, "order").map(|order| order_of(order, resource)).transpose()?;
        let (order, is_key_order) = full_order(given, resource);
        let is_by_key = is_key_order && resource.has_ordered_key();
        let after = find_raw(query, "after").map(|text| decoded_list(&text.replace('+', " "))).transpose()?;
        let after = after.map(|parts| key_of(parts, resource));
        if after.is_some() && offset.is_some() {
            return wrong("a page begins at an offset or after a key, not both");
        }
        if after.is_some() && !is_by_key {
            return wrong("after is for tables with a primary key, in the order of that key");
        }
        let condition = find(query, "where").map(|filter| filter_of(&filter, resource)).transpose()?;
        let offset = offset.unwrap_or(0);
        Ok(PageQuery { limit, offset, after, fields, order, condition, total, is_by_key })
    }

    /// The query of the page and of one row more; with the columns of `also` behind those of the page.
    ///
    /// # Errors
    /// 400 for a key that no row can have.
    pub fn statement(&self, resource: &Resource, also: &[usize]) -> Result<Statement, Problem> {
        let columns: Vec<usize> = self.fields.iter().chain(also).copied().collect();
        let mut sql = format!("SELECT {} FROM {}", resource.sql_columns(&columns), resource.sql_name());
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        if let Some(condition) = &self.condition {
            conditions.push(format!("({})", condition.sql));
            values.extend(condition.values.iter().cloned());
        }
        if let Some(after) = &self.after {
            let key = resource.key_values(after);
            let key = key.map_err(|problem| Problem::bad_request(format!("after: {}", problem.detail)))?;
            conditions.push(format!("({})", self.behind(resource, &key, &mut values)));
        }
        if !conditions.is_empty() {
            sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        if !self.order.is_empty() {
            let order = self.order.iter().map(|(at, is_descending)| {
                format!("{}{}", resource.sql_column(*at), if *is_descending { " DESC" } else { "" })
            });
            sql.push_str(&format!(" ORDER BY {}", order.collect::<Vec<_>>().join(", ")));
        }
        sql.push_str(" LIMIT ?");
        values.push(Value::UInt(self.limit + 1));
        if self.offset > 0 {
            sql.push_str(" OFFSET ?");
            values.push(Value::UInt(self.offset));
        }
        Ok(Statement { sql, values })
    }

    /// The condition that a row comes behind the one with a key: of several columns the first one that differs decides.
    fn behind(&self, resource: &Resource, key: &[Value], values: &mut Vec<Value>) -> String {
        let is_descending = self.order.first().is_some_and(|(_, is_descending)| *is_descending);
        let sign = if is_descending { '<' } else { '>' };
        let names: Vec<String> = resource.key().iter().map(|at| resource.sql_column(*at)).collect();
        let mut parts = Vec::new();
        // It bounds the range that is read.
        let mut bound = String::new();
        if let ([first, _, ..], [value, ..]) = (&names[..], key) {
            bound = format!("{first} {sign}= ? AND ");
            values.push(value.clone());
        }
        for (at, name) in names.iter().enumerate() {
            let mut part: String = names[..at].iter().map(|name| format!("{name} = ? AND ")).collect();
            part.push_str(&format!("{name} {sign} ?"));
            values.extend(key[..=at].iter().cloned());
            parts.push(format!("({part})"));
        }
        format!("{bound}({})", parts.join(" OR "))
    }

    /// The query that counts all rows that the filter lets through.
    pub fn counting(&self, resource: &Resource) -> Statement {
        let mut sql = format!("SELECT COUNT(*) FROM {}", resource.sql_name());
        if let Some(condition) = &self.condition {
            sql.push_str(&format!(" WHERE {}", condition.sql));
        }
        Statement { sql, values: self.condition.iter().flat_map(|condition| condition.values.clone()).collect() }
    }
}

/// A URL with other values for some parameters; `None` leaves one out.
pub(super) fn with_parameters(path: &str, query: &str, changed: &[(&str, Option<String>)]) -> String {
    let name_of = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
    let kept = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !changed.iter().any(|(name, _)| *name == name_of(pair)))
        .map(str::to_owned);
    let given = changed.iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_ref()?)));
    let pairs: Vec<String> = kept.chain(given).collect();
    match pairs.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", pairs.join("&")),
    }
}

/// The parameter `after` for a key.
pub(super) fn after(key: &[String]) -> String {
    encoded_list(key.iter().map(String::as_str))
}

fn number(query: &str, name: &str) -> Result<Option<u64>, Problem> {
    let parse = |text: String| {
        let number = text.parse::<u64>().ok().filter(|number| i64::try_from(*number).is_ok());
        number.ok_or_else(|| Problem::bad_request(format!("{name} is not a number from 0 on")))
    };
    find(query, name).map(parse).transpose()
}

/// The parts of a list of names. Many clients encode its commas, too: a single part that names no column is such a list.
fn names_of(text: &str, is_known: impl Fn(&str) -> bool) -> Result<Vec<String>, Problem> {
    let names = decoded_list(&text.replace('+', " "))?;
    match &names[..] {
        [whole] if whole.contains(',') && !is_known(whole) => Ok(whole.split(',').map(str::to_owned).collect()),
        _ => Ok(names),
    }
}

/// The parts of a key; of one whose commas are encoded, too, if it would have too few parts otherwise.
pub(super) fn key_of(texts: Vec<String>, resource: &Resource) -> Vec<String> {
    match &texts[..] {
        [whole] if whole.split(',').count() == resource.key().len() => whole.split(',').map(str::to_owned).collect(),
        _ => texts,
    }
}

fn columns(names: &str, resource: &Resource) -> Result<Vec<usize>, Problem> {
    let mut columns = Vec::new();
    for name in names_of(names, |name| resource.column(name).is_some())? {
        let at = resource.column(&name).ok_or_else(|| unknown_column(&name))?;
        if columns.contains(&at) {
            return Err(Problem::bad_request(format!("fields has the column {name} twice")));
        }
        columns.push(at);
    }
    Ok(columns)
}

/// A name, and whether a sign before it says that greater values come first.
fn signed(part: &str) -> (&str, bool) {
    part.strip_prefix('-').map_or((part, false), |name| (name, true))
}

/// The parts of an order, which is a list like those of [`names_of`]: a name may begin with a sign that is encoded.
fn order_parts(order: &str, resource: &Resource) -> Result<Vec<(String, bool)>, Problem> {
    let text = order.replace('+', " ");
    let part = |part| {
        let (name, is_descending) = signed(part);
        Ok((decoded(name)?, is_descending))
    };
    let parts = text.split(',').map(part).collect::<Result<Vec<_>, Problem>>()?;
    let [(whole, is_descending)] = &parts[..] else { return Ok(parts) };
    if !whole.contains(',') || resource.column(whole).is_some() {
        return Ok(parts);
    }
    let mut list: Vec<(String, bool)> =
        whole.split(',').map(signed).map(|(name, is_descending)| (name.to_owned(), is_descending)).collect();
    if let Some(first) = list.first_mut() {
        first.1 |= is_descending;
    }
    Ok(list)
}

/// Columns with a sign before those whose greater values come first.
fn order_of(order: &str, resource: &Resource) -> Result<Vec<(usize, bool)>, Problem> {
    let mut columns = Vec::new();
    for (name, is_descending) in order_parts(order, resource)? {
        let at = resource.column(&name).ok_or_else(|| unknown_column(&name))?;
        if columns.iter().any(|(known, _)| *known == at) {
            return Err(Problem::bad_request(format!("order has the column {name} twice")));
        }
        columns.push((at, is_descending));
    }
    Ok(columns)
}

/// The order with the key behind it, so that it is the same for each page, and whether it is the key's.
fn full_order(given: Option<Vec<(usize, bool)>>, resource: &Resource) -> (Vec<(usize, bool)>, bool) {
    let mut order = given.unwrap_or_default();
    if !resource.has_readable_key() {
        return (order, false);
    }
    let is_descending = order.first().is_some_and(|(_, is_descending)| *is_descending);
    let is_key = |order: &[(usize, bool)]| {
        order.iter().zip(resource.key()).all(|((at, down), key)| at == key && *down == is_descending)
    };
    let follows_key = order.len() <= resource.key().len() && is_key(&order);
    for at in resource.key() {
        if !order.iter().any(|(known, _)| known == at) {
            order.push((*at, is_descending && follows_key));
        }
    }
    (order, follows_key)
}

/// The condition that a filter is.
///
/// # Errors
/// 400.
pub(super) fn filter_of(filter: &str, resource: &Resource) -> Result<Condition, Problem> {
    let columns: Vec<FilterColumn<'_>> = resource
        .columns()
        .iter()
        .map(|column| FilterColumn { name: &column.name, sql_type: &column.sql_type })
        .collect();
    condition(filter, &columns).map_err(|error| Problem::bad_request(format!("where: {error}")))
}
