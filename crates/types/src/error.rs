//! MySQL error codes: one table of code, SQLSTATE and message template, and the error value every crate returns.

use crate::condition::ConditionItems;
use std::fmt;

/// The result of a fallible SQL operation.
pub type SqlResult<T> = Result<T, SqlError>;

/// An error as a client sees it: MySQL's code, SQLSTATE and finished message text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's error number, for example 1064.
    pub code: u16,
    /// The five-character SQLSTATE.
    pub sqlstate: [u8; 5],
    /// The finished message.
    pub message: String,
    /// The further items that SIGNAL has set.
    pub items: ConditionItems,
}

/// An error of a module's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleError {
    number: u16,
    sqlstate: [u8; 5],
    template: &'static str,
}

impl ModuleError {
    /// An error with a number from 50,000 to 59,999, of which MySQL has none, and a message with `%s` for each argument. A constant with
    /// another number does not compile.
    pub const fn new(number: u16, sqlstate: &[u8; 5], template: &'static str) -> Self {
        assert!(number >= 50_000 && number < 60_000, "numbers of modules are from 50,000 to 59,999");
        Self { number, sqlstate: *sqlstate, template }
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Its SQLSTATE.
    pub fn sqlstate(&self) -> [u8; 5] {
        self.sqlstate
    }

    /// Its message with `%s` for each argument.
    pub fn template(&self) -> &'static str {
        self.template
    }
}

/// A template with its `%s` places filled by `args` in turn.
/// Bytes of a message that has values in it, as in MySQL (`MYSQL_ERRMSG_SIZE`): warnings are kept, and values may be megabytes.
const MESSAGE_BYTES_MAX: usize = 511;
/// Bytes of any message.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// Takes what is written up to a length.
struct Bounded<'t> {
    text: &'t mut String,
    max: usize,
}

impl fmt::Write for Bounded<'_> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = self.max.saturating_sub(self.text.len());
        self.text.push_str(&more[..more.floor_char_boundary(room)]);
        Ok(())
    }
}

fn filled(template: &str, args: &[&dyn fmt::Display]) -> String {
    let mut message = String::with_capacity(template.len() + 16 * args.len());
    let mut args = args.iter();
    let mut rest = template;
    while let Some(at) = rest.find("%s") {
        message.push_str(&rest[..at]);
        if let Some(arg) = args.next() {
            use fmt::Write as _;
            // The rest of the template stays, and writing to a text in memory cannot fail.
            let max = MESSAGE_BYTES_MAX.saturating_sub(rest.len() - at - 2);
            let _ = write!(Bounded { text: &mut message, max }, "{arg}");
        }
        rest = &rest[at + 2..];
    }
    message.push_str(rest);
    message
}

impl SqlError {
    /// Builds the error of `code` with its template's `%s` places filled by `args` in turn.
    pub fn new(code: ErrorCode, args: &[&dyn fmt::Display]) -> Self {
        Self::of_parts(code.number(), code.sqlstate(), filled(code.template(), args))
    }

    /// The same of a module's error.
    pub fn of_module(error: &ModuleError, args: &[&dyn fmt::Display]) -> Self {
        Self::of_parts(error.number, error.sqlstate, filled(error.template, args))
    }

    /// "This version of MySQL doesn't yet support '…'" (1235): for whatever is parsed but not built.
    pub fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(ErrorCode::NotSupportedYet, &[&what])
    }

    /// An error that should not happen (1105): a broken invariant reported to the client instead of a panic.
    pub fn internal(what: impl fmt::Display) -> Self {
        Self::new(ErrorCode::UnknownError, &[&what])
    }

    /// The error of `SIGNAL SQLSTATE '…' SET MESSAGE_TEXT = '…'` (1644).
    pub fn signal(sqlstate: [u8; 5], message: impl Into<String>) -> Self {
        Self::of_parts(ErrorCode::UnhandledSignal.number(), sqlstate, message)
    }

    /// The error with its own text in place of the template's.
    pub fn with_message(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::of_parts(code.number(), code.sqlstate(), message)
    }

    /// An error of its three parts, which need not be one of the table.
    pub fn of_parts(code: u16, sqlstate: [u8; 5], message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > TEXT_BYTES_MAX {
            message.truncate(message.floor_char_boundary(TEXT_BYTES_MAX));
        }
        Self { code, sqlstate, message, items: ConditionItems::NONE }
    }

    /// Whether this is the error of `code`.
    pub fn is(&self, code: ErrorCode) -> bool {
        self.code == code.number()
    }

    /// The code of the table, if it has the error's number. Where MySQL has two texts for a number it is the first of them.
    pub fn known(&self) -> Option<ErrorCode> {
        let at = ErrorCode::ALL.partition_point(|code| code.number() < self.code);
        ErrorCode::ALL.get(at).copied().filter(|code| self.is(*code))
    }

    /// The SQLSTATE as text.
    pub fn sqlstate_str(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("HY000")
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sqlstate_str(), self.message)
    }
}

impl std::error::Error for SqlError {}

/// How grave an entry of `SHOW WARNINGS` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `Note`: information, not shown with `sql_notes = 0`.
    Note,
    /// `Warning`.
    Warning,
    /// `Error`.
    Error,
}

/// One row of `SHOW WARNINGS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Its level.
    pub level: Level,
    /// Code and text.
    pub error: SqlError,
}

macro_rules! error_codes {
    ($($name:ident = $number:literal, $state:literal, $template:literal;)*) => {
        /// The MySQL errors Squall raises. The doc of each is its message template.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $(#[doc = $template] $name,)* }
        impl ErrorCode {
            /// MySQL's number.
            pub fn number(self) -> u16 { match self { $(Self::$name => $number,)* } }
            /// MySQL's SQLSTATE.
            pub fn sqlstate(self) -> [u8; 5] { match self { $(Self::$name => *$state,)* } }
            /// The message with `%s` for each argument.
            pub fn template(self) -> &'static str { match self { $(Self::$name => $template,)* } }
            /// The name in Rust.
            pub fn name(self) -> &'static str { match self { $(Self::$name => stringify!($name),)* } }
            /// Every code, for the reference page and for `perror`-like look-ups.
            pub const ALL: &'static [ErrorCode] = &[$(Self::$name,)*];
        }
    };
}

error_codes! {
    CantCreateFile = 1, b"HY000", "Can't create/write to file '%s' (OS errno %s - %s)";
    FileOpen = 29, b"HY000", "File '%s' not found (OS errno %s)";
    FileNotFound = 29, b"HY000", "File '%s' not found (OS errno %s - %s)";
    FulltextTooDeep = 209, b"HY000", "Too many nested sub-expressions in a full-text search";
    DbCreateExists = 1007, b"HY000", "Can't create database '%s'; database exists";
    DbDropExists = 1008, b"HY000", "Can't drop database '%s'; database doesn't exist";
    RecordChanged = 1020, b"HY000", "Record has changed since last read in table '%s'";
    DiskFull = 1021, b"HY000", "Disk full (%s); waiting for someone to free some space... (OS errno %s - %s)";
    ErrorOnWrite = 1026, b"HY000", "Error writing file '%s' (OS errno %s - %s)";
    IllegalHandler = 1031, b"HY000", "Table storage engine for '%s' doesn't have this option";
    NotFormFile = 1033, b"HY000", "Incorrect information in file: '%s'";
    CorruptedRow = 1034, b"HY000", "Incorrect key file for table '%s'; try to repair it";
    TooManyConnections = 1040, b"08004", "Too many connections";
    OutOfResources = 1041, b"HY000", "Out of memory; check if mysqld or some other process uses all available memory; if not, you may have to use 'ulimit' to allow mysqld to use more memory or you can add more swap space";
    HandshakeError = 1043, b"08S01", "Bad handshake";
    DbAccessDenied = 1044, b"42000", "Access denied for user '%s'@'%s' to database '%s'";
    AccessDenied = 1045, b"28000", "Access denied for user '%s'@'%s' (using password: %s)";
    NoDatabase = 1046, b"3D000", "No database selected";
    UnknownCommand = 1047, b"08S01", "Unknown command";
    BadNull = 1048, b"23000", "Column '%s' cannot be null";
    BadDatabase = 1049, b"42000", "Unknown database '%s'";
    TableExists = 1050, b"42S01", "Table '%s' already exists";
    BadTable = 1051, b"42S02", "Unknown table '%s'";
    NonUniqueColumn = 1052, b"23000", "Column '%s' in %s is ambiguous";
    ServerShutdown = 1053, b"08S01", "Server shutdown in progress";
    BadField = 1054, b"42S22", "Unknown column '%s' in '%s'";
    WrongFieldWithGroup = 1055, b"42000", "Expression #%s of %s is not in GROUP BY clause and contains nonaggregated column '%s' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by";
    WrongGroupField = 1056, b"42000", "Can't group on '%s'";
    TooLongIdent = 1059, b"42000", "Identifier name '%s' is too long";
    DuplicateFieldName = 1060, b"42S21", "Duplicate column name '%s'";
    DuplicateKeyName = 1061, b"42000", "Duplicate key name '%s'";
    DuplicateEntry = 1062, b"23000", "Duplicate entry '%s' for key '%s'";
    WrongFieldSpec = 1063, b"42000", "Incorrect column specifier for column '%s'";
    Parse = 1064, b"42000", "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '%s' at line %s";
    NonUniqueTable = 1066, b"42000", "Not unique table/alias: '%s'";
    InvalidDefault = 1067, b"42000", "Invalid default value for '%s'";
    MultiplePrimaryKey = 1068, b"42000", "Multiple primary key defined";
    TooManyKeys = 1069, b"42000", "Too many keys specified; max %s keys allowed";
    TooManyKeyParts = 1070, b"42000", "Too many key parts specified; max %s parts allowed";
    TooLongKey = 1071, b"42000", "Specified key was too long; max key length is %s bytes";
    KeyColumnDoesNotExist = 1072, b"42000", "Key column '%s' doesn't exist in table";
    TooBigFieldLength = 1074, b"42000", "Column length too big for column '%s' (max = %s); use BLOB or TEXT instead";
    WrongAutoKey = 1075, b"42000", "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    FileExists = 1086, b"HY000", "File '%s' already exists";
    WrongSubKey = 1089, b"HY000", "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys";
    CantRemoveAllFields = 1090, b"42000", "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
    CantDropFieldOrKey = 1091, b"42000", "Can't DROP '%s'; check that column/key exists";
    UpdateTableUsed = 1093, b"HY000", "You can't specify target table '%s' for update in FROM clause";
    NoSuchThread = 1094, b"HY000", "Unknown thread id: %s";
    KillDenied = 1095, b"HY000", "You are not owner of thread %s";
    NoTablesUsed = 1096, b"HY000", "No tables used";
    TooBigSet = 1097, b"HY000", "Too many strings for column %s and SET";
    TableNotLockedForWrite = 1099, b"HY000", "Table '%s' was locked with a READ lock and can't be updated";
    TableNotLocked = 1100, b"HY000", "Table '%s' was not locked with LOCK TABLES";
    BlobCantHaveDefault = 1101, b"42000", "BLOB, TEXT, GEOMETRY or JSON column '%s' can't have a default value";
    WrongDatabaseName = 1102, b"42000", "Incorrect database name '%s'";
    WrongTableName = 1103, b"42000", "Incorrect table name '%s'";
    UnknownError = 1105, b"HY000", "%s";
    UnknownTable = 1109, b"42S02", "Unknown table '%s' in %s";
    FieldSpecifiedTwice = 1110, b"42000", "Column '%s' specified twice";
    InvalidGroupFuncUse = 1111, b"HY000", "Invalid use of group function";
    TableMustHaveColumns = 1113, b"42000", "A table must have at least 1 column";
    RecordFileFull = 1114, b"HY000", "The table '%s' is full";
    UnknownCharacterSet = 1115, b"42000", "Unknown character set: '%s'";
    TooManyTables = 1116, b"HY000", "Too many tables; MySQL can only use %s tables in a join";
    TooManyFields = 1117, b"HY000", "Too many columns";
    TooBigRowSize = 1118, b"42000", "Row size too large. The maximum row size for the used table type, not counting BLOBs, is %s. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs";
    FunctionNotDefined = 1128, b"HY000", "Function '%s' is not defined";
    PasswordNoMatch = 1133, b"42000", "Can't find any matching row in the user table";
    CantCreateThread = 1135, b"HY000", "Can't create a new thread (errno %s); if you are not out of available memory, you can consult the manual for a possible OS-dependent bug";
    WrongValueCountOnRow = 1136, b"21S01", "Column count doesn't match value count at row %s";
    InvalidUseOfNull = 1138, b"22004", "Invalid use of NULL value";
    RegexpError = 1139, b"42000", "Got error '%s' from regexp";
    MixOfGroupFuncAndFields = 1140, b"42000", "In aggregated query without GROUP BY, expression #%s of %s contains nonaggregated column '%s'; this is incompatible with sql_mode=only_full_group_by";
    NonexistingGrant = 1141, b"42000", "There is no such grant defined for user '%s' on host '%s'";
    TableAccessDenied = 1142, b"42000", "%s command denied to user '%s'@'%s' for table '%s'";
    ColumnAccessDenied = 1143, b"42000", "%s command denied to user '%s'@'%s' for column '%s' in table '%s'";
    IllegalGrantForTable = 1144, b"42000", "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
    NoSuchTable = 1146, b"42S02", "Table '%s.%s' doesn't exist";
    NonexistingTableGrant = 1147, b"42000", "There is no such grant defined for user '%s' on host '%s' on table '%s'";
    SyntaxError = 1149, b"42000", "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use";
    PacketTooLarge = 1153, b"08S01", "Got a packet bigger than 'max_allowed_packet' bytes";
    PacketsOutOfOrder = 1156, b"08S01", "Got packets out of order";
    NetUncompressError = 1157, b"08S01", "Couldn't uncompress communication packet";
    NetReadInterrupted = 1159, b"08S01", "Got timeout reading communication packets";
    NetWriteInterrupted = 1161, b"08S01", "Got timeout writing communication packets";
    WrongColumnName = 1166, b"42000", "Incorrect column name '%s'";
    WrongKeyColumn = 1167, b"42000", "The used storage engine can't index column '%s'";
    BlobKeyWithoutLength = 1170, b"42000", "BLOB/TEXT column '%s' used in key specification without a key length";
    PrimaryCantHaveNull = 1171, b"42000", "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    TooManyRows = 1172, b"42000", "Result consisted of more than one row";
    UpdateWithoutKeyInSafeMode = 1175, b"HY000", "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column.";
    KeyDoesNotExist = 1176, b"42000", "Key '%s' doesn't exist in table '%s'";
    ErrorDuringCommit = 1180, b"HY000", "Got error %s during COMMIT";
    BinaryLogClosed = 1186, b"HY000", "Binlog closed, cannot RESET BINARY LOGS AND GTIDS";
    FtMatchingKeyNotFound = 1191, b"HY000", "Can't find FULLTEXT index matching the column list";
    LockOrActiveTransaction = 1192, b"HY000", "Can't execute the given command because you have active locked tables or an active transaction";
    UnknownSystemVariable = 1193, b"HY000", "Unknown system variable '%s'";
    TooManyUserConnections = 1203, b"42000", "User %s already has more than 'max_user_connections' active connections";
    LockWaitTimeout = 1205, b"HY000", "Lock wait timeout exceeded; try restarting transaction";
    WrongArguments = 1210, b"HY000", "Incorrect arguments to %s";
    Deadlock = 1213, b"40001", "Deadlock found when trying to get lock; try restarting transaction";
    TableCannotHandleFulltext = 1214, b"HY000", "The used table type doesn't support FULLTEXT indexes";
    CannotAddForeign = 1215, b"HY000", "Cannot add foreign key constraint";
    NoReferencedRow = 1216, b"23000", "Cannot add or update a child row: a foreign key constraint fails";
    RowIsReferenced = 1217, b"23000", "Cannot delete or update a parent row: a foreign key constraint fails";
    WrongUsage = 1221, b"HY000", "Incorrect usage of %s and %s";
    WrongNumberOfColumnsInSelect = 1222, b"21000", "The used SELECT statements have a different number of columns";
    CantUpdateWithReadLock = 1223, b"HY000", "Can't execute the query because you have a conflicting read lock";
    DuplicateArgument = 1225, b"HY000", "Option '%s' used twice in statement";
    UserLimitReached = 1226, b"42000", "User '%s' has exceeded the '%s' resource (current value: %s)";
    SpecificAccessDenied = 1227, b"42000", "Access denied; you need (at least one of) the %s privilege(s) for this operation";
    LocalVariable = 1228, b"HY000", "Variable '%s' is a SESSION variable and can't be used with SET GLOBAL";
    GlobalVariable = 1229, b"HY000", "Variable '%s' is a GLOBAL variable and should be set with SET GLOBAL";
    NoDefault = 1230, b"42000", "Variable '%s' doesn't have a default value";
    WrongValueForVar = 1231, b"42000", "Variable '%s' can't be set to the value of '%s'";
    WrongTypeForVar = 1232, b"42000", "Incorrect argument type to variable '%s'";
    NotSupportedYet = 1235, b"42000", "This version of MySQL doesn't yet support '%s'";
    IncorrectGlobalLocalVar = 1238, b"HY000", "Variable '%s' is a %s variable";
    WrongForeignKeyDef = 1239, b"42000", "Incorrect foreign key definition for '%s': %s";
    OperandColumns = 1241, b"21000", "Operand should contain %s column(s)";
    SubqueryReturnsMoreRows = 1242, b"21000", "Subquery returns more than 1 row";
    UnknownStatementHandler = 1243, b"HY000", "Unknown prepared statement handler (%s) given to %s";
    IllegalReference = 1247, b"42S22", "Reference '%s' not supported (%s)";
    DerivedMustHaveAlias = 1248, b"42000", "Every derived table must have its own alias";
    TableNotAllowedHere = 1250, b"42000", "Table '%s' from one of the SELECTs cannot be used in %s";
    NotSupportedAuthMode = 1251, b"08004", "Client does not support authentication protocol requested by server; consider upgrading MySQL client";
    SpatialCannotHaveNull = 1252, b"42000", "All parts of a SPATIAL index must be NOT NULL";
    CollationCharsetMismatch = 1253, b"42000", "COLLATION '%s' is not valid for CHARACTER SET '%s'";
    TooBigForUncompress = 1256, b"HY000", "Uncompressed data size too large; the maximum size is %s (probably, length of uncompressed data was corrupted)";
    ZlibBufferError = 1258, b"HY000", "ZLIB: Not enough room in the output buffer (probably, length of uncompressed data was corrupted)";
    ZlibDataError = 1259, b"HY000", "ZLIB: Input data corrupted";
    WarnCutValueGroupConcat = 1260, b"HY000", "Row %s was cut by GROUP_CONCAT()";
    WarnTooFewRecords = 1261, b"01000", "Row %s doesn't contain data for all columns";
    WarnTooManyRecords = 1262, b"01000", "Row %s was truncated; it contained more data than there were input columns";
    WarnNullToNotNull = 1263, b"22004", "Column set to default value; NULL supplied to NOT NULL column '%s' at row %s";
    DataOutOfRange = 1264, b"22003", "Out of range value for column '%s' at row %s";
    DataTruncated = 1265, b"01000", "Data truncated for column '%s' at row %s";
    WarnUsingOtherHandler = 1266, b"HY000", "Using storage engine %s for table '%s'";
    CantAggregateCollations = 1267, b"HY000", "Illegal mix of collations (%s,%s) and (%s,%s) for operation '%s'";
    CantAggregate3Collations = 1270, b"HY000", "Illegal mix of collations (%s,%s), (%s,%s), (%s,%s) for operation '%s'";
    CantAggregateNCollations = 1271, b"HY000", "Illegal mix of collations for operation '%s'";
    UnknownCollation = 1273, b"HY000", "Unknown collation: '%s'";
    WrongNameForIndex = 1280, b"42000", "Incorrect index name '%s'";
    BadFulltextColumn = 1283, b"HY000", "Column '%s' cannot be part of FULLTEXT index";
    UnknownKeyCache = 1284, b"HY000", "Unknown key cache '%s'";
    UnknownStorageEngine = 1286, b"42000", "Unknown storage engine '%s'";
    WarnDeprecatedSyntax = 1287, b"HY000", "'%s' is deprecated and will be removed in a future release. Please use %s instead";
    NonUpdatableTable = 1288, b"HY000", "The target table %s of the %s is not updatable";
    FeatureDisabled = 1289, b"HY000", "The '%s' feature is disabled; you need MySQL built with '%s' to have it working";
    OptionPreventsStatement = 1290, b"HY000", "The MySQL server is running with the %s option so it cannot execute this statement";
    DuplicatedValueInType = 1291, b"HY000", "Column '%s' has duplicated value '%s' in %s";
    TruncatedWrongValue = 1292, b"22007", "Truncated incorrect %s value: '%s'";
    IncorrectWrongValue = 1292, b"22007", "Incorrect %s value: '%s'";
    InvalidOnUpdate = 1294, b"HY000", "Invalid ON UPDATE clause for '%s' column";
    UnsupportedPs = 1295, b"HY000", "This command is not supported in the prepared statement protocol yet";
    UnknownTimeZone = 1298, b"HY000", "Unknown or incorrect time zone: '%s'";
    WarnInvalidTimestamp = 1299, b"HY000", "Invalid TIMESTAMP value in column '%s' at row %s";
    InvalidCharacterString = 1300, b"HY000", "Invalid %s character string: '%s'";
    WarnAllowedPacketOverflowed = 1301, b"HY000", "Result of %s() was larger than max_allowed_packet (%s) - truncated";
    ConflictingDeclarations = 1302, b"HY000", "Conflicting declarations: 'CHARACTER SET %s' and 'CHARACTER SET %s'";
    SpNoRecursiveCreate = 1303, b"2F003", "Can't create a %s from within another stored routine";
    SpAlreadyExists = 1304, b"42000", "%s %s already exists";
    SpDoesNotExist = 1305, b"42000", "%s %s does not exist";
    LabelMismatch = 1308, b"42000", "%s with no matching label: %s";
    LabelRedefined = 1309, b"42000", "Redefining label %s";
    ReturnOutsideFunction = 1313, b"42000", "RETURN is only allowed in a FUNCTION";
    SpBadStatement = 1314, b"0A000", "%s is not allowed in stored procedures";
    QueryInterrupted = 1317, b"70100", "Query execution was interrupted";
    SpWrongArgumentCount = 1318, b"42000", "Incorrect number of arguments for %s %s; expected %s, got %s";
    UndefinedCondition = 1319, b"42000", "Undefined CONDITION: %s";
    SpNoReturn = 1320, b"42000", "No RETURN found in FUNCTION %s";
    SpNoReturnAtEnd = 1321, b"2F005", "FUNCTION %s ended without RETURN";
    UndefinedCursor = 1324, b"42000", "Undefined CURSOR: %s";
    CursorAlreadyOpen = 1325, b"24000", "Cursor is already open";
    CursorNotOpen = 1326, b"24000", "Cursor is not open";
    UndeclaredVariable = 1327, b"42000", "Undeclared variable: %s";
    WrongFetchVariables = 1328, b"HY000", "Incorrect number of FETCH variables";
    NoData = 1329, b"02000", "No data - zero rows fetched, selected, or processed";
    SpDuplicateParameter = 1330, b"42000", "Duplicate parameter: %s";
    DuplicateVariable = 1331, b"42000", "Duplicate variable: %s";
    DuplicateCondition = 1332, b"42000", "Duplicate condition: %s";
    DuplicateCursor = 1333, b"42000", "Duplicate cursor: %s";
    NotAllowedInFunctionOrTrigger = 1336, b"0A000", "%s is not allowed in stored function or trigger";
    SpVariableAfterCursor = 1337, b"42000", "Variable or condition declaration after cursor or handler declaration";
    SpCursorAfterHandler = 1338, b"42000", "Cursor declaration after handler declaration";
    CaseNotFound = 1339, b"20000", "Case not found for CASE statement";
    ViewNoExplain = 1345, b"HY000", "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table";
    WrongObject = 1347, b"HY000", "'%s.%s' is not %s";
    NonupdateableColumn = 1348, b"HY000", "Column '%s' is not updatable";
    ViewSelectClause = 1350, b"HY000", "View's SELECT contains a 'INTO' clause";
    ViewSelectVariable = 1351, b"HY000", "View's SELECT contains a variable or parameter";
    ViewSelectTmpTable = 1352, b"HY000", "View's SELECT refers to a temporary table '%s'";
    ViewWrongList = 1353, b"HY000", "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts";
    ViewInvalid = 1356, b"HY000", "View '%s.%s' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them";
    SpNoDrop = 1357, b"HY000", "Can't drop or alter a %s from within another stored routine";
    TriggerAlreadyExists = 1359, b"HY000", "Trigger already exists";
    TriggerDoesNotExist = 1360, b"HY000", "Trigger does not exist";
    TriggerOnViewOrTemporaryTable = 1361, b"HY000", "Trigger's '%s' is view or temporary table";
    TriggerCannotChangeRow = 1362, b"HY000", "Updating of %s row is not allowed in %strigger";
    TriggerHasNoSuchRow = 1363, b"HY000", "There is no %s row in on %s trigger";
    NoDefaultForField = 1364, b"HY000", "Field '%s' doesn't have a default value";
    DivisionByZero = 1365, b"22012", "Division by 0";
    TruncatedWrongValueForField = 1366, b"HY000", "Incorrect %s value: '%s' for column '%s' at row %s";
    IllegalValueForType = 1367, b"22007", "Illegal %s '%s' value found during parsing";
    ViewCheckFailed = 1369, b"HY000", "CHECK OPTION failed '%s.%s'";
    ProcAccessDenied = 1370, b"42000", "%s command denied to user '%s'@'%s' for routine '%s'";
    NoBinaryLogging = 1381, b"HY000", "You are not using binary logging";
    PsManyParameters = 1390, b"HY000", "Prepared statement contains too many placeholders";
    KeyPartZeroLength = 1391, b"HY000", "Key part '%s' length cannot be 0";
    ViewMultiupdate = 1393, b"HY000", "Can not modify more than one base table through a join view '%s.%s'";
    ViewNoInsertFieldList = 1394, b"HY000", "Can not insert into join view '%s.%s' without fields list";
    ViewDeleteMergeView = 1395, b"HY000", "Can not delete from join view '%s.%s'";
    CannotUser = 1396, b"HY000", "Operation %s failed for %s";
    XaerNota = 1397, b"XAE04", "XAER_NOTA: Unknown XID";
    XaerInval = 1398, b"XAE05", "XAER_INVAL: Invalid arguments (or unsupported command)";
    XaerRmfail = 1399, b"XAE07", "XAER_RMFAIL: The command cannot be executed when global transaction is in the  %s state";
    XaerOutside = 1400, b"XAE09", "XAER_OUTSIDE: Some work is done outside global transaction";
    XaerRmerr = 1401, b"XAE03", "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency";
    XaRbrollback = 1402, b"XA100", "XA_RBROLLBACK: Transaction branch was rolled back";
    DataTooLong = 1406, b"22001", "Data too long for column '%s' at row %s";
    CannotCreateUserWithGrant = 1410, b"42000", "You are not allowed to create a user with GRANT";
    WrongValueForType = 1411, b"HY000", "Incorrect %s value: '%s' for function %s";
    DoesNotSupportSchemaChange = 1412, b"HY000", "Table definition has changed, please retry transaction";
    DuplicateHandler = 1413, b"42000", "Duplicate handler declared in the same block";
    SpNotVariableArgument = 1414, b"42000", "OUT or INOUT argument %s for routine %s is not a variable or NEW pseudo-variable in BEFORE trigger";
    SpNoResultSet = 1415, b"0A000", "Not allowed to return a result set from a %s";
    CannotCreateGeometryObject = 1416, b"22003", "Cannot get geometry object from data you send to the GEOMETRY field";
    CommitNotAllowedInFunctionOrTrigger = 1422, b"HY000", "Explicit or implicit commit is not allowed in stored function or trigger.";
    NoDefaultForViewField = 1423, b"HY000", "Field of view '%s.%s' underlying table doesn't have a default value";
    SpNoRecursion = 1424, b"HY000", "Recursive stored functions and triggers are not allowed.";
    TooBigScale = 1425, b"42000", "Too big scale %s specified for column '%s'. Maximum is %s.";
    TooBigPrecision = 1426, b"42000", "Too-big precision %s specified for '%s'. Maximum is %s.";
    MBiggerThanD = 1427, b"42000", "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '%s').";
    TriggerInWrongSchema = 1435, b"HY000", "Trigger in wrong schema";
    StackOverrun = 1436, b"HY000", "Thread stack overrun: the statement is nested too deeply";
    TooBigDisplayWidth = 1439, b"42000", "Display width out of range for column '%s' (max = %s)";
    XaerDupid = 1440, b"XAE08", "XAER_DUPID: The XID already exists";
    DatetimeFunctionOverflow = 1441, b"22008", "Datetime function: %s field overflow";
    CantUpdateUsedTable = 1442, b"HY000", "Can't update table '%s' in stored function/trigger because it is already used by statement which invoked this stored function/trigger.";
    ViewPreventsOperation = 1443, b"HY000", "The definition of table '%s' prevents operation %s on table '%s'.";
    PsNoRecursion = 1444, b"HY000", "The prepared statement contains a stored routine call that refers to that same statement. It's not allowed to execute a prepared statement in such a recursive manner";
    SpCantSetAutocommit = 1445, b"HY000", "Not allowed to set autocommit from a stored function or trigger";
    NoSuchUser = 1449, b"HY000", "The user specified as a definer ('%s'@'%s') does not exist";
    ForbidSchemaChange = 1450, b"HY000", "Changing schema from '%s' to '%s' is not allowed.";
    RowIsReferenced2 = 1451, b"23000", "Cannot delete or update a parent row: a foreign key constraint fails (%s)";
    NoReferencedRow2 = 1452, b"23000", "Cannot add or update a child row: a foreign key constraint fails (%s)";
    SpBadVariableShadow = 1453, b"42000", "Variable '%s' must be quoted with `...`, or renamed";
    SpRecursionLimit = 1456, b"HY000", "Recursive limit %s (as set by the max_sp_recursion_depth variable) was exceeded for routine %s";
    SpWrongName = 1458, b"42000", "Incorrect routine name '%s'";
    MaxPreparedStatements = 1461, b"42000", "Can't create more than max_prepared_stmt_count statements (current value: %s)";
    ViewRecursive = 1462, b"HY000", "`%s`.`%s` contains view recursion";
    NoTriggersOnSystemSchema = 1465, b"HY000", "Triggers can not be created on system tables";
    AutoIncrementReadFailed = 1467, b"HY000", "Failed to read auto-increment value from storage engine";
    WrongStringLength = 1470, b"HY000", "String '%s' is too long for %s (should be no longer than %s)";
    NonInsertableTable = 1471, b"HY000", "The target table %s of the %s is not insertable-into";
    TooHighLevelOfNesting = 1473, b"HY000", "Too high level of nesting for select";
    ForeignServerExists = 1476, b"HY000", "The foreign server, %s, you are trying to create already exists.";
    ForeignServerDoesNotExist = 1477, b"HY000", "The foreign server name you are trying to reference does not exist. Data source error:  %s";
    IllegalCreateOption = 1478, b"HY000", "Table storage engine '%s' does not support the create option '%s'";
    PartitionRequiresValues = 1479, b"HY000", "Syntax error: %s PARTITIONING requires definition of VALUES %s for each partition";
    PartitionWrongValues = 1480, b"HY000", "Only %s PARTITIONING can use VALUES %s in partition definition";
    PartitionMaxvalue = 1481, b"HY000", "MAXVALUE can only be used in last partition definition";
    PartitionSubpartition = 1482, b"HY000", "Subpartitions can only be hash partitions and by key";
    PartitionSubpartitionMix = 1483, b"HY000", "Must define subpartitions on all partitions if on one partition";
    PartitionWrongCount = 1484, b"HY000", "Wrong number of partitions defined, mismatch with previous setting";
    PartitionWrongSubpartitionCount = 1485, b"HY000", "Wrong number of subpartitions defined, mismatch with previous setting";
    WrongExprInPartitionFunction = 1486, b"HY000", "Constant, random or timezone-dependent expressions in (sub)partitioning function are not allowed";
    PartitionValuesNotConstant = 1487, b"HY000", "Expression in RANGE/LIST VALUES must be constant";
    FieldNotFoundInPartitionList = 1488, b"HY000", "Field in list of fields for partition function not found in table";
    PartitionFunctionType = 1491, b"HY000", "The %s function returns the wrong type";
    PartitionsMustBeDefined = 1492, b"HY000", "For %s partitions each partition must be defined";
    RangeNotIncreasing = 1493, b"HY000", "VALUES LESS THAN value must be strictly increasing for each partition";
    PartitionValueType = 1494, b"HY000", "VALUES value must be of same type as partition function";
    MultipleConstantsInList = 1495, b"HY000", "Multiple definition of same constant in list partitioning";
    MixOfPartitionEngines = 1497, b"HY000", "The mix of handlers in the partitions is not allowed in this version of MySQL";
    PartitionNotDefined = 1498, b"HY000", "For the partitioned engine it is necessary to define all %s";
    TooManyPartitions = 1499, b"HY000", "Too many partitions (including subpartitions) were defined";
    WrongSubpartitioning = 1500, b"HY000", "It is only possible to mix RANGE/LIST partitioning with HASH/KEY partitioning for subpartitioning";
    BlobInPartitionFunction = 1502, b"HY000", "A BLOB field is not allowed in partition function";
    UniqueKeyNeedsPartitionColumns = 1503, b"HY000", "A %s must include all columns in the table's partitioning function (prefix columns are not considered).";
    NoPartitions = 1504, b"HY000", "Number of %s = 0 is not an allowed value";
    PartitionManagementOnNonPartitioned = 1505, b"HY000", "Partition management on a not partitioned table is not possible";
    ForeignKeyOnPartitioned = 1506, b"HY000", "Foreign keys are not yet supported in conjunction with partitioning";
    PartitionsDoNotExist = 1507, b"HY000", "Error in list of partitions to %s";
    DropLastPartition = 1508, b"HY000", "Cannot remove all partitions, use DROP TABLE instead";
    CoalesceOnlyHash = 1509, b"HY000", "COALESCE PARTITION can only be used on HASH/KEY partitions";
    ReorganizeHashSameNumber = 1510, b"HY000", "REORGANIZE PARTITION can only be used to reorganize partitions not to change their numbers";
    ReorganizeWithoutNames = 1511, b"HY000", "REORGANIZE PARTITION without parameters can only be used on auto-partitioned tables using HASH PARTITIONs";
    OnlyRangeListPartition = 1512, b"HY000", "%s PARTITION can only be used on RANGE/LIST partitions";
    AddPartitionSubpartitions = 1513, b"HY000", "Trying to Add partition(s) with wrong number of subpartitions";
    AddNoPartition = 1514, b"HY000", "At least one partition must be added";
    CoalesceNoPartition = 1515, b"HY000", "At least one partition must be coalesced";
    ReorganizeTooMany = 1516, b"HY000", "More partitions to reorganize than there are partitions";
    DuplicatePartitionName = 1517, b"HY000", "Duplicate partition name %s";
    ReorganizeOutOfSequence = 1519, b"HY000", "When reorganizing a set of partitions they must be in consecutive order";
    ReorganizeOutsideRange = 1520, b"HY000", "Reorganize of range partitions cannot change total ranges except for last partition where it can extend the range";
    PluginNotLoaded = 1524, b"HY000", "Plugin '%s' is not loaded";
    WrongValue = 1525, b"HY000", "Incorrect %s value: '%s'";
    NoPartitionForValue = 1526, b"HY000", "Table has no partition for value %s";
    EventExists = 1537, b"HY000", "Event '%s' already exists";
    NoSuchEvent = 1539, b"HY000", "Unknown event '%s'";
    EventInterval = 1542, b"HY000", "INTERVAL is either not positive or too big";
    EventEndsBeforeStarts = 1543, b"HY000", "ENDS is either invalid or before STARTS";
    EventTimeInPast = 1544, b"HY000", "Event execution time is in the past. Event has been disabled";
    EventSameName = 1551, b"HY000", "Same old and new event name";
    DropIndexForeignKey = 1553, b"HY000", "Cannot drop index '%s': needed in a foreign key constraint";
    TemporaryPartitions = 1562, b"HY000", "Cannot create temporary table with partitions";
    PartitionConstantDomain = 1563, b"HY000", "Partition constant is out of partition function domain";
    PartitionFunctionNotAllowed = 1564, b"HY000", "This partition function is not allowed";
    NullInValuesLessThan = 1566, b"HY000", "Not allowed to use NULL value in VALUES LESS THAN";
    WrongPartitionName = 1567, b"HY000", "Incorrect partition name";
    CantChangeTxCharacteristics = 1568, b"25001", "Transaction characteristics can't be changed while a transaction is in progress";
    EventRecursionForbidden = 1576, b"HY000", "Recursion of EVENT DDL statements is forbidden when body is present";
    WrongParamCountToNativeFct = 1582, b"42000", "Incorrect parameter count in the call to native function '%s'";
    WrongParametersToNativeFct = 1583, b"42000", "Incorrect parameters in the call to native function '%s'";
    WrongParametersToStoredFct = 1584, b"42000", "Incorrect parameters in the call to stored function %s";
    NativeFunctionNameCollision = 1585, b"HY000", "This function '%s' has the same name as a native function";
    EventCreatedInPast = 1588, b"HY000", "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was dropped immediately after creation.";
    EventAlteredIntoPast = 1589, b"HY000", "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was not changed. Specify a time in the future.";
    XaRbtimeout = 1613, b"XA106", "XA_RBTIMEOUT: Transaction branch was rolled back: took too long";
    XaRbdeadlock = 1614, b"XA102", "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected";
    NeedReprepare = 1615, b"HY000", "Prepared statement needs to be re-prepared";
    WarnOptionIgnored = 1618, b"HY000", "<%s> option ignored";
    TooLongTableComment = 1628, b"HY000", "Comment for table '%s' is too long (max = 2048)";
    TooLongFieldComment = 1629, b"HY000", "Comment for field '%s' is too long (max = %s)";
    UnhandledSignal = 1644, b"45000", "Unhandled user-defined exception condition";
    ResignalWithoutHandler = 1645, b"0K000", "RESIGNAL when handler not active";
    SignalWithoutState = 1646, b"HY000", "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE";
    CondItemTruncated = 1647, b"HY000", "Data truncated for condition item '%s'";
    CondItemTooLong = 1648, b"HY000", "Data too long for condition item '%s'";
    UnknownLocale = 1649, b"HY000", "Unknown locale: '%s'";
    DuplicatePartitionField = 1652, b"HY000", "Duplicate partition field name '%s'";
    PartitionColumnLists = 1653, b"HY000", "Inconsistency in usage of column lists for partitioning";
    PartitionColumnValueType = 1654, b"HY000", "Partition column values of incorrect type";
    TooManyPartitionFields = 1655, b"HY000", "Too many fields in '%s'";
    MaxvalueInValuesIn = 1656, b"HY000", "Cannot use MAXVALUE as value in VALUES IN";
    TooManyPartitionValues = 1657, b"HY000", "Cannot have more than one value for this type of %s partitioning";
    PartitionFieldType = 1659, b"HY000", "Field '%s' is of a not allowed type for this type of partitioning";
    PathTooLong = 1680, b"HY000", "The path specified for %s is too long.";
    SpatialMustHaveGeometryColumn = 1687, b"42000", "A SPATIAL index may only contain a geometrical type column";
    TooLongIndexComment = 1688, b"HY000", "Comment for index '%s' is too long (max = 1024)";
    DataOutOfRangeExpr = 1690, b"22003", "%s value is out of range in '%s'";
    PartitionValuesNotInt = 1697, b"HY000", "VALUES value for partition '%s' must have type INT";
    TruncateIllegalForeignKey = 1701, b"42000", "Cannot truncate a table referenced in a foreign key constraint (`%s`.`%s`, CONSTRAINT `%s`)";
    PartitionExchangeOption = 1731, b"HY000", "Non matching attribute '%s' between partition and table";
    PartitionExchangePartitioned = 1732, b"HY000", "Table to exchange with partition is partitioned: '%s'";
    PartitionExchangeTemporary = 1733, b"HY000", "Table to exchange with partition is temporary: '%s'";
    PartitionInsteadOfSubpartition = 1734, b"HY000", "Subpartitioned table, use subpartition instead of partition";
    UnknownPartition = 1735, b"HY000", "Unknown partition '%s' in table '%s'";
    TablesDifferentMetadata = 1736, b"HY000", "Tables have different definitions";
    RowDoesNotMatchPartition = 1737, b"HY000", "Found a row that does not match the partition";
    PartitionExchangeForeignKey = 1740, b"HY000", "Table to exchange with partition has foreign key references: '%s'";
    PartitionClauseOnNonPartitioned = 1747, b"HY000", "PARTITION () clause on non partitioned table";
    RowDoesNotMatchGivenPartitionSet = 1748, b"HY000", "Found a row not matching the given partition set";
    NoSuchCondition = 1758, b"35000", "Invalid condition number";
    VariableNotSettableInFunction = 1765, b"HY000", "The system variable %s cannot be set in stored functions or triggers.";
    VariableNotSettableInTransaction = 1766, b"HY000", "The system variable %s cannot be set when there is an ongoing transaction.";
    MalformedGtidSet = 1772, b"HY000", "Malformed GTID set specification '%s'.";
    UnknownExplainFormat = 1791, b"HY000", "Unknown EXPLAIN format name: '%s'";
    ReadOnlyTransaction = 1792, b"25006", "Cannot execute statement in a READ ONLY transaction.";
    UnknownAlterAlgorithm = 1800, b"HY000", "Unknown ALGORITHM '%s'";
    UnknownAlterLock = 1801, b"HY000", "Unknown LOCK type '%s'";
    InvalidYearColumnLength = 1818, b"HY000", "Supports only YEAR or YEAR(4) column.";
    MustChangePassword = 1820, b"HY000", "You must reset your password using ALTER USER statement before executing this statement.";
    CannotOpenParent = 1824, b"HY000", "Failed to open the referenced table '%s'";
    DuplicateForeignKeyName = 1826, b"HY000", "Duplicate foreign key constraint name '%s'";
    DropColumnOfForeignKey = 1828, b"HY000", "Cannot drop column '%s': needed in a foreign key constraint '%s'";
    DropColumnOfForeignKeyChild = 1829, b"HY000", "Cannot drop column '%s': needed in a foreign key constraint '%s' of table '%s.%s'";
    ForeignKeyColumnNotNull = 1830, b"HY000", "Column '%s' cannot be NOT NULL: needed in a foreign key constraint '%s' SET NULL";
    ChangeColumnOfForeignKey = 1832, b"HY000", "Cannot change column '%s': used in a foreign key constraint '%s'";
    ChangeColumnOfForeignKeyChild = 1833, b"HY000", "Cannot change column '%s': used in a foreign key constraint '%s' of table '%s.%s'";
    MalformedPacket = 1835, b"HY000", "Malformed communication packet.";
    CantExecuteInReadOnly = 1836, b"HY000", "Running in read-only mode";
    AlterOperationNotSupported = 1845, b"0A000", "%s is not supported for this operation. Try %s.";
    MustChangePasswordLogin = 1862, b"HY000", "Your password has expired. To log in you must change it using a client that supports expired passwords.";
    AccessDeniedChangeUser = 1873, b"28000", "Access denied trying to change to user '%s'@'%s' (using password: %s). Disconnecting.";
    AesInvalidIv = 1882, b"HY000", "The initialization vector supplied to %s is too short. Must be at least %s bytes long";
    StackedWithoutHandler = 1887, b"0Z002", "GET STACKED DIAGNOSTICS when handler not active";
    GeneratedValueIgnored = 1906, b"HY000", "The value specified for generated column '%s' in table '%s' has been ignored";
    VariableNotForStatement = 1971, b"42000", "The system variable %s cannot be set in SET STATEMENT.";
    ForeignKeyDepthExceeded = 3008, b"HY000", "Foreign key cascade delete/update exceeds max depth of %s.";
    ReferencedTriggerDoesNotExist = 3011, b"HY000", "Referenced trigger '%s' for the given action time and event type does not exist.";
    InvalidFieldSize = 3013, b"42000", "Invalid size for column '%s'.";
    InvalidArgumentForLogarithm = 3020, b"2201E", "Invalid argument for logarithm";
    QueryTimeout = 3024, b"HY000", "Query execution was interrupted, maximum statement execution time exceeded";
    ServerOfflineMode = 3032, b"HY000", "The server is currently in offline mode";
    GisDifferentSrids = 3033, b"HY000", "Binary geometry function %s given two geometries of different srids: %s and %s, which should have been identical.";
    GisUnknownError = 3035, b"HY000", "Unknown GIS error occurred in function %s.";
    GisInvalidData = 3037, b"22023", "Invalid GIS data provided to function %s.";
    WrongUserLockName = 3057, b"42000", "Incorrect user-level lock name '%s'.";
    UserLockDeadlock = 3058, b"HY000", "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting lock acquisition.";
    GtidModeOff = 3062, b"HY000", "Cannot %s when @@GLOBAL.GTID_MODE = OFF.";
    IncorrectType = 3064, b"HY000", "Incorrect type for argument %s in function %s.";
    FieldInOrderNotSelect = 3065, b"HY000", "Expression #%s of ORDER BY clause is not in SELECT list, references column '%s' which is not in SELECT list; this is incompatible with DISTINCT";
    InvalidJsonData = 3069, b"HY000", "Invalid JSON data provided to function %s: %s";
    GeoJsonMissingMember = 3070, b"HY000", "Invalid GeoJSON data provided to function %s: Missing required member '%s'";
    GeoJsonWrongType = 3071, b"HY000", "Invalid GeoJSON data provided to function %s: Member '%s' must be of type '%s'";
    GeoJsonUnspecified = 3072, b"HY000", "Invalid GeoJSON data provided to function %s";
    DimensionUnsupported = 3073, b"HY000", "Unsupported number of coordinate dimensions in function %s: Found %s, expected %s";
    BadValueForGeneratedColumn = 3105, b"HY000", "The value specified for generated column '%s' in table '%s' is not allowed.";
    UnsupportedActionOnGeneratedColumn = 3106, b"HY000", "'%s' is not supported for generated columns.";
    GeneratedColumnNonPrior = 3107, b"HY000", "Generated column can refer only to generated columns defined prior to it.";
    DependentByGeneratedColumn = 3108, b"HY000", "Column '%s' has a generated column dependency.";
    GeneratedColumnRefersAutoIncrement = 3109, b"HY000", "Generated column '%s' cannot refer to auto-increment column.";
    AccountLocked = 3118, b"HY000", "Access denied for user '%s'@'%s'. Account is locked.";
    GisTooManyPoints = 3134, b"HY000", "Parameter %s exceeds the maximum number of points in a geometry (%s) in function %s.";
    InvalidJsonText = 3140, b"22032", "Invalid JSON text: \"%s\" at position %s in value for column '%s'.";
    InvalidJsonTextInParam = 3141, b"22032", "Invalid JSON text in argument %s to function %s: \"%s\" at position %s.";
    InvalidJsonPath = 3143, b"42000", "Invalid JSON path expression. The error is around character position %s.";
    InvalidJsonCharset = 3144, b"22032", "Cannot create a JSON value from a string with CHARACTER SET '%s'.";
    InvalidTypeForJson = 3146, b"22032", "Invalid data type for JSON data in argument %s to function %s; a JSON string or JSON type is required.";
    InvalidJsonPathWildcard = 3149, b"42000", "In this situation, path expressions may not contain the * and ** tokens or an array range.";
    JsonUsedAsKey = 3152, b"42000", "JSON column '%s' supports indexing only via generated columns on a specified JSON path.";
    JsonVacuousPath = 3153, b"42000", "The path expression '$' is not allowed in this context.";
    JsonBadOneOrAll = 3154, b"42000", "The oneOrAll argument to %s may take these values: 'one' or 'all'.";
    NumericJsonValueOutOfRange = 3155, b"22003", "Out of range JSON value for CAST to %s from column %s at row %s";
    InvalidJsonValueForCast = 3156, b"22018", "Invalid JSON value for CAST to %s from column %s at row %s";
    JsonDocumentTooDeep = 3157, b"22032", "The JSON document exceeds the maximum depth.";
    JsonDocumentNullKey = 3158, b"22032", "JSON documents may not contain NULL member names.";
    SecureTransportRequired = 3159, b"HY000", "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    UserDoesNotExist = 3162, b"HY000", "Authorization ID %s does not exist.";
    UserAlreadyExists = 3163, b"HY000", "Authorization ID %s already exists.";
    AuditApiAbort = 3164, b"HY000", "Aborted by Audit API ('%s';%s).";
    InvalidJsonPathArrayCell = 3165, b"42000", "A path expression is not a path to a cell in an array.";
    CapacityExceeded = 3170, b"HY000", "Memory capacity of %s bytes for '%s' exceeded. %s";
    AesInvalidKdfName = 3235, b"HY000", "KDF method name is not valid. Please use hkdf or pbkdf2_hmac method name";
    AesInvalidKdfIterations = 3236, b"HY000", "For KDF method pbkdf2_hmac iterations value less than 1000 or more than 65535, due to security reasons. Please use iterations >= 1000 and iterations < 65535";
    WarnAesKeySize = 3237, b"HY000", "AES key size should be %s bytes length or secure KDF methods hkdf or pbkdf2_hmac should be used, please provide exact AES key size or use KDF methods for better security.";
    AesInvalidKdfOptionSize = 3238, b"HY000", "KDF option size is invalid. Please provide valid size < %s bytes and not NULL.";
    UnexpectedGeometryType = 3516, b"22S01", "%s value is a geometry of unexpected type %s in %s.";
    PrimaryKeyInvisible = 3522, b"HY000", "A primary key index cannot be invisible";
    UnknownAuthorizationId = 3523, b"HY000", "Unknown authorization ID `%s`@`%s`";
    RoleNotGranted = 3530, b"HY000", "`%s`@`%s` is not granted to `%s`@`%s`";
    RenameRole = 3532, b"HY000", "Renaming of a role identifier is forbidden";
    ComponentNotLoaded = 3537, b"HY000", "Component specified by URN '%s' to unload has not been loaded before.";
    SrsNotFound = 3548, b"SR001", "There's no spatial reference system with SRID %s.";
    NoSystemSchemaAccess = 3552, b"HY000", "Access to system schema '%s' is rejected.";
    InvalidOptionKey = 3558, b"22023", "Invalid option key '%s' in function %s.";
    InvalidOptionValue = 3559, b"22023", "Invalid value '%s' for option '%s' in function '%s'.";
    InvalidOptionPair = 3560, b"22023", "The string '%s' is not a valid key %s value pair in function %s.";
    InvalidOptionStart = 3561, b"22023", "The options argument in function %s starts with the invalid character '%s'.";
    InvalidOptionEnd = 3562, b"22023", "The options argument in function %s ends with the invalid character '%s'.";
    InvalidOptionCharacters = 3563, b"22023", "The options argument in function %s contains the invalid character sequence '%s'.";
    DuplicateOptionKey = 3564, b"22023", "Duplicate option key '%s' in funtion '%s'.";
    LockNowait = 3572, b"HY000", "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
    CteRecursiveRequiresUnion = 3573, b"HY000", "Recursive Common Table Expression '%s' should contain a UNION";
    CteRecursiveRequiresNonRecursiveFirst = 3574, b"HY000", "Recursive Common Table Expression '%s' should have one or more non-recursive query blocks followed by one or more recursive ones";
    CteRecursiveForbidsAggregation = 3575, b"HY000", "Recursive Common Table Expression '%s' can contain neither aggregation nor window functions in recursive query block";
    CteRecursiveForbidsJoinOrder = 3576, b"HY000", "In recursive query block of Recursive Common Table Expression '%s', the recursive table must neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints";
    CteRecursiveRequiresSingleReference = 3577, b"HY000", "In recursive query block of Recursive Common Table Expression '%s', the recursive table must be referenced only once, and not in any subquery";
    WindowNoSuchName = 3579, b"HY000", "Window name '%s' is not defined.";
    WindowCircularity = 3580, b"HY000", "There is a circularity in the window dependency graph.";
    WindowNoChildPartitioning = 3581, b"HY000", "A window which depends on another cannot define partitioning.";
    WindowNoInheritFrame = 3582, b"HY000", "Window '%s' has a frame definition, so cannot be referenced by another window.";
    WindowNoRedefineOrderBy = 3583, b"HY000", "Window '%s' cannot inherit '%s' since both contain an ORDER BY clause.";
    WindowFrameStartIllegal = 3584, b"HY000", "Window '%s': frame start cannot be UNBOUNDED FOLLOWING.";
    WindowFrameEndIllegal = 3585, b"HY000", "Window '%s': frame end cannot be UNBOUNDED PRECEDING.";
    WindowFrameIllegal = 3586, b"HY000", "Window '%s': frame start or end is negative, NULL or of non-integral type";
    WindowRangeNeedsOrder = 3587, b"HY000", "Window '%s' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal type";
    WindowRangeTemporalType = 3588, b"HY000", "Window '%s' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.";
    WindowRangeNumericType = 3589, b"HY000", "Window '%s' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.";
    WindowBoundNotConstant = 3590, b"HY000", "Window '%s' has a non-constant frame bound.";
    WindowDuplicateName = 3591, b"HY000", "Window '%s' is defined twice.";
    WindowIllegalOrderBy = 3592, b"HY000", "Window '%s': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression.";
    WindowInvalidUse = 3593, b"HY000", "You cannot use the window function '%s' in this context.'";
    WindowRowsIntervalUse = 3595, b"HY000", "Window '%s': INTERVAL can only be used with RANGE frames.";
    FieldInGroupingNotGroupBy = 3602, b"HY000", "Argument #%s of GROUPING function is not in GROUP BY";
    PersistedVariableDoesNotExist = 3615, b"HY000", "Variable %s does not exist in persisted config file";
    LongitudeOutOfRange = 3616, b"22S02", "Longitude %s is out of range in function %s. It must be within (-180.000000, 180.000000].";
    LatitudeOutOfRange = 3617, b"22S03", "Latitude %s is out of range in function %s. It must be within [-90.000000, 90.000000].";
    NotImplementedForGeographicSrs = 3618, b"22S00", "%s(%s) has not been implemented for geographic spatial reference systems.";
    IllegalPrivilegeLevel = 3619, b"HY000", "Illegal privilege level specified for %s";
    MandatoryRole = 3628, b"HY000", "The role `%s`@`%s` is a mandatory role and can't be revoked or dropped. The restriction can be lifted by excluding the role identifier from the global variable mandatory_roles.";
    CteRecursionLimit = 3636, b"HY000", "Recursive query aborted after %s iterations. Try increasing @@cte_max_recursion_depth to a larger value.";
    CredentialsContradictHistory = 3638, b"HY000", "Cannot use these credentials for '%s@%s' because they contradict the password history policy";
    WrongSridForColumn = 3643, b"HY000", "The SRID of the geometry does not match the SRID of the column '%s'. The SRID of the geometry is %s, but the SRID of the column is %s. Consider changing the SRID of the geometry or the SRID property of the column.";
    CannotAlterSridDueToIndex = 3644, b"HY000", "The SRID specification on the column '%s' cannot be changed because there is a spatial index on the column. Please remove the spatial index before altering the SRID specification.";
    MissingJsonTableValue = 3665, b"22035", "Missing value for JSON_TABLE column '%s'";
    WrongJsonTableValue = 3666, b"2203F", "Can't store an array or an object in the scalar column '%s' of JSON_TABLE";
    TableFunctionMustHaveAlias = 3667, b"42000", "Every table function must have an alias";
    JsonTableValueOutOfRange = 3669, b"22003", "Value is out of range for JSON_TABLE's column '%s'";
    JsonTableMaxNestedPath = 3670, b"42000", "More than supported %s NESTED PATHs were found in JSON_TABLE '%s'";
    GeoJsonCrsNotTopLevel = 3672, b"HY000", "Invalid GeoJSON data provided to function %s: Member 'crs' must be specified in the top level object.";
    UselessSpatialIndex = 3674, b"HY000", "The spatial index on column '%s' will not be used by the query optimizer since the column does not have an SRID attribute. Consider adding an SRID attribute to the column.";
    ParseErrorInDigestFunction = 3677, b"HY000", "Could not parse argument to digest function.";
    OnlyForSrid0And4326 = 3682, b"22S00", "Function %s is only defined for SRID 0 and SRID 4326.";
    RegexpIllegalArgument = 3685, b"HY000", "Illegal argument to a regular expression.";
    RegexpIndexOutOfBounds = 3686, b"HY000", "Index out of bounds in regular expression search.";
    RegexpPatternTooBig = 3700, b"HY000", "The regular expression pattern exceeds limits on size or complexity.";
    NotImplementedForCartesianSrs = 3704, b"22S00", "%s(%s) has not been implemented for Cartesian spatial reference systems.";
    NonpositiveRadius = 3706, b"22003", "Invalid radius provided to function %s: Radius must be greater than zero.";
    RestartServerFailed = 3707, b"HY000", "Restart server failed (%s).";
    SrsNotGeographic = 3726, b"22S00", "Function %s is only defined for geographic spatial reference systems, but one of its arguments is in SRID %s, which is not geographic.";
    IndexTypeNotForSpatialIndex = 3729, b"HY000", "The index type %s is not supported for spatial indexes.";
    DropTableReferencedByForeignKey = 3730, b"HY000", "Cannot drop table '%s' referenced by a foreign key constraint '%s' on table '%s'.";
    GeometryLongitudeOutOfRange = 3731, b"22S02", "A parameter of function %s contains a geometry with longitude %s, which is out of range. It must be within (-180.000000, 180.000000].";
    GeometryLatitudeOutOfRange = 3732, b"22S03", "A parameter of function %s contains a geometry with latitude %s, which is out of range. It must be within [-90.000000, 90.000000].";
    ForeignKeyMissingColumn = 3734, b"HY000", "Failed to add the foreign key constraint. Missing column '%s' for constraint '%s' in the referenced table '%s'";
    TransformSourceNotSupported = 3741, b"22S00", "Transformation from SRID %s is not supported.";
    TransformTargetNotSupported = 3742, b"22S00", "Transformation to SRID %s is not supported.";
    TableWithoutPrimaryKey = 3750, b"HY000", "Unable to create or change a table without a primary key, when the system variable 'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to avoid this message. Note that tables without a primary key can cause performance problems in row-based replication, so please consult your DBA before changing this setting.";
    DataTruncatedFunctionalIndex = 3751, b"01000", "Data truncated for functional index '%s' at row %s";
    DataOutOfRangeFunctionalIndex = 3752, b"22003", "Value is out of range for functional index '%s' at row %s";
    FunctionalIndexOnJsonOrGeometry = 3753, b"HY000", "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.";
    FunctionalIndexRefAutoIncrement = 3754, b"HY000", "Functional index '%s' cannot refer to an auto-increment column.";
    FunctionalIndexPrimaryKey = 3756, b"HY000", "The primary key cannot be a functional index";
    FunctionalIndexOnLob = 3757, b"HY000", "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using CAST.";
    FunctionalIndexFunctionNotAllowed = 3758, b"HY000", "Expression of functional index '%s' contains a disallowed function.";
    FulltextFunctionalIndex = 3759, b"HY000", "Fulltext functional index is not supported.";
    SpatialFunctionalIndex = 3760, b"HY000", "Spatial functional index is not supported.";
    FunctionalIndexOnField = 3762, b"HY000", "Functional index on a column is not supported. Consider using a regular index instead.";
    GeneratedColumnFunctionNotAllowed = 3763, b"HY000", "Expression of generated column '%s' contains a disallowed function: %s.";
    DefaultRefersAutoIncrement = 3768, b"HY000", "Default value expression of column '%s' cannot refer to an auto-increment column.";
    DefaultValueGenerated = 3770, b"HY000", "Default value expression of column '%s' contains a disallowed function: %s.";
    DefaultNonPrior = 3771, b"HY000", "Default value expression of column '%s' cannot refer to a column defined after it if that column is a generated column or has an expression as default value.";
    DefaultAsValueGenerated = 3773, b"HY000", "DEFAULT function cannot be used with default value expressions.";
    ForeignKeyIncompatibleColumns = 3780, b"HY000", "Referencing column '%s' and referenced column '%s' in foreign key constraint '%s' are incompatible.";
    FunctionalIndexRowValue = 3800, b"HY000", "Expression of functional index '%s' cannot refer to a row value.";
    NonBooleanCheckConstraint = 3812, b"HY000", "An expression of non-boolean type specified to a check constraint '%s'.";
    CheckConstraintFunctionNotAllowed = 3814, b"HY000", "An expression of a check constraint '%s' contains disallowed function: %s.";
    CheckConstraintRefersAutoIncrement = 3818, b"HY000", "Check constraint '%s' cannot refer to an auto-increment column.";
    CheckConstraintViolated = 3819, b"HY000", "Check constraint '%s' is violated.";
    CheckConstraintRefersUnknownColumn = 3820, b"HY000", "Check constraint '%s' refers to non-existing column '%s'.";
    CheckConstraintNotFound = 3821, b"HY000", "Check constraint '%s' is not found in the table.";
    CheckConstraintDuplicateName = 3822, b"HY000", "Duplicate check constraint name '%s'.";
    DependentByFunctionalIndex = 3837, b"HY000", "Column '%s' has a functional index dependency and cannot be dropped or renamed.";
    InvalidJsonType = 3853, b"22032", "Invalid JSON type in argument %s to function %s; an %s is required.";
    DependentByPartitionFunction = 3855, b"HY000", "Column '%s' has a partitioning function dependency and cannot be dropped or renamed.";
    SecondPasswordCannotBeEmpty = 3878, b"HY000", "Empty password can not be retained as second password for user '%s'@'%s'.";
    AuthIdDbAccessDenied = 3879, b"HY000", "Access denied for AuthId `%s`@`%s` to database '%s'.";
    UnknownLengthUnit = 3882, b"SU001", "The geometry passed to function %s is in SRID 0, which doesn't specify a length unit. Can't convert to '%s'.";
    IncorrectCurrentPassword = 3891, b"HY000", "Incorrect current password. Specify the correct password which has to be replaced.";
    MissingCurrentPassword = 3892, b"HY000", "Current password needs to be specified in the REPLACE clause in order to change it.";
    CurrentPasswordNotRequired = 3893, b"HY000", "Do not specify the current password while changing it for other users.";
    PasswordCannotBeRetainedOnPluginChange = 3894, b"HY000", "Current password can not be retained for user '%s'@'%s' because authentication plugin is being changed.";
    CurrentPasswordCannotBeRetained = 3895, b"HY000", "Current password can not be retained for user '%s'@'%s' because new password is empty.";
    PartialRevokesExist = 3896, b"HY000", "At least one partial revoke exists on a database. The system variable '@@partial_revokes' must be set to ON.";
    SystemPrivilegeForMandatoryRole = 3897, b"HY000", "AuthId `%s`@`%s` is set as mandatory_roles. Cannot grant the '%s' privilege.";
    UnitNotFound = 3902, b"SU001", "There's no unit of measure named '%s'.";
    InvalidJsonValueForFunctionalIndex = 3903, b"22018", "Invalid JSON value for CAST for functional index '%s'.";
    JsonValueOutOfRangeForFunctionalIndex = 3904, b"22003", "Out of range JSON value for CAST for functional index '%s'.";
    FunctionalIndexDataTooLong = 3907, b"22001", "Data too long for functional index '%s'.";
    WrongMultiValuedValue = 3908, b"22018", "Cannot store an array or an object in a scalar key part of the index '%s'.";
    WrongCompressionAlgorithm = 3922, b"HY000", "Invalid compression algorithm '%s'.";
    ConstraintNotFound = 3940, b"HY000", "Constraint '%s' does not exist.";
    LocalInfileDisabled = 3948, b"42000", "Loading local data is disabled; this must be enabled on both the client and server sides";
    AccountBlockedByPasswordLock = 3955, b"HY000", "Access denied for user '%s'@'%s'. Account is blocked for %s day(s) (%s day(s) remaining) due to %s consecutive failed logins.";
    DependentByCheckConstraint = 3959, b"HY000", "Check constraint '%s' uses column '%s', hence column cannot be dropped or renamed.";
    MissingJsonValue = 3966, b"22035", "No value was found by '%s' on the specified path.";
    MultipleJsonValues = 3967, b"22034", "More than one value was found by '%s' on the specified path.";
    JsonInBooleanContext = 3986, b"HY000", "Evaluating a JSON value in SQL boolean context does an implicit comparison against JSON integer 0; if this is not what you want, consider converting JSON to a SQL numeric type with JSON_VALUE RETURNING";
    UserReferencedAsDefiner = 4005, b"HY000", "User %s is referenced as a definer account in %s.";
    CannotUserReferencedAsDefiner = 4006, b"HY000", "Operation %s failed for %s as it is referenced as a definer account in %s.";
    RoleGrantedToItself = 4027, b"HY000", "User account `%s`@`%s` is directly or indirectly granted to the role `%s`@`%s`. The GRANT would create a loop";
    InvisibleColumnsOnly = 4028, b"HY000", "A table must have at least one visible column.";
    ClientInteractionTimeout = 4031, b"HY000", "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.";
    InvalidGeometryCast = 4032, b"22S01", "Invalid cast from %s to %s.";
    InvalidCastRingDirection = 4033, b"22S04", "Invalid cast from %s to %s. A polygon ring is in the wrong direction.";
    GisDifferentSridsAggregation = 4034, b"22S05", "Arguments to function %s contains geometries with different SRIDs: %s and %s. All geometries must have the same SRID.";
    SequenceRunOut = 4084, b"HY000", "Sequence '%s.%s' has run out";
    SequenceInvalidData = 4085, b"HY000", "Sequence '%s.%s' has out of range value for options";
    SequenceInvalidTable = 4086, b"HY000", "Sequence '%s.%s' table structure is invalid (%s)";
    NotSequence = 4089, b"42S02", "'%s.%s' is not a SEQUENCE";
    NotSequenceToDrop = 4090, b"42S02", "'%s.%s' is not a SEQUENCE";
    UnknownSequence = 4091, b"42S02", "Unknown SEQUENCE: '%s'";
    XaTempTable = 4091, b"HY000", "Temporary tables cannot be accessed inside XA transactions when xa_detach_on_prepare=ON";
    BackupStageActive = 4145, b"HY000", "Can't execute the command as you have a BACKUP STAGE active";
    BackupNotRunning = 4146, b"HY000", "You must start backup with \"BACKUP STAGE START\"";
    BackupWrongStage = 4147, b"HY000", "Backup stage '%s' is same or before current backup stage '%s'";
    BackupUnknownStage = 4149, b"HY000", "Unknown backup stage: '%s'. Stage should be one of START, FLUSH, BLOCK_DDL, BLOCK_COMMIT or END";
    WithTiesNeedsOrder = 4180, b"HY000", "FETCH ... WITH TIES requires ORDER BY clause to be present";
    ForeignKeyMissingUniqueKey = 6125, b"HY000", "Failed to add the foreign key constraint. Missing unique key for constraint '%s' in the referenced table '%s'";
    NonScalarUsedAsKey = 6134, b"HY000", "Non-scalar (e.g., vector) column '%s' cannot be used as key";
    DataIncompatibleWithVector = 6136, b"HY000", "Value of type '%s, size: %s' cannot be converted to 'vector' type.";
    ToVectorConversion = 6138, b"HY000", "Data cannot be converted to a valid vector: '%s'";
}

/// The text of an input/output error as the operating system has it, without what Rust adds.
pub fn io_error_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" (os error").map_or(&*text, |(text, _)| text).to_string()
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
