//! A row that came back, of either database.
//!
//! Each accessor names the type that the store wants; a column that is missing or of another type is a bug in a
//! statement, so it comes back as [`StoreError::Unexpected`].

use std::fmt::Display;
use std::str::FromStr;

use sqlx::postgres::{PgRow, Postgres};
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{ColumnIndex, Decode, Row as _, Type, TypeInfo as _, ValueRef as _};

use crate::core::time::Timestamp;
use crate::store::error::StoreError;

/// A row of a result.
pub(crate) enum Row {
    Postgres(PgRow),
    Sqlite(SqliteRow),
}

/// Which column: its name, or its place, which is cheaper and comes from [`Row::place`].
pub(crate) trait Column: ColumnIndex<PgRow> + ColumnIndex<SqliteRow> + Copy + Display {}

impl<T: ColumnIndex<PgRow> + ColumnIndex<SqliteRow> + Copy + Display> Column for T {}

impl Row {
    /// Where the column of this name stands, in every row of the same result.
    pub(crate) fn place(&self, name: &str) -> Result<usize, StoreError> {
        Ok(match self {
            Self::Postgres(row) => name.index(row)?,
            Self::Sqlite(row) => name.index(row)?,
        })
    }

    /// An integer of any width that fits `T`.
    pub(crate) fn int<T: TryFrom<i64>>(&self, column: impl Column) -> Result<T, StoreError> {
        self.opt_int(column)?.ok_or_else(|| null(column))
    }

    /// An integer or null.
    pub(crate) fn opt_int<T: TryFrom<i64>>(&self, column: impl Column) -> Result<Option<T>, StoreError> {
        let value = match self {
            Self::Postgres(row) => match &*row.try_get_raw(column)?.type_info() {
                info if info.name() == "INT4" => row.try_get::<Option<i32>, _>(column)?.map(i64::from),
                _ => row.try_get::<Option<i64>, _>(column)?,
            },
            Self::Sqlite(row) => row.try_get(column)?,
        };
        let fits = |value| {
            T::try_from(value)
                .map_err(|_| StoreError::Unexpected(format!("the column `{column}` holds {value}")))
        };
        value.map(fits).transpose()
    }

    /// A text.
    pub(crate) fn text(&self, column: impl Column) -> Result<&str, StoreError> {
        self.get(column)
    }

    /// A text or null.
    pub(crate) fn opt_text(&self, column: impl Column) -> Result<Option<&str>, StoreError> {
        self.get(column)
    }

    /// A word that the tables allow; another one is a bug.
    pub(crate) fn word<T>(&self, column: impl Column) -> Result<T, StoreError>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.opt_word(column)?.ok_or_else(|| null(column))
    }

    /// Such a word or null.
    pub(crate) fn opt_word<T>(&self, column: impl Column) -> Result<Option<T>, StoreError>
    where
        T: FromStr,
        T::Err: Display,
    {
        let word = self.opt_text(column)?.map(str::parse).transpose();
        word.map_err(|unknown: T::Err| StoreError::Unexpected(unknown.to_string()))
    }

    /// JSON, as it was written.
    pub(crate) fn json(&self, column: impl Column) -> Result<&str, StoreError> {
        self.opt_json(column)?.ok_or_else(|| null(column))
    }

    /// JSON as it was written, or null.
    pub(crate) fn opt_json(&self, column: impl Column) -> Result<Option<&str>, StoreError> {
        match self {
            Self::Postgres(row) => {
                let value = row.try_get_raw(column)?;
                if value.is_null() {
                    return Ok(None);
                }
                let text = value.as_str();
                text.map(Some)
                    .map_err(|error| StoreError::Unexpected(format!("the column `{column}`: {error}")))
            }
            Self::Sqlite(row) => Ok(row.try_get(column)?),
        }
    }

    /// A time.
    pub(crate) fn time(&self, column: impl Column) -> Result<Timestamp, StoreError> {
        self.get(column)
    }

    /// A time or null.
    pub(crate) fn opt_time(&self, column: impl Column) -> Result<Option<Timestamp>, StoreError> {
        self.get(column)
    }

    /// A truth value.
    pub(crate) fn bool(&self, column: impl Column) -> Result<bool, StoreError> {
        self.get(column)
    }

    /// Bytes or null.
    pub(crate) fn opt_bytes(&self, column: impl Column) -> Result<Option<&[u8]>, StoreError> {
        self.get(column)
    }

    fn get<'r, T>(&'r self, column: impl Column) -> Result<T, StoreError>
    where
        T: Decode<'r, Postgres> + Type<Postgres> + Decode<'r, Sqlite> + Type<Sqlite>,
    {
        Ok(match self {
            Self::Postgres(row) => row.try_get(column)?,
            Self::Sqlite(row) => row.try_get(column)?,
        })
    }
}

/// The one row of a statement that always brings one.
pub(crate) fn only(rows: Vec<Row>) -> Result<Row, StoreError> {
    rows.into_iter()
        .next()
        .ok_or_else(|| StoreError::Unexpected("a statement that always brings a row brought none".to_owned()))
}

fn null(column: impl Column) -> StoreError {
    StoreError::Unexpected(format!("the column `{column}` is null"))
}
