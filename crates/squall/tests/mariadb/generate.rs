//! Random queries. Comments name the parts that are left out because the two servers are known to differ there.

use crate::data::{Column, Kind, columns_of, literal, pick};
use crate::query::{Around, Compare, Condition, Item, JoinKind, Query, Source};
use squall_test_support::random::Random;

/// A column of a query's table.
#[derive(Clone)]
struct Field {
    sql: String,
    kind: Kind,
    name: &'static str,
}

/// Makes one query.
pub fn query(random: &mut Random) -> Query {
    let mut maker = Maker { random, aliases: 0, negated: false };
    maker.query()
}

/// A condition on the columns of a table that has no alias: for UPDATE and DELETE.
pub fn change_condition(random: &mut Random, table: &'static str) -> Condition {
    let mut maker = Maker { random, aliases: 0, negated: false };
    let fields = fields(table, "");
    maker.condition(&fields, 2, false)
}

/// The columns of a table; the first one is its key.
fn fields(table: &'static str, alias: &str) -> Vec<Field> {
    let sql = |name: &str| if alias.is_empty() { name.to_owned() } else { format!("{alias}.{name}") };
    let field = |(name, _, kind): &Column| Field { sql: sql(name), kind: *kind, name };
    let id = Field { sql: sql("id"), kind: Kind::Small, name: "id" };
    std::iter::once(id).chain(columns_of(table).iter().map(field)).collect()
}

struct Maker<'r> {
    random: &'r mut Random,
    /// Aliases of subqueries given so far.
    aliases: usize,
    /// Whether what is made stands under a NOT.
    negated: bool,
}

impl Maker<'_> {
    fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        pick(self.random, of)
    }

    fn field<'a>(&mut self, fields: &'a [Field]) -> &'a Field {
        &fields[self.below(fields.len() as u64) as usize]
    }

    /// A field for which something holds; there must be one.
    fn field_that<'a>(&mut self, fields: &'a [Field], holds: impl Fn(&Field) -> bool) -> &'a Field {
        let found: Vec<&Field> = fields.iter().filter(|field| holds(field)).collect();
        found[self.below(found.len() as u64) as usize]
    }

    fn query(&mut self) -> Query {
        let (sources, fields, fanned) = self.sources();
        let filter = match self.below(8) {
            0 => None,
            1..=4 => {
                // Of conditions alone too many leave nothing.
                let some = Condition::Test(format!("{} % 2 = {}", fields[0].sql, self.below(2)));
                Some(Condition::Or(Box::new(self.condition(&fields, 3, true)), Box::new(some)))
            }
            _ => Some(self.condition(&fields, 3, true)),
        };
        let query = Query { sources, filter, ..Query::of("f", String::new()) };
        let query = match self.below(12) {
            0..=3 => self.aggregated(query, &fields),
            4..=7 => self.grouped(query, &fields),
            8 | 9 => self.distinct(query, &fields),
            10 if !fanned => self.windows(query, &fields),
            _ => return self.plain(query, &fields, fanned),
        };
        self.composed(query, &fields)
    }

    /// Perhaps a constant among the items, another query beside it, and one around it.
    fn composed(&mut self, mut query: Query, fields: &[Field]) -> Query {
        let free = query.order.is_empty() && query.limit.is_none();
        if free && self.one_in(4) {
            let sql = self.pick(&["1", "'x'", "NULL", "1.50", "1 + 1"]).to_owned();
            let at = self.below(query.items.len() as u64 + 1) as usize;
            query.items.insert(at, Item { sql, compare: Compare::Exact });
        }
        // Whether two sums of DOUBLE are the same may depend on the order of rows.
        let exact = query.items.iter().all(|item| item.compare != Compare::Number);
        if free && exact && self.one_in(5) {
            let mut other = query.clone();
            other.filter = Some(self.condition(fields, 2, false));
            if query.groups.is_empty() {
                other.having = self.one_in(4).then(|| Condition::Test(self.constant()));
            }
            let operation = self.pick(&["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"]);
            // Which of the texts that are equal stays is not promised.
            query.items.iter_mut().for_each(|item| item.compare = Compare::Folded);
            query.set = Some((operation, Box::new(other)));
        }
        if self.one_in(4) {
            let constant = self.constant();
            let condition = match self.below(3) {
                0 => format!("c0 IS NOT NULL AND {constant}"),
                1 => format!("{constant} OR c0 IS NULL"),
                _ => constant,
            };
            query.around = Some(match self.below(4) {
                0 if free => Around::Join(JoinKind::Left, condition),
                1 if free => Around::Join(JoinKind::Inner, condition),
                _ => Around::Where(condition),
            });
        }
        query
    }

    /// A condition that names no column, mostly a true one.
    fn constant(&mut self) -> String {
        let constants: &[&str] = match self.below(6) {
            0 => &["1 = 0", "NULL", "0", "1 IS NULL"],
            _ => &["1 = 1", "'a' = 'A '", "0 <> 1", "NULL IS NULL"],
        };
        self.pick(constants).to_owned()
    }

    /// Window functions that are the same in every order of equal rows.
    fn windows(&mut self, mut query: Query, fields: &[Field]) -> Query {
        query.items.push(item_of(&fields[0], Compare::Exact));
        for _ in 0..1 + self.below(2) {
            let small = self.field_that(fields, |field| field.kind == Kind::Small).sql.clone();
            let text = self.field_that(fields, |field| field.kind == Kind::Text).sql.clone();
            let partition = match self.below(4) {
                0 => format!("CASE WHEN {small} > {} THEN {text} ELSE 'b' END", self.below(15)),
                1 => format!("CASE {text} WHEN 'a' THEN 'bee' ELSE {text} END"),
                2 => format!("CASE WHEN {text} IS NULL THEN {small} END"),
                _ => text,
            };
            let function = match self.below(4) {
                0 => "COUNT(*)".to_owned(),
                1 => format!("SUM({small})"),
                2 => format!("MAX({small})"),
                _ => "RANK()".to_owned(),
            };
            let order =
                if function == "RANK()" || self.one_in(2) { format!(" ORDER BY {small}") } else { String::new() };
            let sql = format!("{function} OVER (PARTITION BY {partition}{order})");
            query.items.push(Item { sql, compare: Compare::Exact });
        }
        query
    }

    /// Tables and their columns, and whether a row of one may meet many of another.
    fn sources(&mut self) -> (Vec<Source>, Vec<Field>, bool) {
        let table = self.pick(&["f", "f", "f", "g"]);
        let first = Source { table, alias: "t0".into(), kind: JoinKind::First, on: None };
        let (mut sources, mut all) = (vec![first], fields(table, "t0"));
        let mut fanned = false;
        let joins = [0, 0, 0, 1, 1, 1, 2, 2, 3][self.below(9) as usize];
        for join in 1..=joins {
            let alias = format!("t{join}");
            let kind = if self.one_in(3) { JoinKind::Left } else { JoinKind::Inner };
            let table = self.pick(&["k", "k", "g"]);
            let inner = fields(table, &alias);
            // By a key mostly: other joins multiply rows.
            let operator = self.pick(&["=", "=", "=", "<=>"]);
            let equal = if table == "k" || fanned || self.one_in(2) {
                let outer = self.field_that(&all, |field| field.kind == Kind::Small);
                format!("{} {operator} {alias}.id", outer.sql)
            } else {
                fanned = true;
                // Collations of the two sides must be one, or the comparison is an error (1267).
                let inner = self.field_that(&inner, |field| field.kind != Kind::Enum);
                let same = |field: &Field| field.kind == inner.kind;
                let outer = if all.iter().any(same) { self.field_that(&all, same) } else { &all[0] };
                if outer.kind == inner.kind {
                    format!("{} {operator} {}", outer.sql, inner.sql)
                } else {
                    format!("{} = {alias}.id", outer.sql)
                }
            };
            let mut on = Condition::Test(equal);
            all.extend(inner.iter().cloned());
            if self.one_in(4) {
                let of = if self.one_in(2) { &inner } else { &all };
                let more = self.condition(of, 1, false);
                on = Condition::And(Box::new(on), Box::new(more));
            }
            sources.push(Source { table, alias, kind, on: Some(on) });
        }
        if self.one_in(8) {
            // Joins without a condition are put together again with those that have one.
            let table =
                self.pick(&["(SELECT 1 AS one UNION ALL SELECT 2)", "(SELECT MAX(one) FROM (SELECT 3 AS one) q)"]);
            sources.push(Source { table, alias: "beside".into(), kind: JoinKind::Inner, on: None });
            fanned = true;
        }
        (sources, all, fanned)
    }

    fn aggregated(&mut self, mut query: Query, fields: &[Field]) -> Query {
        if self.one_in(4) {
            query.filter = None;
        }
        for _ in 0..1 + self.below(4) {
            query.items.push(self.aggregate(fields, true));
        }
        query.having = self.one_in(4).then(|| Condition::Test(self.constant()));
        query
    }

    fn grouped(&mut self, mut query: Query, fields: &[Field]) -> Query {
        for _ in 0..1 + self.below(2) {
            let item = self.group(fields);
            if query.groups.contains(&item.sql) {
                continue;
            }
            query.groups.push(item.sql.clone());
            query.items.push(item);
        }
        for _ in 0..self.below(4) {
            query.items.push(self.aggregate(fields, true));
        }
        if self.one_in(4) {
            // No sums of DOUBLE: whether one is above a bound may depend on the order of rows.
            let of = self.aggregate(fields, false);
            let bound = self.below(100);
            let operator = self.pick(&["=", "<>", "<", "<=", ">", ">="]);
            query.having = Some(match of.compare {
                Compare::Exact if self.one_in(5) => Condition::Test(format!("{} IS NULL", of.sql)),
                _ => Condition::Test(format!("{} {operator} {bound}", of.sql)),
            });
        }
        if self.one_in(3) {
            query.order = query.groups.clone();
            if self.one_in(2) {
                query.limit = Some((1 + self.below(20), self.below(3)));
            }
        }
        query
    }

    fn distinct(&mut self, mut query: Query, fields: &[Field]) -> Query {
        query.distinct = true;
        for _ in 0..1 + self.below(3) {
            query.items.push(self.group(fields));
        }
        if self.one_in(2) {
            query.order = (1..=query.items.len()).map(|at| at.to_string()).collect();
            query.limit = self.one_in(2).then(|| (1 + self.random.below(20), 0));
        }
        query
    }

    fn plain(&mut self, mut query: Query, fields: &[Field], fanned: bool) -> Query {
        for _ in 0..1 + self.below(4) {
            let item = match self.below(16) {
                0..=3 => self.value_item(fields),
                4 => {
                    let sql = "(SELECT MAX(one) FROM (SELECT 1 AS one UNION ALL SELECT 2) q)".to_owned();
                    Item { sql, compare: Compare::Exact }
                }
                _ => item_of(self.field(fields), Compare::Exact),
            };
            query.items.push(item);
        }
        if fanned || self.one_in(2) {
            for _ in 0..self.below(3) {
                let field = self.field(fields);
                let descending = self.random.below(2) == 0;
                query.order.push(format!("{}{}", field.sql, if descending { " DESC" } else { "" }));
            }
            query.order.extend(query.sources.iter().map(|source| format!("{}.id", source.alias)));
            query.limit = Some((1 + self.below(50), if self.one_in(4) { self.below(10) } else { 0 }));
        }
        query
    }

    /// Something to group by.
    fn group(&mut self, fields: &[Field]) -> Item {
        if self.one_in(3) {
            return self.value_item(fields);
        }
        let field = self.field_that(fields, |field| field.name != "id");
        item_of(field, if field.kind.is_folded() { Compare::Folded } else { Compare::Exact })
    }

    /// An expression that is no column.
    fn value_item(&mut self, fields: &[Field]) -> Item {
        let field = self.field_that(fields, |field| field.kind != Kind::Enum).clone();
        let (sql, number) = (field.sql, self.below(9));
        let (sql, compare) = match field.kind {
            // Differences of unsigned numbers are errors below zero, and what comes first differs.
            Kind::Small => (
                match self.below(4) {
                    0 => format!("{sql} % 3"),
                    1 => format!("{sql} + {number}"),
                    2 => format!("{sql} DIV 4"),
                    _ => format!("IFNULL({sql}, {number})"),
                },
                Compare::Exact,
            ),
            Kind::Wide | Kind::Unsigned => (format!("{sql} IS NULL"), Compare::Exact),
            Kind::Decimal => match self.below(3) {
                0 => (format!("ROUND({sql}, 1)"), Compare::Exact),
                1 => (format!("{sql} + {number}"), Compare::Exact),
                _ => (format!("FLOOR({sql})"), Compare::Exact),
            },
            Kind::Double => match self.below(2) {
                0 => (format!("{sql} > {number}"), Compare::Exact),
                _ => (format!("{sql} + {number}"), Compare::Number),
            },
            Kind::Text | Kind::Binary => match self.below(4) {
                // Spaces at the end, which do not count in comparisons, do here.
                0 => (format!("CHAR_LENGTH({sql})"), Compare::Exact),
                1 => (format!("LEFT({sql}, 1)"), Compare::Folded),
                2 => (format!("COALESCE({sql}, 'none')"), Compare::Folded),
                _ => (format!("CASE WHEN {sql} > 'b' THEN 1 WHEN {sql} <= 'b' THEN 2 END"), Compare::Exact),
            },
            Kind::Date => (format!("{}({sql})", self.pick(&["YEAR", "MONTH", "TO_DAYS"])), Compare::Exact),
            Kind::Moment => (format!("{}({sql})", self.pick(&["DATE", "HOUR", "YEAR"])), Compare::Exact),
            Kind::Enum => (format!("{sql} IS NULL"), Compare::Exact),
        };
        Item { sql, compare }
    }

    /// An aggregate; without `sums_of_doubles` one that is the same in every order of rows.
    fn aggregate(&mut self, fields: &[Field], sums_of_doubles: bool) -> Item {
        let exact = |sql: String| Item { sql, compare: Compare::Exact };
        let field = self.field(fields).clone();
        let sql = &field.sql;
        let sum = |item: Item, kind: Kind| match kind {
            Kind::Double => Item { compare: Compare::Number, ..item },
            _ => item,
        };
        match self.below(12) {
            0 => exact("COUNT(*)".into()),
            1 => exact(format!("COUNT({sql})")),
            2 => exact(format!("COUNT(DISTINCT {sql})")),
            3 if self.one_in(3) => {
                let other = self.field(fields);
                exact(format!("COUNT(DISTINCT {sql}, {})", other.sql))
            }
            3..=6 => {
                let summed = |field: &Field| field.kind.is_number() && (sums_of_doubles || field.kind != Kind::Double);
                let field = self.field_that(fields, summed).clone();
                let sql = &field.sql;
                // AVG of DOUBLE is no sum of exact numbers any more.
                let function = self.pick(&["SUM", "SUM", "AVG"]);
                let distinct = if self.one_in(8) { "DISTINCT " } else { "" };
                sum(exact(format!("{function}({distinct}{sql})")), field.kind)
            }
            7 => {
                // Products of wide numbers leave their type (1690) for whichever row comes first.
                let small = self.field_that(fields, |field| field.kind == Kind::Small).sql.clone();
                let other = self.field_that(fields, |field| matches!(field.kind, Kind::Small | Kind::Decimal));
                exact(format!("SUM({small} * {})", other.sql))
            }
            8 => {
                let small = self.field_that(fields, |field| field.kind == Kind::Small);
                exact(format!("SUM(CASE WHEN {} > {} THEN 1 ELSE 0 END)", small.sql, self.random.below(15)))
            }
            9 => exact(format!("BIT_XOR({})", fields[0].sql)),
            _ => {
                let function = self.pick(&["MIN", "MAX"]);
                let compare = match field.kind {
                    Kind::Text | Kind::Binary => Compare::Folded,
                    Kind::Double => Compare::Number,
                    _ => Compare::Exact,
                };
                Item { sql: format!("{function}({sql})"), compare }
            }
        }
    }

    fn condition(&mut self, fields: &[Field], depth: u64, subqueries: bool) -> Condition {
        let inner = |maker: &mut Self| Box::new(maker.condition(fields, depth - 1, subqueries));
        match self.below(8) {
            0 | 1 if depth > 0 => Condition::And(inner(self), inner(self)),
            2 | 3 if depth > 0 => Condition::Or(inner(self), inner(self)),
            4 if depth > 0 => {
                let outer = std::mem::replace(&mut self.negated, true);
                let inner = inner(self);
                self.negated = outer;
                Condition::Not(inner)
            }
            5 if subqueries && self.one_in(2) => self.subquery(fields),
            _ => Condition::Test(self.test(fields)),
        }
    }

    fn test(&mut self, fields: &[Field]) -> String {
        let field = self.field(fields).clone();
        let (name, kind) = (&field.sql, field.kind);
        if field.name == "id" {
            return format!("{name} {} {}", self.pick(&["<", ">=", "=", "<>"]), self.below(2000));
        }
        match self.below(14) {
            0 => format!("{name} IS NULL"),
            1 => format!("{name} IS NOT NULL"),
            2 => format!("{name} <=> {}", self.bound(kind)),
            3 | 4 => format!("{name} {}BETWEEN {} AND {}", self.not(), self.bound(kind), self.bound(kind)),
            5 | 6 => {
                let values: Vec<String> = (0..1 + self.below(4)).map(|_| literal(self.random, kind)).collect();
                format!("{name} {}IN ({})", self.not(), values.join(", "))
            }
            7 | 8 if kind.is_folded() => {
                let pattern = self.pick(&["a%", "%e%", "_", "B%", "", "%", "a\\%b", "z_bra", "%r", "b%"]);
                format!("{name} {}LIKE '{pattern}'", self.not())
            }
            7 => {
                // Another column of the same kind.
                let other = self.field_that(fields, |other| other.kind == kind);
                format!("{name} {} {}", self.operator(), other.sql)
            }
            _ => format!("{name} {} {}", self.operator(), self.bound(kind)),
        }
    }

    fn not(&mut self) -> &'static str {
        self.pick(&["", "", "NOT "])
    }

    fn operator(&mut self) -> &'static str {
        self.pick(&["=", "=", "<>", "<", "<=", ">", ">="])
    }

    /// What a column of a kind is compared with: sometimes of another type.
    fn bound(&mut self, kind: Kind) -> String {
        match (kind, self.below(10)) {
            // Whole numbers: a key of integers of MariaDB 10.11.19 finds 10 for `a = 10.125`.
            (Kind::Small | Kind::Wide | Kind::Unsigned, 0) => match self.below(5) {
                0 => format!("{}.000", self.below(50)),
                1 => format!("{}e{}", self.below(9), self.below(4)),
                2 => literal(self.random, Kind::Small),
                3 => literal(self.random, Kind::Wide),
                _ => literal(self.random, Kind::Unsigned),
            },
            (Kind::Decimal | Kind::Double, 0) => {
                let other = [Kind::Small, Kind::Decimal, Kind::Double, Kind::Wide, Kind::Unsigned];
                let other = other[self.below(5) as usize];
                literal(self.random, other)
            }
            (Kind::Small | Kind::Decimal, 1) => format!("'{}'", self.below(20)),
            (Kind::Date | Kind::Moment, 0) => {
                let other = if kind == Kind::Date { Kind::Moment } else { Kind::Date };
                literal(self.random, other)
            }
            _ => literal(self.random, kind),
        }
    }

    fn subquery(&mut self, fields: &[Field]) -> Condition {
        let alias = format!("q{}", self.aliases);
        self.aliases += 1;
        let table = self.pick(&["f", "g", "k"]);
        let inner = self::fields(table, &alias);
        let filter = (!self.one_in(5)).then(|| self.condition(&inner, 1, false));
        let mut query = Query { filter, ..Query::of(table, alias) };
        // What both have a column of.
        let kinds: Vec<Kind> = [Kind::Small, Kind::Decimal, Kind::Date, Kind::Text]
            .into_iter()
            .filter(|kind| fields.iter().any(|field| field.kind == *kind))
            .collect();
        let kind = kinds[self.below(kinds.len() as u64) as usize];
        let outer = self.field_that(fields, |field| field.kind == kind).sql.clone();
        let column = self.field_that(&inner, |field| field.kind == kind).sql.clone();
        let one = |sql: String| vec![Item { sql, compare: Compare::Exact }];
        let and = |filter: Option<Condition>, more: String| match filter {
            Some(filter) => Condition::And(Box::new(Condition::Test(more)), Box::new(filter)),
            None => Condition::Test(more),
        };
        // MariaDB forgets equal values where a quantified comparison stands under NOT.
        let tests = if self.negated { 10 } else { 11 };
        match self.below(tests) {
            0..=2 => {
                // MariaDB takes a number beyond the type of the subquery's column for one that is not in it although that has a NULL.
                let beyond = outer.ends_with(".id") && column.ends_with(".u");
                query.items = one(if beyond { inner[0].sql.clone() } else { column });
                Condition::Subquery(format!("{outer} {}IN", self.not()), Box::new(query))
            }
            3 | 4 => {
                query.items = one("1".into());
                query.filter = Some(and(query.filter.take(), format!("{column} = {outer}")));
                Condition::Subquery(format!("{}EXISTS", self.not()), Box::new(query))
            }
            5 => {
                query.items = one(format!("{}({column})", self.pick(&["MIN", "MAX"])));
                Condition::Subquery(format!("{outer} {}", self.operator()), Box::new(query))
            }
            7 => {
                // Of the row around it alone.
                let other = self.field_that(fields, |field| field.kind == kind).sql.clone();
                query.items = one(other);
                Condition::Subquery(format!("{outer} {}IN", self.not()), Box::new(query))
            }
            8 => {
                // An aggregate gives its row whatever is around it.
                query.items = one(format!("COUNT({column})"));
                query.having = Some(match self.below(3) {
                    0 => Condition::Test(self.constant()),
                    1 => Condition::Test(format!("COUNT(*) < {}", self.below(40))),
                    _ => Condition::Test(format!("{outer} IS NOT NULL")),
                });
                Condition::Subquery(format!("{}EXISTS", self.not()), Box::new(query))
            }
            9 => Condition::Test(self.constant()),
            6 => {
                query.items = one("COUNT(*)".into());
                query.filter = Some(and(query.filter.take(), format!("{column} = {outer}")));
                Condition::Subquery(format!("{} <", self.random.below(30)), Box::new(query))
            }
            _ => {
                query.items = one(column);
                let quantifier = self.pick(&["ALL", "ANY"]);
                Condition::Subquery(
                    format!("{outer} {} {quantifier}", self.pick(&["<", "<=", ">", ">="])),
                    Box::new(query),
                )
            }
        }
    }
}

/// A column as it is.
fn item_of(field: &Field, compare: Compare) -> Item {
    let compare = if field.kind == Kind::Double { Compare::Number } else { compare };
    Item { sql: field.sql.clone(), compare }
}
