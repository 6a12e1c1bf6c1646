//! What HubSpot asks to wait for: no attempt counts, and nothing is sent meanwhile.

use super::story::{PRIVATE_APP, Story};
use super::{Backend, on_both};

on_both! {
    async fn a_limit_holds_the_whole_destination_and_consumes_no_attempt(backend: Backend) {
        for fault in ["ten-secondly", "daily", "migrating"] {
            let story = Story::with(backend, PRIVATE_APP).await;
            let relay = story.ready().await;
            story.arm(&format!("{fault}:always@path=/crm/v3/objects"));
            story.contacts(1).await;
            story.until_attempts(1).await;
            // Another row comes, and is not sent either: the first is what the relay was told to wait for.
            story.contact("late@b.co", 1, "{}").await;
            assert_eq!(story.requests("/batch/upsert").len(), 1, "{fault}");
            assert_eq!(story.counted().await, 0, "{fault}");
            let attempts = story.attempts("p1@b.co").await;
            assert!(attempts.starts_with("throttled 4"), "{attempts}");
            story.finish(relay).await;
        }
    }

    async fn a_second_s_limit_is_over_after_a_second(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        let relay = story.ready().await;
        story.arm("secondly:once@path=/crm/v3/objects");
        story.contacts(2).await;
        story.until(&[("delivered", 2)]).await;
        assert_eq!(story.attempts("p2@b.co").await, "throttled 429, accepted 200");
        story.finish(relay).await;
    }

    async fn a_locked_object_is_waited_for_without_an_attempt(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        let relay = story.ready().await;
        story.arm("locked:once@path=/crm/v3/objects");
        story.contacts(1).await;
        story.until(&[("delivered", 1)]).await;
        assert_eq!(story.attempts("p1@b.co").await, "throttled 423, accepted 200");
        story.finish(relay).await;
    }

    async fn a_page_of_a_gateway_is_kept_and_the_row_is_tried_again(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        let relay = story.ready().await;
        story.arm("page:once@path=/crm/v3/objects,server-error:once@path=/crm/v3/objects");
        story.contacts(1).await;
        story.until(&[("delivered", 1)]).await;
        assert_eq!(story.attempts("p1@b.co").await, "unknown 502, refused 500, accepted 200");
        let page = "select excerpt from aftercommit.attempt where http_status = 502";
        assert!(story.world.base.text(page).await.unwrap().starts_with("<!DOCTYPE html>"));
        story.finish(relay).await;
    }
}
