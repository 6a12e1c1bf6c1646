//! Tokens that end, and tokens that are refused.

use super::story::{OAUTH, PRIVATE_APP, Story};
use super::{Backend, on_both};

on_both! {
    async fn four_batches_under_one_ended_token_make_one_token_call_and_are_each_sent_again_once(backend: Backend) {
        let story = Story::with(backend, OAUTH).await;
        let relay = story.relay_under(&story.changed("object = ", "batch_size = 2\nconcurrency = 4\nobject = ")).await;
        story.contact("first@b.co", 1, "{}").await;
        story.until(&[("delivered", 1)]).await;
        assert_eq!(story.requests("/oauth/v1/token").len(), 1);
        // All wait for the one call, and one hears that the old token is refused when the new one has long been there.
        story.arm("delay=200ms:once@path=/oauth,delay=700ms:once@path=/crm/v3/objects");
        story.portal.expire_tokens();
        story.portal.hold();
        let before = story.portal.with(|_, _, journal| journal.count());
        story.contacts(8).await;
        story.portal.arrived(before + 4).await;
        story.portal.release();
        story.until(&[("delivered", 9)]).await;
        assert_eq!(story.requests("/oauth/v1/token").len(), 2, "one call, however many batches waited");
        let refused = story.requests("/batch/upsert").iter().filter(|entry| entry.status == Some(401)).count();
        assert_eq!(refused, 4);
        assert_eq!(story.attempts("p1@b.co").await, "throttled 401, accepted 200");
        story.finish(relay).await;
    }

    async fn a_token_call_without_an_answer_is_none_for_each_batch_that_waits_for_it(backend: Backend) {
        let story = Story::with(backend, OAUTH).await;
        let relay = story.relay_under(&story.changed("object = ", "batch_size = 2\nconcurrency = 4\nobject = ")).await;
        story.contact("first@b.co", 1, "{}").await;
        story.until(&[("delivered", 1)]).await;
        story.arm("hang:once@path=/oauth");
        story.portal.expire_tokens();
        story.portal.hold();
        let before = story.portal.with(|_, _, journal| journal.count());
        story.contacts(8).await;
        story.portal.arrived(before + 4).await;
        story.portal.release();
        story.until(&[("delivered", 9)]).await;
        for number in 1..=8 {
            let history = story.attempts(&format!("p{number}@b.co")).await;
            assert_eq!(history, "throttled 401, unreachable -, accepted 200");
        }
        story.finish(relay).await;
    }

    async fn a_token_that_is_refused_again_pauses_and_no_attempt_counts(backend: Backend) {
        let replaced = "HTTP 401 for a token and for the one that replaced it";
        let only = "HTTP 401: HubSpot refuses the token; mend it in HubSpot";
        for (access, refused, setting) in [(OAUTH, replaced, "refresh_token"), (PRIVATE_APP, only, "access_token")] {
            let story = Story::with(backend, access).await;
            let relay = story.ready().await;
            story.arm("bad-token:always@path=/crm/v3/objects");
            story.contacts(2).await;
            let reason = story.pause_reason().await;
            assert!(reason.contains(refused), "{reason}");
            assert!(reason.contains(&format!("`destinations.crm.{setting}`")), "{reason}");
            // The pause and the outcome are written side by side.
            story.world.until_number("select count(*) from aftercommit.dispatch", 0).await;
            assert_eq!(story.attempts("p1@b.co").await, "throttled 401, refused 401");
            assert_eq!(story.counted().await, 0);
            story.portal.with(|_, faults, _| faults.clear());
            story.resume().await;
            story.until(&[("delivered", 2)]).await;
            story.finish(relay).await;
        }
    }

    async fn credentials_that_are_refused_pause_and_nothing_is_sent(backend: Backend) {
        let story = Story::with(backend, OAUTH).await;
        story.contacts(1).await;
        let relay = story.relay_under(&story.changed("mock-refresh-token", "stale")).await;
        let reason = story.pause_reason().await;
        let told = "BAD_REFRESH_TOKEN from the token endpoint (missing or invalid refresh token)";
        assert!(reason.contains(told) && !reason.contains("stale"), "{reason}");
        assert_eq!(story.requests("/batch/upsert").len(), 0);
        story.finish(relay).await;
    }
}
