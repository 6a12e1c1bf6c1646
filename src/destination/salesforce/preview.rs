//! The request of a batch as it would be sent, without a login: the instance and the token stand open.

use url::Url;

use super::plan::Plan;
use super::rendering::SalesforceRendering;
use super::{report, request};
use crate::core::key::IdempotencyKey;
use crate::destination::Outgoing;
use crate::destination::preview::{Preview, Sketch, no_credential};

const INSTANCE: &str = "(the org's instance)";
const NOTE: &str = "a login names the instance and gives the token; a preview does not log in";

/// `login_url` stands in for the instance while the request is made.
pub(super) fn preview(login_url: &Url, rendering: &SalesforceRendering, batch: &[Outgoing]) -> Preview {
    let Plan {
        places,
        call,
        left_out,
    } = Plan::of(rendering, batch);
    let left_out = left_out.iter();
    let mut preview = Preview {
        requests: vec![],
        left_out: left_out
            .map(|(place, why)| (*place, report::left_out(why)))
            .collect(),
    };
    let Some(call) = call else {
        return preview;
    };
    let keys: Vec<IdempotencyKey> = places.iter().map(|place| batch[*place].key).collect();
    if let Ok((request, _)) = request::build(login_url, rendering, call, &keys, no_credential()) {
        let sketch = Sketch::of(&request, places).at(INSTANCE, login_url);
        preview.requests.push(sketch.with_note(NOTE));
    } else {
        let unmakeable = places.into_iter().map(|place| (place, report::unmakeable()));
        preview.left_out.extend(unmakeable);
    }
    preview
}
