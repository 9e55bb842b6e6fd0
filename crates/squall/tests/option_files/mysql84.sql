-- The configuration of mysql84.cnf, by squall import-config.
SET NAMES utf8mb4;
SET SESSION sql_mode = 'TRADITIONAL';
-- mysql84.cnf:14 user = mysql: without meaning here: the service manager says how the program runs
-- mysql84.cnf:15 pid_file = /var/run/mysqld/mysqld.pid: without meaning here: File with the process id; none is written.
-- mysql84.cnf:16 socket = /var/run/mysqld/mysqld.sock: start option: --socket /var/run/mysqld/mysqld.sock
-- mysql84.cnf:17 port = 3307: start option: --port 3307
-- mysql84.cnf:18 basedir = /usr: without meaning here: Directory of the installation.
-- mysql84.cnf:19 datadir = /var/lib/my data: start option: --datadir '/var/lib/my data' -- an empty one at first: MySQL's files are of another form
-- mysql84.cnf:20 tmpdir = /tmp: without meaning here: the folder tmp of the data directory
-- mysql84.cnf:21 bind_address = 0.0.0.0: start option: --bind-address 0.0.0.0
-- mysql84.cnf:22 mysqlx_bind_address = 127.0.0.1: without meaning here: there is no X protocol
-- mysql84.cnf:23 secure_file_priv = /var/lib/mysql-files: start option: --secure-file-priv /var/lib/mysql-files
-- mysql84.cnf:24 skip_name_resolve: without meaning here: always ON here
-- mysql84.cnf:25 skip_external_locking: without meaning here: always ON here
-- mysql84.cnf:28 innodb_buffer_pool_size = 12G: without meaning here: the caches of rows and columns: row_cache_size, column_cache_size
-- mysql84.cnf:29 innodb_buffer_pool_instances = 8: without meaning here: Parts of the cache.
-- mysql84.cnf:30 innodb_redo_log_capacity = 8G: without meaning here: Size of the log.
-- mysql84.cnf:31 key_buffer_size = 16M: without meaning here: Cache of MyISAM indexes.
-- mysql84.cnf:32 sort_buffer_size = 4M: without meaning here: query_memory_limit bounds all queries together
-- mysql84.cnf:33 tmp_table_size = 64M: without meaning here: query_memory_limit bounds all queries together
-- mysql84.cnf:34 max_heap_table_size = 64M: without meaning here: query_memory_limit bounds all queries together
SET PERSIST max_allowed_packet = 268435456;
-- mysql84.cnf:36 thread_cache_size = 100: without meaning here: Threads MySQL keeps for new connections.
-- mysql84.cnf:37 table_open_cache = 4000: without meaning here: Tables MySQL keeps open.
SET PERSIST group_concat_max_len = 1048576;
-- mysql84.cnf:41 max_connections = 500: overridden: line 86 of mysql84.cnf sets it
-- mysql84.cnf:42 max_connect_errors = 1000000: without meaning here: Failed attempts after which MySQL blocks a host.
SET PERSIST wait_timeout = 600;
SET PERSIST interactive_timeout = 600;
SET PERSIST local_infile = ON;
SET PERSIST sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION';
SET PERSIST character_set_server = 'utf8mb4';
-- mysql84.cnf:51 default_time_zone = +02:00: meant is time_zone
SET PERSIST time_zone = '+02:00';
SET PERSIST transaction_isolation = 'READ-COMMITTED';
SET PERSIST innodb_flush_log_at_trx_commit = 2;
-- mysql84.cnf:54 innodb_flush_method = O_DIRECT: without meaning here: always O_DIRECT here
-- mysql84.cnf:55 innodb_file_per_table = 1: without meaning here: Whether each table has a file.
SET PERSIST innodb_lock_wait_timeout = 20;
-- mysql84.cnf:57 lower_case_table_names = 1: without meaning here: always 0 here: names that differ in letter case are different names
-- mysql84.cnf:58 explicit_defaults_for_timestamp = ON: without meaning here: it is so here
SET PERSIST event_scheduler = 'OFF';
-- mysql84.cnf:60 optimizer_switch = index_merge=off: without meaning here: Switches of MySQL's optimizer; those of MariaDB's are shown behind them once they are set.
-- mysql84.cnf:61 optimizer_switch = mrr_cost_based=off: without meaning here: Switches of MySQL's optimizer; those of MariaDB's are shown behind them once they are set.
SET PERSIST log_error = 'error.log';
SET PERSIST slow_query_log = ON;
SET PERSIST slow_query_log_file = 'slow.log';
SET PERSIST long_query_time = 0.5;
SET PERSIST log_queries_not_using_indexes = OFF;
SET PERSIST general_log = OFF;
-- mysql84.cnf:72 server_id = 12: without meaning here: Identity of the server among those that replicate.
-- mysql84.cnf:73 log_bin = mysql-bin: without meaning here: always OFF here
-- mysql84.cnf:74 binlog_expire_logs_seconds = 604800: without meaning here: Age of the binary log.
-- mysql84.cnf:75 sync_binlog = 1: without meaning here: Commits between syncs of the binary log.
-- mysql84.cnf:76 gtid_mode = OFF: without meaning here: it is so here
-- mysql84.cnf:77 relay_log = relay-bin: without meaning here: Path of the relay log.
-- mysql84.cnf:78 replicate_do_db = shop: without meaning here: there is no replication
-- mysql84.cnf:79 replicate_do_db = news: without meaning here: there is no replication
-- mysql84.cnf:80 report_password = ******: without meaning here: Password that a replica reports.
-- mysql84.cnf:81 loose_group_replication_group_seeds = a:33061,b:33061: without meaning here: there is no replication
-- mysql84.cnf:82 loose_some_future_option = ******: unknown: unknown variable 'some_future_option'
-- mysql84.cnf:84 plugin_load_add = mysql_clone.so: without meaning here: there are no loadable plugins
-- mysql84.cnf:85 performance_schema_instrument = memory/%=ON: without meaning here: performance_schema is set by its tables
SET PERSIST max_connections = 600;
SET PERSIST collation_server = 'utf8mb4_unicode_ci';
-- Start with: squall serve --socket /var/run/mysqld/mysqld.sock --port 3307 --datadir '/var/lib/my data' --bind-address 0.0.0.0 --secure-file-priv /var/lib/mysql-files
-- Sections left out (--group reads one more): [client] [mysqld-8.0] [mysqld_safe] [mysqldump]
