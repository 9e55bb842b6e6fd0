//! Lines typed at a terminal, with a history that is kept after the shell ends.

use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

/// Lines kept.
const HISTORY_LINES_MAX: usize = 1000;

/// What came from the keyboard.
#[derive(Debug)]
pub(crate) enum Input {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D.
    End,
}

/// A line editor.
pub(crate) struct LineEditor {
    editor: Editor<(), FileHistory>,
    history: Option<PathBuf>,
}

impl LineEditor {
    pub(crate) fn new() -> Result<Self, ReadlineError> {
        let config = Config::builder().max_history_size(HISTORY_LINES_MAX)?.auto_add_history(true).build();
        let mut editor = Editor::with_config(config)?;
        let history = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".squall_history"));
        if let Some(path) = &history
            && path.exists()
            && let Err(error) = editor.load_history(path)
        {
            eprintln!("{}: {error}", path.display());
        }
        Ok(Self { editor, history })
    }

    /// Reads a line.
    pub(crate) fn line(&mut self, prompt: &str) -> Result<Input, ReadlineError> {
        match self.editor.readline(prompt) {
            Ok(line) => Ok(Input::Line(line)),
            Err(ReadlineError::Interrupted) => Ok(Input::Interrupted),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(error) => Err(error),
        }
    }

    /// Keeps the history for the next shell.
    pub(crate) fn save(&mut self) {
        if let Some(path) = &self.history
            && let Err(error) = self.editor.save_history(path)
        {
            eprintln!("{}: {error}", path.display());
        }
    }
}
