//! The server itself: its folders, its network, its limits.

use super::action::Action;
use super::definition::{
    Kind,
    Scope::{Both, Global, Session},
    Unit, VariableDef, boolean, choice, double, flags, nullable, signed, special, text, text_of, unsigned,
};
use squall_catalog::AccountKey;

pub(super) const VARIABLES: &[VariableDef] = &[
    text(
        "version",
        Global,
        "8.4.0-squall",
        "Version of the server; begins with the MySQL version whose dialect it speaks.",
    )
    .read_only(),
    text("version_comment", Global, "Squall", "Name of the server.").read_only(),
    text("version_compile_machine", Global, std::env::consts::ARCH, "Processor the server was built for.").read_only(),
    text("version_compile_os", Global, "Linux", "System the server was built for.").read_only(),
    text("version_compile_zlib", Global, "1.3.1", "Version of the compression library that clients ask for.")
        .read_only(),
    flags(
        "protocol_compression_algorithms",
        Global,
        "zlib,zstd,uncompressed",
        &["zlib", "zstd", "uncompressed"],
        "How new connections may be compressed; without `uncompressed` those that are not are refused.",
    ),
    unsigned("protocol_version", Global, 10, 0, 10, "Version of the client protocol.").read_only(),
    text("license", Global, "Apache-2.0", "Licence of the server.").read_only(),
    text("hostname", Global, "localhost", "Name of the machine.").read_only(),
    unsigned("port", Global, 3306, 0, 65535, "TCP port that the server listens on.").read_only(),
    text("socket", Global, "", "Path of the Unix socket.").read_only(),
    text("bind_address", Global, "127.0.0.1", "Address that the server listens on.").read_only(),
    text("datadir", Global, "", "The data directory.").read_only(),
    text("basedir", Global, "", "Directory of the installation.").read_only(),
    text("tmpdir", Global, "", "Directory of files that sorts and joins spill to.").read_only(),
    text("pid_file", Global, "", "File with the process id; none is written.").read_only(),
    text("character_sets_dir", Global, "", "Directory of character sets; all are built in.").read_only(),
    text("plugin_dir", Global, "", "Directory of loadable plugins; there are none.").read_only(),
    text("lc_messages_dir", Global, "", "Directory of messages; all are built in.").read_only(),
    text("server_uuid", Global, "", "Identity of this data directory.").read_only(),
    unsigned("server_id", Global, 1, 0, u32::MAX as u64, "Identity of the server among those that replicate.")
        .compatibility(),
    unsigned("server_id_bits", Global, 32, 7, 32, "Bits of `server_id` in use.").read_only(),
    boolean("skip_networking", Global, false, "Whether only the socket is listened on.").read_only(),
    boolean("skip_name_resolve", Global, true, "Host names of clients are never looked up.").read_only(),
    boolean("skip_show_database", Global, false, "Whether SHOW DATABASES needs its privilege.").read_only(),
    boolean("skip_external_locking", Global, true, "Whether files are not locked for other programs.").read_only(),
    boolean("large_files_support", Global, true, "Whether files may pass 2 GB.").read_only(),
    text("system_time_zone", Global, "UTC", "The zone that `SYSTEM` stands for.").read_only(),
    unsigned("max_connections", Global, 151, 1, 100_000, "Most clients at once."),
    unsigned(
        "max_user_connections",
        Both,
        0,
        0,
        u32::MAX as u64,
        "Most connections of one account at once; 0 is no limit.",
    )
    .fixed_in_session(),
    unsigned("max_connect_errors", Global, 100, 1, u64::MAX, "Failed attempts after which MySQL blocks a host.")
        .compatibility(),
    unsigned("back_log", Global, 151, 1, 65535, "Connections that may wait to be accepted.").read_only(),
    unsigned("connect_timeout", Global, 10, 2, 31_536_000, "Seconds a client has to finish its handshake.").unit(Unit::Seconds),
    unsigned("wait_timeout", Both, 28_800, 1, 31_536_000, "Seconds after which an idle connection is closed.").unit(Unit::Seconds),
    unsigned(
        "interactive_timeout",
        Both,
        28_800,
        1,
        31_536_000,
        "`wait_timeout` of clients that call themselves interactive.",
    ).unit(Unit::Seconds),
    unsigned(
        "busy_poll_microseconds",
        Both,
        100,
        0,
        1000,
        "How long to look for a client's next command before the core may sleep, if the client has been quick; 0: not at all.",
    ).unit(Unit::Microseconds),
    unsigned("net_read_timeout", Both, 30, 1, 31_536_000, "Seconds to wait for more of a packet or a file.").unit(Unit::Seconds),
    unsigned("net_write_timeout", Both, 60, 1, 31_536_000, "Seconds to wait until a client takes more of a result.").unit(Unit::Seconds),
    unsigned("net_retry_count", Both, 10, 1, u64::MAX, "Tries of an interrupted read.").compatibility(),
    unsigned("net_buffer_length", Both, 16_384, 1024, 1 << 20, "First size of a connection's buffer.")
        .block(1024)
        .fixed_in_session()
        .compatibility(),
    unsigned(
        "max_allowed_packet",
        Both,
        64 << 20,
        1024,
        1 << 30,
        "Longest statement, row or value in bytes; the session's value follows the global one.",
    ).unit(Unit::Bytes)
    .fixed_in_session()
    .block(1024),
    unsigned("thread_cache_size", Global, 9, 0, 16_384, "Threads MySQL keeps for new connections.").compatibility(),
    choice(
        "thread_handling",
        Global,
        "one-thread-per-connection",
        &["one-thread-per-connection", "no-threads", "loaded-dynamically"],
        "How MySQL runs connections.",
    )
    .read_only(),
    unsigned("thread_stack", Global, 1 << 20, 131_072, u64::MAX, "Stack of a thread in bytes.").read_only(),
    unsigned("table_open_cache", Global, 4000, 1, 524_288, "Tables MySQL keeps open.").compatibility(),
    unsigned("table_open_cache_instances", Global, 16, 1, 64, "Parts of MySQL's table cache.").read_only(),
    unsigned("table_definition_cache", Global, 2000, 400, 524_288, "Definitions MySQL keeps.").compatibility(),
    unsigned("open_files_limit", Global, 1_048_576, 0, u32::MAX as u64, "Files the process may open.").read_only(),
    unsigned("host_cache_size", Global, 279, 0, 65_536, "Host names MySQL remembers.").compatibility(),
    boolean(
        "offline_mode",
        Global,
        false,
        "Whether only users with CONNECTION_ADMIN can connect; the others' connections end.",
    ).action(Action::EndConnections),
    boolean("super_read_only", Global, false, "Whether all writes are refused, also those of administrators."),
    boolean("read_only", Global, false, "Whether only users with CONNECTION_ADMIN can write."),
    boolean("require_secure_transport", Global, false, "Whether connections have to be encrypted or by socket."),
    boolean("local_infile", Global, false, "Whether LOAD DATA LOCAL is allowed."),
    nullable(
        "secure_file_priv",
        Global,
        "Directory that LOAD DATA and INTO OUTFILE are confined to; empty is any, NULL none.",
    )
    .read_only(),
    text("init_connect", Global, "", "Statement that is run for each new connection.")
        .only_default("SET PERSIST of the variables that it would set"),
    nullable("init_file", Global, "File of statements that MySQL runs at start.").read_only(),
    text(
        "default_authentication_plugin",
        Global,
        "caching_sha2_password",
        "Authentication of new accounts; `authentication_policy` has replaced it.",
    )
    .read_only()
    .hidden(),
    text("authentication_policy", Global, "*,,", "Which authentication each factor of an account uses.")
        .only_default("IDENTIFIED WITH"),
    boolean(
        "caching_sha2_password_auto_generate_rsa_keys",
        Global,
        true,
        "Whether a key for passwords without TLS is made.",
    )
    .read_only(),
    unsigned(
        "caching_sha2_password_digest_rounds",
        Global,
        5000,
        5000,
        4_095_000,
        "Rounds of hashing of a stored password.",
    )
    .read_only(),
    boolean("check_proxy_users", Global, false, "Whether authentication maps proxy users.").only_default("roles"),
    boolean("mysql_native_password_proxy_users", Global, false, "Whether that of mysql_native_password does.")
        .only_default("roles"),
    boolean("sha256_password_proxy_users", Global, false, "Whether that of sha256_password does.")
        .only_default("roles"),
    text(
        "mandatory_roles",
        Global,
        "",
        "Roles that every account has been granted: `role1, role2@host, …`. Setting it needs `ROLE_ADMIN`, too.",
    )
    .of_form(|list| text_of(list).is_none_or(|list| AccountKey::list(list).is_some())),
    boolean("activate_all_roles_on_login", Global, false, "Whether all granted roles are active in a new session."),
    boolean("automatic_sp_privileges", Global, true, "Whether creators of routines may run and drop them."),
    boolean(
        "partial_revokes",
        Global,
        false,
        "Whether privileges on `*.*` can be revoked for a database; then names of databases in grants are no patterns.",
    ),
    unsigned("default_password_lifetime", Global, 0, 0, 65_535, "Days after which passwords expire; 0 is never."),
    unsigned("password_history", Global, 0, 0, u32::MAX as u64, "Changes before a password may come back."),
    unsigned("password_reuse_interval", Global, 0, 0, u32::MAX as u64, "Days before a password may come back."),
    boolean("password_require_current", Global, false, "Whether changing a password needs the current one."),
    unsigned("generated_random_password_length", Both, 20, 5, 255, "Length of RANDOM PASSWORD."),
    boolean(
        "disconnect_on_expired_password",
        Global,
        true,
        "Whether clients that cannot handle expired passwords are refused.",
    )
    .read_only(),
    nullable("proxy_user", Session, "The proxy user of this session, if any.").read_only(),
    nullable("external_user", Session, "The user that an external service authenticated.").read_only(),
    choice("have_ssl", Global, "YES", &["YES", "NO", "DISABLED"], "Whether connections can be encrypted.").read_only(),
    choice("have_openssl", Global, "YES", &["YES", "NO", "DISABLED"], "The older name of `have_ssl`.").read_only(),
    choice("have_compress", Global, "YES", &["YES", "NO"], "Whether COMPRESS() works.").read_only(),
    choice("have_dynamic_loading", Global, "NO", &["YES", "NO"], "Whether plugins can be loaded.").read_only(),
    choice("have_geometry", Global, "YES", &["YES", "NO"], "Whether there are spatial types.").read_only(),
    choice("have_profiling", Global, "NO", &["YES", "NO"], "Whether SHOW PROFILE works.").read_only(),
    choice("have_query_cache", Global, "NO", &["YES", "NO"], "Whether there is a query cache.").read_only().hidden(),
    choice("have_rtree_keys", Global, "YES", &["YES", "NO"], "Whether there are spatial indexes.").read_only(),
    choice("have_statement_timeout", Global, "YES", &["YES", "NO"], "Whether `max_execution_time` works.").read_only(),
    choice("have_symlink", Global, "DISABLED", &["YES", "NO", "DISABLED"], "Whether tables may be links.").read_only(),
    text("ssl_ca", Global, "", "Certificates of trusted authorities.").read_only(),
    text("ssl_cert", Global, "", "File with the server's certificate.").read_only(),
    text("ssl_key", Global, "", "File with the certificate's key.").read_only(),
    text("ssl_cipher", Global, "", "Ciphers allowed; empty is the library's choice.").read_only(),
    flags("tls_version", Global, "TLSv1.2,TLSv1.3", &["TLSv1.2", "TLSv1.3"], "Versions of TLS that are offered.")
        .read_only(),
    text("tls_ciphersuites", Global, "", "Cipher suites of TLS 1.3; empty is the library's choice.").read_only(),
    special("character_set_system", Global, Kind::Charset { nullable: false }, "utf8mb3", "Character set of names.")
        .read_only(),
    unsigned(
        "lower_case_table_names",
        Global,
        0,
        0,
        2,
        "How names of databases and tables compare: 0 is by their exact text.",
    )
    .read_only(),
    boolean("lower_case_file_system", Global, false, "Whether file names ignore case.").read_only(),
    double(
        "secondary_engine_cost_threshold",
        Session,
        100_000.0,
        0.0,
        f64::MAX,
        "Cost from which MySQL offloads a query.",
    )
    .compatibility(),
    unsigned("pseudo_thread_id", Session, 0, 0, u32::MAX as u64, "The connection's id, as replication sees it.")
        .restricted()
        .compatibility(),
    boolean("pseudo_replica_mode", Session, false, "Set by tools that replay binary logs.").compatibility(),
    boolean("pseudo_slave_mode", Session, false, "An older name.").deprecated("pseudo_replica_mode").compatibility(),
    unsigned("rand_seed1", Session, 0, 0, u64::MAX, "First seed of RAND(), for replication.").compatibility(),
    unsigned("rand_seed2", Session, 0, 0, u64::MAX, "Second seed of RAND(), for replication.").compatibility(),
    unsigned("warning_count", Session, 0, 0, u64::MAX, "Warnings, errors and notes of the statement before.")
        .read_only(),
    unsigned("error_count", Session, 0, 0, u64::MAX, "Errors of the statement before.").read_only(),
    unsigned("last_insert_id", Session, 0, 0, u64::MAX, "What LAST_INSERT_ID() returns."),
    unsigned("identity", Session, 0, 0, u64::MAX, "Another name of `last_insert_id`."),
    unsigned("insert_id", Session, 0, 0, u64::MAX, "AUTO_INCREMENT value that the next INSERT uses, if not 0.")
        .compatibility(),
    double(
        "timestamp",
        Session,
        0.0,
        0.0,
        2_147_483_647.0,
        "Seconds since 1970 that NOW() says; DEFAULT is the clock.",
    ).unit(Unit::Seconds),
    nullable("resultset_metadata", Session, "Whether clients are sent column definitions.").compatibility().hidden(),
    choice(
        "session_track_transaction_info",
        Both,
        "OFF",
        &["OFF", "STATE", "CHARACTERISTICS"],
        "Whether clients are told how their transaction changes.",
    ),
    boolean("session_track_schema", Both, true, "Whether clients are told that the default database has changed."),
    boolean("session_track_state_change", Both, false, "Whether clients are told that session state has changed."),
    text(
        "session_track_system_variables",
        Both,
        "time_zone,autocommit,character_set_client,character_set_results,character_set_connection",
        "Variables whose changes clients are told; `*` is all.",
    ),
    choice(
        "session_track_gtids",
        Both,
        "OFF",
        &["OFF", "OWN_GTID", "ALL_GTIDS"],
        "Whether clients are told transaction ids.",
    )
    .compatibility(),
    boolean("keep_files_on_create", Both, false, "Whether MyISAM keeps files it finds.").compatibility(),
    boolean("big_tables", Both, false, "Whether temporary results go to disk at once.").compatibility(),
    text("admin_address", Global, "", "Address of the administrative interface; empty for none.").read_only(),
    signed("admin_port", Global, 33_062, 0, 65_535, "Port of the administrative interface.").read_only(),
    boolean("auto_generate_certs", Global, true, "Whether a certificate is made at first start.").read_only(),
    boolean("core_file", Global, false, "Whether a crash leaves a core file.").read_only(),
    boolean("locked_in_memory", Global, false, "Whether the process is locked in memory.").read_only(),
    boolean("persisted_globals_load", Global, true, "Whether persisted variables are loaded at start.").read_only(),
    unsigned("stored_program_cache", Global, 256, 16, 524_288, "Routines MySQL caches per connection.").compatibility(),
    unsigned("max_prepared_stmt_count", Global, 16_382, 0, 4_194_304, "Most prepared statements at once."),
    unsigned(
        "plan_cache_size",
        Global,
        32 << 20,
        0,
        1 << 40,
        "Bytes, by estimate, of the parsed statements and plans that sessions share; with 0 each has its own only.",
    ).unit(Unit::Bytes).action(Action::Resize),
    unsigned("global_connection_memory_limit", Global, u64::MAX, 16_777_216, u64::MAX, "Memory of all connections.")
        .only_default("query_memory_limit"),
    unsigned("connection_memory_limit", Both, u64::MAX, 2_097_152, u64::MAX, "Memory of a connection.")
        .restricted()
        .only_default("parser_max_mem_size and query_memory_limit"),
    unsigned("connection_memory_chunk_size", Both, 8192, 0, 536_870_912, "Step of counting that memory.")
        .restricted()
        .compatibility(),
    boolean("global_connection_memory_tracking", Both, false, "Whether that memory is counted.").compatibility(),
    text("admin_ssl_ca", Global, "", "Certificates of the administrative interface, which has those of the others.")
        .read_only(),
    text("admin_ssl_capath", Global, "", "Directory of such certificates.").read_only(),
    text("admin_ssl_cert", Global, "", "Its certificate.").read_only(),
    text("admin_ssl_cipher", Global, "", "Its ciphers.").read_only(),
    text("admin_ssl_crl", Global, "", "Certificates that it refuses.").read_only(),
    text("admin_ssl_crlpath", Global, "", "Directory of such certificates.").read_only(),
    text("admin_ssl_key", Global, "", "Its key.").read_only(),
    text("admin_tls_ciphersuites", Global, "", "Its cipher suites.").read_only(),
    flags("admin_tls_version", Global, "TLSv1.2,TLSv1.3", &["TLSv1.2", "TLSv1.3"], "Its versions of TLS.").read_only(),
    text("ssl_capath", Global, "", "Directory of certificates of trusted authorities.").read_only(),
    text("ssl_crl", Global, "", "Certificates that are refused.").read_only(),
    text("ssl_crlpath", Global, "", "Directory of such certificates.").read_only(),
    boolean("ssl_session_cache_mode", Global, true, "Whether sessions of TLS may go on.").read_only(),
    unsigned("ssl_session_cache_timeout", Global, 300, 0, 84_600, "Seconds that they may.").read_only(),
    boolean("tls_certificates_enforced_validation", Global, false, "Whether invalid certificates end the start.")
        .read_only(),
    text("build_id", Global, "", "Identity of the program.").read_only(),
    text("caching_sha2_password_private_key_path", Global, "private_key.pem", "Key for passwords without TLS.")
        .read_only(),
    text("caching_sha2_password_public_key_path", Global, "public_key.pem", "Its public part.").read_only(),
    boolean("sha256_password_auto_generate_rsa_keys", Global, true, "Whether sha256_password's key is made.")
        .read_only(),
    text("sha256_password_private_key_path", Global, "private_key.pem", "Key of sha256_password.").read_only(),
    text("sha256_password_public_key_path", Global, "public_key.pem", "Its public part.").read_only(),
    boolean("create_admin_listener_thread", Global, false, "Whether the administrative interface has a thread.")
        .read_only(),
    boolean("keyring_operations", Global, true, "Whether keys of a keyring may change; there is none.").compatibility(),
    boolean("large_pages", Global, false, "Whether memory is in large pages.").read_only(),
    unsigned("large_page_size", Global, 0, 0, u32::MAX as u64, "Size of such pages.").read_only(),
    text("persist_only_admin_x509_subject", Global, "", "Certificate of who may persist restricted variables.")
        .read_only(),
    boolean("persist_sensitive_variables_in_plaintext", Global, true, "Whether sensitive ones are not encrypted.")
        .read_only(),
    unsigned("slow_launch_time", Global, 2, 0, 31_536_000, "Seconds from which starting a thread is slow.")
        .compatibility(),
    unsigned("statement_id", Session, 0, 0, u64::MAX, "Number of the statement.").read_only(),
];
