//! The fields of a payload: which are null, and which differ between two payloads.
//!
//! Pure. Values are compared as they are written, number for number and digit for digit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of the object `payload` that are null; none where it is no object.
pub(super) fn nulls(payload: &str) -> Vec<String> {
    // What comes first is no object of a hundred other things.
    if !payload.contains("null") {
        return vec![];
    }
    let mut reader = serde_json::Deserializer::from_str(payload);
    reader.deserialize_map(Nulls).unwrap_or_default()
}

/// Of two payloads of one row, the fields that differ, each with both values as JSON; `None` where there is no such field.
/// Payloads that are no objects are one field without a name.
pub(super) fn differing<'p>(one: &'p str, other: &'p str) -> Vec<Field<'p>> {
    let object = |payload| serde_json::from_str::<BTreeMap<String, &'p RawValue>>(payload).ok();
    let (Some(ones), Some(others)) = (object(one), object(other)) else {
        let whole = Field {
            name: String::new(),
            before: Some(one),
            after: Some(other),
        };
        return if one == other { vec![] } else { vec![whole] };
    };
    let names: BTreeSet<&String> = ones.keys().chain(others.keys()).collect();
    let field = |name: &String| Field {
        name: name.clone(),
        before: ones.get(name).map(|value| value.get()),
        after: others.get(name).map(|value| value.get()),
    };
    let fields = names.into_iter().map(field);
    fields.filter(|field| field.before != field.after).collect()
}

/// A field that two payloads do not have alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field<'p> {
    pub(super) name: String,
    pub(super) before: Option<&'p str>,
    pub(super) after: Option<&'p str>,
}

struct Nulls;

impl<'de> Visitor<'de> for Nulls {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
        let mut nulls = vec![];
        while let Some((name, value)) = map.next_entry::<String, Option<IgnoredAny>>()? {
            if value.is_none() {
                nulls.push(name);
            }
        }
        Ok(nulls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_found_at_the_top_and_nowhere_else() {
        assert_eq!(
            nulls(r#"{"a": null, "b": "null", "c": {"d": null}, "e": [null]}"#),
            ["a"]
        );
        assert_eq!(nulls("[null]"), [""; 0]);
        assert_eq!(nulls("null"), [""; 0]);
    }

    #[test]
    fn fields_differ_by_what_is_written_and_by_being_there() {
        let found = differing(r#"{"a":1,"b":2,"c":[1, 2]}"#, r#"{"c":[1, 2],"b":2.0,"d":null}"#);
        let found: Vec<_> = found
            .iter()
            .map(|field| (field.name.as_str(), field.before, field.after))
            .collect();
        assert_eq!(
            found,
            [
                ("a", Some("1"), None),
                ("b", Some("2"), Some("2.0")),
                ("d", None, Some("null"))
            ]
        );
        let whole = Field {
            name: String::new(),
            before: Some("1"),
            after: Some("[1]"),
        };
        assert_eq!(differing("1", "[1]"), [whole]);
        assert_eq!(differing("1", "1"), []);
    }
}
