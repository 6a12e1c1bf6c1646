//! What the org would refuse every row for: an object that the user may not write, an external id that is not unique, fields
//! that are not there or cannot be written, related records that no field finds.

mod findings;
mod objects;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use reqwest::{Method, Request};

use super::Org;
use super::login::Trouble;
use super::rendering::SalesforceRendering;
use super::session::{AfterRefusal, Session};
use crate::core::time::Timestamp;
use crate::destination::failure::Failure;
use crate::destination::preflight::Finding;
use objects::{Objects, Seen};

/// Looks at everything that rows of `rendering` depend on. A token that is refused is replaced once, as for rows.
pub(super) async fn look(org: &Org, rendering: &SalesforceRendering, now: Timestamp) -> Vec<Finding> {
    for _ in 0..2 {
        let session = match org.sessions.get(now).await {
            Ok(session) => session,
            Err(trouble) => return vec![without_session(trouble)],
        };
        if let Some(objects) = objects(org, rendering, &session).await {
            return findings::about(&objects, rendering);
        }
        if org.sessions.refused(&session) == AfterRefusal::GiveUp {
            break;
        }
    }
    vec![Finding::refused(format!(
        "Salesforce refuses the access token (HTTP 401); {}",
        org.sessions.way_out()
    ))]
}

/// The object that rows go to, and those that they refer to. None if the token was refused.
async fn objects(org: &Org, rendering: &SalesforceRendering, session: &Session) -> Option<Objects> {
    let mut objects = Objects::default();
    while let Some(name) = objects.wanted(rendering) {
        let name = name.to_owned();
        let seen = see(org, session, &rendering.api_version, &name).await?;
        objects.insert(&name, seen);
    }
    Some(objects)
}

/// Looks at one object. None if the token was refused.
async fn see(org: &Org, session: &Session, api_version: &str, object: &str) -> Option<Seen> {
    let request = describe(session, api_version, object);
    let answer = match session.instance.client.send(request).await.result {
        Ok(answer) => answer,
        Err(Failure::Unreachable(why) | Failure::Unknown(why)) => return Some(Seen::Unclear(why)),
    };
    org.reserve.note(&answer.headers, org.clock.monotonic());
    if answer.status == 401 {
        return None;
    }
    org.sessions.taken(session);
    Some(Seen::of(&answer))
}

fn describe(session: &Session, api_version: &str, object: &str) -> Request {
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

fn without_session(trouble: Trouble) -> Finding {
    match trouble {
        Trouble::Refused(why) => Finding::refused(why),
        Trouble::Unreachable(why) | Trouble::Throttled(why) => Finding::unclear(why),
    }
}
