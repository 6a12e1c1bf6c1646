//! How far an input was read, told by its content: a repeated run goes on from there only if what lies before is the same.
//!
//! The digest is one of rows, not of bytes: it serves every format, and another mapping makes it another input.

use sha2::{Digest as _, Sha256};

use super::error::{BadLine, CaptureError};
use super::{Captured, Rows};
use crate::store::Checkpoint;

/// What of an input has been read so far.
#[derive(Debug, Clone, Default)]
pub struct Prefix {
    rows: u64,
    line: u64,
    hash: Sha256,
}

impl Prefix {
    /// Reads on to where the checkpoint was kept. `None`: the input begins otherwise than it did then, and rows of it are gone.
    pub fn skip(rows: &mut Rows, checkpoint: &Checkpoint) -> Result<Option<Self>, CaptureError> {
        let mut prefix = Self::default();
        while prefix.rows < checkpoint.rows {
            match rows.next() {
                None => return Ok(None),
                Some(Ok(captured)) => prefix.add(&Ok(captured)),
                Some(Err(CaptureError::Line(bad))) => prefix.add(&Err(bad)),
                Some(Err(problem)) => return Err(problem),
            }
        }
        Ok((prefix.mark() == *checkpoint).then_some(prefix))
    }

    pub(super) fn add(&mut self, item: &Result<Captured, BadLine>) {
        self.rows += 1;
        match item {
            Ok(Captured { line, row }) => {
                self.line = *line;
                let version = row.row_version.map(|version| version.to_string());
                self.text(Some(&row.topic));
                self.text(Some(&row.row_key));
                self.text(version.as_deref());
                self.text(Some(row.op.as_str()));
                self.text(Some(&row.payload));
                self.text(row.headers.as_deref());
            }
            Err(bad) => {
                self.line = bad.line;
                self.text(None);
                self.text(Some(&bad.problem));
                self.text(bad.text.as_deref());
            }
        }
    }

    /// Length and text, so that no two lists of texts are one stream of bytes.
    fn text(&mut self, text: Option<&str>) {
        match text {
            None => self.hash.update([0]),
            Some(text) => {
                self.hash.update([1]);
                self.hash.update((text.len() as u64).to_be_bytes());
                self.hash.update(text);
            }
        }
    }

    pub(super) fn mark(&self) -> Checkpoint {
        Checkpoint {
            rows: self.rows,
            line: self.line,
            digest: self.hash.clone().finalize().into(),
        }
    }
}
