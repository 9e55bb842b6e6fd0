//! Prints the syntax tree as SQL text.
//!
//! The text parses to the tree it was made from, in the default sql_mode. Queries and expressions look as
//! `SHOW CREATE VIEW` shows them: small keywords, names in backticks, operators in parentheses.

mod account;
mod admin;
mod api_token;
mod ddl;
mod dml;
mod expr;
mod http_endpoint;
mod query;
mod replication;
mod routine;
mod show;
mod special_expr;
mod statement;
mod table;
mod types;

use std::fmt;

use crate::ast::*;

/// Stack that must be left before the printer goes one level down, and how much more it takes if not.
const STACK_RESERVE: usize = 128 * 1024;
const STACK_SEGMENT: usize = 1024 * 1024;

macro_rules! display {
    ($($kind:ty => $method:ident,)*) => {
        $(impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut printer = Printer::default();
                printer.$method(self);
                f.write_str(&printer.text)
            }
        })*
    };
}

display! {
    Statement => statement,
    Query => query,
    Expr => expr,
    DataType => data_type,
    ColumnDefinition => column_definition,
    TableOption => table_option,
    Partitioning => partitioning,
    ObjectName => object_name,
    ColumnName => column_name,
    AccountName => account_name,
}

#[derive(Default)]
struct Printer {
    text: String,
}

impl Printer {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Text, if it applies.
    fn put_if(&mut self, applies: bool, text: &str) {
        if applies {
            self.put(text);
        }
    }

    fn number(&mut self, number: impl fmt::Display) {
        self.text.push_str(&number.to_string());
    }

    /// Items with something between them.
    fn list<T>(&mut self, items: &[T], between: &str, mut item: impl FnMut(&mut Self, &T)) {
        for (index, value) in items.iter().enumerate() {
            if index > 0 {
                self.put(between);
            }
            item(self, value);
        }
    }

    /// `(item,item)`.
    fn paren_list<T>(&mut self, items: &[T], item: impl FnMut(&mut Self, &T)) {
        self.put("(");
        self.list(items, ",", item);
        self.put(")");
    }

    /// A name in backticks.
    fn name(&mut self, name: &str) {
        self.text.push('`');
        for character in name.chars() {
            if character == '`' {
                self.text.push('`');
            }
            self.text.push(character);
        }
        self.text.push('`');
    }

    fn ident(&mut self, ident: &Ident) {
        self.name(&ident.value);
    }

    /// A name where a string may stand, which alone can hold a NUL.
    fn name_or_string(&mut self, name: &str) {
        if name.contains('\0') { self.string(name) } else { self.name(name) }
    }

    fn ident_or_string(&mut self, ident: &Ident) {
        self.name_or_string(&ident.value);
    }

    fn idents(&mut self, idents: &[Ident]) {
        self.paren_list(idents, Self::ident);
    }

    fn optional_idents(&mut self, idents: &[Ident]) {
        if !idents.is_empty() {
            self.put(" ");
            self.idents(idents);
        }
    }

    fn object_name(&mut self, name: &ObjectName) {
        if let Some(schema) = &name.schema {
            self.ident(schema);
            self.put(".");
        }
        self.ident(&name.name);
    }

    fn column_name(&mut self, name: &ColumnName) {
        for part in [&name.schema, &name.table].into_iter().flatten() {
            self.ident(part);
            self.put(".");
        }
        self.ident(&name.column);
    }

    /// A string in quotes.
    fn string(&mut self, text: &str) {
        self.text.push('\'');
        for character in text.chars() {
            match character {
                '\'' => self.put("''"),
                '\\' => self.put("\\\\"),
                '\0' => self.put("\\0"),
                '\n' => self.put("\\n"),
                '\r' => self.put("\\r"),
                '\u{1a}' => self.put("\\Z"),
                other => self.text.push(other),
            }
        }
        self.text.push('\'');
    }

    /// A string that may hold any bytes.
    fn sql_string(&mut self, value: &SqlString) {
        match value.as_str() {
            Some(text) => self.string(text),
            None => self.hex(value),
        }
    }

    fn hex(&mut self, value: &SqlString) {
        self.put("x'");
        self.hex_digits(value);
        self.put("'");
    }

    fn hex_digits(&mut self, value: &SqlString) {
        for byte in value.as_bytes() {
            self.text.push_str(&format!("{byte:02x}"));
        }
    }

    /// ` WORD 'text'` if there is a text.
    fn optional_string(&mut self, word: &str, text: &Option<Box<str>>) {
        if let Some(text) = text {
            self.put(word);
            self.string(text);
        }
    }

    /// A user variable with its `@`.
    fn user_variable(&mut self, name: &str) {
        self.put("@");
        self.name_or_string(name);
    }

    /// Goes one level down, with enough stack.
    fn deeper(&mut self, nested: impl FnOnce(&mut Self)) {
        stacker::maybe_grow(STACK_RESERVE, STACK_SEGMENT, || nested(self));
    }
}
