//! What the org would refuse every row for: an object that the user may not write, an external id that is not unique, fields
//! that are not there or cannot be written.

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use reqwest::{Method, Request};
use serde::Deserialize;

use super::Org;
use super::classify::described as described_status;
use super::login::Trouble;
use super::rendering::SalesforceRendering;
use super::session::{AfterRefusal, Session};
use super::wire::problem;
use crate::core::time::Timestamp;
use crate::destination::answer::Answer;
use crate::destination::failure::Failure;
use crate::destination::preflight::Finding;

/// The description of an object, as far as rows depend on it.
#[derive(Debug, Deserialize)]
struct Described {
    createable: bool,
    updateable: bool,
    fields: Vec<Field>,
}

#[expect(clippy::struct_excessive_bools, reason = "as Salesforce describes a field")]
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Field {
    name: String,
    #[serde(default)]
    relationship_name: Option<String>,
    #[serde(default)]
    external_id: bool,
    #[serde(default)]
    unique: bool,
    createable: bool,
    updateable: bool,
}

/// Looks at everything that rows of `rendering` depend on. A token that is refused is replaced once, as for rows.
pub(super) async fn look(org: &Org, rendering: &SalesforceRendering, now: Timestamp) -> Vec<Finding> {
    for _ in 0..2 {
        let session = match org.sessions.get(now).await {
            Ok(session) => session,
            Err(trouble) => return vec![without_session(trouble)],
        };
        let answer = session
            .instance
            .client
            .send(describe(&session, rendering))
            .await
            .result;
        if let Ok(answer) = &answer {
            org.reserve.note(&answer.headers, org.clock.monotonic());
        }
        match answer {
            Ok(answer) if answer.status == 401 => {
                if org.sessions.refused(&session) == AfterRefusal::GiveUp {
                    break;
                }
            }
            Ok(answer) => {
                org.sessions.taken(&session);
                return about(&answer, rendering);
            }
            Err(Failure::Unreachable(why) | Failure::Unknown(why)) => return vec![Finding::unclear(why)],
        }
    }
    vec![Finding::refused(
        "Salesforce refuses the access token (HTTP 401); check the connected app and the credentials here",
    )]
}

fn describe(session: &Session, rendering: &SalesforceRendering) -> Request {
    let SalesforceRendering {
        api_version, object, ..
    } = rendering;
    let mut url = session.instance.url.clone();
    url.set_path(&format!(
        "/services/data/v{api_version}/sobjects/{object}/describe"
    ));
    let mut request = Request::new(Method::GET, url);
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(AUTHORIZATION, session.authorization.clone());
    request
}

/// What the answer to a describe says.
pub(super) fn about(answer: &Answer, rendering: &SalesforceRendering) -> Vec<Finding> {
    let object = &rendering.object;
    if answer.status == 404 {
        return vec![Finding::refused(format!(
            "the org has no object `{object}`, or the user may not see it; check object and the user's permissions"
        ))];
    }
    let described: Option<Described> = (answer.status == 200)
        .then(|| serde_json::from_slice(&answer.body).ok())
        .flatten();
    let Some(described) = described else {
        let why = described_status(answer.status, problem(&answer.body).as_ref());
        return vec![Finding::unclear(format!(
            "the fields of `{object}` cannot be looked at ({why})"
        ))];
    };
    let mut findings = vec![
        about_object(&described, rendering),
        about_id(&described, rendering),
    ];
    let fields = rendering.mapping.fields.keys();
    findings.extend(fields.map(|field| about_field(&described, object, field, rendering)));
    findings
}

fn about_object(described: &Described, rendering: &SalesforceRendering) -> Finding {
    let object = &rendering.object;
    if described.updateable && (described.createable || rendering.update_only) {
        return Finding::good(format!("the user may write `{object}`"));
    }
    Finding::refused(format!(
        "the user may not create and change `{object}`; give it a permission set that allows that"
    ))
}

fn about_id(described: &Described, rendering: &SalesforceRendering) -> Finding {
    let (object, name) = (&rendering.object, &rendering.external_id);
    match described.field(name) {
        None => Finding::refused(format!(
            "`{object}` has no field `{name}`, which external_id names, or the user may not see it; create it as an External \
             ID, unique, or grant the user access to it"
        )),
        Some(field) if !field.external_id => Finding::refused(format!(
            "`{object}`.`{name}`, which external_id names, is no External ID; tick External ID in its definition"
        )),
        Some(field) if !field.unique => Finding::refused(format!(
            "`{object}`.`{name}`, which external_id names, is not unique, so that one row could meet several records; tick \
             Unique in its definition"
        )),
        Some(_) => Finding::good(format!(
            "records of `{object}` are found by `{name}`, which is unique"
        )),
    }
}

fn about_field(described: &Described, object: &str, name: &str, rendering: &SalesforceRendering) -> Finding {
    let (field, but) = match name.split_once('.') {
        Some((relationship, id)) => (
            described.related(relationship),
            format!("; that `{id}` is an External ID there is not looked at"),
        ),
        None => (described.field(name), String::new()),
    };
    match field.map(|field| (field.createable || rendering.update_only, field.updateable)) {
        None => Finding::refused(format!(
            "`{object}` has no field `{name}`, which fields names, or the user may not see it; create it, grant the user \
             access to it, or remove it from fields"
        )),
        Some((true, true)) => Finding::good(format!("`{object}`.`{name}` can be written{but}")),
        Some((true, false)) => Finding::unclear(format!(
            "`{object}`.`{name}`, which fields names, can be set only when a record is created; a change of it is refused"
        )),
        Some((false, _)) => Finding::refused(format!(
            "`{object}`.`{name}`, which fields names, cannot be written; grant the user access to it, or remove it from \
             fields"
        )),
    }
}

impl Described {
    /// Salesforce tells names apart without regard to case.
    fn field(&self, name: &str) -> Option<&Field> {
        self.fields
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name))
    }

    fn related(&self, relationship: &str) -> Option<&Field> {
        let is_it = |field: &&Field| {
            let name = field.relationship_name.as_deref();
            name.is_some_and(|name| name.eq_ignore_ascii_case(relationship))
        };
        self.fields.iter().find(is_it)
    }
}

fn without_session(trouble: Trouble) -> Finding {
    match trouble {
        Trouble::Refused(why) => Finding::refused(why),
        Trouble::Unreachable(why) | Trouble::Throttled(why) => Finding::unclear(why),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::destination::Rendering;
    use crate::destination::preflight::Grade;

    fn rendering(external_id: &str, field: &str) -> SalesforceRendering {
        let recorded = json!({
            "api_version": "62.0", "call_options": null, "duplicate_rule": null, "external_id": external_id, "id_from": null,
            "mapping": { "fields": { field: { "source": { "path": ["a"] } } }, "null_policy": "clear" },
            "object": "Account", "send_key": true, "update_only": false, "v": 1,
        });
        SalesforceRendering::parse(&Rendering(recorded.to_string())).unwrap()
    }

    fn field(name: &str, [is_key, unique, createable, updateable]: [bool; 4]) -> Value {
        json!({
            "name": name, "relationshipName": (name == "ParentId").then_some("Parent"), "externalId": is_key,
            "unique": unique, "createable": createable, "updateable": updateable,
        })
    }

    fn answer(status: u16) -> Answer {
        let body = json!({ "createable": true, "updateable": true, "fields": [
            field("Ext__c", [true, true, true, true]),
            field("Loose__c", [true, false, true, true]),
            field("Name", [false, false, true, true]),
            field("ParentId", [false, false, true, false]),
            field("Formula__c", [false, false, false, false]),
        ] });
        Answer {
            status,
            headers: reqwest::header::HeaderMap::new(),
            excerpt: None,
            body: body.to_string().into_bytes(),
            trouble: None,
        }
    }

    /// The grades of the external id and of the field.
    fn grades(external_id: &str, field: &str) -> [Grade; 2] {
        let findings = about(&answer(200), &rendering(external_id, field));
        [findings[1].grade, findings[2].grade]
    }

    #[test]
    fn an_external_id_must_be_one_and_be_unique() {
        assert_eq!(grades("ext__c", "Name"), [Grade::Good, Grade::Good]);
        for refused in ["Loose__c", "Name", "Missing__c"] {
            assert_eq!(grades(refused, "Name")[0], Grade::Refused, "{refused}");
        }
    }

    #[test]
    fn a_field_must_be_there_and_take_values() {
        for (field, grade) in [
            ("Parent.Ext__c", Grade::Unclear),
            ("Formula__c", Grade::Refused),
            ("Missing__c", Grade::Refused),
            ("Owner__r.Ext__c", Grade::Refused),
        ] {
            assert_eq!(grades("Ext__c", field)[1], grade, "{field}");
        }
    }

    #[test]
    fn what_cannot_be_described_keeps_no_row_back_but_for_an_object_that_is_not_there() {
        assert_eq!(
            about(&answer(404), &rendering("Ext__c", "Name"))[0].grade,
            Grade::Refused
        );
        assert_eq!(
            about(&answer(500), &rendering("Ext__c", "Name"))[0].grade,
            Grade::Unclear
        );
    }
}
