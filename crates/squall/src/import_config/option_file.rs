//! Reads option files as MySQL and MariaDB do: sections, includes, comments, quotes and escapes.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// How deep `!include` and `!includedir` may nest, as in MySQL.
const DEPTH_MAX: usize = 10;
/// How many files one file may include, with those that they include.
const FILES_MAX: usize = 1000;
/// The most bytes of all files together.
const BYTES_MAX: u64 = 1 << 20;

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The file, as it was named.
    pub file: Rc<str>,
    /// From 1 on.
    pub line: usize,
}

/// An option as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OptionLine {
    /// Where it is.
    pub place: Place,
    /// What is before `=`.
    pub name: String,
    /// What is after it, without quotes and escapes; `None` without `=`.
    pub value: Option<String>,
}

/// What a file and those that it includes have for a server.
#[derive(Debug, Default)]
pub(super) struct OptionFiles {
    /// The options of the sections that were asked for, in their order.
    pub options: Vec<OptionLine>,
    /// Other sections.
    pub left_out: BTreeSet<String>,
    /// Includes that could not be read.
    pub problems: Vec<(Place, String)>,
}

/// Reads a file, or the standard input if its name is `-`, and what it includes. `is_read` tells which sections are wanted.
///
/// # Errors
/// When the file cannot be read, or a line of any file has a form that MySQL refuses.
pub(super) fn read(path: &Path, is_read: &dyn Fn(&str) -> bool) -> Result<OptionFiles, String> {
    let mut reader = Reader { is_read, files: OptionFiles::default(), file_count: 1, bytes: 0 };
    let text = if path == Path::new("-") {
        reader.contents(std::io::stdin().lock())
    } else {
        fs::File::open(path).map_err(|error| error.to_string()).and_then(|file| reader.contents(file))
    };
    let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    reader.file(path, &text, 0)?;
    Ok(reader.files)
}

struct Reader<'a> {
    is_read: &'a dyn Fn(&str) -> bool,
    files: OptionFiles,
    file_count: usize,
    bytes: u64,
}

impl Reader<'_> {
    /// All bytes of a file, unless the files are too long.
    fn contents(&mut self, file: impl Read) -> Result<Vec<u8>, String> {
        let left = BYTES_MAX - self.bytes;
        let mut text = Vec::new();
        let read = file.take(left + 1).read_to_end(&mut text).map_err(|error| error.to_string())? as u64;
        if read > left {
            return Err(format!("option files of more than {BYTES_MAX} bytes"));
        }
        self.bytes += read;
        Ok(text)
    }

    fn file(&mut self, path: &Path, text: &[u8], depth: usize) -> Result<(), String> {
        let file: Rc<str> = path.display().to_string().into();
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let mut group: Option<bool> = None;
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            let place = Place { file: Rc::clone(&file), line: number + 1 };
            if line.is_empty() || line.starts_with(b"#") || line.starts_with(b";") {
                continue;
            }
            let at = format!("in config file {file} at line {}", number + 1);
            let line = str::from_utf8(line).map_err(|_| format!("Text that is not UTF-8 {at}"))?;
            if let Some(directive) = line.strip_prefix('!') {
                self.include(path, directive, &place, depth)?;
            } else if let Some(rest) = line.strip_prefix('[') {
                let (name, _) = rest.split_once(']').ok_or_else(|| format!("Wrong group definition {at}"))?;
                let name = name.trim();
                let is_wanted = (self.is_read)(name);
                if !is_wanted {
                    self.files.left_out.insert(name.to_owned());
                }
                group = Some(is_wanted);
            } else {
                match group {
                    None => return Err(format!("Found option without preceding group {at}")),
                    Some(true) => self.files.options.push(option(line, place)),
                    Some(false) => {}
                }
            }
        }
        Ok(())
    }

    fn problem(&mut self, place: &Place, text: String) {
        self.files.problems.push((place.clone(), text));
    }

    /// `!include FILE` or `!includedir DIR`; names are relative to the file's folder.
    fn include(&mut self, path: &Path, directive: &str, place: &Place, depth: usize) -> Result<(), String> {
        let (keyword, name) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let name = name.trim();
        let target = path.parent().unwrap_or(Path::new("")).join(name);
        let files = match keyword {
            _ if name.is_empty() => Err(format!("!{keyword} names no file")),
            _ if depth == DEPTH_MAX => Err(format!("!{keyword} is nested more than {DEPTH_MAX} times")),
            "include" => Ok(vec![target]),
            "includedir" => files_of(&target).map_err(|error| format!("cannot read {name}: {error}")),
            _ => Err(format!("there is no directive !{keyword}")),
        };
        let files = match files {
            Ok(files) => files,
            Err(error) => {
                self.problem(place, error);
                return Ok(());
            }
        };
        for file in files {
            self.file_count += 1;
            if self.file_count > FILES_MAX {
                return Err(format!("{}:{}: more than {FILES_MAX} files", place.file, place.line));
            }
            let opened = fs::File::open(&file).map_err(|error| error.to_string());
            match opened.and_then(|opened| self.contents(opened)) {
                Ok(text) => self.file(&file, &text, depth + 1)?,
                Err(error) => self.problem(place, format!("cannot read {}: {error}", file.display())),
            }
        }
        Ok(())
    }
}

/// The option files of a folder, by their names.
fn files_of(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "cnf") && files.len() < FILES_MAX {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// An option of a line that is none of a section, include or comment.
fn option(line: &str, place: Place) -> OptionLine {
    let line = without_comment(line);
    match line.split_once('=') {
        None => OptionLine { place, name: line.trim().to_owned(), value: None },
        Some((name, value)) => {
            OptionLine { place, name: name.trim().to_owned(), value: Some(unescaped(unquoted(value.trim()))) }
        }
    }
}

/// What is before a `#` outside of quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut is_escaped) = (None, false);
    for (at, char) in line.char_indices() {
        match (quote, char) {
            (None, '#') => return &line[..at],
            (None, '\'' | '"') => quote = Some(char),
            (Some(open), _) if open == char && !is_escaped => quote = None,
            _ => {}
        }
        is_escaped = quote.is_some() && char == '\\' && !is_escaped;
    }
    line
}

/// What is between quotes, if the value is.
fn unquoted(value: &str) -> &str {
    ['\'', '"']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote).and_then(|rest| rest.strip_suffix(*quote)))
        .unwrap_or(value)
}

/// The value of a text with escapes. A backslash before any other character stays.
fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            text.push(char);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('s') => text.push(' '),
            Some(same @ ('\'' | '"' | '\\')) => text.push(same),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> (String, Option<String>) {
        let place = Place { file: "".into(), line: 1 };
        let OptionLine { name, value, .. } = option(line, place);
        (name, value)
    }

    fn value(line: &str) -> String {
        parsed(line).1.expect("a value")
    }

    #[test]
    fn values_have_comments_quotes_and_escapes() {
        assert_eq!(parsed("skip-name-resolve # never"), ("skip-name-resolve".to_owned(), None));
        assert_eq!(parsed("a ="), ("a".to_owned(), Some(String::new())));
        assert_eq!(value("a = b = c"), "b = c");
        assert_eq!(value("a = 'b # c' # d"), "b # c");
        assert_eq!(value(r#"a = "it's" # d"#), "it's");
        assert_eq!(value(r##"a = "say \"#\"" # d"##), "say \"#\"");
        assert_eq!(value(r"a = C:\\dir\s\x\n|"), "C:\\dir \\x\n|");
        assert_eq!(value("a = 'open"), "'open");
        assert_eq!(value("a = '"), "'");
        assert_eq!(value(r"a = b\"), "b\\");
    }

    #[test]
    fn files_include_others_within_bounds() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        write("my.cnf", "\u{feff}[mysqld]\r\na=1\r\n!includedir conf.d\n!include other\nb = 2\n[client]\nc=3\n");
        write("conf.d/b.cnf", "[mysqld] # ours\nd=4\n");
        write("conf.d/a.cnf", "[ mysqld ]\ne=5\n\n[mysqldump]\nquick\n");
        write("conf.d/ignored.txt", "no option file");
        let path = folder.path().join("my.cnf");
        let read_mysqld = |path: &Path| read(path, &|group| group == "mysqld");
        let files = read_mysqld(&path).expect("files");
        let names: Vec<&str> = files.options.iter().map(|option| option.name.as_str()).collect();
        assert_eq!(names, ["a", "e", "d", "b"]);
        assert_eq!(files.left_out.iter().collect::<Vec<_>>(), ["client", "mysqldump"]);
        assert_eq!(files.problems.len(), 1);
        assert!(files.problems[0].1.contains("other: No such file"), "{:?}", files.problems);

        write("loop.cnf", "[mysqld]\na\n!include loop.cnf\n");
        let files = read_mysqld(&folder.path().join("loop.cnf")).expect("files");
        assert_eq!((files.options.len(), files.problems.len()), (DEPTH_MAX + 1, 1));
        write("many.cnf", "[mysqld]\n!include many.cnf\n!include many.cnf\n!include many.cnf\n");
        let error = read_mysqld(&folder.path().join("many.cnf")).expect_err("too many");
        assert!(error.ends_with("more than 1000 files"), "{error}");
    }

    #[test]
    fn lines_that_mysql_refuses_are_errors() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("my.cnf");
        let error = |text: &[u8]| {
            fs::write(&path, text).expect("a file");
            read(&path, &|_| true).expect_err("an error").replace(&path.display().to_string(), "F")
        };
        assert_eq!(error(b"# all\na=1"), "Found option without preceding group in config file F at line 2");
        assert_eq!(error(b"[mysqld\na=1"), "Wrong group definition in config file F at line 1");
        assert_eq!(error(b"[a]\n#\xff\nb=\xff"), "Text that is not UTF-8 in config file F at line 3");
        assert!(error(&vec![b'#'; (BYTES_MAX + 1) as usize]).contains("more than 1048576 bytes"));
    }
}
