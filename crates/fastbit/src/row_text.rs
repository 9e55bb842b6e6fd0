//! A row as text: RFC 4180 with MySQL's backslash escapes.

use std::fmt;

/// Why a text is no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowError {
    /// An enclosed field does not end.
    Unclosed,
    /// Something stands between the end of an enclosed field and the delimiter.
    BehindQuote,
    /// A second line.
    SecondRow,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RowError::Unclosed => "an enclosed field has no end",
            RowError::BehindQuote => "something follows the end of an enclosed field",
            RowError::SecondRow => "the text has more than one row",
        })
    }
}

/// Cuts a row into fields at each of the delimiter's characters. A field is NULL if it is empty, `\N`, or the bare word
/// `NULL`; one in double quotes is a text, whatever it is. `escapes` tells whether a backslash is one.
///
/// # Errors
/// If the text is no row.
pub fn fields(text: &str, delimiters: &str, escapes: bool) -> Result<Vec<Option<String>>, RowError> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    let mut fields = Vec::new();
    let mut rest = text;
    loop {
        let (field, length) = field(rest, delimiters, escapes)?;
        fields.push(field);
        rest = &rest[length..];
        match rest.chars().next() {
            Some(delimiter) => rest = &rest[delimiter.len_utf8()..],
            None => return Ok(fields),
        }
    }
}

/// The field at the beginning of a text, and where its delimiter stands.
fn field(text: &str, delimiters: &str, escapes: bool) -> Result<(Option<String>, usize), RowError> {
    let blanks = text.len() - text.trim_start_matches(|blank| blank == ' ' && !delimiters.contains(blank)).len();
    if text[blanks..].starts_with('"') && !delimiters.contains('"') {
        let (content, length) = enclosed(&text[blanks..], escapes)?;
        let behind = &text[blanks + length..];
        let end = behind.find(|character| delimiters.contains(character)).unwrap_or(behind.len());
        let clean = behind[..end].trim().is_empty();
        return if clean { Ok((Some(content), blanks + length + end)) } else { Err(RowError::BehindQuote) };
    }
    let (mut content, mut is_null) = (String::new(), false);
    let mut characters = text.char_indices();
    let mut end = text.len();
    while let Some((at, character)) = characters.next() {
        if delimiters.contains(character) {
            end = at;
            break;
        }
        match character {
            '\\' if escapes => match characters.next() {
                Some((_, 'N')) if at == blanks => is_null = true,
                Some((_, escaped)) => content.push(unescaped(escaped)),
                None => content.push('\\'),
            },
            '\n' => return Err(RowError::SecondRow),
            _ => content.push(character),
        }
    }
    let bare = content.trim();
    is_null = bare.is_empty() && (is_null || text[..end].trim().is_empty()) || text[..end].trim() == "NULL";
    Ok(((!is_null).then_some(content), end))
}

/// A field in double quotes at the beginning of a text, and its length.
fn enclosed(text: &str, escapes: bool) -> Result<(String, usize), RowError> {
    let mut content = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' if escapes => match characters.next() {
                Some((_, escaped)) => content.push(unescaped(escaped)),
                None => return Err(RowError::Unclosed),
            },
            '"' if text[at + 1..].starts_with('"') => {
                content.push('"');
                characters.next();
            }
            '"' => return Ok((content, at + 1)),
            _ => content.push(character),
        }
    }
    Err(RowError::Unclosed)
}

/// What a character behind a backslash stands for.
fn unescaped(character: char) -> char {
    match character {
        '0' => '\0',
        'b' => '\u{8}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'Z' => '\u{1a}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, delimiters: &str, expected: &[Option<&str>]) {
        let fields = fields(text, delimiters, true).unwrap();
        let fields: Vec<Option<&str>> = fields.iter().map(Option::as_deref).collect();
        assert_eq!(fields, expected, "{text}");
    }

    #[test]
    fn rows() {
        check("1|1", "|", &[Some("1"), Some("1")]);
        check("it's,\"a \"\"q\"\", b\",\r\n", ",", &[Some("it's"), Some("a \"q\", b"), None]);
        check("", ",", &[None]);
        check(
            r#"\N, NULL ,"NULL",\\N,a\,b,"\"""#,
            ",",
            &[None, None, Some("NULL"), Some("\\N"), Some("a,b"), Some("\"")],
        );
        check("1;2,3", ",;", &[Some("1"), Some("2"), Some("3")]);
        check("1, \"x\" , y", ",", &[Some("1"), Some("x"), Some(" y")]);
        check("é\u{1F600}日", "\u{1F600}", &[Some("é"), Some("日")]);
        check("\"a\nb\"", ",", &[Some("a\nb")]);
        assert_eq!(fields("a\\", ",", false).unwrap(), [Some("a\\".to_string())]);
        assert_eq!(fields("\"a", ",", true), Err(RowError::Unclosed));
        assert_eq!(fields("\"a\"b,1", ",", true), Err(RowError::BehindQuote));
        assert_eq!(fields("a\nb", ",", true), Err(RowError::SecondRow));
    }

    proptest! {
        #[test]
        fn what_is_enclosed_comes_back(values in prop::collection::vec("[a,\"'\\\\|\n é]{0,8}", 1..5)) {
            let quoted: Vec<String> = values.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
            let read = fields(&quoted.join(","), ",", false).unwrap();
            prop_assert_eq!(read, values.into_iter().map(Some).collect::<Vec<_>>());
        }

        #[test]
        fn any_text_is_read(text in "\\PC{0,30}", near in "[a,|\"\\\\N \n]{0,30}", delimiters in "\\PC{0,3}", escapes: bool) {
            for text in [text, near] {
                let _ = fields(&text, &delimiters, escapes);
            }
        }
    }
}
