//! What holds for every payload.

use fastrand::Rng;
use proptest::prelude::*;
use proptest::sample::select;
use serde::de::IgnoredAny;

use super::documents::Value;
use crate::core::canonical::{NotCanonical, RowHash, canonical};

/// Pieces that JSON is made of, whole and broken.
const PIECES: [&str; 44] = [
    "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"\"", "\\", "\\u", "\\ud800", "\\udc00", "\\u0000", "\\n",
    "\\x", "null", "true", "false", "nul", "NaN", "Infinity", "0", "-0", "-", "1", "01", "1.", ".5", "1.5",
    "e", "1e5", "1E+", "1e-5", "1e9999", " ", "\n", "\u{b}", "\u{a0}", "\u{feff}", "\0", "\u{7f}", "é", "//",
];

fn values() -> impl Strategy<Value = (Value, Rng)> {
    any::<u64>().prop_map(|seed| {
        let mut rng = Rng::with_seed(seed);
        (Value::random(&mut rng, 4), rng)
    })
}

fn pieces() -> impl Strategy<Value = String> {
    proptest::collection::vec(select(&PIECES[..]), 0..12).prop_map(|pieces| pieces.concat())
}

/// The text of a value with one character replaced, taken out or put in.
fn damaged() -> impl Strategy<Value = String> {
    values().prop_map(|(value, mut rng)| {
        let mut chars: Vec<char> = value.spell(&mut rng).chars().collect();
        let (from, taken) = (rng.usize(..chars.len()), rng.usize(..2));
        let put: Vec<char> = PIECES[rng.usize(..PIECES.len())].chars().collect();
        chars.splice(from..from + taken, put);
        chars.into_iter().collect()
    })
}

/// Whether another parser takes the text for JSON.
fn is_json(payload: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(payload).is_ok()
}

fn agrees_on_what_is_json(payload: &str) -> Result<(), TestCaseError> {
    let refused_as_json = matches!(canonical(payload), Err(NotCanonical::NotJson { .. }));
    prop_assert_eq!(!refused_as_json, is_json(payload), "{:?}", payload);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn two_spellings_of_a_value_share_their_row_hash((value, mut rng) in values()) {
        let (one, other) = (value.spell(&mut rng), value.spell(&mut rng));
        prop_assert_eq!(RowHash::of(&one), RowHash::of(&other), "{} and {}", one, other);
    }

    #[test]
    fn two_values_never_share_a_canonical_form((value, mut rng) in values()) {
        let changed = value.changed(&mut rng);
        prop_assert_ne!(&value, &changed);
        prop_assert_ne!(canonical(&value.spell(&mut rng)), canonical(&changed.spell(&mut rng)));
    }

    #[test]
    fn a_canonical_text_is_its_own_canonical_form((value, mut rng) in values()) {
        let once = canonical(&value.spell(&mut rng)).unwrap();
        prop_assert_eq!(canonical(&once), Ok(once));
    }

    #[test]
    fn a_number_anywhere_is_written_without_exponent_and_idle_zeros(text in "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,5})?(e-?[0-9])?") {
        let plain = canonical(&text).unwrap();
        let digits = plain.trim_start_matches('-');
        prop_assert!(digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
        prop_assert!(!(digits.contains('.') && digits.ends_with(['0', '.'])));
        prop_assert!(digits == "0" || digits.starts_with("0.") || !digits.starts_with('0'));
        prop_assert_ne!(plain.as_str(), "-0");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn pieces_of_json_are_taken_for_json_exactly_where_another_parser_does(payload in pieces()) {
        agrees_on_what_is_json(&payload)?;
    }

    #[test]
    fn damaged_json_is_taken_for_json_exactly_where_another_parser_does(payload in damaged()) {
        agrees_on_what_is_json(&payload)?;
    }

    #[test]
    fn any_bytes_read_as_text_are_taken_or_refused_without_panic(bytes in any::<Vec<u8>>()) {
        agrees_on_what_is_json(&String::from_utf8_lossy(&bytes))?;
    }
}
