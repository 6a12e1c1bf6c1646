//! The canonical form against a second way of computing it, many times over.

use std::fmt::Write;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use fastrand::Rng;

use super::documents::Value;
use crate::core::canonical::{MAX_NUMBER_LENGTH, NotCanonical, canonical};

#[test]
fn a_million_random_documents_have_the_form_that_a_second_way_computes() {
    let mut rng = Rng::with_seed(2);
    for _ in 0..1_000_000 {
        let value = Value::random(&mut rng, 3);
        let payload = value.spell(&mut rng);
        assert_eq!(canonical(&payload), Ok(value.expected()), "of {payload}");
    }
}

#[test]
fn the_text_of_a_number_is_that_of_an_exact_decimal_and_is_refused_beyond_the_limit() {
    let mut rng = Rng::with_seed(3);
    let mut refused = 0;
    for _ in 0..20_000 {
        let number = random_number_text(&mut rng);
        let plain = BigDecimal::from_str(&number)
            .unwrap()
            .normalized()
            .to_plain_string();
        if plain.trim_start_matches('-').len() > MAX_NUMBER_LENGTH {
            assert_eq!(
                canonical(&number),
                Err(NotCanonical::NumberTooLong { at: 0 }),
                "of {number}"
            );
            refused += 1;
        } else {
            assert_eq!(canonical(&number), Ok(plain), "of {number}");
        }
    }
    assert!(
        (2_000..18_000).contains(&refused),
        "one side of the limit is hardly tested: {refused} refused"
    );
}

/// A number of up to 1,010 digits with an exponent that takes it near either limit, or nowhere near.
fn random_number_text(rng: &mut Rng) -> String {
    let whole = random_digits(rng);
    let whole = whole.trim_start_matches('0');
    let mut number = String::from(if rng.bool() { "-" } else { "" });
    number.push_str(if whole.is_empty() { "0" } else { whole });
    if rng.bool() {
        number.push('.');
        number.push_str(&random_digits(rng));
    }
    match rng.u8(..4) {
        0 => Ok(()),
        1 => write!(number, "e{}", rng.i32(-30..30)),
        2 => write!(number, "E+{}", rng.i32(985..1010)),
        _ => write!(number, "e-{}", rng.i32(985..1010)),
    }
    .unwrap();
    number
}

/// 1 to 1,010 digits, mostly few, with zeros at either end more often than chance would have them.
fn random_digits(rng: &mut Rng) -> String {
    let length = if rng.u8(..4) == 0 {
        rng.usize(980..1005)
    } else {
        rng.usize(1..12)
    };
    let zeros = |rng: &mut Rng| if rng.bool() { rng.usize(..=length) } else { 0 };
    let (front, back) = (zeros(rng), zeros(rng));
    let digit = |at: usize| {
        if at < front || at + back >= length {
            '0'
        } else {
            char::from(b'0' + rng.u8(..10))
        }
    };
    (0..length).map(digit).collect()
}
