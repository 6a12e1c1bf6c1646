//! The calls of a batch as they would be made, without a token.

use url::Url;

use super::calls::build;
use super::plan::Plan;
use super::rendering::HubSpotRendering;
use super::report;
use super::request::{self, Body, Call};
use crate::core::key::IdempotencyKey;
use crate::destination::Outgoing;
use crate::destination::preview::{Preview, Sketch, no_credential};

/// What stands for the ids that a look-up brings.
const FOUND: &str = "(HubSpot's own id, which the look-up brings)";
const LOOK_UP: &str = "a look-up, which changes nothing: HubSpot archives by its own ids alone";
const ARCHIVE: &str = "sent for the records that the look-up finds; what is not there counts as archived";

pub(super) fn preview(url: &Url, rendering: &HubSpotRendering, batch: &[Outgoing]) -> Preview {
    let plan = Plan::of(rendering, batch);
    let left_out = plan.left_out.iter();
    let mut preview = Preview {
        requests: vec![],
        left_out: left_out
            .map(|(place, why)| (*place, report::left_out(why)))
            .collect(),
    };
    let sketch = |call: Call, body: Body, places: &[usize], keyed: &[usize]| {
        let keys: Vec<IdempotencyKey> = keyed.iter().map(|place| batch[*place].key).collect();
        let request = build(url, rendering, call, body, &keys, no_credential());
        Sketch::of(&request, places.to_vec())
    };
    let (upserts, deletes) = (&plan.upserts, &plan.deletes);
    if !upserts.rows.is_empty() {
        let body = request::upsert(&upserts.rows, rendering.id_property());
        preview
            .requests
            .push(sketch(Call::Upsert, body, &upserts.places, &upserts.places));
    }
    if !deletes.rows.is_empty() {
        let ids: Vec<&str> = deletes.rows.iter().map(String::as_str).collect();
        let look_up = request::look_up(&ids, rendering.id_property());
        let archive = request::archive(&vec![FOUND; ids.len()]);
        preview.requests.extend([
            sketch(Call::LookUp, look_up, &deletes.places, &[]).with_note(LOOK_UP),
            sketch(Call::Archive, archive, &deletes.places, &deletes.places).with_note(ARCHIVE),
        ]);
    }
    preview
}
