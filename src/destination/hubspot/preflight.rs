//! What HubSpot would refuse every row for: properties that are not there, cannot be written or are not unique, and scopes.
//!
//! An upsert without rows asks for the scope: HubSpot looks at it before it looks at the inputs, and no list of scopes in any
//! answer is complete.

use std::collections::HashMap;

use reqwest::Method;
use serde::Deserialize;

use super::Portal;
use super::classify::{Judgement, Met, refused};
use super::oauth::TokenTrouble;
use super::rendering::HubSpotRendering;
use super::request::{self, Call};
use super::tokens::{AfterRefusal, Token};
use super::wire::Problem;
use crate::core::outcome::{Outcome, Refusal};
use crate::core::time::Timestamp;
use crate::destination::answer::Answer;
use crate::destination::failure::Failure;
use crate::destination::preflight::Finding;

/// Properties that HubSpot finds records by, whatever their description says.
const KNOWN_UNIQUE: [(&str, &str); 8] = [
    ("contacts", "email"),
    ("0-1", "email"),
    ("products", "hs_sku"),
    ("0-7", "hs_sku"),
    ("line_items", "hs_external_id"),
    ("0-8", "hs_external_id"),
    ("tickets", "hs_external_object_ids"),
    ("0-5", "hs_external_object_ids"),
];

/// HubSpot's own id, which no upsert goes by.
const OWN_ID: &str = "hs_object_id";

/// The description of an object type.
#[derive(Debug, Deserialize)]
pub(super) struct Properties {
    results: Vec<Property>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Property {
    name: String,
    #[serde(default)]
    has_unique_value: bool,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    modification_metadata: Option<Modification>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Modification {
    #[serde(default)]
    read_only_value: bool,
}

impl Property {
    fn is_read_only(&self) -> bool {
        self.modification_metadata
            .as_ref()
            .is_some_and(|modification| modification.read_only_value)
    }
}

/// Looks at everything that rows of `rendering` depend on. A token that is refused is replaced once, as for rows.
pub(super) async fn look(portal: &Portal, rendering: &HubSpotRendering, now: Timestamp) -> Vec<Finding> {
    for _ in 0..2 {
        let token = match portal.tokens.get(now).await {
            Ok(token) => token,
            Err(trouble) => return vec![without_token(trouble)],
        };
        if let Some(findings) = look_with(portal, rendering, &token, now).await {
            portal.tokens.taken(&token);
            return findings;
        }
        if portal.tokens.refused(&token) == AfterRefusal::GiveUp {
            break;
        }
    }
    vec![Finding::refused(format!(
        "HubSpot refuses the access token (HTTP 401); {}",
        portal.tokens.way_out()
    ))]
}

/// None if the token was refused.
async fn look_with(
    portal: &Portal,
    rendering: &HubSpotRendering,
    token: &Token,
    now: Timestamp,
) -> Option<Vec<Finding>> {
    let object = rendering.object();
    let url = request::under(&portal.url, &["crm", "v3", "properties", object]);
    let described = request::plain(Method::GET, url, None, token.header());
    let mut findings = match portal.send(described).await.result {
        Ok(answer) if answer.status == 401 => return None,
        Ok(answer) => about_properties(&answer, rendering, now),
        Err(failure) => vec![unreachable(failure)],
    };
    let empty = request::upsert(&[], rendering.id_property());
    let empty = request::request(&portal.url, object, Call::Upsert, empty, token.header());
    findings.push(match portal.send(empty).await.result {
        Ok(answer) if answer.status == 401 => return None,
        Ok(answer) => about_scope(&answer, object, now),
        Err(failure) => unreachable(failure),
    });
    Some(findings)
}

/// What the description of the object type says of the properties that rows go to.
pub(super) fn about_properties(
    answer: &Answer,
    rendering: &HubSpotRendering,
    now: Timestamp,
) -> Vec<Finding> {
    let object = rendering.object();
    // 404 as documented, 400 "Unable to infer object type" as seen: a path is all that this request has.
    if let 400 | 404 = answer.status {
        return vec![Finding::refused(format!(
            "the portal has no object type `{object}`, or the token may not see it; set object to its name or type id"
        ))];
    }
    let described: Option<Properties> = (answer.status == 200)
        .then(|| serde_json::from_slice(&answer.body).ok())
        .flatten();
    let Some(described) = described else {
        let why = match answer.status {
            // The answer names the scope too, and advises as if a row had been refused for it.
            403 => format!("(HTTP 403); the scope crm.schemas.{object}.read would let this check see them"),
            _ => format!("({})", judged(answer, now).detail.unwrap_or_default()),
        };
        return vec![Finding::unclear(format!(
            "the properties of `{object}` cannot be looked at {why}"
        ))];
    };
    let properties: HashMap<&str, &Property> = described
        .results
        .iter()
        .filter(|property| !property.archived)
        .map(|property| (property.name.as_str(), property))
        .collect();
    let mut findings = vec![about_id(object, rendering.id_property(), &properties)];
    let fields = rendering.mapping().fields.keys();
    findings.extend(fields.map(|field| about_field(object, field, &properties)));
    findings
}

fn about_id(object: &str, name: &str, properties: &HashMap<&str, &Property>) -> Finding {
    if name == OWN_ID {
        return Finding::refused(format!(
            "id_property is `{OWN_ID}`, HubSpot's own id, which no upsert goes by; name a property of yours"
        ));
    }
    let unique = KNOWN_UNIQUE.contains(&(object, name));
    match properties.get(name) {
        None => Finding::refused(format!(
            "`{object}` has no property `{name}`, which id_property names; create it in HubSpot with \"require unique \
             values\""
        )),
        Some(property) if unique || property.has_unique_value => Finding::good(format!(
            "records of `{object}` are found by `{name}`, whose values are unique"
        )),
        Some(_) => Finding::refused(format!(
            "values of `{object}`.`{name}`, which id_property names, need not be unique, so no record can be found by it; \
             create a property with \"require unique values\" in HubSpot and name that"
        )),
    }
}

fn about_field(object: &str, name: &str, properties: &HashMap<&str, &Property>) -> Finding {
    match properties.get(name) {
        None => Finding::refused(format!(
            "`{object}` has no property `{name}`, which fields names; create it in HubSpot, or remove it from fields"
        )),
        Some(property) if property.is_read_only() => Finding::refused(format!(
            "`{object}`.`{name}`, which fields names, cannot be written; remove it from fields"
        )),
        Some(_) => Finding::good(format!("`{object}`.`{name}` can be written")),
    }
}

/// What the answer to an upsert without rows says of the token's scopes.
pub(super) fn about_scope(answer: &Answer, object: &str, now: Timestamp) -> Finding {
    let Judgement { met, detail, .. } = judged(answer, now);
    let detail = detail.unwrap_or_default();
    match (answer.status, met) {
        (403, Met::Outcome(Outcome::Refused(Refusal::Gone))) => Finding::refused(detail),
        (200..=299 | 400, _) => Finding::good(format!("the token may write `{object}`")),
        _ => Finding::unclear(format!(
            "whether the token may write `{object}` cannot be seen ({detail})"
        )),
    }
}

fn without_token(trouble: TokenTrouble) -> Finding {
    match trouble {
        TokenTrouble::Refused(why) => Finding::refused(why),
        TokenTrouble::Throttled(why, _) | TokenTrouble::Unreachable(why) => Finding::unclear(why),
    }
}

fn unreachable(failure: Failure) -> Finding {
    let (Failure::Unreachable(why) | Failure::Unknown(why)) = failure;
    Finding::unclear(why)
}

fn judged(answer: &Answer, now: Timestamp) -> Judgement {
    let problem = Problem::read(answer);
    refused(answer.status, &answer.headers, problem.as_ref(), now)
}
