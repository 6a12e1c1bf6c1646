//! Old times of Parquet, 96 bits wide: Spark and Impala write them to this day.
//!
//! Arrow reads them as nanoseconds in 64 bits, where 9999-12-31, which many tables hold for "never", wraps around in
//! silence. So they are read as microseconds.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::basic::Type;

/// The schema, in which such times are microseconds.
pub(super) fn in_microseconds(found: &ArrowReaderMetadata) -> SchemaRef {
    // The leaves of both schemas stand in one order.
    let columns = found.parquet_schema().columns().iter();
    let mut types = columns.map(|column| column.physical_type());
    let fields = in_fields(found.schema().fields(), &mut types);
    Arc::new(Schema::new_with_metadata(
        fields,
        found.schema().metadata().clone(),
    ))
}

fn in_fields(fields: &Fields, types: &mut impl Iterator<Item = Type>) -> Fields {
    fields.iter().map(|field| in_field(field, types)).collect()
}

fn in_field(field: &FieldRef, types: &mut impl Iterator<Item = Type>) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(in_fields(fields, types)),
        DataType::List(item) => DataType::List(in_field(item, types)),
        DataType::LargeList(item) => DataType::LargeList(in_field(item, types)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(in_field(item, types), *length),
        DataType::Map(entries, sorted) => DataType::Map(in_field(entries, types), *sorted),
        leaf => match types.next() {
            Some(Type::INT96) => DataType::Timestamp(TimeUnit::Microsecond, None),
            _ => leaf.clone(),
        },
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}
