//! Files are written by Arrow's own writer, but for old times, which it does not write.

use std::fs::File;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array,
    Int32Array, Int64Array, StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::*;
use crate::core::row::Op;

fn mapping(key: &[&str], version: Option<&str>) -> Mapping {
    Mapping {
        topic: "orders".to_owned(),
        op: Op::Upsert,
        key: key.iter().map(|&field| field.to_owned()).collect(),
        version: version.map(str::to_owned),
    }
}

fn column(name: &str, array: impl arrow_array::Array + 'static) -> (String, ArrayRef) {
    (name.to_owned(), Arc::new(array))
}

fn file(columns: Vec<(String, ArrayRef)>, compression: Compression) -> File {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = tempfile::tempfile().unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer =
        ArrowWriter::try_new(file.try_clone().unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

fn read(file: File, mapping: Mapping) -> Result<Vec<Captured>, CaptureError> {
    Parquet::rows("orders.parquet".into(), file, mapping)?.collect()
}

fn payloads(columns: Vec<(String, ArrayRef)>) -> Vec<String> {
    let rows = read(file(columns, Compression::SNAPPY), mapping(&["id"], None)).unwrap();
    rows.into_iter().map(|captured| captured.row.payload).collect()
}

#[test]
fn numbers_keep_every_digit() {
    let decimals = Decimal128Array::from(vec![
        99_999_999_999_999_999_999_999_999_999_999_999_999_i128,
        -110,
    ]);
    let rows = payloads(vec![
        column("id", Int64Array::from(vec![i64::MAX, i64::MIN])),
        column("big", UInt64Array::from(vec![u64::MAX, 0])),
        column("amount", decimals.with_precision_and_scale(38, 2).unwrap()),
        column("ratio", Float64Array::from(vec![0.1, f64::NAN])),
    ]);
    assert_eq!(
        rows,
        [
            r#"{"id":9223372036854775807,"big":18446744073709551615,"amount":999999999999999999999999999999999999.99,"ratio":0.1}"#,
            r#"{"id":-9223372036854775808,"big":0,"amount":-1.10,"ratio":null}"#,
        ]
    );
}

#[test]
fn times_are_utc_with_microseconds_and_bytes_are_base64() {
    let moment = 1_764_469_800_123_456;
    let rows = payloads(vec![
        column("id", Int32Array::from(vec![1])),
        column(
            "zoned",
            TimestampMicrosecondArray::from(vec![moment]).with_timezone("Europe/Berlin"),
        ),
        column("plain", TimestampMicrosecondArray::from(vec![-1])),
        column("nano", TimestampNanosecondArray::from(vec![-1])),
        column("day", Date32Array::from(vec![-1])),
        column("clock", Time64MicrosecondArray::from(vec![3_600_000_001])),
        column("bytes", BinaryArray::from(vec![&b"\x00\xff~"[..]])),
        column("yes", BooleanArray::from(vec![None])),
    ]);
    assert_eq!(
        rows,
        [concat!(
            r#"{"id":1,"zoned":"2025-11-30T02:30:00.123456Z","plain":"1969-12-31T23:59:59.999999Z","#,
            r#""nano":"1969-12-31T23:59:59.999999Z","day":"1969-12-31","clock":"01:00:00.000001","bytes":"AP9+","yes":null}"#
        )]
    );
}

#[test]
fn lists_and_structs_are_json() {
    let mut tags = ListBuilder::new(StringBuilder::new());
    tags.append_value([Some("a\"b"), None]);
    let place = StructArray::try_from(vec![
        ("city", Arc::new(StringArray::from(vec!["Zürich"])) as ArrayRef),
        ("since", Arc::new(Date32Array::from(vec![0])) as ArrayRef),
    ]);
    let rows = payloads(vec![
        column("id", StringArray::from(vec!["7"])),
        column("tags", tags.finish()),
        column("place", place.unwrap()),
    ]);
    assert_eq!(
        rows,
        [r#"{"id":"7","tags":["a\"b",null],"place":{"city":"Zürich","since":"1970-01-01"}}"#]
    );
}

#[test]
fn key_and_version_are_read_as_from_ndjson_and_records_are_counted_across_batches() {
    let count = 2_500;
    let columns = vec![
        column("id", Int64Array::from_iter_values(0..count)),
        column("place", StringArray::from_iter_values((0..count).map(|_| "a/b"))),
        column("at", TimestampMicrosecondArray::from_iter_values(0..count)),
    ];
    let zstd = Compression::ZSTD(parquet::basic::ZstdLevel::default());
    let rows = read(file(columns, zstd), mapping(&["place", "id"], Some("at"))).unwrap();
    let last = rows.last().unwrap();
    assert_eq!(
        (last.line, last.row.row_version, last.row.row_key.as_str()),
        (2_500, Some(2_499), "a~1b/2499")
    );
}

#[test]
fn what_is_wrong_is_named_by_its_record() {
    let error = |columns, key| {
        read(file(columns, Compression::UNCOMPRESSED), mapping(&[key], None))
            .unwrap_err()
            .to_string()
    };
    let ids = || column("id", Int64Array::from(vec![Some(1), None]));
    assert_eq!(
        error(vec![ids()], "id"),
        "orders.parquet:2: the field `id` is null"
    );
    assert_eq!(
        error(vec![ids()], "no"),
        "orders.parquet:1: there is no column `no`; known are id"
    );
    let days = column("day", Date32Array::from(vec![0, i32::MAX]));
    let said = error(vec![column("id", Int64Array::from(vec![1, 2])), days], "id");
    assert!(
        said.starts_with("orders.parquet:2: a time or date lies outside"),
        "{said}"
    );
    let mut no_file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut no_file, b"id,name\n1,a\n").unwrap();
    let said = read(no_file, mapping(&["id"], None)).unwrap_err().to_string();
    assert!(said.starts_with("cannot read orders.parquet: "), "{said}");
}

#[test]
fn the_end_of_time_as_spark_writes_it_does_not_wrap_around() {
    let schema = "message spark { required int32 id; required group past { required int96 at; } required int96 until; }";
    let file = tempfile::tempfile().unwrap();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(file.try_clone().unwrap(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut ids = group.next_column().unwrap().unwrap();
    ids.typed::<parquet::data_type::Int32Type>()
        .write_batch(&[1], None, None)
        .unwrap();
    ids.close().unwrap();
    // Nanoseconds of the day in two words, then the Julian day: of 1000-01-01 and of 9999-12-31.
    for julian_day in [2_086_303, 5_373_484] {
        let mut time = Int96::new();
        time.set_data(1_000, 0, julian_day);
        let mut times = group.next_column().unwrap().unwrap();
        times
            .typed::<Int96Type>()
            .write_batch(&[time], None, None)
            .unwrap();
        times.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let rows = read(file, mapping(&["id"], None)).unwrap();
    let payload =
        r#"{"id":1,"past":{"at":"1000-01-01T00:00:00.000001Z"},"until":"9999-12-31T00:00:00.000001Z"}"#;
    assert_eq!(rows[0].row.payload, payload);
}

#[test]
fn a_uuid_is_written_as_people_write_it() {
    let uuids = FixedSizeBinaryArray::try_from_iter(std::iter::once([0x12_u8; 16])).unwrap();
    let schema = arrow_schema::Schema::new(vec![
        Field::new("id", DataType::FixedSizeBinary(16), false)
            .with_extension_type(arrow_schema::extension::Uuid),
    ]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(uuids)]).unwrap();
    let file = tempfile::tempfile().unwrap();
    let mut writer = ArrowWriter::try_new(file.try_clone().unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let rows = read(file, mapping(&["id"], None)).unwrap();
    assert_eq!(rows[0].row.row_key, "12121212-1212-1212-1212-121212121212");
}
