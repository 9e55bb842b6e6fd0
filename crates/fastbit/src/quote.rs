//! Names and texts as SQL writes them.

/// How the SQL that is written will be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// `sql_mode` has NO_BACKSLASH_ESCAPES: a backslash stands for itself.
    pub no_backslash_escapes: bool,
}

impl Dialect {
    /// Appends a text as a literal in single quotes, which every `sql_mode` reads as one.
    pub fn push_text(self, text: &str, out: &mut String) {
        out.push('\'');
        for character in text.chars() {
            match character {
                '\'' => out.push_str("''"),
                '\\' if !self.no_backslash_escapes => out.push_str("\\\\"),
                _ => out.push(character),
            }
        }
        out.push('\'');
    }

    /// A text as a literal.
    pub fn text(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 2);
        self.push_text(text, &mut out);
        out
    }
}

/// Appends a name in backquotes. Names cannot have U+0000. A name made from a text with it has another character there.
pub fn push_name(name: &str, out: &mut String) {
    out.push('`');
    for character in name.chars() {
        match character {
            '`' => out.push_str("``"),
            '\0' => out.push(char::REPLACEMENT_CHARACTER),
            _ => out.push(character),
        }
    }
    out.push('`');
}

/// A name in backquotes.
pub fn name(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_name(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_names_cannot_break_out() {
        assert_eq!(Dialect::default().text(r"it's \ "), r"'it''s \\ '");
        assert_eq!(Dialect { no_backslash_escapes: true }.text(r"it's \"), r"'it''s \'");
        assert_eq!(name("a`b"), "`a``b`");
        assert_eq!(name("a\0"), "`a\u{FFFD}`");
    }
}
