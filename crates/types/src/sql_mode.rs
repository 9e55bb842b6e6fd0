//! `sql_mode` as a set of flags, with MySQL's bit values so that binary logs and `SET sql_mode = <number>` agree.

use std::fmt;

/// A set of sql_mode flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SqlMode(pub u64);

macro_rules! modes {
    ($($name:ident = $bit:literal, $text:literal;)*) => {
        impl SqlMode {
            $(#[doc = $text] pub const $name: SqlMode = SqlMode(1 << $bit);)*
            const NAMES: &'static [(&'static str, SqlMode)] = &[$(($text, SqlMode::$name),)*];
        }
    };
}

modes! {
    REAL_AS_FLOAT = 0, "REAL_AS_FLOAT";
    PIPES_AS_CONCAT = 1, "PIPES_AS_CONCAT";
    ANSI_QUOTES = 2, "ANSI_QUOTES";
    IGNORE_SPACE = 3, "IGNORE_SPACE";
    ONLY_FULL_GROUP_BY = 5, "ONLY_FULL_GROUP_BY";
    NO_UNSIGNED_SUBTRACTION = 6, "NO_UNSIGNED_SUBTRACTION";
    NO_DIR_IN_CREATE = 7, "NO_DIR_IN_CREATE";
    ANSI = 18, "ANSI";
    NO_AUTO_VALUE_ON_ZERO = 19, "NO_AUTO_VALUE_ON_ZERO";
    NO_BACKSLASH_ESCAPES = 20, "NO_BACKSLASH_ESCAPES";
    STRICT_TRANS_TABLES = 21, "STRICT_TRANS_TABLES";
    STRICT_ALL_TABLES = 22, "STRICT_ALL_TABLES";
    NO_ZERO_IN_DATE = 23, "NO_ZERO_IN_DATE";
    NO_ZERO_DATE = 24, "NO_ZERO_DATE";
    ALLOW_INVALID_DATES = 25, "ALLOW_INVALID_DATES";
    ERROR_FOR_DIVISION_BY_ZERO = 26, "ERROR_FOR_DIVISION_BY_ZERO";
    TRADITIONAL = 27, "TRADITIONAL";
    HIGH_NOT_PRECEDENCE = 29, "HIGH_NOT_PRECEDENCE";
    NO_ENGINE_SUBSTITUTION = 30, "NO_ENGINE_SUBSTITUTION";
    PAD_CHAR_TO_FULL_LENGTH = 31, "PAD_CHAR_TO_FULL_LENGTH";
    TIME_TRUNCATE_FRACTIONAL = 32, "TIME_TRUNCATE_FRACTIONAL";
}

impl SqlMode {
    /// MySQL 8.4's default.
    pub const DEFAULT: SqlMode = SqlMode(
        Self::ONLY_FULL_GROUP_BY.0
            | Self::STRICT_TRANS_TABLES.0
            | Self::NO_ZERO_IN_DATE.0
            | Self::NO_ZERO_DATE.0
            | Self::ERROR_FOR_DIVISION_BY_ZERO.0
            | Self::NO_ENGINE_SUBSTITUTION.0,
    );

    /// Whether every flag of `other` is set.
    pub fn contains(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether bad values are errors rather than warnings.
    pub fn is_strict(self) -> bool {
        self.0 & (Self::STRICT_TRANS_TABLES.0 | Self::STRICT_ALL_TABLES.0) != 0
    }

    /// The names of all modes, in the order in which they are printed.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(name, _)| *name)
    }

    /// Parses a comma-separated list; `Err` holds the name that is not a mode.
    /// The names that MySQL 5.7 still knew and 8.0 dropped (`NO_AUTO_CREATE_USER`, `ORACLE` …) are unknown here too.
    pub fn parse(text: &str) -> Result<SqlMode, String> {
        let mut mode = 0;
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match Self::NAMES.iter().find(|(text, _)| text.eq_ignore_ascii_case(name)) {
                Some((_, flag)) => mode |= flag.0,
                None => return Err(name.to_string()),
            }
        }
        Ok(SqlMode(mode).expanded())
    }

    /// Adds the flags that the combined modes `ANSI` and `TRADITIONAL` stand for.
    pub fn expanded(self) -> SqlMode {
        let mut mode = self.0;
        if self.contains(Self::ANSI) {
            mode |= Self::REAL_AS_FLOAT.0
                | Self::PIPES_AS_CONCAT.0
                | Self::ANSI_QUOTES.0
                | Self::IGNORE_SPACE.0
                | Self::ONLY_FULL_GROUP_BY.0;
        }
        if self.contains(Self::TRADITIONAL) {
            mode |= Self::STRICT_TRANS_TABLES.0
                | Self::STRICT_ALL_TABLES.0
                | Self::NO_ZERO_IN_DATE.0
                | Self::NO_ZERO_DATE.0
                | Self::ERROR_FOR_DIVISION_BY_ZERO.0
                | Self::NO_ENGINE_SUBSTITUTION.0;
        }
        SqlMode(mode)
    }
}

impl fmt::Display for SqlMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (text, flag) in Self::NAMES {
            if self.contains(*flag) {
                if !first {
                    f.write_str(",")?;
                }
                first = false;
                f.write_str(text)?;
            }
        }
        Ok(())
    }
}
