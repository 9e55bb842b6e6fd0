-- The configuration of bad.cnf, by squall import-config.
SET NAMES utf8mb4;
SET SESSION sql_mode = 'TRADITIONAL';
-- bad.cnf:2 max_connections = many: bad value: Incorrect argument value 'many' for option '--max_connections'
-- bad.cnf:3 max_allowed_packet = 64X: bad value: Unknown suffix 'X' used for variable 'max_allowed_packet' (value '64X')
-- bad.cnf:4 sql_mode = STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER: bad value: Variable 'sql_mode' can't be set to the value of 'NO_AUTO_CREATE_USER'
-- bad.cnf:5 max_connection = 5: meant is max_connections
SET PERSIST max_connections = 5;
-- bad.cnf:6 max_conn = ******: bad value: ambiguous option '--max_conn' (could be '--max_connect_errors' or '--max_connections')
-- bad.cnf:7 event_sch = ON: meant is event_scheduler
SET PERSIST event_scheduler = 'ON';
-- bad.cnf:8 sort_bufer_size = ******: unknown: unknown variable 'sort_bufer_size'
-- bad.cnf:9 loose_sort_bufer_size = ******: unknown: unknown variable 'sort_bufer_size'
-- bad.cnf:10 report_pasword = ******: unknown: unknown variable 'report_pasword'
-- bad.cnf:11 wait_timeout = 999999999: the nearest value that is allowed: 31536000
SET PERSIST wait_timeout = 31536000;
-- bad.cnf:12 general_log = perhaps: bad value: Variable 'general_log' can't be set to the value of 'perhaps'
-- bad.cnf:13 slow_query_log_file = : bad value: Variable 'slow_query_log_file' can't be set to the value of ''
-- bad.cnf:14 explicit_defaults_for_timestamp = OFF: bad value: This version of MySQL doesn't yet support 'explicit_defaults_for_timestamp = OFF (in its place there is: DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)'
-- bad.cnf:15 transaction_isolation = SNAPSHOT: bad value: Variable 'transaction_isolation' can't be set to the value of 'SNAPSHOT'
-- bad.cnf:16 character_set_server = utf9: bad value: Unknown character set: 'utf9'
-- bad.cnf:17 default_storage_engine = MERGE9: bad value: Unknown storage engine 'MERGE9'
-- bad.cnf:18 init_connect = SET @started = "here": bad value: This version of MySQL doesn't yet support 'init_connect = SET @started = "here" (in its place there is: SET PERSIST of the variables that it would set)'
-- bad.cnf:19 port = 70000: bad value: Variable 'port' can't be set to the value of '70000'
-- bad.cnf:20 skip_max_connections_x: unknown: unknown variable 'skip_max_connections_x'
-- bad.cnf:21 skip_general_log = 1: bad value: option '--skip_general_log' cannot take an argument
-- bad.cnf:22 long_query_time = soon: bad value: Incorrect argument value 'soon' for option '--long_query_time'
-- bad.cnf:23 time_zone = Mars/Olympus: bad value: Unknown or incorrect time zone: 'Mars/Olympus'
-- bad.cnf:24 Max_Connections = ******: unknown: unknown variable 'Max_Connections'
-- bad.cnf:25: cannot read missing.cnf: No such file or directory (os error 2)
-- bad.cnf:26: !inc names no file
