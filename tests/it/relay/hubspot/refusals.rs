//! What HubSpot refuses: rows, whole batches, and everything.

use super::story::{PRIVATE_APP, Story, rows_in};
use super::{Backend, on_both};

on_both! {
    async fn of_a_batch_that_succeeds_in_part_only_the_refused_row_dies(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        story.contacts(3).await;
        story.arm("invalid:always@email=p2@b.co");
        let relay = story.relay().await;
        story.until(&[("dead", 1), ("delivered", 2)]).await;
        assert_eq!(story.attempts("p2@b.co").await, "refused 207");
        assert!(story.last_words("p2@b.co").await.starts_with("VALIDATION_ERROR: email (INVALID_EMAIL) | "));
        story.finish(relay).await;
    }

    async fn one_row_that_conflicts_costs_its_99_mates_few_requests_and_no_attempt(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        story.contacts(100).await;
        story.arm("taken:always@email=p42@b.co");
        let relay = story.relay().await;
        story.until(&[("dead", 1), ("delivered", 99)]).await;
        let requests = story.requests("/batch/upsert");
        assert!(requests.len() <= 15, "{} requests", requests.len());
        assert_eq!(rows_in(&requests[0]), 100);
        assert!(story.attempts("p42@b.co").await.ends_with("refused 409"));
        assert_eq!(story.portal_contacts().len(), 99);
        story.finish(relay).await;
    }

    async fn a_row_that_the_answer_leaves_out_is_sent_alone_and_then_explained(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        story.contacts(5).await;
        story.arm("omit:always@email=p3@b.co,omit-written:once@email=p4@b.co");
        let relay = story.relay().await;
        story.until(&[("dead", 1), ("delivered", 4)]).await;
        assert_eq!(story.attempts("p3@b.co").await, "refused 200, refused 200");
        assert!(story.last_words("p3@b.co").await.contains("sent alone"));
        assert_eq!(story.attempts("p4@b.co").await, "refused 200, accepted 200");
        assert_eq!(story.attempts("p1@b.co").await, "accepted 200", "its mates are sent once");
        story.finish(relay).await;
    }

    async fn an_answer_without_a_word_delivers_nothing(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        let relay = story.ready().await;
        story.arm("empty:once@path=/crm/v3/objects");
        story.contacts(2).await;
        story.until(&[("delivered", 2)]).await;
        assert_eq!(story.attempts("p1@b.co").await, "refused 200, accepted 200");
        story.finish(relay).await;
    }

    async fn a_preflight_that_is_refused_pauses_before_the_first_row(backend: Backend) {
        for (from, to, sentence) in [
            ("id_property = \"email\"", "id_property = \"lastname\"", "need not be unique"),
            ("firstname = \"name\"", "nickname = \"name\"", "no property `nickname`"),
            ("firstname = \"name\"", "hs_object_id = \"name\"", "cannot be written"),
            ("object = \"contacts\"", "object = \"kontakte\"", "no object type `kontakte`"),
            ("access_token = \"pat-na1-mock\"", "access_token = \"pat-wrong\"", "`destinations.crm.access_token`"),
        ] {
            let story = Story::with(backend, PRIVATE_APP).await;
            story.contacts(2).await;
            let relay = story.relay_under(&story.changed(from, to)).await;
            let reason = story.pause_reason().await;
            assert!(reason.starts_with("preflight: ") && reason.contains(sentence), "{reason}");
            assert_eq!(story.world.states().await, [("pending".to_owned(), 2)].into());
            assert_eq!(story.requests("/batch/upsert").len(), 0);
            assert_eq!(story.counted().await, 0);
            story.finish(relay).await;
        }
    }

    async fn scopes_that_are_missing_pause_and_a_resume_looks_again(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        story.portal.with(|hubspot, _, _| hubspot.set_scopes(vec!["crm.schemas.contacts.read".to_owned()]));
        story.contacts(2).await;
        let relay = story.relay().await;
        let reason = story.pause_reason().await;
        assert!(reason.contains("crm.objects.contacts.write") && reason.contains("resume"), "{reason}");
        let scopes = ["crm.schemas.contacts.read", "crm.objects.contacts.write"].map(str::to_owned);
        story.portal.with(|hubspot, _, _| hubspot.set_scopes(scopes.to_vec()));
        story.resume().await;
        story.until(&[("delivered", 2)]).await;
        story.finish(relay).await;
    }
}
