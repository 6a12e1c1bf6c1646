//! Standard output: for people or, with `--json`, for programs.
//!
//! Every verb prints through [`Output`], so that a reader who leaves early (`aftercommit list | head`) ends the
//! command quietly: the error travels up, and `exit` knows it.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

/// The option of every verb that prints.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct OutputArgs {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Who reads the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    People,
    Json,
}

/// Standard output in the format that was asked for.
pub(super) struct Output {
    format: Format,
    writer: BufWriter<StdoutLock<'static>>,
}

impl OutputArgs {
    pub(super) fn open(self) -> Output {
        Output::new(if self.json { Format::Json } else { Format::People })
    }
}

impl Output {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            writer: BufWriter::new(io::stdout().lock()),
        }
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Prints `value` as JSON on one line, or the text that `people` makes of it.
    pub(super) fn print<T: Serialize>(
        &mut self,
        value: &T,
        people: impl FnOnce(&T) -> String,
    ) -> io::Result<()> {
        match self.format {
            Format::Json => self.json_line(value),
            Format::People => self.line(&people(value)),
        }
    }

    /// One line of text, or several.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.writer, "{text}")?;
        self.writer.flush()
    }

    /// One line of JSON.
    pub(super) fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.writer, value)?;
        self.writer.write_all(b"\n")?;
        self.writer.flush()
    }
}
