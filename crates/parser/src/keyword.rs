//! Keywords.

/// Declares the keywords: the reserved ones first, so that one comparison tells them apart.
macro_rules! keywords {
    (reserved { $($reserved:ident = $reserved_text:literal,)* } others { $($other:ident = $other_text:literal,)* }) => {
        /// A word of the grammar.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u16)]
        pub(crate) enum Keyword {
            $($reserved,)*
            /// The last reserved word; not a keyword itself.
            LastReserved,
            $($other,)*
            /// No keyword.
            None,
        }

        const WORDS: &[(&str, Keyword)] = &[
            $(($reserved_text, Keyword::$reserved),)*
            $(($other_text, Keyword::$other),)*
        ];
    };
}

keywords! {
    reserved {
        Accessible = "accessible", Add = "add", All = "all", Alter = "alter", Analyze = "analyze", And = "and",
        As = "as", Asc = "asc", Asensitive = "asensitive", Before = "before", Between = "between", Bigint = "bigint",
        Binary = "binary", Blob = "blob", Both = "both", By = "by", Call = "call", Cascade = "cascade", Case = "case",
        Change = "change", Char = "char", Character = "character", Check = "check", Collate = "collate",
        Column = "column", Condition = "condition", Constraint = "constraint", Continue = "continue",
        Convert = "convert", Create = "create", Cross = "cross", Cube = "cube", CumeDist = "cume_dist",
        CurrentDate = "current_date", CurrentTime = "current_time", CurrentTimestamp = "current_timestamp",
        CurrentUser = "current_user", Cursor = "cursor", Database = "database", Databases = "databases",
        DayHour = "day_hour", DayMicrosecond = "day_microsecond", DayMinute = "day_minute", DaySecond = "day_second",
        Dec = "dec", Decimal = "decimal", Declare = "declare", Default = "default", Delayed = "delayed",
        Delete = "delete", DenseRank = "dense_rank", Desc = "desc", Describe = "describe",
        Deterministic = "deterministic", Distinct = "distinct", Distinctrow = "distinctrow", Div = "div",
        Double = "double", Drop = "drop", Dual = "dual", Each = "each", Else = "else", Elseif = "elseif",
        Empty = "empty", Enclosed = "enclosed", Escaped = "escaped", Except = "except", Exists = "exists",
        Exit = "exit", Explain = "explain", False = "false", Fetch = "fetch", FirstValue = "first_value",
        Float = "float", Float4 = "float4", Float8 = "float8", For = "for", Force = "force", Foreign = "foreign",
        From = "from", Fulltext = "fulltext", Function = "function", Generated = "generated", Get = "get",
        Grant = "grant", Group = "group", Grouping = "grouping", Groups = "groups", Having = "having",
        HighPriority = "high_priority", HourMicrosecond = "hour_microsecond", HourMinute = "hour_minute",
        HourSecond = "hour_second", If = "if", Ignore = "ignore", In = "in", Index = "index", Infile = "infile",
        Inner = "inner", Inout = "inout", Insensitive = "insensitive", Insert = "insert", Int = "int", Int1 = "int1",
        Int2 = "int2", Int3 = "int3", Int4 = "int4", Int8 = "int8", Integer = "integer", Intersect = "intersect",
        Interval = "interval", Into = "into", IoAfterGtids = "io_after_gtids", IoBeforeGtids = "io_before_gtids",
        Is = "is", Iterate = "iterate", Join = "join", JsonTable = "json_table", Key = "key", Keys = "keys",
        Kill = "kill", Lag = "lag", LastValue = "last_value", Lateral = "lateral", Lead = "lead", Leading = "leading",
        Leave = "leave", Left = "left", Like = "like", Limit = "limit", Linear = "linear", Lines = "lines",
        Load = "load", Localtime = "localtime", Localtimestamp = "localtimestamp", Lock = "lock", Long = "long",
        Longblob = "longblob", Longtext = "longtext", Loop = "loop", LowPriority = "low_priority", Manual = "manual",
        Match = "match", Maxvalue = "maxvalue", Mediumblob = "mediumblob", Mediumint = "mediumint",
        Mediumtext = "mediumtext", Middleint = "middleint", MinuteMicrosecond = "minute_microsecond",
        MinuteSecond = "minute_second", Mod = "mod", Modifies = "modifies", Natural = "natural",
        NoWriteToBinlog = "no_write_to_binlog", Not = "not", NthValue = "nth_value", Ntile = "ntile", Null = "null",
        Numeric = "numeric", Of = "of", On = "on", Optimize = "optimize", OptimizerCosts = "optimizer_costs",
        Option = "option", Optionally = "optionally", Or = "or", Order = "order", Out = "out", Outer = "outer",
        Outfile = "outfile", Over = "over", Parallel = "parallel", Partition = "partition",
        PercentRank = "percent_rank", Precision = "precision", Primary = "primary", Procedure = "procedure",
        Purge = "purge", Qualify = "qualify", Range = "range", Rank = "rank", Read = "read", ReadWrite = "read_write",
        Reads = "reads", Real = "real", Recursive = "recursive", References = "references", Regexp = "regexp",
        Release = "release", Rename = "rename", Repeat = "repeat", Replace = "replace", Require = "require",
        Resignal = "resignal", Restrict = "restrict", Return = "return", Revoke = "revoke", Right = "right",
        Rlike = "rlike", Row = "row", RowNumber = "row_number", Rows = "rows", Schema = "schema", Schemas = "schemas",
        SecondMicrosecond = "second_microsecond", Select = "select", Sensitive = "sensitive", Separator = "separator",
        Set = "set", Show = "show", Signal = "signal", Smallint = "smallint", Spatial = "spatial",
        Specific = "specific", Sql = "sql", SqlBigResult = "sql_big_result", SqlCalcFoundRows = "sql_calc_found_rows",
        SqlSmallResult = "sql_small_result", Sqlexception = "sqlexception", Sqlstate = "sqlstate",
        Sqlwarning = "sqlwarning", Ssl = "ssl", Starting = "starting", Stored = "stored",
        StraightJoin = "straight_join", System = "system", Table = "table", Tablesample = "tablesample",
        Terminated = "terminated", Then = "then", Tinyblob = "tinyblob", Tinyint = "tinyint", Tinytext = "tinytext",
        To = "to", Trailing = "trailing", Trigger = "trigger", True = "true", Undo = "undo", Union = "union",
        Unique = "unique", Unlock = "unlock", Unsigned = "unsigned", Update = "update", Usage = "usage", Use = "use",
        Using = "using", UtcDate = "utc_date", UtcTime = "utc_time", UtcTimestamp = "utc_timestamp",
        Values = "values", Varbinary = "varbinary", Varchar = "varchar", Varcharacter = "varcharacter",
        Varying = "varying", Virtual = "virtual", When = "when", Where = "where", While = "while", Window = "window",
        With = "with", Write = "write", Xor = "xor", YearMonth = "year_month", Zerofill = "zerofill",
    }
    others {
        Account = "account", Action = "action", Adddate = "adddate", Admin = "admin", After = "after",
        Against = "against", Aggregate = "aggregate", Algorithm = "algorithm", Always = "always", Any = "any",
        Ascii = "ascii", At = "at", Atomic = "atomic", Attribute = "attribute", Authorization = "authorization",
        Authors = "authors", Auto = "auto", AutoIncrement = "auto_increment", AutoextendSize = "autoextend_size",
        Avg = "avg", AvgRowLength = "avg_row_length", Backup = "backup", Begin = "begin", Binlog = "binlog",
        Bit = "bit", BitAnd = "bit_and", BitOr = "bit_or", BitXor = "bit_xor", Block = "block", Bool = "bool",
        Boolean = "boolean", Buckets = "buckets", Byte = "byte", Cache = "cache", Cascaded = "cascaded",
        Cast = "cast", Chain = "chain", Changed = "changed", Channel = "channel", Charset = "charset",
        Checkpoint = "checkpoint", Checksum = "checksum", Cipher = "cipher", Clone = "clone", Close = "close",
        Coalesce = "coalesce", Code = "code", Collation = "collation", ColumnFormat = "column_format",
        Columns = "columns", Comment = "comment", Commit = "commit", Committed = "committed",
        Completion = "completion", Component = "component", Compressed = "compressed", Compression = "compression",
        Concurrent = "concurrent", Connection = "connection", Consistent = "consistent", Contains = "contains",
        Context = "context", Contributors = "contributors", Count = "count", Cpu = "cpu", Curdate = "curdate",
        Current = "current", CurrentRole = "current_role", Curtime = "curtime", Cycle = "cycle", Data = "data",
        Date = "date", DateAdd = "date_add", DateSub = "date_sub", Datetime = "datetime", Day = "day",
        Deallocate = "deallocate", Definer = "definer", DelayKeyWrite = "delay_key_write",
        Diagnostics = "diagnostics", Directory = "directory", Disable = "disable", Discard = "discard", Disk = "disk",
        Do = "do", Dumpfile = "dumpfile", Duplicate = "duplicate", Dynamic = "dynamic", Enable = "enable",
        Encryption = "encryption", End = "end", Ends = "ends", Enforced = "enforced", Engine = "engine",
        EngineAttribute = "engine_attribute", Engines = "engines", Enum = "enum", Error = "error", Errors = "errors",
        Escape = "escape", Event = "event", Events = "events", Every = "every", Exchange = "exchange",
        Exclude = "exclude", Execute = "execute", Expansion = "expansion", Expire = "expire", Export = "export",
        Extended = "extended", Extract = "extract", FailedLoginAttempts = "failed_login_attempts", Fast = "fast",
        Faults = "faults", Fields = "fields", Filter = "filter", First = "first", Fixed = "fixed", Flush = "flush",
        Following = "following", Follows = "follows", Format = "format", Found = "found", Full = "full",
        General = "general", Geomcollection = "geomcollection", Geometry = "geometry",
        Geometrycollection = "geometrycollection", GetFormat = "get_format", Global = "global", Grants = "grants",
        GroupConcat = "group_concat", GroupReplication = "group_replication", Gtids = "gtids", Handler = "handler",
        Hard = "hard", Hash = "hash", Help = "help", Histogram = "histogram", History = "history", Hosts = "hosts",
        Hour = "hour", Id = "id", Identified = "identified", Ignored = "ignored", Immediate = "immediate",
        Import = "import", Increment = "increment", Indexes = "indexes", InsertMethod = "insert_method",
        Install = "install", Instance = "instance", Invisible = "invisible", Invoker = "invoker", Io = "io",
        IoThread = "io_thread", Ipc = "ipc", Isolation = "isolation", Issuer = "issuer", Json = "json",
        JsonArrayagg = "json_arrayagg", JsonObjectagg = "json_objectagg", JsonValue = "json_value",
        KeyBlockSize = "key_block_size", Language = "language", Last = "last", Lastval = "lastval", Leaves = "leaves",
        Less = "less", Level = "level", Linestring = "linestring", List = "list", Local = "local", Locked = "locked",
        Log = "log", Logfile = "logfile", Logs = "logs", Master = "master", Max = "max",
        MaxConnectionsPerHour = "max_connections_per_hour", MaxQueriesPerHour = "max_queries_per_hour",
        MaxRows = "max_rows", MaxStatementTime = "max_statement_time", MaxUpdatesPerHour = "max_updates_per_hour",
        MaxUserConnections = "max_user_connections", Medium = "medium", Member = "member", Memory = "memory",
        Merge = "merge", Microsecond = "microsecond", Mid = "mid", Migrate = "migrate", Min = "min",
        MinRows = "min_rows", Minute = "minute", Minvalue = "minvalue", Mode = "mode", Modify = "modify",
        Month = "month", Multilinestring = "multilinestring", Multipoint = "multipoint",
        Multipolygon = "multipolygon", Mutex = "mutex", Names = "names", National = "national", Nchar = "nchar",
        Nested = "nested", Never = "never", Next = "next", Nextval = "nextval", No = "no", Nocache = "nocache",
        Nocycle = "nocycle", Nodegroup = "nodegroup", Nomaxvalue = "nomaxvalue", Nominvalue = "nominvalue",
        Now = "now", Nowait = "nowait", Nulls = "nulls", Nvarchar = "nvarchar", Offset = "offset", Old = "old",
        One = "one", Online = "online", Only = "only", Open = "open", Optional = "optional", Options = "options",
        Ordinality = "ordinality", Others = "others", PackKeys = "pack_keys", Page = "page", ParseTree = "parse_tree",
        Parser = "parser", Partial = "partial", Partitioning = "partitioning", Partitions = "partitions",
        Password = "password", PasswordLockTime = "password_lock_time", Path = "path", Persist = "persist",
        PersistOnly = "persist_only", Persistent = "persistent", Phase = "phase", Plugin = "plugin",
        Plugins = "plugins", Point = "point", Polygon = "polygon", Position = "position", Precedes = "precedes",
        Preceding = "preceding", Prepare = "prepare", Preserve = "preserve", Prev = "prev", Previous = "previous",
        Privileges = "privileges", Processlist = "processlist", Profile = "profile", Profiles = "profiles",
        Proxy = "proxy", Quarter = "quarter", Query = "query", Quick = "quick", Random = "random",
        Rebuild = "rebuild", Recover = "recover", Reference = "reference", Relay = "relay", Relaylog = "relaylog",
        Remove = "remove", Reorganize = "reorganize", Repair = "repair", Repeatable = "repeatable",
        Replica = "replica", Replicas = "replicas", Replication = "replication", Reset = "reset",
        Resource = "resource", Respect = "respect", Restart = "restart", Resume = "resume", Retain = "retain",
        Returning = "returning", Returns = "returns", Reuse = "reuse", Role = "role", Rollback = "rollback",
        Rollup = "rollup", RowFormat = "row_format", Savepoint = "savepoint", Schedule = "schedule",
        Second = "second", SecondaryEngine = "secondary_engine",
        SecondaryEngineAttribute = "secondary_engine_attribute", SecondaryLoad = "secondary_load",
        SecondaryUnload = "secondary_unload", Security = "security", Sequence = "sequence", Serial = "serial",
        Serializable = "serializable", Server = "server", Session = "session", SessionUser = "session_user",
        Setval = "setval", Share = "share", Shutdown = "shutdown", Signed = "signed", Simple = "simple",
        Skip = "skip", Slave = "slave", Slaves = "slaves", Slow = "slow", Snapshot = "snapshot", Soft = "soft",
        Some = "some", Soname = "soname", Sounds = "sounds", Source = "source", SqlBufferResult = "sql_buffer_result",
        SqlNoCache = "sql_no_cache", SqlThread = "sql_thread", SqlTsiDay = "sql_tsi_day", SqlTsiHour = "sql_tsi_hour",
        SqlTsiMinute = "sql_tsi_minute", SqlTsiMonth = "sql_tsi_month", SqlTsiQuarter = "sql_tsi_quarter",
        SqlTsiSecond = "sql_tsi_second", SqlTsiWeek = "sql_tsi_week", SqlTsiYear = "sql_tsi_year", Srid = "srid",
        StCollect = "st_collect", Stacked = "stacked", Start = "start", Starts = "starts", Statement = "statement",
        StatsAutoRecalc = "stats_auto_recalc", StatsPersistent = "stats_persistent",
        StatsSamplePages = "stats_sample_pages", Status = "status", Std = "std", Stddev = "stddev",
        StddevPop = "stddev_pop", StddevSamp = "stddev_samp", Stop = "stop", Storage = "storage", Subdate = "subdate",
        Subject = "subject", Subpartition = "subpartition", Subpartitions = "subpartitions", Substr = "substr",
        Substring = "substring", Sum = "sum", Suspend = "suspend", Swaps = "swaps", Switches = "switches",
        Sysdate = "sysdate", SystemUser = "system_user", TableChecksum = "table_checksum", Tables = "tables",
        Tablespace = "tablespace", Temporary = "temporary", Temptable = "temptable", Text = "text", Than = "than",
        Ties = "ties", Time = "time", Timestamp = "timestamp", Timestampadd = "timestampadd",
        Timestampdiff = "timestampdiff", Transaction = "transaction", Triggers = "triggers", Trim = "trim",
        Truncate = "truncate", Type = "type", Unbounded = "unbounded", Uncommitted = "uncommitted",
        Undefined = "undefined", Unicode = "unicode", Uninstall = "uninstall", Unknown = "unknown", Until = "until",
        Upgrade = "upgrade", UseFrm = "use_frm", User = "user", Validation = "validation", Value = "value",
        VarPop = "var_pop", VarSamp = "var_samp", Variables = "variables", Variance = "variance", Vector = "vector",
        Via = "via", View = "view", Visible = "visible", Wait = "wait", Warnings = "warnings", Week = "week",
        WeightString = "weight_string", Without = "without", Work = "work", Wrapper = "wrapper", X509 = "x509",
        Xa = "xa", Xid = "xid", Xml = "xml", Year = "year",
    }
}

/// Slots of the hash table: a power of two, several times the number of words, so that probes are short.
const SLOTS: usize = 4096;

/// The length of the longest keyword.
const LONGEST: usize = {
    let mut longest = 0;
    let mut index = 0;
    while index < WORDS.len() {
        if WORDS[index].0.len() > longest {
            longest = WORDS[index].0.len();
        }
        index += 1;
    }
    longest
};

/// Indexes into [`WORDS`] plus one; zero is an empty slot. Collisions take the next slot.
static TABLE: [u16; SLOTS] = {
    let mut table = [0u16; SLOTS];
    let mut index = 0;
    while index < WORDS.len() {
        let mut slot = hash(WORDS[index].0.as_bytes());
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = index as u16 + 1;
        index += 1;
    }
    table
};

/// A slot for a word in any case. `| 0x20` makes letters small and leaves digits as they are; `_` becomes
/// another byte, which does no harm to a hash.
const fn hash(word: &[u8]) -> usize {
    let mut hash = word.len() as u32;
    let mut index = 0;
    while index < word.len() {
        hash = (hash ^ (word[index] | 0x20) as u32).wrapping_mul(0x0100_0193);
        index += 1;
    }
    ((hash >> 20) ^ hash) as usize % SLOTS
}

impl Keyword {
    /// The keyword that a word is, in any case.
    pub(crate) fn find(word: &[u8]) -> Keyword {
        if word.len() > LONGEST {
            return Keyword::None;
        }
        let mut slot = hash(word);
        loop {
            let index = TABLE[slot];
            if index == 0 {
                return Keyword::None;
            }
            let (text, keyword) = WORDS[index as usize - 1];
            if text.as_bytes().eq_ignore_ascii_case(word) {
                return keyword;
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// Whether the word is a built-in function's name that must have its `(` at once.
    pub(crate) fn is_function(self) -> bool {
        matches!(
            self,
            Keyword::Adddate
                | Keyword::BitAnd
                | Keyword::BitOr
                | Keyword::BitXor
                | Keyword::Cast
                | Keyword::Count
                | Keyword::Curdate
                | Keyword::Curtime
                | Keyword::DateAdd
                | Keyword::DateSub
                | Keyword::Extract
                | Keyword::GroupConcat
                | Keyword::JsonArrayagg
                | Keyword::JsonObjectagg
                | Keyword::Max
                | Keyword::Mid
                | Keyword::Min
                | Keyword::Now
                | Keyword::Position
                | Keyword::SessionUser
                | Keyword::StCollect
                | Keyword::Std
                | Keyword::Stddev
                | Keyword::StddevPop
                | Keyword::StddevSamp
                | Keyword::Subdate
                | Keyword::Substr
                | Keyword::Substring
                | Keyword::Sum
                | Keyword::Sysdate
                | Keyword::SystemUser
                | Keyword::Trim
                | Keyword::VarPop
                | Keyword::VarSamp
                | Keyword::Variance
        )
    }

    /// Whether the word is an identifier only in quotes.
    pub(crate) fn is_reserved(self) -> bool {
        self < Keyword::LastReserved
    }
}

/// The words of the grammar in lower case, and whether they are names in quotes only.
pub fn keywords() -> impl Iterator<Item = (&'static str, bool)> {
    WORDS.iter().map(|(word, keyword)| (*word, keyword.is_reserved()))
}
