//! That nothing is left of a secret however it is written and wherever it is cut, and that the rest is left alone.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// The ways in which an answer may write what it repeats.
#[derive(Debug, Clone, Copy)]
enum Written {
    AsItIs,
    Percent,
    EveryBytePercent,
    Form,
    Json,
    JsonInJson,
    JsonByNumbers,
    Html,
    HtmlByNumbers,
    PercentInJson,
    JsonInPercent,
}

const WAYS: [Written; 11] = [
    Written::AsItIs,
    Written::Percent,
    Written::EveryBytePercent,
    Written::Form,
    Written::Json,
    Written::JsonInJson,
    Written::JsonByNumbers,
    Written::Html,
    Written::HtmlByNumbers,
    Written::PercentInJson,
    Written::JsonInPercent,
];

impl Written {
    fn write(self, text: &str) -> String {
        let bytes = |form: fn(u8) -> String| text.bytes().map(form).collect::<String>();
        match self {
            Self::AsItIs => text.to_owned(),
            Self::Percent => bytes(|byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            }),
            Self::EveryBytePercent => bytes(|byte| format!("%{byte:02x}")),
            Self::Form => url::form_urlencoded::byte_serialize(text.as_bytes()).collect(),
            Self::Json => in_json(text),
            Self::JsonInJson => in_json(&in_json(text)),
            Self::JsonByNumbers => bytes(|byte| format!("\\u{byte:04x}")),
            Self::Html => bytes(|byte| match byte {
                b'&' => "&amp;".to_owned(),
                b'<' => "&lt;".to_owned(),
                b'>' => "&gt;".to_owned(),
                b'"' => "&quot;".to_owned(),
                b'\'' => "&#39;".to_owned(),
                other => char::from(other).to_string(),
            }),
            Self::HtmlByNumbers => bytes(|byte| format!("&#x{byte:X};")),
            Self::PercentInJson => in_json(&Self::Percent.write(text)),
            Self::JsonInPercent => Self::Percent.write(&in_json(text)),
        }
    }
}

fn in_json(text: &str) -> String {
    let mut quoted = serde_json::Value::from(text).to_string();
    quoted.pop();
    quoted.split_off(1)
}

/// What can be in an answer and in no secret of these tests.
fn filler() -> impl Strategy<Value = String> {
    "[äöü€\\{\\}: ,\\n]{0,40}"
}

/// Whether a piece of `secret` that is worth something stands in `text`.
fn leaks(text: &str, secret: &str) -> bool {
    let pieces = secret.as_bytes().windows(LEAST_BYTES);
    let mut found = false;
    for piece in pieces {
        found |= text.as_bytes().windows(LEAST_BYTES).any(|here| here == piece);
    }
    found
}

proptest! {
    #[test]
    fn nothing_is_left_of_a_secret_however_and_wherever_it_is_repeated(
        secret in "[!-~]{6,80}",
        other in "[!-~]{6,80}",
        way in select(&WAYS[..]),
        (before, between, after) in (filler(), filler(), filler()),
        max_bytes in 0_usize..400,
        breaks_off in 0_usize..1_000,
    ) {
        let (one, two) = (way.write(&secret), way.write(&other));
        let mut said = format!("{before}{one}{between}{two}{one}{after}");
        said.truncate(said.floor_char_boundary(breaks_off));
        let kept = Secrets::of([&secret, &other]).excerpt(said.as_bytes(), max_bytes);
        prop_assert!(kept.len() <= max_bytes);
        let kept = kept.replace(SECRET, "…");
        for secret in [&secret, &other] {
            prop_assert!(!leaks(&kept, secret), "{secret:?} in {kept:?}, of {said:?}");
            let mut plain = kept.clone().into_bytes();
            while let Some(plainer) = Layer::of(&plain).decoded().map(|layer| layer.bytes().to_vec()) {
                plain = plainer;
                let plain = String::from_utf8_lossy(&plain);
                prop_assert!(!leaks(&plain, secret), "{secret:?} in {plain:?}, of {said:?}");
            }
        }
    }

    #[test]
    fn what_holds_no_secret_is_left_as_it_is(secret in "[a-z0-9]{6,60}", said in "[A-Z %&\\\\+\"{}:]{0,200}") {
        let kept = Secrets::of([&secret]).excerpt(said.as_bytes(), 1_000);
        prop_assert_eq!(&*kept, said.as_str());
    }
}

/// The story above reads what is left with the decoder that it is about; this one knows its end beforehand.
#[test]
fn a_secret_is_found_whole_in_every_way_in_which_it_is_written() {
    for secret in ["pass word \"+\" & <key>", "a+b&amp;c", "per%41cent+\"quoted\""] {
        let secrets = Secrets::of([secret]);
        for way in WAYS {
            let said = format!("[{}]", way.write(secret));
            assert_eq!(secrets.without(&said), "[(secret)]", "{way:?}: {said}");
        }
    }
}

#[test]
fn of_a_character_that_the_cut_falls_into_nothing_is_kept() {
    for secrets in [Secrets::none(), Secrets::of(["s3cr3t-token"])] {
        assert_eq!(&*secrets.excerpt("a\u{1f600}b".as_bytes(), 4), "a");
        assert_eq!(&*secrets.excerpt("a\u{1f600}b".as_bytes(), 5), "a\u{1f600}");
    }
}

#[test]
fn a_secret_that_breaks_off_within_an_escape_is_not_left() {
    let kept = Secrets::of(["AAA\\#0\"a##0aAa"]).excerpt(b"said: AAA\\#0&quo", 400);
    assert!(kept.starts_with("said: (secret)"), "{kept:?}");
}

#[test]
fn one_placeholder_stands_for_each_secret_and_the_rest_is_left_alone() {
    let secrets = Secrets::of(["s3cr3t-token", "other+one"]);
    for (said, kept) in [
        ("no token", "no token"),
        ("bad s3cr3t-token!", "bad (secret)!"),
        ("s3cr3t-tokens3cr3t-token", "(secret)"),
        (
            "a s3cr3t-token b other%2Bone c other+one",
            "a (secret) b (secret) c (secret)",
        ),
        ("s3cr3t-", "(secret)"),
        // The end of the text has cut an escape of what would have come next.
        ("s3cr3t-&quo", "(secret)"),
        ("s3cr3t-, or", "s3cr3t-, or"),
    ] {
        assert_eq!(secrets.without(said), kept, "{said}");
    }
}

#[test]
fn what_a_receiver_has_shortened_is_found_and_what_two_ids_have_in_common_is_not() {
    let token = "00D5g000004AbCdEAK!AQ4AQPzVhE3vQ1tq8b";
    let secrets = Secrets::of([token]);
    assert_eq!(
        secrets.without("token 00D5g000004AbCdEAK!AQ4... expired"),
        "token (secret)... expired"
    );
    let id = "{\"id\":\"0015g00000ZzYyXAAV\",\"success\":true}";
    assert_eq!(secrets.without(id), id);
}

#[test]
fn very_short_secrets_leave_words_whole() {
    let secrets = Secrets::of(["true", "1", ""]);
    assert_eq!(
        secrets.without("{\"ok\": true, \"n\": 1}"),
        "{\"ok\": true, \"n\": 1}"
    );
}

#[test]
fn a_hostile_answer_is_read_to_its_end() {
    let secrets = Secrets::of([&"a".repeat(1_000)]);
    let said = "a".repeat(4_000);
    assert_eq!(secrets.without(&said), SECRET);
    let mut said = String::new();
    for number in 0..10_000 {
        write!(said, "%{:02x}\\\\&amp;", number % 256).unwrap();
    }
    assert_eq!(&*secrets.excerpt(said.as_bytes(), 1_000), &said[..1_000]);
}
