//! The file of what was refused: one JSON object a line, with `line`, `problem` and the `text` that stood there.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::exit::Problem;
use super::super::progress::say;
use crate::capture::BadLine;

/// The file, open.
pub(super) struct RefusedFile(File);

#[derive(Serialize)]
struct Refused<'a> {
    line: u64,
    problem: &'a str,
    text: Option<&'a str>,
}

#[derive(Deserialize)]
struct Known {
    line: u64,
}

impl RefusedFile {
    /// A run that goes on keeps what an earlier one had refused up to the line of its checkpoint: what that refused later, this one
    /// refuses again; where the file has gone, that is said. Another run begins with an empty file.
    pub(super) fn open(path: &Path, resumed_after: Option<u64>) -> Result<Self, Problem> {
        let cannot =
            |error: io::Error| Problem::BadInput(format!("cannot write {}: {error}", path.display()));
        if let Some(line) = resumed_after
            && !path.exists()
        {
            say(&format!(
                "{} is not there: what an earlier run refused up to line {line} stands nowhere now",
                path.display()
            ));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(cannot)?;
        let kept = match resumed_after {
            None => 0,
            Some(line) => length_up_to(&file, line).map_err(cannot)?,
        };
        file.set_len(kept).map_err(cannot)?;
        file.seek(SeekFrom::End(0)).map_err(cannot)?;
        Ok(Self(file))
    }

    pub(super) fn write(&mut self, bad: &BadLine) -> io::Result<()> {
        let refused = Refused {
            line: bad.line,
            problem: &bad.problem,
            text: bad.text.as_deref(),
        };
        let mut text = serde_json::to_vec(&refused)?;
        text.push(b'\n');
        self.0.write_all(&text)
    }
}

/// How many bytes the whole lines have that tell of lines up to this one.
fn length_up_to(file: &File, line: u64) -> io::Result<u64> {
    let mut reader = BufReader::new(file);
    let (mut length, mut text) = (0, vec![]);
    loop {
        text.clear();
        let read = reader.read_until(b'\n', &mut text)?;
        match serde_json::from_slice::<Known>(&text) {
            Ok(known) if known.line <= line && text.ends_with(b"\n") => length += read as u64,
            _ => return Ok(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(line: u64) -> BadLine {
        BadLine {
            input: "stdin".into(),
            line,
            problem: "no".to_owned(),
            text: None,
        }
    }

    #[test]
    fn a_run_that_goes_on_forgets_what_was_refused_behind_its_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("refused");
        let write = |resumed_after, lines: &[u64]| {
            let mut file = RefusedFile::open(&path, resumed_after).unwrap();
            for &line in lines {
                file.write(&bad(line)).unwrap();
            }
            std::fs::read_to_string(&path).unwrap()
        };
        let lines = |numbers: &[u64]| -> String {
            let line = |number| format!("{{\"line\":{number},\"problem\":\"no\",\"text\":null}}\n");
            numbers.iter().map(line).collect()
        };
        assert_eq!(write(None, &[3, 7, 9]), lines(&[3, 7, 9]));
        assert_eq!(write(Some(7), &[8, 9]), lines(&[3, 7, 8, 9]));
        assert_eq!(write(Some(2), &[]), "");
        std::fs::write(&path, lines(&[3]) + "{\"line\":4,").unwrap();
        assert_eq!(write(Some(7), &[4]), lines(&[3, 4]));
        assert_eq!(write(None, &[1]), lines(&[1]));
    }
}
