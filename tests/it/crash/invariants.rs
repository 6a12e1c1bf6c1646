//! What must hold after every story, whatever was killed: the pipeline's count, the database and the receiver agree.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::world::{Backend, World};

/// Compares the three records, once no relay is at work.
pub(super) async fn check(world: &World) {
    nothing_is_lost(world).await;
    nothing_is_claimed_falsely(world).await;
    each_key_has_one_request_and_one_effect(world).await;
    rows_took_effect_in_their_order(world);
    nothing_was_invented(world).await;
    no_attempt_is_left_open(world).await;
}

async fn nothing_is_lost(world: &World) {
    let base = &world.base;
    let rows = base.number("select count(*) from aftercommit.outbox").await;
    assert_eq!(rows, world.committed, "rows that were committed");
    let ended = base
        .number(
            "select count(*) from aftercommit.outbox join aftercommit.settled on settled.outbox_id = outbox.id
             where state = 'delivered' or (topic = 'customers' and state = 'superseded')",
        )
        .await;
    assert_eq!(
        ended, rows,
        "each order is delivered, each customer delivered or superseded"
    );
    let owed = base.number("select count(*) from aftercommit.owed").await;
    assert_eq!(owed, 0, "and none stands in a second place");
}

async fn nothing_is_claimed_falsely(world: &World) {
    let accepted: BTreeSet<String> = (world.receiver.requests().iter())
        .filter(|request| request.is_accepted())
        .filter_map(|request| request.key.clone())
        .collect();
    for key in delivered_keys(world).await {
        assert!(accepted.contains(&key), "the receiver has not accepted {key}");
    }
    let delivered = "select count(*) from aftercommit.settled where state = 'delivered'";
    let proven = "select count(distinct settled.outbox_id) from aftercommit.settled
        join aftercommit.attempt on attempt.outbox_id = settled.outbox_id and attempt.key_epoch = settled.key_epoch
        where state = 'delivered' and outcome = 'accepted'";
    assert_eq!(
        world.base.number(delivered).await,
        world.base.number(proven).await,
        "each has an accepted attempt on record"
    );
}

async fn each_key_has_one_request_and_one_effect(world: &World) {
    let mut sent: HashMap<String, (String, Vec<u8>)> = HashMap::new();
    for request in world.receiver.requests() {
        let key = request.key.clone().expect("every request carries a key");
        let this = (request.method.clone(), request.body.clone().unwrap());
        let first = sent.entry(key).or_insert_with(|| this.clone());
        assert_eq!(*first, this, "one key, one method, one body");
    }
    let keys = delivered_keys(world).await;
    let effects: Vec<String> = (world.receiver.effects().iter())
        .filter_map(|effect| effect.key.clone())
        .collect();
    let once: BTreeSet<String> = effects.iter().cloned().collect();
    assert_eq!(once.len(), effects.len(), "no key took effect twice");
    assert_eq!(once, keys, "what took effect is what is delivered");
    let facts = "select count(*) from (
        select distinct outbox_id, key_epoch from aftercommit.attempt where outcome = 'accepted') as fact";
    let facts = world.base.number(facts).await;
    assert_eq!(
        i64::try_from(keys.len()).unwrap(),
        facts,
        "two deliveries never share a key"
    );
}

fn rows_took_effect_in_their_order(world: &World) {
    let mut last: BTreeMap<(String, String), i64> = BTreeMap::new();
    for effect in world.receiver.effects() {
        let row = (
            effect.topic().unwrap().to_owned(),
            effect.row_key().unwrap().to_owned(),
        );
        let version: i64 = effect.row_version().unwrap().parse().unwrap();
        let before = last.insert(row.clone(), version);
        // A replay under a new key repeats a version; nothing goes back.
        assert!(
            before.is_none_or(|before| before <= version),
            "{row:?}: {before:?}, then {version}"
        );
    }
}

async fn nothing_was_invented(world: &World) {
    let requests = world.receiver.requests();
    assert!(
        requests.iter().all(|request| request.row_key() != Some("ghost")),
        "a row that was rolled back was sent"
    );
    let attempts = world
        .base
        .number("select count(*) from aftercommit.attempt")
        .await;
    assert!(
        i64::try_from(requests.len()).unwrap() <= attempts,
        "{} requests, but only {attempts} attempts on record",
        requests.len()
    );
}

async fn no_attempt_is_left_open(world: &World) {
    let open = world
        .base
        .number("select count(*) from aftercommit.dispatch")
        .await;
    assert_eq!(open, 0, "dispatches are left open");
}

/// The keys under which the database says that something was accepted.
async fn delivered_keys(world: &World) -> BTreeSet<String> {
    let list = match world.base.backend {
        Backend::Postgres => "string_agg",
        Backend::Sqlite => "group_concat",
    };
    let keys = format!("select {list}(key, ',') from aftercommit.attempt where outcome = 'accepted'");
    let keys = world.base.text(&keys).await.unwrap_or_default();
    let keys = keys.split(',').filter(|key| !key.is_empty());
    keys.map(str::to_owned).collect()
}
