//! The charts: what relays added comes back as points, and what is too old is forgotten.

use aftercommit::store::{Store as _, Tally};
use serde_json::Value;

use super::client::Client;
use super::world::{Backend, World, on_both};

fn tally(destination: &str, delivered: u64, failed: u64) -> Tally {
    Tally {
        destination: destination.to_owned(),
        delivered,
        failed,
    }
}

/// What the points of a destination add up to.
fn sums(history: &Value, place: usize) -> (u64, u64) {
    let points = history["destinations"][place]["points"].as_array().unwrap();
    let sum = |what: &str| points.iter().map(|point| point[what].as_u64().unwrap()).sum();
    (sum("delivered"), sum("failed"))
}

on_both! {
    async fn what_relays_have_added_is_told_in_points_without_a_gap(backend: Backend) {
        let world = World::new(backend).await;
        world.store.add_tallies(&[tally("crm", 5, 1), tally("gone", 0, 3)]).await.unwrap();
        // Another relay, in the same minute or the next one.
        world.store.add_tallies(&[tally("crm", 7, 2)]).await.unwrap();
        let client = Client::of(&world).await;
        for (span, points, step) in [("hour", 60, 60), ("day", 96, 900)] {
            let history = client.get(&format!("/v1/history?span={span}")).await.json();
            assert_eq!((history["span"].as_str(), history["step_seconds"].as_u64()), (Some(span), Some(step)));
            let names = history["destinations"].as_array().unwrap();
            let names: Vec<_> = names.iter().map(|one| one["destination"].as_str().unwrap()).collect();
            assert_eq!(names, ["crm", "gone", "hook"], "those that are configured, and those that did something");
            for place in 0..3 {
                assert_eq!(history["destinations"][place]["points"].as_array().unwrap().len(), points);
            }
            assert_eq!((sums(&history, 0), sums(&history, 1), sums(&history, 2)), ((12, 3), (0, 3), (0, 0)));
            let last = &history["destinations"][1]["points"][points - 1];
            assert!(last["at"].as_str().unwrap().ends_with("00Z"), "{last}");
        }
        let plain = client.get("/v1/history").await.json();
        assert_eq!(plain["span"], "hour");
        let week = client.get("/v1/history?span=week").await.problem(400);
        assert!(week.contains("known are hour, day"), "{week}");
    }

    async fn a_quarter_of_an_hour_is_one_point_of_a_day_and_two_days_are_kept(backend: Backend) {
        let world = World::new(backend).await;
        let minute = match backend {
            Backend::Postgres => "cast(floor(extract(epoch from now()) / 60) as bigint)",
            Backend::Sqlite => "now() / 60000000",
        };
        world.execute(&format!(
            "insert into aftercommit.tally (minute, destination, delivered, failed) values
                ({minute} / 15 * 15 - 1, 'crm', 1, 0), ({minute} / 15 * 15 - 15, 'crm', 2, 0), ({minute} / 15 * 15 - 16, 'crm', 4, 0),
                ({minute} - 25 * 60, 'crm', 8, 0), ({minute} - 2881, 'crm', 16, 0), ({minute} - 2800, 'crm', 32, 0)"
        )).await;
        let history = Client::of(&world).await.get("/v1/history?span=day").await.json();
        let points = history["destinations"][0]["points"].as_array().unwrap();
        let delivered: Vec<_> = points.iter().map(|point| point["delivered"].as_u64().unwrap()).collect();
        // The clock may have gone into the next quarter since.
        assert!(delivered.ends_with(&[4, 3, 0]) || delivered.ends_with(&[4, 3, 0, 0]), "{delivered:?}");
        assert_eq!(delivered.iter().sum::<u64>(), 7, "what is older than a day is no point of it");
        world.store.forget_tallies().await.unwrap();
        assert_eq!(world.number("select cast(sum(delivered) as bigint) from aftercommit.tally").await, 47);
    }
}
