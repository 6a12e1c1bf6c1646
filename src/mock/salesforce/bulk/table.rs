//! The CSV of bulk jobs, in and out. Pure; what a row means is `run`'s.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum LineEnding {
    #[default]
    #[serde(rename = "LF")]
    Lf,
    #[serde(rename = "CRLF")]
    CrLf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Delimiter {
    #[default]
    Comma,
    Backquote,
    Caret,
    Pipe,
    Semicolon,
    Tab,
}

/// How a job's files are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    pub(super) line_ending: LineEnding,
    pub(super) delimiter: Delimiter,
}

/// A file, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Table {
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Delimiter {
    fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Backquote => b'`',
            Self::Caret => b'^',
            Self::Pipe => b'|',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
        }
    }
}

impl LineEnding {
    fn name(self) -> &'static str {
        match self {
            Self::Lf => "LF",
            Self::CrLf => "CRLF",
        }
    }
}

/// Takes a file apart, or says as a job's error message what is wrong with it.
pub(super) fn read(data: &[u8], format: Format) -> Result<Table, String> {
    check_line_ending(data, format.line_ending)?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(format.delimiter.byte())
        .from_reader(data);
    let invalid = |error: csv::Error| format!("InvalidBatch : {error}");
    let list = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
    let header = list(reader.headers().map_err(invalid)?);
    let rows = reader
        .records()
        .map(|row| row.map(|row| list(&row)).map_err(invalid))
        .collect::<Result<_, _>>()?;
    Ok(Table { header, rows })
}

/// Writes a file, every value in quotes.
pub(super) fn write<'r>(
    header: impl IntoIterator<Item = &'r str>,
    rows: impl IntoIterator<Item = Vec<&'r str>>,
    format: Format,
) -> Vec<u8> {
    let terminator = match format.line_ending {
        LineEnding::Lf => csv::Terminator::Any(b'\n'),
        LineEnding::CrLf => csv::Terminator::CRLF,
    };
    let mut writer = csv::WriterBuilder::new()
        .delimiter(format.delimiter.byte())
        .terminator(terminator)
        .quote_style(csv::QuoteStyle::Always)
        .from_writer(Vec::new());
    // Writing to memory cannot fail, and all rows are as long as the header.
    let _ = writer.write_record(header);
    for row in rows {
        let _ = writer.write_record(row);
    }
    writer.into_inner().unwrap_or_default()
}

/// Every line end outside quotes must be the one that the job was opened with.
fn check_line_ending(data: &[u8], wanted: LineEnding) -> Result<(), String> {
    let mut quoted = false;
    let mut before = 0;
    for &byte in data {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted && (before == b'\r') != (wanted == LineEnding::CrLf) => {
                return Err(format!(
                    "InvalidBatch : LineEnding is invalid on user data. Current LineEnding setting is {}",
                    wanted.name()
                ));
            }
            _ => {}
        }
        before = byte;
    }
    Ok(())
}
