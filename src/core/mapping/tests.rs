//! What becomes of each kind of value, and which rows are refused in which words.

use std::sync::Arc;

use super::{Constant, FieldKind, FieldRule, Mapping, NullPolicy, Source, Value, record_id};
use crate::core::row::{Op, OutboxRow, RowId};
use crate::core::time::Timestamp;

fn row(payload: &str) -> OutboxRow {
    OutboxRow {
        id: 1,
        row: RowId::new("customers", "c-1"),
        row_version: None,
        generation: 1,
        op: Op::Upsert,
        payload: Arc::from(payload),
        headers: None,
        created_at: Timestamp::from_micros(0),
    }
}

fn path(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

fn rule(from: &str, kind: Option<FieldKind>) -> FieldRule {
    FieldRule {
        source: Source::Path(path(from)),
        kind,
        null_policy: None,
    }
}

fn mapping(fields: &[(&str, FieldRule)]) -> Mapping {
    Mapping {
        fields: fields
            .iter()
            .map(|(field, rule)| ((*field).to_owned(), rule.clone()))
            .collect(),
        null_policy: NullPolicy::Clear,
    }
}

/// The field `F` of a payload `{"v": json}`, written for a person.
fn mapped(json: &str, kind: Option<FieldKind>) -> String {
    let row = row(&format!("{{\"v\": {json}}}"));
    let mapping = mapping(&[("F", rule("v", kind))]);
    match mapping.record(&row) {
        Ok(record) => match record.as_slice() {
            [] => "absent".to_owned(),
            [(_, Value::Clear)] => "clear".to_owned(),
            [(_, Value::Boolean(flag))] => format!("boolean {flag}"),
            [(_, Value::Number(digits))] => format!("number {digits}"),
            [(_, Value::Text(text))] => format!("text {text}"),
            _ => panic!("more fields than rules"),
        },
        Err(bad) => bad.to_string(),
    }
}

#[test]
fn a_value_keeps_its_type_and_every_digit() {
    for (json, expected) in [
        (
            "12345678901234567890.123456789012345678",
            "number 12345678901234567890.123456789012345678",
        ),
        ("1.10", "number 1.10"),
        ("-1E+400", "number -1E+400"),
        ("true", "boolean true"),
        (r#""a\"b\u00e9""#, "text a\"bé"),
        (r#""""#, "text "),
    ] {
        assert_eq!(mapped(json, None), expected);
    }
}

#[test]
fn a_type_hint_says_what_a_value_is_written_as() {
    use FieldKind::{Boolean, Date, Datetime, List, Number, Text};
    for (kind, json, expected) in [
        (Text, "9007199254740993.10", "text 9007199254740993.10"),
        (Text, "false", "text false"),
        (Number, r#"" 12.50 ""#, "number 12.50"),
        (Number, "7", "number 7"),
        (Boolean, "1", "boolean true"),
        (Boolean, r#""No""#, "boolean false"),
        (Boolean, "true", "boolean true"),
        (Date, r#""2026-05-01""#, "text 2026-05-01"),
        (Date, r#""2026-05-01T23:30:00-05:00""#, "text 2026-05-01"),
        (Date, r#""2026-05-01 13:45:00""#, "text 2026-05-01"),
        (Date, "1777643100123", "text 2026-05-01"),
        (
            Datetime,
            r#""2026-05-01T23:30:00.5-05:00""#,
            "text 2026-05-02T04:30:00.500Z",
        ),
        (
            Datetime,
            r#""2026-05-01 13:45:00.123456+00""#,
            "text 2026-05-01T13:45:00.123Z",
        ),
        (
            Datetime,
            r#""2026-05-01 13:45:00""#,
            "text 2026-05-01T13:45:00.000Z",
        ),
        (Datetime, r#""2026-05-01""#, "text 2026-05-01T00:00:00.000Z"),
        (Datetime, "1777643100123", "text 2026-05-01T13:45:00.123Z"),
        (List, r#"["a", 1.0, true]"#, "text a;1.0;true"),
        (List, "[]", "text "),
        (List, r#""a""#, "text a"),
    ] {
        assert_eq!(mapped(json, Some(kind)), expected, "{json} as {kind:?}");
    }
}

#[test]
fn what_cannot_be_written_so_names_the_row_and_the_field_and_no_value() {
    use FieldKind::{Boolean, Date, Datetime, List, Number};
    for (kind, json, problem) in [
        (
            None,
            "[1]",
            "is an array; give the field type = \"list\" to write it as one text, a;b;c",
        ),
        (
            None,
            r#"{"a":1}"#,
            "is an object; name one of its keys in the path",
        ),
        (Some(Number), r#""banana""#, "is no number as JSON writes one"),
        (Some(Number), r#""\"1\"""#, "is no number as JSON writes one"),
        (Some(Number), "true", "is no number as JSON writes one"),
        (Some(Boolean), "2", "is neither true nor false"),
        (
            Some(List),
            "[[1]]",
            "is an array that holds more than texts, numbers and booleans",
        ),
        (
            Some(List),
            r#"["a;b"]"#,
            "is an array with a text that holds a semicolon, which stands between the elements",
        ),
    ] {
        assert_eq!(
            mapped(json, kind),
            format!("row customers/c-1: field `F` (from `v`) {problem}")
        );
    }
    for (kind, json) in [
        (Date, r#""yesterday""#),
        (Date, "1.5"),
        (Datetime, "99999999999999999999"),
        (Datetime, "true"),
        (Date, r#""2026-02-30""#),
    ] {
        let complaint = mapped(json, Some(kind));
        assert!(complaint.contains("is no date or time"), "{json}: {complaint}");
    }
}

#[test]
fn a_null_follows_the_policy_and_what_is_absent_is_left_out() {
    assert_eq!(mapped("null", None), "clear");
    assert_eq!(mapped("null", Some(FieldKind::Date)), "clear");
    let omitted = FieldRule {
        null_policy: Some(NullPolicy::Omit),
        ..rule("parent.id", None)
    };
    let mapping = mapping(&[
        ("Absent", rule("nothing", None)),
        ("AbsentBelow", rule("parent.nothing", None)),
        ("Cleared", rule("empty", None)),
        ("ClearedAbove", rule("empty.id", None)),
        ("Omitted", omitted),
    ]);
    let row = row(r#"{"empty": null, "parent": {"id": null}}"#);
    let record = mapping.record(&row).unwrap();
    assert_eq!(
        record,
        [("Cleared", Value::Clear), ("ClearedAbove", Value::Clear)]
    );
}

#[test]
fn fields_come_from_nested_objects_and_from_constants() {
    let constant = FieldRule {
        source: Source::Constant(Constant::Number("1.50".to_owned())),
        kind: None,
        null_policy: None,
    };
    let mapping = mapping(&[("Parent__r.Ext__c", rule("a.b.id", None)), ("Rate", constant)]);
    let row = row(r#"{"a": {"b": {"id": "x"}, "b": {"id": "y"}}}"#);
    let record = mapping.record(&row).unwrap();
    assert_eq!(
        record,
        [
            ("Parent__r.Ext__c", Value::Text("y".into())),
            ("Rate", Value::Number("1.50".into())),
        ]
    );
    let text = self::row(r#"{"a": "text"}"#);
    let complaint = mapping.record(&text).unwrap_err().to_string();
    assert!(
        complaint.ends_with("has a path that leads through a value that is not an object"),
        "{complaint}"
    );
}

#[test]
fn a_payload_that_is_no_object_makes_no_record() {
    let mapping = mapping(&[("F", rule("v", None))]);
    for payload in ["null", "[1]", "\"text\""] {
        let complaint = mapping.record(&row(payload)).unwrap_err().to_string();
        assert_eq!(
            complaint,
            "row customers/c-1: the payload is not a JSON object, so no field can be taken from it"
        );
    }
}

#[test]
fn the_id_of_a_record_is_the_row_key_or_stands_in_the_payload() {
    let upsert = row(r#"{"email": "a@b.co", "number": 12345678901234567890, "none": null}"#);
    assert_eq!(record_id(&upsert, None).unwrap(), "c-1");
    assert_eq!(record_id(&upsert, Some(&path("email"))).unwrap(), "a@b.co");
    assert_eq!(
        record_id(&upsert, Some(&path("number"))).unwrap(),
        "12345678901234567890"
    );
    for nothing in ["none", "absent", "email.below"] {
        assert!(record_id(&upsert, Some(&path(nothing))).is_err(), "{nothing}");
    }
    let delete = OutboxRow {
        op: Op::Delete,
        ..row("null")
    };
    assert_eq!(record_id(&delete, None).unwrap(), "c-1");
    let complaint = record_id(&delete, Some(&path("email"))).unwrap_err().to_string();
    assert!(complaint.contains("a delete has no payload"), "{complaint}");
}

#[test]
fn a_mapping_reads_back_from_its_recorded_text() {
    let mapping = mapping(&[("A", rule("a.b", Some(FieldKind::Date))), ("B", rule("b", None))]);
    let text = serde_json::json!(mapping).to_string();
    assert_eq!(
        text,
        r#"{"fields":{"A":{"kind":"date","source":{"path":["a","b"]}},"B":{"source":{"path":["b"]}}},"null_policy":"clear"}"#
    );
    assert_eq!(serde_json::from_str::<Mapping>(&text).unwrap(), mapping);
}
