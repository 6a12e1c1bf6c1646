//! What is previewed of a portal is what is sent there.

use serde_json::Value;

use super::super::preview::{look, previewed, sent};
use super::story::{PRIVATE_APP, Story};
use super::{Backend, on_both};

on_both! {
    async fn a_preview_of_hubspot_is_what_is_sent_and_a_look_up_stands_before_an_archive(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        story.contacts(2).await;
        let outlook = look(&story.world, story.config(), "crm", 10).await;
        assert_eq!(story.portal.with(|_, _, journal| journal.count()), 0);
        let relay = story.relay().await;
        story.until(&[("delivered", 2)]).await;
        assert_eq!(previewed(&outlook), sent(&story.portal));
        let token = ("authorization".to_owned(), "(secret)".to_owned());
        assert!(outlook.requests[0].sketch.headers.contains(&token));
        relay.relay.shutdown(std::time::Duration::from_secs(10)).await.unwrap();

        story.delete("p1@b.co", 2).await;
        let outlook = look(&story.world, story.config(), "crm", 10).await;
        let targets: Vec<_> = previewed(&outlook).into_iter().map(|(_, target, _)| target).collect();
        assert_eq!(targets, ["/crm/v3/objects/contacts/batch/read", "/crm/v3/objects/contacts/batch/archive"]);
        let body: Value = serde_json::from_str(outlook.requests[0].sketch.body.as_ref().unwrap()).unwrap();
        assert_eq!(body["inputs"][0]["id"], "p1@b.co");
        let relay = story.relay().await;
        story.until(&[("delivered", 3)]).await;
        story.finish(relay).await;
    }
}
