//! Finds values in a payload without reading more of it than the way to them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The members of a JSON object, their values as they were written; of equal keys the last.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Members<'a> {
    #[serde(borrow)]
    by_key: BTreeMap<String, &'a RawValue>,
}

/// What stands at a path.
pub(super) enum Found<'a> {
    /// A key on the way is not there: the row says nothing about it.
    Nothing,
    /// A null, there or on the way.
    Null,
    /// A value, as JSON text.
    Json(&'a str),
}

impl<'a> Members<'a> {
    /// The members of the object `json`; none if it is something else.
    pub(super) fn of(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// What stands at `path`.
    pub(super) fn at(&self, path: &[String]) -> Result<Found<'a>, &'static str> {
        let Some((first, rest)) = path.split_first() else {
            return Ok(Found::Nothing);
        };
        let Some(value) = self.by_key.get(first) else {
            return Ok(Found::Nothing);
        };
        let json = value.get();
        match (json, rest) {
            ("null", _) => Ok(Found::Null),
            (_, []) => Ok(Found::Json(json)),
            (_, rest) => Self::of(json)
                .ok_or("has a path that leads through a value that is not an object")?
                .at(rest),
        }
    }
}
