//! What a key costs: microseconds to hash a payload of 500 bytes, and to derive the idempotency key from that.
//!
//! `cargo bench --bench key`

use std::hint::black_box;

use aftercommit::clock::{Clock as _, SystemClock};
use aftercommit::core::canonical::{NotCanonical, RowHash};
use aftercommit::core::key::{IdempotencyKey, KeyFacts};
use aftercommit::core::row::Op;

const BYTES: usize = 500;
const AT_ONCE: u32 = 1_000;
const ROUNDS: usize = 200;

fn main() -> Result<(), NotCanonical> {
    for (what, payload) in payloads() {
        let row_hash = RowHash::of(&payload)?;
        let hashed = measure(|| RowHash::of(black_box(&payload)).is_ok());
        let derived = measure(|| key(black_box(row_hash)) == key(row_hash)) / 2.0;
        println!(
            "{what}, {} bytes: row hash {hashed:.2} us, key {derived:.2} us",
            payload.len()
        );
    }
    Ok(())
}

fn key(row_hash: RowHash) -> IdempotencyKey {
    IdempotencyKey::derive(&KeyFacts {
        namespace: "5f0c1c9e",
        destination: "salesforce",
        topic: "public.customers",
        row_key: "42",
        op: Op::Event,
        version: None,
        row_hash,
        epoch: 0,
    })
}

/// Microseconds a call, the best of all rounds: what disturbs the machine only adds to it.
fn measure(call: impl Fn() -> bool) -> f64 {
    let clock = SystemClock::start();
    let round = || {
        let started = clock.monotonic();
        let all = (0..AT_ONCE).all(|_| black_box(call()));
        let took = clock.monotonic().saturating_sub(started);
        took.as_secs_f64() * 1e6 / if all { f64::from(AT_ONCE) } else { f64::NAN }
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Payloads of about [`BYTES`], from the cheapest to the dearest that pipelines write.
fn payloads() -> [(&'static str, String); 3] {
    let text = |head: &str, filling: &str| {
        let room = BYTES.saturating_sub(head.len() + 3);
        format!("{head}\"{}\"}}", filling.repeat(room / filling.len()))
    };
    let columns: Vec<_> = (0..24)
        .rev()
        .map(|n| format!("\"column_{n}\":{}.50", n * 1_001))
        .collect();
    [
        ("a long text", text("{\"id\":42,\"note\":", "x")),
        (
            "a text of escapes and beyond ASCII",
            text("{\"id\":42,\"note\":", "\\u00e9\\n\u{e9}"),
        ),
        (
            "many columns, of numbers, not in order",
            format!("{{{}}}", columns.join(", ")),
        ),
    ]
}
