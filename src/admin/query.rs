//! Query parameters, read strictly: one that nobody knows is an error, since a misspelt filter would select too much. And
//! what a body selects.

use std::fmt::Display;
use std::str::FromStr;

use axum::http::Uri;
use url::form_urlencoded;

use super::problem::Problem;
use crate::store::admin::{DeliveryFilter, DeliveryId, PageSize, Selection};

/// What [`filter`] understands.
pub(super) const FILTER: [&str; 10] = [
    "state",
    "destination",
    "topic",
    "row_key",
    "reason",
    "http_status",
    "since",
    "until",
    "first_outbox_id",
    "last_outbox_id",
];

/// The parameters of a request, each taken out as it is understood.
pub(super) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads the query, in which only `known` names may stand.
    pub(super) fn read(uri: &Uri, known: &[&str]) -> Result<Self, Problem> {
        let text = uri.query().unwrap_or_default();
        let pairs: Vec<(String, String)> = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
        if let Some((name, _)) = pairs.iter().find(|(_, value)| value.contains('\0')) {
            return Err(Problem::bad_parameter(name, "it may not hold the character NUL"));
        }
        match pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(Problem::unknown_parameter(name, known)),
            None => Ok(Self { pairs }),
        }
    }

    /// Every value of a parameter that may be given several times.
    pub(super) fn all<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Vec<T>, Problem> {
        let values = self.pairs.iter().filter(|(given, _)| given == name);
        values
            .map(|(_, value)| {
                value
                    .parse()
                    .map_err(|problem| Problem::bad_parameter(name, problem))
            })
            .collect()
    }

    /// The value of a parameter that may be given once.
    pub(super) fn one<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>, Problem> {
        let mut values = self.all(name)?;
        let value = values.pop();
        if values.is_empty() {
            Ok(value)
        } else {
            Err(Problem::bad_parameter(name, "it may be given once"))
        }
    }
}

/// How many entries a page shall hold.
pub(super) fn page_size(query: &Query) -> Result<PageSize, Problem> {
    let size = query.one("limit")?.map(PageSize::new).transpose()?;
    Ok(size.unwrap_or_default())
}

/// The filter that a query describes.
pub(super) fn filter(query: &Query) -> Result<DeliveryFilter, Problem> {
    Ok(DeliveryFilter {
        states: query.all("state")?,
        destination: query.one("destination")?,
        topic: query.one("topic")?,
        row_key: query.one("row_key")?,
        reason: query.one("reason")?,
        http_status: query.one("http_status")?,
        since: query.one("since")?,
        until: query.one("until")?,
        first_outbox_id: query.one("first_outbox_id")?,
        last_outbox_id: query.one("last_outbox_id")?,
    })
}

/// What a body selects by one of three fields.
pub(super) fn selection(
    ids: Option<Vec<DeliveryId>>,
    filter: Option<DeliveryFilter>,
    all: bool,
) -> Result<Selection, Problem> {
    match (ids, filter, all) {
        (Some(ids), None, false) => Ok(Selection::Ids(ids)),
        (None, Some(filter), false) => Ok(Selection::Filter(filter)),
        (None, None, true) => Ok(Selection::All),
        _ => Err(Problem::unprocessable(
            "give one of `ids`, `filter` and `\"all\": true`",
        )),
    }
}
