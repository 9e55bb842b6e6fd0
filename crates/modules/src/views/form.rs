//! Formats times, sizes and statements for people.

/// Which way of writing: they differ in times above a minute and sizes below a kibibyte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// That of MySQL 8.4: `8.23 min`, ` 512 bytes`.
    Units,
    /// That of the functions of `sys` in MySQL 8.4: `8.23 m`, `1.43 w`, `512 bytes`.
    Sys,
    /// That of the first versions of `sys`, which histories keep: `00:08:13.93`, `512 bytes`.
    Clock,
}

/// How values are shown with units.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub style: Style,
    /// Characters of a statement.
    pub statement_characters: usize,
    /// Directories that paths are shown without, and what stands for each.
    pub directories: Vec<(String, &'static str)>,
}

impl Form {
    /// With nothing that a setting says.
    pub fn plain(style: Style) -> Form {
        Form { style, statement_characters: STATEMENT_CHARACTERS, directories: Vec::new() }
    }
}

/// Characters of a statement that are shown, without the mark for left-out ones.
pub(crate) const STATEMENT_CHARACTERS: usize = 64;

const MINUTE: f64 = 60e12;
const HOUR: f64 = 3600e12;
const DAY: f64 = 86_400e12;
const WEEK: f64 = 7.0 * DAY;

/// A number of picoseconds.
pub(crate) fn time(picos: f64, style: Style) -> String {
    let size = picos.abs();
    let with = |unit: f64, name: &str| format!("{:.2} {name}", picos / unit);
    match style {
        Style::Sys if size >= WEEK => with(WEEK, "w"),
        Style::Sys if size >= DAY => with(DAY, "d"),
        Style::Sys if size >= HOUR => with(HOUR, "h"),
        Style::Sys if size >= MINUTE => with(MINUTE, "m"),
        Style::Units if size >= DAY => with(DAY, "d"),
        Style::Units if size >= HOUR => with(HOUR, "h"),
        Style::Units if size >= MINUTE => with(MINUTE, "min"),
        Style::Clock if size >= HOUR => with(HOUR, "h"),
        Style::Clock if size >= MINUTE => {
            let hundredths = (picos / 1e10) as i64;
            let seconds = hundredths / 100;
            format!("00:{:02}:{:02}.{:02}", seconds / 60, seconds % 60, hundredths % 100)
        }
        _ if size >= 1e12 => with(1e12, "s"),
        _ if size >= 1e9 => with(1e9, "ms"),
        _ if size >= 1e6 => with(1e6, "us"),
        _ if size >= 1e3 => with(1e3, "ns"),
        Style::Units => format!("{picos:3.0} ps"),
        Style::Sys | Style::Clock => format!("{picos:.0} ps"),
    }
}

/// A number of bytes.
pub(crate) fn bytes(bytes: f64, style: Style) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let size = bytes.abs();
    if size < 1024.0 {
        return match style {
            Style::Units => format!("{bytes:4.0} bytes"),
            Style::Sys | Style::Clock => format!("{bytes:.0} bytes"),
        };
    }
    let last = if style == Style::Units { UNITS.len() } else { UNITS.len() - 1 };
    let (mut unit, mut value) = (0, bytes / 1024.0);
    while value.abs() >= 1024.0 && unit + 1 < last {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

/// A path, with what stands for the directory that it is in.
pub(crate) fn path(path: &str, directories: &[(String, &'static str)]) -> String {
    let inside = |(directory, name): &(String, &str)| {
        let rest = path.strip_prefix(directory.as_str()).filter(|rest| rest.starts_with('/'))?;
        Some(format!("{name}{rest}"))
    };
    directories.iter().find_map(inside).unwrap_or_else(|| path.to_string())
}

/// A statement on one line, with its middle left out if it is longer than this many characters.
pub(crate) fn statement(text: &str, characters: usize) -> String {
    let count = text.chars().count();
    let one_line = |text: &str| text.replace('\n', " ");
    if count <= characters {
        return one_line(text);
    }
    let half = characters.saturating_sub(5) / 2 + 1;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count.saturating_sub(half)).collect();
    one_line(&format!("{head} ... {tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_styles() {
        for (picos, units, clock) in [
            (0.0, "  0 ps", "0 ps"),
            (999.0, "999 ps", "999 ps"),
            (66_980.0, "66.98 ns", "66.98 ns"),
            (1_020_000_000.0, "1.02 ms", "1.02 ms"),
            (493_930_000_000_000.0, "8.23 min", "00:08:13.93"),
            (188_732_396_662_000.0, "3.15 min", "00:03:08.73"),
            (7_200e12, "2.00 h", "2.00 h"),
            (259_200e12, "3.00 d", "72.00 h"),
        ] {
            assert_eq!((time(picos, Style::Units).as_str(), time(picos, Style::Clock).as_str()), (units, clock));
        }
    }

    #[test]
    fn sizes_have_two_styles() {
        assert_eq!(bytes(512.0, Style::Units), " 512 bytes");
        assert_eq!(bytes(512.0, Style::Clock), "512 bytes");
        assert_eq!(bytes(18_446_644_073_709_551_615.0, Style::Units), "16.00 EiB");
        assert_eq!(bytes(2_348_723_492_723_746.0, Style::Clock), "2.09 PiB");
        assert_eq!(bytes(-2048.0, Style::Units), "-2.00 KiB");
    }

    #[test]
    fn paths_are_told_by_variables() {
        let directories = [("/data".to_string(), "@@datadir"), ("/tmp".to_string(), "@@tmpdir")];
        for (path, shown) in [("/data/a/b", "@@datadir/a/b"), ("/tmp/x", "@@tmpdir/x"), ("/database/x", "/database/x")]
        {
            assert_eq!(super::path(path, &directories), shown);
        }
    }

    #[test]
    fn statements_are_cut_in_the_middle() {
        assert_eq!(statement("SELECT 1\nFROM t", 64), "SELECT 1 FROM t");
        let long = "SELECT a FROM t WHERE ".repeat(10);
        let cut = statement(&long, 64);
        assert_eq!(cut.chars().count(), 65);
        assert!(cut.starts_with("SELECT a FROM t") && cut.contains(" ... "));
        assert_eq!(statement("ä", 0), "ä ... ä");
    }
}
