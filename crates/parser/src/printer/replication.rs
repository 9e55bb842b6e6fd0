//! Replication statements.

use super::*;

impl Printer {
    pub(super) fn replication(&mut self, replication: &Replication) {
        match replication {
            Replication::PurgeTo(log) => {
                self.put("PURGE BINARY LOGS TO ");
                self.string(log);
            }
            Replication::PurgeBefore(time) => {
                self.put("PURGE BINARY LOGS BEFORE ");
                self.expr(time);
            }
            Replication::ChangeSource { options, channel } => {
                self.put("CHANGE REPLICATION SOURCE TO ");
                self.list(options, ", ", |printer, (name, value)| {
                    printer.put(name);
                    printer.put(" = ");
                    printer.value(value);
                });
                self.optional_string(" FOR CHANNEL ", channel);
            }
            Replication::ChangeFilter { rules, channel } => {
                self.put("CHANGE REPLICATION FILTER ");
                self.list(rules, ", ", |printer, (name, values)| {
                    printer.put(name);
                    printer.put(" = ");
                    printer.paren_list(values, Self::sql_string);
                });
                self.optional_string(" FOR CHANNEL ", channel);
            }
            Replication::StartReplica { threads, until, options, channel } => {
                self.put("START REPLICA");
                self.threads(threads);
                if !until.is_empty() {
                    self.put(" UNTIL ");
                    self.list(until, ", ", |printer, (name, value)| {
                        printer.put(name);
                        if *value != ReplicationValue::Null {
                            printer.put(" = ");
                            printer.value(value);
                        }
                    });
                }
                for (name, value) in options {
                    self.put(" ");
                    self.put(name);
                    self.put("=");
                    self.string(value);
                }
                self.optional_string(" FOR CHANNEL ", channel);
            }
            Replication::StopReplica { threads, channel } => {
                self.put("STOP REPLICA");
                self.threads(threads);
                self.optional_string(" FOR CHANNEL ", channel);
            }
            Replication::StartGroup { options } => {
                self.put("START GROUP_REPLICATION ");
                self.list(options, ", ", |printer, (name, value)| {
                    printer.put(name);
                    printer.put("=");
                    printer.string(value);
                });
            }
            Replication::StopGroup => self.put("STOP GROUP_REPLICATION"),
            Replication::Binlog(event) => {
                self.put("BINLOG ");
                self.sql_string(event);
            }
        }
    }

    fn threads(&mut self, threads: &[Box<str>]) {
        if !threads.is_empty() {
            self.put(" ");
            self.list(threads, ", ", |printer, thread| printer.put(thread));
        }
    }

    fn value(&mut self, value: &ReplicationValue) {
        match value {
            ReplicationValue::Null => self.put("NULL"),
            ReplicationValue::Number(text) => self.put(text),
            ReplicationValue::String(text) => self.sql_string(text),
            ReplicationValue::Word(word) => match word.split_once('@') {
                Some((user, host)) => {
                    self.name_or_string(user);
                    self.put("@");
                    self.string(host);
                }
                None => self.name(word),
            },
            ReplicationValue::List(values) => self.paren_list(values, Self::value),
        }
    }
}
