//! The arguments of a statement, in the order of their numbers.
//!
//! A [`Batch`] is a table as one argument: PostgreSQL gets an array for each column (`unnest($2::bigint[], …)`), SQLite
//! one JSON text (`json_each($2)`, `value ->> 'column'`). So it stands last, or the numbers after it would differ.

use serde_json::{Map, Value};
use sqlx::Arguments as _;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;

use crate::core::time::Timestamp;
use crate::store::error::StoreError;

/// The arguments of a statement.
#[derive(Debug, Clone, Default)]
pub(crate) struct Args(Vec<Arg>);

#[derive(Debug, Clone)]
enum Arg {
    Int(Option<i64>),
    Text(Option<String>),
    Time(Option<Timestamp>),
    Bytes(Option<Vec<u8>>),
    Ints(Vec<i64>),
    Batch(Batch),
}

/// A table: columns of the same length, each with its name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch(Vec<(&'static str, Column)>);

#[derive(Debug, Clone)]
enum Column {
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Words(Vec<Option<&'static str>>),
    Times(Vec<Option<Timestamp>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

impl Args {
    /// No arguments yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// An integer or null.
    pub(crate) fn int(self, value: impl Into<Option<i64>>) -> Self {
        self.with(Arg::Int(value.into()))
    }

    /// A text.
    pub(crate) fn text(self, value: &str) -> Self {
        self.with(Arg::Text(Some(value.to_owned())))
    }

    /// A text or null.
    pub(crate) fn opt_text(self, value: Option<&str>) -> Self {
        self.with(Arg::Text(value.map(str::to_owned)))
    }

    /// A time or null.
    pub(crate) fn time(self, value: impl Into<Option<Timestamp>>) -> Self {
        self.with(Arg::Time(value.into()))
    }

    /// Bytes or null.
    pub(crate) fn bytes(self, value: impl Into<Option<Vec<u8>>>) -> Self {
        self.with(Arg::Bytes(value.into()))
    }

    /// A list of integers: `any($1)` on PostgreSQL, `in (select value from json_each($1))` on SQLite.
    pub(crate) fn ints(self, values: &[i64]) -> Self {
        self.with(Arg::Ints(values.to_vec()))
    }

    /// A table, as the last argument.
    pub(crate) fn batch(self, batch: Batch) -> Self {
        self.with(Arg::Batch(batch))
    }

    fn with(mut self, arg: Arg) -> Self {
        self.0.push(arg);
        self
    }

    pub(super) fn postgres(&self) -> Result<PgArguments, StoreError> {
        self.encode_postgres().map_err(refused)
    }

    pub(super) fn sqlite(&self) -> Result<SqliteArguments, StoreError> {
        self.encode_sqlite().map_err(refused)
    }

    fn encode_postgres(&self) -> Result<PgArguments, BoxDynError> {
        let mut arguments = PgArguments::default();
        for arg in &self.0 {
            match arg {
                Arg::Int(value) => arguments.add(value)?,
                Arg::Text(value) => arguments.add(value)?,
                Arg::Time(value) => arguments.add(value)?,
                Arg::Bytes(value) => arguments.add(value)?,
                Arg::Ints(values) => arguments.add(values)?,
                Arg::Batch(batch) => batch.postgres(&mut arguments)?,
            }
        }
        Ok(arguments)
    }

    fn encode_sqlite(&self) -> Result<SqliteArguments, BoxDynError> {
        let mut arguments = SqliteArguments::default();
        for arg in &self.0 {
            match arg {
                Arg::Int(value) => arguments.add(*value)?,
                Arg::Text(value) => arguments.add(value.clone())?,
                Arg::Time(value) => arguments.add(*value)?,
                Arg::Bytes(value) => arguments.add(value.clone())?,
                Arg::Ints(values) => arguments.add(serde_json::to_string(values)?)?,
                Arg::Batch(batch) => arguments.add(batch.json())?,
            }
        }
        Ok(arguments)
    }
}

impl Batch {
    /// No columns yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A column of integers.
    pub(crate) fn ints<T: Into<Option<i64>>>(
        self,
        name: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.with(name, Column::Ints(values.into_iter().map(Into::into).collect()))
    }

    /// A column of texts.
    pub(crate) fn texts<'v, T: Into<Option<&'v str>>>(
        self,
        name: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let owned = values.into_iter().map(|value| value.into().map(str::to_owned));
        self.with(name, Column::Texts(owned.collect()))
    }

    /// A column of texts that the program knows: nothing is copied.
    pub(crate) fn words<T: Into<Option<&'static str>>>(
        self,
        name: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.with(name, Column::Words(values.into_iter().map(Into::into).collect()))
    }

    /// A column of times.
    pub(crate) fn times<T: Into<Option<Timestamp>>>(
        self,
        name: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.with(name, Column::Times(values.into_iter().map(Into::into).collect()))
    }

    /// A column of bytes; on SQLite they travel as hex digits (`unhex(value ->> 'column')`).
    pub(crate) fn bytes<'v, T: Into<Option<&'v [u8]>>>(
        self,
        name: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let owned = values.into_iter().map(|value| value.into().map(<[u8]>::to_vec));
        self.with(name, Column::Bytes(owned.collect()))
    }

    fn with(mut self, name: &'static str, column: Column) -> Self {
        debug_assert!(
            self.0
                .first()
                .is_none_or(|(_, first)| first.len() == column.len()),
            "the column {name} is not as long as the first one"
        );
        self.0.push((name, column));
        self
    }

    fn postgres(&self, arguments: &mut PgArguments) -> Result<(), BoxDynError> {
        for (_, column) in &self.0 {
            match column {
                Column::Ints(values) => arguments.add(values)?,
                Column::Texts(values) => arguments.add(values)?,
                Column::Words(values) => arguments.add(values)?,
                Column::Times(values) => arguments.add(values)?,
                Column::Bytes(values) => arguments.add(values)?,
            }
        }
        Ok(())
    }

    fn json(&self) -> String {
        let length = self.0.first().map_or(0, |(_, first)| first.len());
        let row = |index| -> Value {
            let field = |(name, column): &(&str, Column)| ((*name).to_owned(), column.json(index));
            Value::Object(self.0.iter().map(field).collect::<Map<_, _>>())
        };
        Value::Array((0..length).map(row).collect()).to_string()
    }
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Ints(values) => values.len(),
            Self::Texts(values) => values.len(),
            Self::Words(values) => values.len(),
            Self::Times(values) => values.len(),
            Self::Bytes(values) => values.len(),
        }
    }

    fn json(&self, index: usize) -> Value {
        match self {
            Self::Ints(values) => values[index].into(),
            Self::Texts(values) => values[index].as_deref().into(),
            Self::Words(values) => values[index].into(),
            Self::Times(values) => values[index].map(Timestamp::as_micros).into(),
            Self::Bytes(values) => values[index].as_deref().map(hex).into(),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
fn refused(problem: BoxDynError) -> StoreError {
    StoreError::Refused(format!("a value cannot be stored: {problem}").into())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
