//! Rows as the CSV of a job: a header, and a line for each record. Pure.
//!
//! CSV says less than JSON: an empty value leaves a field as it is, and `#N/A` empties it. A row of which that cannot be
//! said truthfully has no line, and goes by requests.

use std::borrow::Cow;
use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::core::mapping::{Value, record_id};
use crate::core::row::{Op, OutboxRow};
use crate::destination::bulk::{Awaited, JobData};
use crate::destination::salesforce::rendering::SalesforceRendering;

/// What empties a field.
const CLEAR: &str = "#N/A";
/// Characters that a field takes, and a record.
const MOST_OF_FIELD: usize = 32_000;
const MOST_OF_RECORD: usize = 400_000;

/// What results say of a record beside its own line: an id, and an error in words.
const TOLD_OF_RECORD: usize = 2_048;
/// What they say of no record.
const TOLD_BESIDES: usize = 64 * 1_024;
/// How much longer a value is there: in quotes, with a separator.
const QUOTES: usize = 3;

/// The record of one row.
struct Line<'a> {
    id: Cow<'a, str>,
    /// In the order of the fields' names.
    cells: Vec<(&'a str, Cow<'a, str>)>,
}

/// What results call the record of this row, if it has a line. External ids are matched without regard to case.
pub(super) fn name(rendering: &SalesforceRendering, row: &OutboxRow) -> Option<String> {
    line(rendering, row).map(|line| folded(&line.id))
}

/// An external id, whatever its case.
pub(super) fn folded(id: &str) -> String {
    id.to_lowercase()
}

/// The file about `rows`, each of which has a line. Its header holds every field that one of them has.
pub(super) fn data(rendering: &SalesforceRendering, rows: &[&OutboxRow]) -> JobData {
    let lines: Vec<Line<'_>> = rows.iter().filter_map(|row| line(rendering, row)).collect();
    let fields: BTreeSet<&str> = lines
        .iter()
        .flat_map(|line| line.cells.iter().map(|cell| cell.0))
        .collect();
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::Any(b'\n'))
        .from_writer(Vec::new());
    let header = std::iter::once(rendering.external_id.as_str()).chain(fields.iter().copied());
    // Writing to memory cannot fail, and all lines are as long as the header.
    let _ = writer.write_record(header);
    for line in &lines {
        let mut cells = line.cells.iter().peekable();
        let values = fields.iter().map(|field| {
            let cell = cells.next_if(|cell| cell.0 == *field);
            cell.map_or("", |cell| cell.1.as_ref())
        });
        let _ = writer.write_record(std::iter::once(line.id.as_ref()).chain(values));
    }
    let body = writer.into_inner().unwrap_or_default();
    let told = TOLD_OF_RECORD + QUOTES * (fields.len() + QUOTES);
    JobData {
        awaited: Awaited {
            names: lines.iter().map(|line| folded(&line.id)).collect(),
            most_bytes: body.len() + lines.len() * told + TOLD_BESIDES,
            digest: Some(Sha256::digest(&body).into()),
        },
        body: body.into(),
    }
}

fn line<'a>(rendering: &'a SalesforceRendering, row: &'a OutboxRow) -> Option<Line<'a>> {
    if row.op == Op::Delete {
        return None;
    }
    let id = record_id(row, rendering.id_from.as_deref()).ok().and_then(text)?;
    let record = rendering.mapping.record(row).ok()?;
    let cell = |(field, value)| Some((field, cell(field, value)?));
    let cells: Vec<_> = record.into_iter().map(cell).collect::<Option<_>>()?;
    let characters: usize = cells.iter().map(|(_, value)| value.chars().count()).sum();
    (characters <= MOST_OF_RECORD).then_some(Line { id, cells })
}

/// The value of a field, if CSV can say it.
fn cell<'a>(field: &str, value: Value<'a>) -> Option<Cow<'a, str>> {
    match value {
        // How a reference is emptied by the name of a field of its record, the documents do not say.
        Value::Clear if field.contains('.') => None,
        Value::Clear => Some(Cow::Borrowed(CLEAR)),
        Value::Boolean(true) => Some(Cow::Borrowed("true")),
        Value::Boolean(false) => Some(Cow::Borrowed("false")),
        // A number with an exponent is read in JSON; in CSV nobody promises it.
        Value::Number(digits) => (!digits.contains(['e', 'E'])).then_some(digits),
        Value::Text(value) => text(value),
    }
}

/// A text, unless it would be read as another: as none, as the word that empties, or with another end of line.
fn text(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let misread = text.is_empty() || text == CLEAR || text.contains('\r');
    (!misread && text.chars().count() <= MOST_OF_FIELD).then_some(text)
}
