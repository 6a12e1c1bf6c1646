//! What becomes of rows: records, their values, and what is archived.

use serde_json::{Value, json};

use super::story::{PRIVATE_APP, Story, rows_in};
use super::{Backend, on_both};

on_both! {
    async fn rows_become_contacts_in_one_request_and_a_newer_version_changes_its_own(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        story.contacts(30).await;
        let relay = story.relay().await;
        story.until(&[("delivered", 30)]).await;
        let requests = story.requests("/batch/upsert");
        assert_eq!(requests.iter().map(rows_in).collect::<Vec<_>>(), [30]);
        assert!(
            requests[0].headers.iter().any(|(name, key)| name == "idempotency-key" && key.len() == 36),
            "{:?}", requests[0].headers
        );
        let kept = story.last_words("p8@b.co").await;
        assert!(kept.starts_with(" | {\"id\":\"") && kept.ends_with("\",\"new\":true}"), "{kept}");
        story.contact("p7@b.co", 2, r#"{"name":"Seven"}"#).await;
        story.until(&[("delivered", 31)]).await;
        let contacts = story.portal_contacts();
        assert_eq!(contacts.len(), 30);
        assert_eq!((&contacts["p7@b.co"]["firstname"], &contacts["p8@b.co"]["firstname"]), (&json!("Seven"), &json!("P8")));
        story.finish(relay).await;
    }

    async fn a_deleted_row_is_archived_and_one_that_is_gone_already_is_done(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        story.contacts(3).await;
        let relay = story.relay().await;
        story.until(&[("delivered", 3)]).await;
        story.delete("p2@b.co", 2).await;
        story.delete("nobody@b.co", 1).await;
        story.until(&[("delivered", 5)]).await;
        assert_eq!(story.portal_contacts().into_keys().collect::<Vec<_>>(), ["p1@b.co", "p3@b.co"]);
        assert_eq!(story.requests("/batch/archive").len(), 1);
        assert!(story.last_words("nobody@b.co").await.contains("nothing to delete"));
        story.finish(relay).await;
    }

    async fn an_upsert_whose_answer_is_lost_leaves_one_record(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        let relay = story.ready().await;
        story.arm("drop:once@path=/crm/v3/objects");
        story.contact("ann@b.co", 1, r#"{"name":"Ann"}"#).await;
        story.until(&[("delivered", 1)]).await;
        assert_eq!(story.attempts("ann@b.co").await, "unknown -, accepted 200");
        assert_eq!(story.portal_contacts().len(), 1);
        story.finish(relay).await;
    }

    async fn nulls_clear_or_are_left_out_and_a_date_is_a_day(backend: Backend) {
        for (policy, kept) in [("clear", Value::Null), ("omit", Value::from("Ann"))] {
            let story = Story::with(backend, PRIVATE_APP).await;
            let config = story.changed("object = ", &format!("null_policy = \"{policy}\"\nobject = "));
            story.contact("ann@b.co", 1, r#"{"name":"Ann","since":"2026-05-01T13:45:00+02:00"}"#).await;
            let relay = story.relay_under(&config).await;
            story.until(&[("delivered", 1)]).await;
            story.contact("ann@b.co", 2, r#"{"name":null}"#).await;
            story.until(&[("delivered", 2)]).await;
            let ann = &story.portal_contacts()["ann@b.co"];
            assert_eq!((&ann["firstname"], &ann["signed_up_on"]), (&kept, &json!("2026-05-01")), "{policy}");
            story.finish(relay).await;
        }
    }

    async fn a_value_of_the_wrong_type_is_dead_and_its_mates_are_delivered(backend: Backend) {
        let story = Story::with(backend, PRIVATE_APP).await;
        story.contacts(3).await;
        story.contact("rich@b.co", 1, r#"{"value":"banana"}"#).await;
        let relay = story.relay().await;
        story.until(&[("dead", 1), ("delivered", 3)]).await;
        let words = story.last_words("rich@b.co").await;
        assert!(words.starts_with("VALIDATION_ERROR: lifetime_value (INVALID_") && words.contains("banana"), "{words}");
        assert_eq!(story.requests("/batch/upsert").len(), 1);
        story.finish(relay).await;
    }
}
