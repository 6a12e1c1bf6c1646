//! Rows from Parquet: each record becomes a JSON object in the order of its columns, as if it were a line of NDJSON.
//!
//! Arrow's own writer makes the JSON (`values` says where it does not), and what names a row is read from that text, so that a
//! record has one key and one version whichever format it comes in. Holds one batch of records at a time.

mod int96;
#[cfg(test)]
mod tests;
mod values;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::vec;

use arrow_array::{Array as _, RecordBatch, StructArray};
use arrow_json::writer::make_encoder;
use arrow_schema::{ArrowError, Field, FieldRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;

use self::values::Values;
use super::error::{BadLine, CaptureError};
use super::mapping::Mapping;
use super::ndjson::row_of;
use super::{Captured, Rows};
use crate::core::row::NewRow;

/// Records of a batch at most.
const BATCH_RECORDS: usize = 1_024;
/// Bytes of a batch, roughly: where records are large, fewer are read at once.
const BATCH_BYTES: i64 = 4 << 20;

/// Rows from Parquet.
pub struct Parquet {
    input: Arc<str>,
    batches: ParquetRecordBatchReader,
    mapping: Mapping,
    /// The record that was handed out last, from 1.
    record: u64,
    ready: vec::IntoIter<Result<NewRow, String>>,
}

impl Parquet {
    /// Reads the file's schema, then its records by `mapping`. `input` is what errors call the file.
    ///
    /// Whole numbers and decimals keep every digit, times are RFC 3339 in UTC with microseconds (one without a time zone is taken
    /// for UTC), dates ISO 8601, bytes base64, lists and structs JSON; what is no number in a float is null.
    pub fn rows(input: Arc<str>, file: File, mapping: Mapping) -> Result<Rows, CaptureError> {
        let builder = open(file).map_err(|error| read_error(&input, error))?;
        let columns = builder.schema().fields();
        for field in mapping.fields() {
            if columns.find(field).is_none() {
                let known = columns
                    .iter()
                    .map(|column| column.name().as_str())
                    .collect::<Vec<_>>();
                let problem = format!("there is no column `{field}`; known are {}", known.join(", "));
                return Err(CaptureError::Broken(BadLine::new(&input, 1, problem)));
            }
        }
        let records = records_at_once(builder.metadata());
        let batches = builder.with_batch_size(records).build();
        Ok(Box::new(Self {
            batches: batches.map_err(|error| read_error(&input, error))?,
            input,
            mapping,
            record: 0,
            ready: vec![].into_iter(),
        }))
    }

    fn read_error(&self, error: ArrowError) -> CaptureError {
        read_error(&self.input, error)
    }
}

impl Iterator for Parquet {
    type Item = Result<Captured, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.ready.next() {
                self.record += 1;
                return Some(match row {
                    Ok(row) => Ok(Captured {
                        line: self.record,
                        row,
                    }),
                    Err(problem) => Err(BadLine::new(&self.input, self.record, problem).into()),
                });
            }
            let rows = match self.batches.next()? {
                Ok(batch) => rows(batch, &self.mapping),
                Err(error) => Err(error),
            };
            match rows {
                Ok(rows) => self.ready = rows.into_iter(),
                Err(error) => return Some(Err(self.read_error(error))),
            }
        }
    }
}

/// By the types of Parquet alone: what Arrow noted beside them (dictionaries, zones by name) changes no value.
fn open(file: File) -> Result<ParquetRecordBatchReaderBuilder<File>, ParquetError> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let found = ArrowReaderMetadata::load(&file, options.clone())?;
    let schema = int96::in_microseconds(&found);
    let metadata = ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), options.with_schema(schema))?;
    Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata))
}

fn records_at_once(metadata: &ParquetMetaData) -> usize {
    let groups = metadata.row_groups().iter();
    let largest = groups
        .map(|group| group.total_byte_size() / group.num_rows().max(1))
        .max();
    let fit = BATCH_BYTES / largest.unwrap_or(1).max(1);
    usize::try_from(fit).unwrap_or(1).clamp(1, BATCH_RECORDS)
}

fn rows(batch: RecordBatch, mapping: &Mapping) -> Result<Vec<Result<NewRow, String>>, ArrowError> {
    let values = Values::default();
    let options = values.options();
    let field: FieldRef = Field::new_struct("", batch.schema().fields().clone(), false).into();
    let records = StructArray::from(batch);
    let mut encoder = make_encoder(&field, &records, &options)?;
    let mut rows = Vec::with_capacity(records.len());
    let mut text = Vec::new();
    for index in 0..records.len() {
        text.clear();
        encoder.encode(index, &mut text);
        rows.push(row(&text, &values, mapping));
    }
    Ok(rows)
}

fn row(text: &[u8], values: &Values, mapping: &Mapping) -> Result<NewRow, String> {
    if let Some(problem) = values.take_problem() {
        return Err(problem);
    }
    row_of(text, Some(mapping))
}

fn read_error(input: &Arc<str>, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CaptureError {
    CaptureError::Read {
        input: Arc::clone(input),
        source: io::Error::new(io::ErrorKind::InvalidData, error),
    }
}
