//! Reading what is owed: windows, limits, what is left out.

use std::time::Duration;

use aftercommit::core::decide::CancelRequest;
use aftercommit::core::row::RowId;
use aftercommit::store::{FetchLimits, Store as _};

use super::draft::under;
use super::world::{Backend, LIMITS, World, event, hook, on_both, relay, shard};

on_both! {
    async fn what_was_committed_is_owed_as_it_was_written(backend: Backend) {
        let world = World::routed(backend).await;
        let mut row = event("7");
        row.row_version = Some(5);
        row.payload = r#"{"b": 1.50,  "a": "é"}"#.to_owned();
        row.headers = Some(r#"{"traceparent":"00-1"}"#.to_owned());
        world.commit_rows(&[row.clone()]).await;

        let fetched = world.owed().await;
        let owed = &fetched.owed[0];
        assert_eq!(&*owed.row.row.topic, "orders");
        assert_eq!(&*owed.row.row.row_key, "7");
        assert_eq!(owed.row.row_version, Some(5));
        assert_eq!(owed.row.generation, 1);
        assert_eq!(owed.row.op, row.op);
        assert_eq!(&*owed.row.payload, row.payload);
        assert_eq!(owed.row.headers.as_deref(), row.headers.as_deref());
        assert_eq!((owed.attempts, owed.excused, owed.key_epoch), (0, 0, 0));
        assert_eq!((owed.unknown_since, owed.cancel, owed.rendering), (None, CancelRequest::None, None));
        assert_eq!(owed.due_at, owed.owed_at);
        assert!(owed.due_at <= fetched.now && owed.row.created_at <= fetched.now);
    }

    async fn nothing_owed_still_tells_the_time(backend: Backend) {
        let world = World::routed(backend).await;
        let fetched = world.store.fetch(&hook(), 41, LIMITS).await.unwrap();
        assert!(fetched.owed.is_empty() && !fetched.more && !fetched.paused);
        assert_eq!(fetched.upto, 41);
        assert!(fetched.now.as_micros() > 1_700_000_000_000_000);
    }

    async fn a_window_ends_where_the_next_begins(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(7).await;
        let limits = FetchLimits { rows: 3, ..LIMITS };
        let (mut after, mut seen) = (0, vec![]);
        loop {
            let fetched = world.store.fetch(&hook(), after, limits).await.unwrap();
            seen.extend(fetched.owed.iter().map(|owed| owed.row.id));
            after = fetched.upto;
            if !fetched.more {
                break;
            }
        }
        assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7]);
    }

    async fn bytes_are_cut_before_the_limit_is_passed(backend: Backend) {
        let world = World::routed(backend).await;
        // Compressible, so that what is stored is far smaller than what it is.
        let rows: Vec<_> = [10_000, 40_000, 40_000, 200_000, 10]
            .iter()
            .enumerate()
            .map(|(number, length)| {
                let mut row = event(&number.to_string());
                row.payload = format!("\"{}\"", "x".repeat(length - 2));
                row
            })
            .collect();
        world.commit_rows(&rows).await;
        let limits = FetchLimits { bytes: 60_000, ..LIMITS };
        let (mut after, mut windows) = (0, vec![]);
        loop {
            let fetched = world.store.fetch(&hook(), after, limits).await.unwrap();
            windows.push(fetched.owed.iter().map(|owed| owed.row.id).collect::<Vec<_>>());
            after = fetched.upto;
            if !fetched.more {
                break;
            }
        }
        assert_eq!(windows, [vec![1, 2], vec![3], vec![4], vec![5]]);

        let loaded = world.store.load(&hook(), &[1, 2, 3], limits).await.unwrap();
        assert_eq!(loaded.len(), 2, "what is loaded is cut in the same way");
    }

    async fn many_small_payloads_fill_the_bytes_to_the_last(backend: Backend) {
        let world = World::routed(backend).await;
        let rows: Vec<_> = (0..300)
            .map(|number| {
                let mut row = event(&number.to_string());
                row.payload = "1".to_owned();
                row
            })
            .collect();
        world.commit_rows(&rows).await;
        let limits = FetchLimits { bytes: 200, ..LIMITS };
        assert_eq!(world.store.fetch(&hook(), 0, limits).await.unwrap().owed.len(), 200);
    }

    async fn a_paused_destination_reads_nothing(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit(&["7"]).await;
        world.store.pause("hook", "relay", "the receiver is gone").await.unwrap();
        world.store.pause("hook", "somebody", "again").await.unwrap();
        let fetched = world.owed().await;
        assert!(fetched.paused && fetched.owed.is_empty() && !fetched.more);
        assert_eq!(fetched.upto, 0);
        let who = "select paused_by || ': ' || pause_reason from aftercommit.destination_state";
        assert_eq!(world.text(who).await.unwrap(), "relay: the receiver is gone", "who paused first stays on record");
        assert_eq!(world.number("select count(*) from aftercommit.audit where action = 'pause'").await, 1);
    }

    async fn a_sweep_sees_ids_within_its_bounds_in_order(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(9).await;
        let ids = async |limit| -> Vec<i64> {
            let owed = world.store.owed_ids(&hook(), 2, 7, limit).await.unwrap();
            owed.iter().map(|one| one.outbox_id).collect()
        };
        assert_eq!(ids(100).await, [3, 4, 5, 6, 7]);
        assert_eq!(ids(2).await, [3, 4]);
        let lease = world.lease(relay(1)).await;
        under(&lease).retry(4, 1).commit(&world.store).await;
        let now = world.owed().await.now;
        let due: Vec<bool> = (world.store.owed_ids(&hook(), 2, 5, 9).await.unwrap().iter())
            .map(|one| one.due_at <= now)
            .collect();
        assert_eq!(due, [true, false, true], "it tells which of them wait");
    }

    async fn the_nearest_older_delivery_that_is_owed_is_found_past_those_that_ended(backend: Backend) {
        let world = World::routed(backend).await;
        let versions = |count: i64| (1..=count).map(|version| {
            let mut row = event("7");
            row.row_version = Some(version);
            row
        });
        world.commit_rows(&versions(5).collect::<Vec<_>>()).await;
        world.commit_rows(&[event("another")]).await;
        let lease = world.lease(relay(1)).await;
        under(&lease).success(2, 1).success(3, 1).commit(&world.store).await;
        let behind = async |floor: Option<i64>| {
            let found = world.store.behind(&hook(), &[1, 4, 5, 6], floor).await.unwrap();
            found.into_iter().collect::<std::collections::BTreeMap<_, _>>()
        };
        assert_eq!(behind(Some(0)).await, [(4, 1), (5, 4)].into());
        assert_eq!(behind(Some(2)).await, [(5, 4)].into(), "no further back than asked for");
        assert_eq!(behind(Some(100)).await, [(5, 4)].into(), "the version just before in any case");
        assert_eq!(behind(None).await, [(5, 4)].into());
    }

    async fn what_is_owed_of_one_row_is_found_from_an_id_on(backend: Backend) {
        let world = World::routed(backend).await;
        let rows: Vec<_> = (1..=8).map(|version| {
            let mut row = event(if version % 2 == 0 { "even" } else { "odd" });
            row.row_version = Some(version);
            row
        }).collect();
        world.commit_rows(&rows).await;
        let lease = world.lease(relay(1)).await;
        let owed = world.owed().await.owed;
        let even: Vec<i64> = owed.iter().filter(|owed| &*owed.row.row.row_key == "even").map(|owed| owed.row.id).collect();
        under(&lease).success(even[2], 1).commit(&world.store).await;
        let found = async |from, limit| {
            let row = RowId::new("orders", "even");
            world.store.owed_of_row(&hook(), &row, from, limit).await.unwrap()
        };
        assert_eq!(found(0, 9).await, [even[0], even[1], even[3]]);
        assert_eq!(found(even[1], 1).await, [even[1]]);
    }

    async fn what_is_no_longer_owed_is_not_loaded(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(4).await;
        let lease = world.lease(relay(1)).await;
        under(&lease).success(2, 1).commit(&world.store).await;
        let loaded = world.store.load(&hook(), &[4, 2, 1, 99], LIMITS).await.unwrap();
        assert_eq!(loaded.iter().map(|owed| owed.row.id).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(&*loaded[0].row.payload, r#"{"key":"0000000"}"#);
        let first = FetchLimits { rows: 1, ..LIMITS };
        assert_eq!(world.store.load(&hook(), &[4, 1], first).await.unwrap()[0].row.id, 1);
    }

    async fn cancel_requests_are_found(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(3).await;
        assert!(world.store.cancel_requests(&hook()).await.unwrap().is_empty());
        world.execute("update aftercommit.owed set cancel_at = now() where outbox_id in (1, 3)").await;
        let asked = world.store.cancel_requests(&hook()).await.unwrap();
        let ids: Vec<i64> = asked.iter().map(|asked| asked.outbox_id).collect();
        assert_eq!(ids, [1, 3]);
        assert!(world.store.cancel_requests(&shard("hook", 1, 2)).await.unwrap().len() < 3);
        let cancel: Vec<_> = world.owed().await.owed.iter().map(|owed| owed.cancel).collect();
        assert_eq!(cancel, [CancelRequest::Requested, CancelRequest::None, CancelRequest::Requested]);
    }

    async fn a_commit_is_heard(backend: Backend) {
        let world = World::routed(backend).await;
        let mut commits = world.store.commits(Duration::from_millis(1)).await.unwrap().unwrap();
        if backend == Backend::Postgres {
            // The first hint is to look once more before the sleep.
            commits.next().await.unwrap();
            assert_eq!(world.number(SLEEPERS).await, 1);
        }
        for row_key in ["1", "2", "3"] {
            world.commit(&[row_key]).await;
            commits.next().await.unwrap();
        }
    }

    async fn a_rendering_is_kept_once(backend: Backend) {
        let world = World::migrated(backend).await;
        let one = world.store.keep_rendering("one").await.unwrap();
        let two = world.store.keep_rendering("two").await.unwrap();
        assert_ne!(one, two);
        assert_eq!(world.store.keep_rendering("one").await.unwrap(), one);
        let kept = world.store.renderings().await.unwrap();
        assert_eq!(kept.len(), 2);
        assert_eq!(kept[&two], "two");
        assert_eq!(world.store.namespace().await.unwrap(), "test");
    }
}

/// How many hold the sleepers' lock.
const SLEEPERS: &str = "select count(*) from pg_locks
    where locktype = 'advisory' and mode = 'ExclusiveLock' and granted
        and database = (select oid from pg_database where datname = current_database())";
