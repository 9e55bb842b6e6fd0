//! The tables, their values, and values near these.

use squall_test_support::random::Random;

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Small whole numbers, with and without sign.
    Small,
    /// BIGINT up to its ends.
    Wide,
    /// BIGINT UNSIGNED up to its end.
    Unsigned,
    Decimal,
    Double,
    /// In a collation that has texts which are equal and not the same.
    Text,
    Binary,
    Date,
    Moment,
    Enum,
}

impl Kind {
    /// Whether texts of it may be equal and not the same.
    pub fn is_folded(self) -> bool {
        // Spaces at the end do not count in utf8mb4_bin either.
        matches!(self, Kind::Text | Kind::Binary)
    }

    pub fn is_number(self) -> bool {
        matches!(self, Kind::Small | Kind::Wide | Kind::Unsigned | Kind::Decimal | Kind::Double)
    }
}

/// A column's name, its type, and what it has.
pub type Column = (&'static str, &'static str, Kind);

/// Columns of the tables of many rows behind `id`.
pub const FACT_COLUMNS: &[Column] = &[
    ("a", "INT", Kind::Small),
    ("b", "BIGINT", Kind::Wide),
    ("w", "BIGINT UNSIGNED", Kind::Unsigned),
    ("u", "TINYINT UNSIGNED", Kind::Small),
    ("m", "DECIMAL(12,3)", Kind::Decimal),
    ("x", "DOUBLE", Kind::Double),
    ("s", "VARCHAR(20) COLLATE utf8mb4_general_ci", Kind::Text),
    ("y", "VARCHAR(20) COLLATE utf8mb4_bin", Kind::Binary),
    ("d", "DATE", Kind::Date),
    ("t", "DATETIME(2)", Kind::Moment),
    ("ts", "TIMESTAMP NULL", Kind::Moment),
    ("e", "ENUM('low', 'Mid', 'high') COLLATE utf8mb4_general_ci", Kind::Enum),
];

/// Those of the dimension.
pub const DIMENSION_COLUMNS: &[Column] = &[
    ("name", "VARCHAR(20) COLLATE utf8mb4_general_ci", Kind::Text),
    ("size", "INT", Kind::Small),
    ("since", "DATE", Kind::Date),
    ("price", "DECIMAL(12,3)", Kind::Decimal),
];

/// A table: its name, its columns behind `id`, keys that row tables have, and keys that column tables have.
pub struct TableDef {
    pub name: &'static str,
    pub columns: &'static [Column],
    pub row_keys: &'static str,
    pub column_keys: &'static str,
}

/// Two of many rows, and a dimension whose keys are small numbers.
pub const TABLES: &[TableDef] = &[
    TableDef {
        name: "f",
        columns: FACT_COLUMNS,
        row_keys: ", KEY (a), KEY (s), KEY (d, m)",
        column_keys: ", KEY (a), KEY (s)",
    },
    TableDef { name: "g", columns: FACT_COLUMNS, row_keys: ", KEY (u)", column_keys: ", KEY (u), KEY (t)" },
    TableDef { name: "k", columns: DIMENSION_COLUMNS, row_keys: ", KEY (name)", column_keys: "" },
];

/// The columns of a table behind `id`.
pub fn columns_of(table: &str) -> &'static [Column] {
    TABLES.iter().find(|def| def.name == table).map_or(&[], |def| def.columns)
}

/// One of a list.
pub fn pick<'a, T: ?Sized>(random: &mut Random, of: &[&'a T]) -> &'a T {
    of[random.below(of.len() as u64) as usize]
}

/// Texts; some are equal in their collations without being the same.
const WORDS: &[&str] =
    &["", "a", "A", "á", "b ", "b", "Bee", "bee", "zebra", "Ärger", "arger", "a%b", "_", "x'y", "12", "-3.5"];

/// What a text of [`WORDS`] is equal to in utf8mb4_general_ci: no case, accents or spaces at the end.
pub fn folded(text: &str) -> String {
    let base = |letter: char| match letter {
        'á' | 'Á' | 'ä' | 'Ä' => 'a',
        other => other.to_ascii_lowercase(),
    };
    text.trim_end_matches(' ').chars().map(base).collect()
}

/// A literal of a kind; NULL at times.
pub fn literal(random: &mut Random, kind: Kind) -> String {
    if random.below(12) == 0 { "NULL".into() } else { value(random, kind) }
}

/// A literal of a kind that is not NULL.
pub fn value(random: &mut Random, kind: Kind) -> String {
    match kind {
        Kind::Small => random.below(20).to_string(),
        Kind::Wide => match random.below(8) {
            0 => "9223372036854775807".into(),
            1 => "-9223372036854775808".into(),
            2 => "0".into(),
            _ => (random.below(1_000_000) as i64 - 500_000).to_string(),
        },
        Kind::Unsigned => match random.below(8) {
            0 => "18446744073709551615".into(),
            1 => "9223372036854775808".into(),
            2 => "0".into(),
            _ => random.below(1_000_000).to_string(),
        },
        Kind::Decimal => format!("{}{}.{:03}", pick(random, &["", "-"]), random.below(50), random.below(8) * 125),
        // Sums of these are the same in every order.
        Kind::Double => format!("{}{}.25e{}", pick(random, &["", "-"]), random.below(9), random.below(4)),
        Kind::Text | Kind::Binary => format!("'{}'", pick(random, WORDS).replace('\'', "''")),
        Kind::Date => format!("'{:04}-{:02}-{:02}'", year(random), 1 + random.below(12), 1 + random.below(28)),
        Kind::Moment => format!(
            "'{:04}-{:02}-{:02} {:02}:{:02}:00'",
            // Of TIMESTAMPs, too.
            2000 + random.below(30),
            1 + random.below(12),
            1 + random.below(28),
            random.below(24),
            random.below(60)
        ),
        Kind::Enum => format!("'{}'", pick(random, &["low", "Mid", "high"])),
    }
}

fn year(random: &mut Random) -> u64 {
    match random.below(20) {
        0 => 1000,
        1 => 9999,
        _ => 2000 + random.below(8),
    }
}

/// The values of a row.
pub fn row(random: &mut Random, id: u64, columns: &[Column]) -> String {
    let values: Vec<String> = columns.iter().map(|(_, _, kind)| literal(random, *kind)).collect();
    format!("({id}, {})", values.join(", "))
}
