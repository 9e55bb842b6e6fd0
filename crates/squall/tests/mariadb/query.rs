//! Queries as trees, so that they can be made smaller.

use std::fmt::Write as _;

/// Which tables a query is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engines {
    /// MariaDB's.
    Peer,
    /// Row tables alone.
    Rows,
    /// Column tables alone.
    Columns,
    /// Row tables, column tables and row tables with a copy of columns, by each table's alias and this number.
    Mixed(u64),
}

impl Engines {
    /// What a table is called.
    fn table(self, table: &str, alias: &str) -> String {
        let engine = match self {
            Engines::Peer => return table.to_owned(),
            Engines::Rows => "r",
            Engines::Columns => "c",
            Engines::Mixed(number) => {
                let sum = alias.bytes().fold(number, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
                ["r", "c", "p"][(sum >> 3) as usize % 3]
            }
        };
        format!("{table}_{engine}")
    }
}

/// How values of an item are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Byte by byte.
    Exact,
    /// As floating point: sums depend on the order of rows, and digits on the server.
    Number,
    /// As texts of a group: which of the texts that are equal in the collation stands for it is not promised.
    Folded,
}

/// Something selected.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its text.
    pub sql: String,
    /// How its values are compared.
    pub compare: Compare,
}

/// How a table comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// The first one.
    First,
    /// JOIN.
    Inner,
    /// LEFT JOIN.
    Left,
}

/// A table of a query.
#[derive(Clone, Debug)]
pub struct Source {
    /// The table's name on MariaDB, or a query in brackets.
    pub table: &'static str,
    /// What it is called here, which nothing else in the statement is.
    pub alias: String,
    /// How it comes in.
    pub kind: JoinKind,
    /// ON; nothing for the first one.
    pub on: Option<Condition>,
}

/// A condition.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A test without parts.
    Test(String),
    /// AND.
    And(Box<Condition>, Box<Condition>),
    /// OR.
    Or(Box<Condition>, Box<Condition>),
    /// NOT.
    Not(Box<Condition>),
    /// A test with a subquery: what is before it, and the query.
    Subquery(String, Box<Query>),
}

impl Condition {
    fn write(&self, engines: Engines, out: &mut String) {
        match self {
            Condition::Test(sql) => out.push_str(sql),
            Condition::And(left, right) => Condition::write_two(left, "AND", right, engines, out),
            Condition::Or(left, right) => Condition::write_two(left, "OR", right, engines, out),
            Condition::Not(inner) => {
                out.push_str("NOT (");
                inner.write(engines, out);
                out.push(')');
            }
            Condition::Subquery(before, query) => {
                let _ = write!(out, "{before} ({})", query.sql(engines));
            }
        }
    }

    fn write_two(left: &Condition, operator: &str, right: &Condition, engines: Engines, out: &mut String) {
        out.push('(');
        left.write(engines, out);
        let _ = write!(out, " {operator} ");
        right.write(engines, out);
        out.push(')');
    }

    /// Its text.
    pub fn sql(&self, engines: Engines) -> String {
        let mut out = String::new();
        self.write(engines, &mut out);
        out
    }

    fn mentions(&self, alias: &str) -> bool {
        mentions(&self.sql(Engines::Peer), alias)
    }

    /// Smaller ones, the smallest first.
    fn smaller(&self) -> Vec<Condition> {
        match self {
            Condition::Test(_) => Vec::new(),
            Condition::And(left, right) | Condition::Or(left, right) => {
                let mut found = vec![(**left).clone(), (**right).clone()];
                let again = |left: Condition, right: Condition| match self {
                    Condition::And(..) => Condition::And(Box::new(left), Box::new(right)),
                    _ => Condition::Or(Box::new(left), Box::new(right)),
                };
                found.extend(left.smaller().into_iter().map(|left| again(left, (**right).clone())));
                found.extend(right.smaller().into_iter().map(|right| again((**left).clone(), right)));
                found
            }
            Condition::Not(inner) => {
                let mut found = vec![(**inner).clone()];
                found.extend(inner.smaller().into_iter().map(|inner| Condition::Not(Box::new(inner))));
                found
            }
            Condition::Subquery(before, query) => {
                let smaller = query.smaller().into_iter().filter(|smaller| smaller.items.len() == query.items.len());
                smaller.map(|query| Condition::Subquery(before.clone(), Box::new(query))).collect()
            }
        }
    }
}

/// What stands around a query that is a derived table `z` with columns `c0`, `c1` …, names that the planner might take for its own.
#[derive(Clone, Debug)]
pub enum Around {
    /// `SELECT z.* FROM (…) z WHERE condition`.
    Where(String),
    /// `SELECT z.* FROM k y JOIN (…) z ON condition`, or LEFT JOIN.
    Join(JoinKind, String),
}

/// A query. Its answer does not depend on the order in which rows are met.
#[derive(Clone, Debug)]
pub struct Query {
    /// DISTINCT.
    pub distinct: bool,
    /// What is selected, at least one.
    pub items: Vec<Item>,
    /// The tables.
    pub sources: Vec<Source>,
    /// WHERE.
    pub filter: Option<Condition>,
    /// GROUP BY.
    pub groups: Vec<String>,
    /// HAVING.
    pub having: Option<Condition>,
    /// ORDER BY, which leaves no two rows in either order.
    pub order: Vec<String>,
    /// LIMIT and OFFSET, only with an order.
    pub limit: Option<(u64, u64)>,
    /// A set operation with a query that has as many items, and no order.
    pub set: Option<(&'static str, Box<Query>)>,
    /// What it is a derived table of.
    pub around: Option<Around>,
}

impl Query {
    /// A query of one table and nothing else.
    pub fn of(table: &'static str, alias: String) -> Query {
        Query {
            distinct: false,
            items: Vec::new(),
            sources: vec![Source { table, alias, kind: JoinKind::First, on: None }],
            filter: None,
            groups: Vec::new(),
            having: None,
            order: Vec::new(),
            limit: None,
            set: None,
            around: None,
        }
    }

    /// Its text.
    pub fn sql(&self, engines: Engines) -> String {
        let inner = self.inner_sql(engines);
        match &self.around {
            None => inner,
            Some(Around::Where(condition)) => format!("SELECT z.* FROM ({inner}) z WHERE {condition}"),
            Some(Around::Join(kind, condition)) => {
                let join = if *kind == JoinKind::Left { "LEFT JOIN" } else { "JOIN" };
                format!("SELECT z.* FROM {} y {join} ({inner}) z ON {condition}", engines.table("k", "y"))
            }
        }
    }

    fn inner_sql(&self, engines: Engines) -> String {
        let named = |(at, item): (usize, &Item)| match self.around {
            Some(_) => format!("{} AS c{at}", item.sql),
            None => item.sql.clone(),
        };
        let items: Vec<String> = self.items.iter().enumerate().map(named).collect();
        let mut out = format!("SELECT {}{}", if self.distinct { "DISTINCT " } else { "" }, items.join(", "));
        for source in &self.sources {
            out.push_str(match source.kind {
                JoinKind::First => " FROM ",
                JoinKind::Inner => " JOIN ",
                JoinKind::Left => " LEFT JOIN ",
            });
            let table = match source.table.starts_with('(') {
                true => source.table.to_owned(),
                false => engines.table(source.table, &source.alias).to_string(),
            };
            let _ = write!(out, "{table} {}", source.alias);
            if let Some(on) = &source.on {
                let _ = write!(out, " ON {}", on.sql(engines));
            }
        }
        if let Some(filter) = &self.filter {
            let _ = write!(out, " WHERE {}", filter.sql(engines));
        }
        if !self.groups.is_empty() {
            let _ = write!(out, " GROUP BY {}", self.groups.join(", "));
        }
        if let Some(having) = &self.having {
            let _ = write!(out, " HAVING {}", having.sql(engines));
        }
        if let Some((operation, other)) = &self.set {
            let _ = write!(out, " {operation} {}", other.sql(engines));
        }
        if !self.order.is_empty() {
            let _ = write!(out, " ORDER BY {}", self.order.join(", "));
        }
        if let Some((limit, offset)) = self.limit {
            let _ = write!(out, " LIMIT {limit}");
            if offset > 0 {
                let _ = write!(out, " OFFSET {offset}");
            }
        }
        out
    }

    /// Queries with one thing less, in the order in which they should be tried.
    pub fn smaller(&self) -> Vec<Query> {
        let mut found = Vec::new();
        let mut with = |change: &dyn Fn(&mut Query)| {
            let mut query = self.clone();
            change(&mut query);
            found.push(query);
        };
        if self.set.is_some() {
            with(&|query| query.set = None);
        }
        if self.around.is_some() {
            with(&|query| query.around = None);
        }
        if self.filter.is_some() {
            with(&|query| query.filter = None);
        }
        if self.having.is_some() {
            with(&|query| query.having = None);
        }
        if self.distinct {
            with(&|query| query.distinct = false);
        }
        if self.limit.is_some() {
            with(&|query| query.limit = None);
        }
        if self.limit.is_none() && !self.order.is_empty() {
            with(&|query| query.order.clear());
        }
        found.extend(self.without_items());
        if let Some((operation, other)) = &self.set {
            let others = other.smaller().into_iter().filter(|other| other.items.len() == self.items.len());
            found.extend(others.map(|other| Query { set: Some((operation, Box::new(other))), ..self.clone() }));
        }
        // As many items as the other side of a set operation has, and as what is around names.
        found.retain(|query| {
            let same_count = query.set.as_ref().is_none_or(|(_, other)| other.items.len() == query.items.len());
            same_count && (query.around.is_none() || query.items.len() == self.items.len())
        });
        found.extend(self.with_smaller_conditions());
        found
    }

    /// Queries without one of the tables, groups or items.
    fn without_items(&self) -> Vec<Query> {
        let mut found = Vec::new();
        for at in (1..self.sources.len()).rev() {
            let mut query = self.clone();
            query.sources.remove(at);
            if query.without(&self.sources[at].alias) {
                found.push(query);
            }
        }
        for at in 0..self.groups.len() {
            let mut query = self.clone();
            let group = query.groups.remove(at);
            query.items.retain(|item| item.sql != group);
            query.order.retain(|order| *order != group);
            // HAVING and ORDER BY may be of nothing but groups.
            if !query.items.is_empty() && !query.groups.is_empty() {
                found.push(query);
            }
        }
        // What is around a query names its items, and ends with the last.
        if self.items.len() > 1 && self.around.is_none() {
            for at in 0..self.items.len() {
                let mut query = self.clone();
                query.items.remove(at);
                if let Some((_, other)) = &mut query.set {
                    other.items.remove(at);
                }
                // An order by positions goes with them.
                if query.distinct && !query.order.is_empty() {
                    query.order.pop();
                }
                found.push(query);
            }
        }
        found
    }

    /// Queries with one condition or join that is simpler.
    fn with_smaller_conditions(&self) -> Vec<Query> {
        let mut found = Vec::new();
        let filters = self.filter.iter().flat_map(Condition::smaller);
        found.extend(filters.map(|filter| Query { filter: Some(filter), ..self.clone() }));
        let havings = self.having.iter().flat_map(Condition::smaller);
        found.extend(havings.map(|having| Query { having: Some(having), ..self.clone() }));
        for (at, source) in self.sources.iter().enumerate() {
            for on in source.on.iter().flat_map(Condition::smaller) {
                let mut query = self.clone();
                query.sources[at].on = Some(on);
                found.push(query);
            }
            if source.kind == JoinKind::Left {
                let mut query = self.clone();
                query.sources[at].kind = JoinKind::Inner;
                found.push(query);
            }
        }
        found
    }

    /// Takes out what a table that is gone was needed for; `false` if that is more than items and orders.
    fn without(&mut self, alias: &str) -> bool {
        self.items.retain(|item| !mentions(&item.sql, alias));
        self.order.retain(|order| !mentions(order, alias));
        let grouped = self.groups.len();
        self.groups.retain(|group| !mentions(group, alias));
        let needed = self.filter.iter().chain(&self.having).chain(self.sources.iter().filter_map(|s| s.on.as_ref()));
        let needed = needed.into_iter().any(|condition| condition.mentions(alias));
        !needed && !self.items.is_empty() && (grouped == 0 || !self.groups.is_empty()) && !self.distinct
    }
}

/// Whether a text has a column of a table.
fn mentions(sql: &str, alias: &str) -> bool {
    sql.contains(&format!("{alias}."))
}
