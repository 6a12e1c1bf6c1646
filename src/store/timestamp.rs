//! How [`Timestamp`] stands in the databases: `timestamptz` on PostgreSQL, integer microseconds on SQLite.
//!
//! Only the binary form of PostgreSQL is read: every statement of the store is prepared, so no other arrives.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueFormat, PgValueRef, Postgres};
use sqlx::sqlite::{Sqlite, SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Decode, Encode, Type};

use crate::core::time::Timestamp;

/// 2000-01-01T00:00:00Z, from which PostgreSQL counts, in microseconds since 1970.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;

/// What PostgreSQL calls the types: fixed numbers, so that no connection must ask for them.
const TIMESTAMPTZ: Oid = Oid(1184);
const TIMESTAMPTZ_ARRAY: Oid = Oid(1185);

impl Type<Postgres> for Timestamp {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ)
    }
}

impl PgHasArrayType for Timestamp {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ_ARRAY)
    }
}

impl Encode<'_, Postgres> for Timestamp {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let micros = self
            .as_micros()
            .checked_sub(POSTGRES_EPOCH)
            .ok_or("the time is too early for timestamptz")?;
        <i64 as Encode<'_, Postgres>>::encode(micros, buffer)
    }
}

impl<'r> Decode<'r, Postgres> for Timestamp {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => {
                let micros = <i64 as Decode<'r, Postgres>>::decode(value)?;
                Ok(Self::from_micros(micros.saturating_add(POSTGRES_EPOCH)))
            }
            PgValueFormat::Text => Err("a timestamptz arrived as text; prepare the statement".into()),
        }
    }
}

impl Type<Sqlite> for Timestamp {
    fn type_info() -> SqliteTypeInfo {
        <i64 as Type<Sqlite>>::type_info()
    }

    fn compatible(ty: &SqliteTypeInfo) -> bool {
        <i64 as Type<Sqlite>>::compatible(ty)
    }
}

impl Encode<'_, Sqlite> for Timestamp {
    fn encode_by_ref(&self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        <i64 as Encode<'_, Sqlite>>::encode(self.as_micros(), buffer)
    }
}

impl<'r> Decode<'r, Sqlite> for Timestamp {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
        <i64 as Decode<'r, Sqlite>>::decode(value).map(Self::from_micros)
    }
}
