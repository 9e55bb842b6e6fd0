//! The numbers of the protocol: capabilities, status flags, column types and flags, command codes.

/// Defines a set of bits with named members and the operators one wants on a set.
macro_rules! flags {
    ($(#[$doc:meta])* $name:ident: $int:ty { $($(#[$member_doc:meta])* $member:ident = $value:expr;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            /// No flag at all.
            pub const EMPTY: Self = Self(0);
            $($(#[$member_doc])* pub const $member: Self = Self($value);)*

            /// The raw bits.
            pub const fn bits(self) -> $int {
                self.0
            }

            /// True when every flag of `other` is set.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// All flags of both sets.
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// The flags both sets have.
            pub const fn intersection(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// The flags of `self` that `other` lacks.
            pub const fn difference(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Sets or clears the flags of `other`.
            pub fn set(&mut self, other: Self, on: bool) {
                *self = if on { self.union(other) } else { self.difference(other) };
            }
        }

        impl std::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                self.union(other)
            }
        }

        impl std::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                *self = self.union(other);
            }
        }

        impl std::ops::BitAnd for $name {
            type Output = Self;
            fn bitand(self, other: Self) -> Self {
                self.intersection(other)
            }
        }
    };
}

flags! {
    /// What a client or a server can do; what both can do is in force for the connection.
    Capabilities: u32 {
        /// Set by every client since 4.1; MariaDB's connectors clear it to announce their own extensions.
        LONG_PASSWORD = 1;
        /// Affected rows of an UPDATE are the rows found, not the rows changed.
        FOUND_ROWS = 1 << 1;
        /// Column flags take two bytes.
        LONG_FLAG = 1 << 2;
        /// The handshake response names a database.
        CONNECT_WITH_DB = 1 << 3;
        /// Refuse `database.table.column`.
        NO_SCHEMA = 1 << 4;
        /// Packets compressed by zlib.
        COMPRESS = 1 << 5;
        /// The client is an ODBC driver.
        ODBC = 1 << 6;
        /// `LOAD DATA LOCAL` is possible.
        LOCAL_FILES = 1 << 7;
        /// Spaces are allowed before the parenthesis of a function call.
        IGNORE_SPACE = 1 << 8;
        /// The protocol of 4.1 and later; the only one spoken here.
        PROTOCOL_41 = 1 << 9;
        /// `interactive_timeout` counts instead of `wait_timeout`.
        INTERACTIVE = 1 << 10;
        /// TLS after the first packet.
        SSL = 1 << 11;
        /// Status flags in OK and EOF.
        TRANSACTIONS = 1 << 13;
        /// An authentication response with a length byte.
        SECURE_CONNECTION = 1 << 15;
        /// Several statements in one `COM_QUERY`.
        MULTI_STATEMENTS = 1 << 16;
        /// Several result sets for one `COM_QUERY`.
        MULTI_RESULTS = 1 << 17;
        /// Several result sets for one `COM_STMT_EXECUTE`.
        PS_MULTI_RESULTS = 1 << 18;
        /// Authentication plugins by name.
        PLUGIN_AUTH = 1 << 19;
        /// The client sends connection attributes.
        CONNECT_ATTRS = 1 << 20;
        /// The authentication response has a length-encoded length.
        PLUGIN_AUTH_LENENC_CLIENT_DATA = 1 << 21;
        /// The client understands an expired password.
        CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        /// OK packets carry session state changes.
        SESSION_TRACK = 1 << 23;
        /// Result sets end in an OK packet, and column definitions in nothing.
        DEPRECATE_EOF = 1 << 24;
        /// Column definitions may be left out.
        OPTIONAL_RESULTSET_METADATA = 1 << 25;
        /// Packets compressed by zstd.
        ZSTD_COMPRESSION = 1 << 26;
        /// `COM_QUERY` and `COM_STMT_EXECUTE` may carry named attributes.
        QUERY_ATTRIBUTES = 1 << 27;
        /// Authentication in several factors.
        MULTI_FACTOR_AUTHENTICATION = 1 << 28;
        /// The client checks the server's certificate.
        SSL_VERIFY_SERVER_CERT = 1 << 30;
        /// The client keeps its options after a failed connect.
        REMEMBER_OPTIONS = 1 << 31;
    }
}

flags! {
    /// The state of the session after a statement, in OK and EOF packets.
    StatusFlags: u16 {
        /// A transaction is open.
        IN_TRANS = 1;
        /// Autocommit is on.
        AUTOCOMMIT = 1 << 1;
        /// Another result set follows.
        MORE_RESULTS_EXISTS = 1 << 3;
        /// No index served the query well.
        NO_GOOD_INDEX_USED = 1 << 4;
        /// No index served the query.
        NO_INDEX_USED = 1 << 5;
        /// A cursor is open; rows come by `COM_STMT_FETCH`.
        CURSOR_EXISTS = 1 << 6;
        /// The cursor has sent its last row.
        LAST_ROW_SENT = 1 << 7;
        /// A database was dropped.
        DB_DROPPED = 1 << 8;
        /// `sql_mode` has `NO_BACKSLASH_ESCAPES`.
        NO_BACKSLASH_ESCAPES = 1 << 9;
        /// Executing changed the statement's columns.
        METADATA_CHANGED = 1 << 10;
        /// The statement was slower than `long_query_time`.
        QUERY_WAS_SLOW = 1 << 11;
        /// This result set holds the OUT parameters of a procedure.
        PS_OUT_PARAMS = 1 << 12;
        /// The open transaction is read only.
        IN_TRANS_READONLY = 1 << 13;
        /// Session state changes follow.
        SESSION_STATE_CHANGED = 1 << 14;
    }
}

flags! {
    /// Properties of a column in its definition.
    ColumnFlags: u16 {
        /// Never NULL.
        NOT_NULL = 1;
        /// Part of the primary key.
        PRI_KEY = 1 << 1;
        /// A unique key by itself.
        UNIQUE_KEY = 1 << 2;
        /// First part of a key that admits duplicates.
        MULTIPLE_KEY = 1 << 3;
        /// A TEXT or BLOB.
        BLOB = 1 << 4;
        /// Unsigned number.
        UNSIGNED = 1 << 5;
        /// Printed with leading zeros.
        ZEROFILL = 1 << 6;
        /// Binary collation.
        BINARY = 1 << 7;
        /// ENUM.
        ENUM = 1 << 8;
        /// AUTO_INCREMENT.
        AUTO_INCREMENT = 1 << 9;
        /// TIMESTAMP.
        TIMESTAMP = 1 << 10;
        /// SET.
        SET = 1 << 11;
        /// Has no default and may not be NULL.
        NO_DEFAULT_VALUE = 1 << 12;
        /// Set to the present time on every update.
        ON_UPDATE_NOW = 1 << 13;
        /// Part of some key.
        PART_KEY = 1 << 14;
        /// A number.
        NUM = 1 << 15;
    }
}

/// The type of a column or a parameter on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are MySQL's types")]
pub enum ColumnType {
    Decimal = 0x00,
    Tiny = 0x01,
    Short = 0x02,
    Long = 0x03,
    Float = 0x04,
    Double = 0x05,
    Null = 0x06,
    Timestamp = 0x07,
    LongLong = 0x08,
    Int24 = 0x09,
    Date = 0x0a,
    Time = 0x0b,
    DateTime = 0x0c,
    Year = 0x0d,
    NewDate = 0x0e,
    VarChar = 0x0f,
    Bit = 0x10,
    Timestamp2 = 0x11,
    DateTime2 = 0x12,
    Time2 = 0x13,
    TypedArray = 0x14,
    Vector = 0xf2,
    Bool = 0xf4,
    Json = 0xf5,
    NewDecimal = 0xf6,
    Enum = 0xf7,
    Set = 0xf8,
    TinyBlob = 0xf9,
    MediumBlob = 0xfa,
    LongBlob = 0xfb,
    Blob = 0xfc,
    VarString = 0xfd,
    String = 0xfe,
    Geometry = 0xff,
}

impl ColumnType {
    /// The type with this code, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x00 => Self::Decimal,
            0x01 => Self::Tiny,
            0x02 => Self::Short,
            0x03 => Self::Long,
            0x04 => Self::Float,
            0x05 => Self::Double,
            0x06 => Self::Null,
            0x07 => Self::Timestamp,
            0x08 => Self::LongLong,
            0x09 => Self::Int24,
            0x0a => Self::Date,
            0x0b => Self::Time,
            0x0c => Self::DateTime,
            0x0d => Self::Year,
            0x0e => Self::NewDate,
            0x0f => Self::VarChar,
            0x10 => Self::Bit,
            0x11 => Self::Timestamp2,
            0x12 => Self::DateTime2,
            0x13 => Self::Time2,
            0x14 => Self::TypedArray,
            0xf2 => Self::Vector,
            0xf4 => Self::Bool,
            0xf5 => Self::Json,
            0xf6 => Self::NewDecimal,
            0xf7 => Self::Enum,
            0xf8 => Self::Set,
            0xf9 => Self::TinyBlob,
            0xfa => Self::MediumBlob,
            0xfb => Self::LongBlob,
            0xfc => Self::Blob,
            0xfd => Self::VarString,
            0xfe => Self::String,
            0xff => Self::Geometry,
            _ => return None,
        })
    }

    /// The code on the wire.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// First byte of a command packet.
#[allow(missing_docs, reason = "the names are MySQL's commands")]
pub mod command_code {
    pub const SLEEP: u8 = 0x00;
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    /// Gone in MySQL 8.4, where clients send FLUSH; MariaDB's still send the command.
    pub const REFRESH: u8 = 0x07;
    /// Gone in MySQL 8, where clients send the statement; MariaDB's still send the command.
    pub const SHUTDOWN: u8 = 0x08;
    pub const STATISTICS: u8 = 0x09;
    pub const PROCESS_KILL: u8 = 0x0c;
    pub const DEBUG: u8 = 0x0d;
    pub const PING: u8 = 0x0e;
    pub const CHANGE_USER: u8 = 0x11;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_RESET: u8 = 0x1a;
    pub const SET_OPTION: u8 = 0x1b;
    pub const STMT_FETCH: u8 = 0x1c;
    pub const RESET_CONNECTION: u8 = 0x1f;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_type_has_its_own_code() {
        let known = (0..=u8::MAX).filter_map(ColumnType::from_code).count();
        assert_eq!(known, 34);
        for code in 0..=u8::MAX {
            if let Some(column_type) = ColumnType::from_code(code) {
                assert_eq!(column_type.code(), code);
            }
        }
    }

    #[test]
    fn flags_are_sets() {
        let mut flags = Capabilities::SSL | Capabilities::PLUGIN_AUTH;
        assert!(flags.contains(Capabilities::SSL));
        flags.set(Capabilities::SSL, false);
        assert_eq!(flags, Capabilities::PLUGIN_AUTH);
        assert!(!flags.contains(Capabilities::SSL | Capabilities::PLUGIN_AUTH));
    }
}
