//! Turns at a host, places on its wire, and a property: what it allows is never exceeded, and nobody is left behind.

use super::*;
use crate::core::limit::bucket::Rate;
use proptest::prelude::*;

const NOW: Duration = Duration::from_secs(1);

fn host(concurrency: Option<u32>, bytes: Option<u32>, rate: Option<Rate>) -> Arc<Host> {
    Arc::new(Host::new(
        "api.example.com",
        &HostConfig {
            rate,
            concurrency,
            max_in_flight_bytes: bytes,
        },
    ))
}

/// Whether the bell of the seat has rung since it was asked last.
fn was_called(seat: &Seat) -> bool {
    let called = seat.bell.notified();
    let mut called = std::pin::pin!(called);
    called.as_mut().enable()
}

#[test]
fn who_wants_more_takes_turns_with_who_waits() {
    let host = host(Some(1), None, None);
    let [mut greedy, mut modest] = [Seat::at(&host), Seat::at(&host)];
    let pass = greedy.try_take(1, NOW).ok().unwrap();
    assert!(modest.try_take(1, NOW).is_err());
    assert!(greedy.try_take(1, NOW).is_err());
    drop(pass);
    assert!(was_called(&modest) && !was_called(&greedy));
    assert!(greedy.try_take(1, NOW).is_err(), "it is not its turn");
    let pass = modest.try_take(1, NOW).ok().unwrap();
    assert!(was_called(&greedy), "it is the first now");
    assert!(modest.try_take(1, NOW).is_err());
    drop(pass);
    assert!(greedy.try_take(1, NOW).is_ok());
}

#[test]
fn who_no_longer_wants_anything_lets_the_next_one_go() {
    let host = host(Some(1), None, None);
    let [mut first, mut second, mut third] = [Seat::at(&host), Seat::at(&host), Seat::at(&host)];
    let pass = first.try_take(1, NOW).ok().unwrap();
    assert!(second.try_take(1, NOW).is_err() && third.try_take(1, NOW).is_err());
    drop(pass);
    assert!(was_called(&second));
    drop(second);
    assert!(was_called(&third));
    assert!(third.try_take(1, NOW).is_ok());
    third.leave();
    assert!(first.try_take(1, NOW).is_ok(), "nobody waits any more");
}

#[test]
fn a_request_that_is_larger_than_all_bytes_goes_alone() {
    let host = host(None, Some(10), None);
    let mut seat = Seat::at(&host);
    let large = seat.try_take(11, NOW).ok().unwrap();
    assert!(seat.try_take(1, NOW).is_err());
    drop(large);
    let _small = seat.try_take(6, NOW).ok().unwrap();
    let _other = seat.try_take(4, NOW).ok().unwrap();
    assert!(seat.try_take(1, NOW).is_err());
}

#[test]
fn only_the_first_of_the_line_asks_again_when_the_rate_allows() {
    let rate = Rate {
        requests: 5,
        per: Duration::from_secs(1),
    };
    let host = host(None, None, Some(rate));
    let [mut one, mut other] = [Seat::at(&host), Seat::at(&host)];
    assert!(one.try_take(1, NOW).is_ok());
    let next = NOW + Duration::from_millis(200);
    assert_eq!(other.try_take(1, NOW).err().unwrap().again, Some(next));
    assert_eq!(
        one.soon(next.saturating_sub(SOON)),
        (0, None),
        "what is to come is another's"
    );
    assert!(one.try_take(1, next).is_err());
    assert!(other.try_take(1, next).is_ok());
    assert!(was_called(&one));
    let after = (next + Duration::from_millis(200)).saturating_sub(SOON);
    assert_eq!(one.soon(next), (0, Some(after)));
}

#[test]
fn a_share_of_the_concurrency_is_hoped_for() {
    let host = host(Some(5), None, None);
    let mut one = Seat::at(&host);
    assert_eq!(one.share(0), 5);
    let mut other = Seat::at(&host);
    let passes: Vec<Pass> = (0..4).filter_map(|_| other.try_take(1, NOW).ok()).collect();
    assert_eq!(
        (one.share(0), other.share(4)),
        (3, 5),
        "its part at least, and what is left over"
    );
    one.join(&mut host.state());
    assert_eq!(other.share(4), 3, "somebody waits");
    drop((passes, other));
    assert_eq!(one.share(0), 5);
}

proptest! {
    #[test]
    fn it_is_never_exceeded_and_nobody_is_left_behind(
        concurrency in 1..5_u32,
        steps in proptest::collection::vec((0..4_usize, 0..3_u8), 1..500),
    ) {
        let host = host(Some(concurrency), None, None);
        let mut seats: Vec<Seat> = (0..4).map(|_| Seat::at(&host)).collect();
        let mut passes: Vec<Pass> = vec![];
        // For each seat that waits, how many others have gone since.
        let mut overtaken = [None; 4];
        for (seat, step) in steps {
            match step {
                0 => if !passes.is_empty() { passes.remove(0); },
                1 => { seats[seat].leave(); overtaken[seat] = None; }
                _ => match seats[seat].try_take(1, NOW) {
                    Ok(pass) => {
                        passes.push(pass);
                        overtaken[seat] = None;
                        for count in overtaken.iter_mut().flatten() {
                            *count += 1;
                        }
                    }
                    Err(_) => { overtaken[seat].get_or_insert(0); }
                },
            }
            prop_assert!(passes.len() <= concurrency as usize);
            prop_assert!(overtaken.iter().flatten().all(|count| *count < 4), "each goes once before another goes twice");
        }
    }
}
