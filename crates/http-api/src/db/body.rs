//! Rows on their way in: an object, or an array of them, whose members are values of columns. Arguments of a routine are such an object, too.

use crate::json_text::JsonText;
use crate::problem::Problem;
use hyper::StatusCode;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use squall_row_json::numbers::NUMBER;
use squall_row_json::values::stored_value;
use squall_types::{SqlType, Value};
use std::collections::HashMap;
use std::fmt::{self, Formatter};

/// Most rows of a request.
const ROWS_MAX: usize = 10_000;
/// Most values of a request.
const VALUES_MAX: usize = 1 << 20;

/// What the members of an object may be.
pub(super) trait Fields {
    /// Name and type of each column or parameter.
    fn fields(&self) -> impl Iterator<Item = (&str, &SqlType)>;
    /// What is said of another name.
    fn unknown(&self, name: &str) -> Problem;
}

/// A member of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    /// Ordinal of its column or parameter.
    pub column: usize,
    pub value: Value,
    /// Whether it is an object, which may be merged into another.
    pub is_object: bool,
}

/// The members of a row, each column at most once.
pub(super) type Row = Vec<Member>;

/// The rows of a body.
#[derive(Debug)]
pub(super) enum Rows {
    One(Row),
    List(Vec<Row>),
}

/// Reads an object.
///
/// # Errors
/// As of [`read`].
pub(super) fn read_row(body: &[u8], fields: &impl Fields) -> Result<Row, Problem> {
    match read(body, fields)? {
        Rows::One(row) => Ok(row),
        Rows::List(_) => Err(Problem::bad_request("the body is not a JSON object")),
    }
}

/// Reads an object, or an array of objects.
///
/// # Errors
/// 400 for what is no JSON, no object, or names a column twice or one that there is not (1054); 413 for too many rows or values; 422 for values that no
/// column of that type can have.
pub(super) fn read(body: &[u8], fields: &impl Fields) -> Result<Rows, Problem> {
    let known: Vec<(&str, &SqlType)> = fields.fields().collect();
    let names = known.iter().enumerate().map(|(at, (name, _))| (name.to_lowercase(), at)).collect();
    let (types, named_in) = (known.iter().map(|(_, sql_type)| *sql_type).collect(), vec![usize::MAX; known.len()]);
    let unknown = &|name: &str| fields.unknown(name);
    let mut reading = Reading { names, types, named_in, unknown, rows: 0, values: 0, is_list: false, problem: None };
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = RowsSeed(&mut reading).deserialize(&mut json).and_then(|rows| json.end().map(|()| rows));
    read.map_err(|error| {
        let broken = || Problem::bad_request(format!("the body is not a JSON object or array of objects: {error}"));
        reading.problem.take().unwrap_or_else(broken)
    })
}

struct Reading<'r> {
    /// Ordinals of columns by their names in lower case.
    names: HashMap<String, usize>,
    types: Vec<&'r SqlType>,
    /// The last row that named a column.
    named_in: Vec<usize>,
    unknown: &'r dyn Fn(&str) -> Problem,
    /// Rows and values that were read.
    rows: usize,
    values: usize,
    is_list: bool,
    /// What is wrong, if it is not the JSON.
    problem: Option<Problem>,
}

impl Reading<'_> {
    fn refuse<E: Error>(&mut self, problem: Problem) -> E {
        self.problem = Some(problem);
        E::custom("refused")
    }

    /// Where a member is.
    fn place(&self, name: &str) -> String {
        match self.is_list {
            true => format!("[{}].{name}", self.rows),
            false => name.to_owned(),
        }
    }

    fn member<E: Error>(&mut self, name: &str, json: &str) -> Result<Member, E> {
        let Some(column) = self.names.get(&name.to_lowercase()).copied() else {
            let problem = (self.unknown)(name);
            return Err(self.refuse(problem));
        };
        if std::mem::replace(&mut self.named_in[column], self.rows) == self.rows {
            let detail = format!("at {}: it comes twice", self.place(name));
            return Err(self.refuse(Problem::bad_request(detail)));
        }
        self.values += 1;
        if self.values > VALUES_MAX {
            let detail = format!("the body has more than {VALUES_MAX} values");
            return Err(self.refuse(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)));
        }
        let sql_type = self.types[column];
        match stored_value(sql_type, json) {
            Ok(value) => Ok(Member { column, value, is_object: *sql_type == SqlType::Json && json.starts_with('{') }),
            Err(refused) => {
                let detail = format!("at {}: {refused}", self.place(name));
                Err(self.refuse(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)))
            }
        }
    }
}

/// Reads an object or an array of objects.
struct RowsSeed<'a, 'r>(&'a mut Reading<'r>);

impl<'de> DeserializeSeed<'de> for RowsSeed<'_, '_> {
    type Value = Rows;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Rows, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RowsSeed<'_, '_> {
    type Value = Rows;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or an array of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Rows, A::Error> {
        RowSeed(self.0).visit_map(members).map(Rows::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Rows, A::Error> {
        let RowsSeed(reading) = self;
        reading.is_list = true;
        let mut rows = Vec::new();
        while let Some(row) = items.next_element_seed(RowSeed(reading))? {
            reading.rows += 1;
            if reading.rows > ROWS_MAX {
                let detail = format!("the body has more than {ROWS_MAX} rows");
                return Err(reading.refuse(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)));
            }
            rows.push(row);
        }
        Ok(Rows::List(rows))
    }
}

/// Reads an object.
struct RowSeed<'a, 'r>(&'a mut Reading<'r>);

impl<'de> DeserializeSeed<'de> for RowSeed<'_, '_> {
    type Value = Row;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Row, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_, '_> {
    type Value = Row;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Row, A::Error> {
        let RowSeed(reading) = self;
        let (mut row, mut json) = (Row::new(), Vec::new());
        while let Some(name) = members.next_key::<String>()? {
            if name == NUMBER {
                return Err(A::Error::custom("a number"));
            }
            json.clear();
            members.next_value_seed(JsonText(&mut json))?;
            let json = std::str::from_utf8(&json).map_err(A::Error::custom)?;
            let member = reading.member(&name, json)?;
            row.push(member);
        }
        Ok(row)
    }
}
