//! Tokens that end, tokens that are refused, and logins that fail.

use super::{Backend, Org, PAUSED, on_both};

const TOKEN: &str = "/services/oauth2/token";

on_both! {
    async fn an_expired_token_is_replaced_by_one_call_and_each_of_four_batches_is_resent_once(backend: Backend) {
        let org = Org::with(backend, "batch_size = 5\nconcurrency = 4", |_| {}).await;
        let relay = org.relay().await;
        org.commit(&[("first", r#"{"name": "n"}"#)]).await;
        org.world.until(&[("delivered", 1)]).await;
        // All wait for the one call, and one hears that the old token is refused when the new one has long been there.
        org.arm("delay=200ms:once@path=/services/oauth2,delay=700ms:once@method=PATCH");
        org.mock.expire_tokens();
        org.mock.hold();
        let before = org.mock.with(|_, _, journal| journal.count());
        org.commit_many(20).await;
        org.mock.arrived(before + 4).await;
        org.mock.release();
        org.world.until(&[("delivered", 21)]).await;
        let refused = org.requests().iter().filter(|(_, status)| *status == Some(401)).count();
        assert_eq!((org.count(TOKEN), refused), (2, 4), "{:?}", org.requests());
        let most = org.world.base.number("select max(number) from aftercommit.attempt").await;
        assert_eq!(most, 2, "each was sent once more");

        org.mock.expire_tokens();
        org.commit(&[("last", r#"{"name": "n"}"#)]).await;
        org.world.until(&[("delivered", 22)]).await;
        assert_eq!(org.count(TOKEN), 3, "a token that was good may end, and is replaced, again");
        org.finish(relay).await;
    }

    async fn a_login_without_an_answer_is_none_for_each_batch_that_waits_for_it(backend: Backend) {
        let org = Org::with(backend, "batch_size = 5\nconcurrency = 4", |_| {}).await;
        let relay = org.relay().await;
        org.commit(&[("first", r#"{"name": "n"}"#)]).await;
        org.world.until(&[("delivered", 1)]).await;
        org.arm("hang:once@path=/services/oauth2");
        org.mock.expire_tokens();
        org.mock.hold();
        let before = org.mock.with(|_, _, journal| journal.count());
        org.commit_many(20).await;
        org.mock.arrived(before + 4).await;
        org.mock.release();
        org.world.until(&[("delivered", 21)]).await;
        for number in 1..=20 {
            let history = org.world.base.history(&format!("a-{number}")).await;
            assert!(history.starts_with("throttled 401, unreachable -, accepted 20"), "{history}");
        }
        org.finish(relay).await;
    }

    async fn a_new_token_that_is_refused_too_pauses_the_destination(backend: Backend) {
        let org = Org::new(backend).await;
        org.arm("invalid-session:2@method=PATCH");
        org.commit(&[("a-1", r#"{"name": "n"}"#)]).await;
        let relay = org.relay().await;
        org.world.until_number(PAUSED, 1).await;
        // The pause is written beside the record of the attempt that led to it.
        org.world.until_number("select count(*) from aftercommit.attempt", 2).await;
        assert_eq!((org.count(TOKEN), org.attempts("a-1").await), (2, 2));
        let reason = org.world.base.text("select pause_reason from aftercommit.destination_state").await.unwrap();
        assert!(reason.contains("`destinations.org.client_secret`"), "{reason}");
        assert_eq!(org.world.base.number("select max(attempts - excused) from aftercommit.owed").await, 0);
        org.finish(relay).await;
    }

    async fn credentials_that_are_refused_pause_the_destination_and_consume_no_attempt(backend: Backend) {
        let org = Org::new(backend).await;
        org.arm("invalid-client:always");
        org.commit_many(3).await;
        let relay = org.relay().await;
        org.world.until_number(PAUSED, 1).await;
        org.world.until_number("select coalesce(max(attempts - excused), 0) from aftercommit.owed", 0).await;
        let reason = org.world.base.text("select pause_reason from aftercommit.destination_state").await.unwrap();
        assert!(reason.contains("HTTP 400 invalid_client from the token endpoint (invalid client credentials)"), "{reason}");
        assert!(reason.contains("`destinations.org.client_id` and `destinations.org.client_secret`"), "{reason}");
        assert_eq!(org.count("/services/data/"), 0);
        org.finish(relay).await;
    }
}
