//! What is read: a file or standard input, and in which format.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;

use super::super::exit::Problem;
use super::super::progress::Progress;
use crate::capture::{Csv, CsvOptions, Mapping, Ndjson, Rows};

/// The format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum InputFormat {
    /// One JSON object a line
    Ndjson,
    /// Comma-separated values with a header
    Csv,
    /// Apache Parquet
    Parquet,
}

/// What is read; a file can be opened again.
pub(super) struct Input {
    /// None: standard input.
    pub(super) file: Option<PathBuf>,
    pub(super) format: InputFormat,
    pub(super) mapping: Option<Mapping>,
    pub(super) csv: CsvOptions,
}

impl InputFormat {
    /// By the ending of a file's name.
    pub(super) fn of_ending(ending: &OsStr) -> Option<Self> {
        [(Self::Csv, "csv"), (Self::Parquet, "parquet")]
            .into_iter()
            .find_map(|(format, known)| ending.eq_ignore_ascii_case(known).then_some(format))
    }
}

impl Input {
    /// What errors call it.
    pub(super) fn name(&self) -> Arc<str> {
        match &self.file {
            None => "stdin".into(),
            Some(path) => path.display().to_string().into(),
        }
    }

    /// Its rows from the first one on, and how far they have been read.
    pub(super) fn open(&self) -> anyhow::Result<(Rows, Progress)> {
        let (name, mapping) = (self.name(), self.mapping.clone());
        match (self.format, mapping) {
            (InputFormat::Csv, Some(mapping)) => {
                let (reader, progress) = self.read()?;
                Ok((Csv::rows(name, reader, mapping, self.csv.clone())?, progress))
            }
            (InputFormat::Parquet, Some(mapping)) => {
                let Some(path) = &self.file else {
                    let problem = "Parquet is read from its end on, so not from standard input; name a file";
                    return Err(Problem::BadInput(problem.to_owned()).into());
                };
                // Which of its bytes have been read says little of how many records are left.
                Ok((parquet(&name, open(path)?, mapping)?, Progress::reading(None)))
            }
            (_, mapping) => {
                let (reader, progress) = self.read()?;
                Ok((
                    Ndjson::rows(name, Box::new(BufReader::new(reader)), mapping),
                    progress,
                ))
            }
        }
    }

    fn read(&self) -> Result<(Box<dyn Read + Send>, Progress), Problem> {
        let Some(path) = &self.file else {
            let progress = Progress::reading(None);
            return Ok((Box::new(progress.bar().wrap_read(io::stdin())), progress));
        };
        let file = open(path)?;
        let metadata = file.metadata().ok();
        let size = metadata.map(|metadata| metadata.len()).filter(|&size| size > 0);
        let progress = Progress::reading(size);
        Ok((Box::new(progress.bar().wrap_read(file)), progress))
    }
}

fn open(path: &Path) -> Result<File, Problem> {
    File::open(path).map_err(|error| Problem::BadInput(format!("cannot read {}: {error}", path.display())))
}

#[cfg(feature = "parquet")]
fn parquet(name: &Arc<str>, file: File, mapping: Mapping) -> anyhow::Result<Rows> {
    Ok(crate::capture::Parquet::rows(Arc::clone(name), file, mapping)?)
}

#[cfg(not(feature = "parquet"))]
fn parquet(name: &Arc<str>, _file: File, _mapping: Mapping) -> anyhow::Result<Rows> {
    let problem = format!(
        "cannot read {name}: this program was built without Parquet, which weighs 8 MB; build it with `cargo install --path . \
         --features parquet`"
    );
    Err(Problem::BadInput(problem).into())
}
