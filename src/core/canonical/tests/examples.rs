//! Each rule of the canonical form, and each refusal, by example.

use crate::core::canonical::{NotCanonical, canonical};

fn form(payload: &str) -> String {
    canonical(payload).unwrap()
}

fn refusal(payload: &str) -> String {
    canonical(payload).unwrap_err().to_string()
}

fn nested(levels: usize, innermost: &str) -> String {
    format!("{}{innermost}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn a_number_keeps_every_digit_and_loses_its_spelling() {
    for (spelled, plain) in [
        ("9007199254740993", "9007199254740993"),
        ("42.0", "42"),
        ("-0", "0"),
        ("-0.00e-7", "0"),
        ("1e21", "1000000000000000000000"),
        ("1E-7", "0.0000001"),
        ("-10.10", "-10.1"),
        ("123.456e1", "1234.56"),
        ("0.00120e+2", "0.12"),
        ("1200e-2", "12"),
        ("1e000000000000000000000000000003", "1000"),
    ] {
        assert_eq!(form(spelled), plain);
    }
}

#[test]
fn a_number_may_have_a_thousand_characters_beside_its_sign() {
    assert_eq!(form("-1e999").len(), 1001);
    assert_eq!(form("-1e-998").len(), 1001);
    assert_eq!(form(&format!("{}.5", "9".repeat(998))).len(), 1000);
    for long in [
        "1e1000",
        "-1e1000",
        "1e-999",
        &format!("{}.5", "9".repeat(999)),
        &"9".repeat(1001),
    ] {
        assert_eq!(canonical(long), Err(NotCanonical::NumberTooLong { at: 0 }));
    }
    assert!(refusal(r#"{"id":1e1000}"#).starts_with("number too long at byte 6: max 1000 characters"));
}

#[test]
fn an_exponent_beyond_every_integer_type_is_refused_or_scales_zero() {
    for sign in ["", "+", "-"] {
        let exponent = format!("{sign}{}", "9".repeat(10_000));
        assert_eq!(
            canonical(&format!("1e{exponent}")),
            Err(NotCanonical::NumberTooLong { at: 0 })
        );
        assert_eq!(form(&format!("-0.0e{exponent}")), "0");
    }
    for exponent in [
        "9223372036854775807",
        "-9223372036854775808",
        "-9223372036854775809",
    ] {
        assert_eq!(
            canonical(&format!("10.01e{exponent}")),
            Err(NotCanonical::NumberTooLong { at: 0 })
        );
        assert_eq!(
            canonical(&format!("0.001e{exponent}")),
            Err(NotCanonical::NumberTooLong { at: 0 })
        );
    }
}

#[test]
fn a_string_keeps_its_characters_and_only_the_escapes_that_json_demands() {
    assert_eq!(form(r#""\/\u0041\u007f\u00e9\ud83d\ude00""#), "\"/A\u{7f}é😀\"");
    assert_eq!(
        form(r#""\u0022\u005C\u0008\u000C\u000A\u000D\u0009""#),
        r#""\"\\\b\f\n\r\t""#
    );
    assert_eq!(form(r#""\u0001\u000B\u001F""#), r#""\u0001\u000b\u001f""#);
    assert_eq!(form("\"e\u{301} é \u{2028}\""), "\"e\u{301} é \u{2028}\"");
}

#[test]
fn a_control_character_must_be_escaped_and_stays_so() {
    for code in 1..0x20_u8 {
        let raw = char::from(code);
        assert!(refusal(&format!("\"{raw}\"")).starts_with("not JSON"), "{code}");
        let escaped = serde_json::to_string(&raw).unwrap();
        assert_eq!(form(&format!("\"\\u{code:04X}\"")), escaped);
    }
}

#[test]
fn a_nul_or_half_a_surrogate_pair_is_refused_in_strings_and_keys() {
    for text in [r#""\u0000""#, r#""a\u0000b""#] {
        assert!(refusal(text).starts_with("NUL in the string at byte 0"));
        assert!(refusal(&format!("{{{text}:1}}")).starts_with("NUL in the string at byte 1"));
    }
    for text in [
        r#""\ud800""#,
        r#""\udfff""#,
        r#""\ud83d\ud83d\ude00""#,
        r#""\ude00\ud83d""#,
        r#""\ud83d \ude00""#,
        r#""\ud83d\u0041""#,
        r#""\ud83d\n""#,
    ] {
        assert!(
            refusal(text).starts_with("lone surrogate in the string at byte 0"),
            "{text}"
        );
        assert!(refusal(&format!("[{{{text}:1}}]")).starts_with("lone surrogate in the string at byte 2"));
    }
}

#[test]
fn keys_are_sorted_by_their_utf8_bytes_after_unescaping() {
    // In UTF-16, as RFC 8785 sorts, the emoji would come before U+FB33; escaped, the quote would come after `A`.
    assert_eq!(form("{\"😀\":1,\"\u{fb33}\":2}"), "{\"\u{fb33}\":2,\"😀\":1}");
    assert_eq!(
        form(r#"{"A":1,"\u0022":2,"":3,"AA":4}"#),
        r#"{"":3,"\"":2,"A":1,"AA":4}"#
    );
}

#[test]
fn the_last_of_equal_keys_wins_whatever_the_others_held() {
    assert_eq!(form(r#"{"a":1,"b":2,"\u0061":3}"#), r#"{"a":3,"b":2}"#);
    let dropped = [
        r#""\u0000""#,
        r#"{"\ud800":1}"#,
        "1e9999",
        &nested(500, "{}"),
        r#"{"x":{"y":[1e9999]}}"#,
    ]
    .join(",");
    assert_eq!(form(&format!(r#"[{{"a":[{dropped}],"a":1}}]"#)), r#"[{"a":1}]"#);
    assert!(canonical(r#"{"a":1,"a":1e9999}"#).is_err());
    assert!(
        canonical(r#"{"a":nul,"a":1}"#).is_err(),
        "what is dropped must still be JSON"
    );
}

#[test]
fn sixty_four_levels_are_the_limit_and_an_empty_container_counts_as_a_value() {
    assert!(canonical(&nested(64, "1")).is_ok());
    assert!(canonical(&nested(65, "")).is_ok());
    assert!(canonical(&nested(64, "{}")).is_ok());
    for payload in [
        nested(65, "1"),
        nested(65, "{}"),
        nested(66, ""),
        nested(64, r#"{"a":0}"#),
    ] {
        assert_eq!(
            canonical(&payload).map_err(|refused| refused.to_string().len() > 20),
            Err(true),
            "{payload}"
        );
        assert!(refusal(&payload).starts_with("nested deeper than 64 at byte"));
    }
}

#[test]
fn nesting_without_end_neither_overflows_the_stack_nor_takes_long() {
    assert_eq!(
        canonical(&nested(100_000, "")),
        Err(NotCanonical::TooDeep { at: 65 })
    );
    assert!(refusal(&"[".repeat(100_000)).starts_with("not JSON"));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    assert_eq!(canonical(&objects), Err(NotCanonical::TooDeep { at: 5 * 65 }));
}

#[test]
fn what_is_not_json_is_refused_with_the_byte_where_it_stops_being_json() {
    for (payload, message) in [
        ("", "expected a value at byte 0"),
        (" \n", "expected a value at byte 2"),
        ("\u{feff}1", "expected a value at byte 0"),
        ("\u{a0}1", "expected a value at byte 0"),
        ("1 2", "expected the end of the payload at byte 2"),
        ("01", "expected the end of the payload at byte 1"),
        ("+1", "expected a value at byte 0"),
        ("-", "expected a digit at byte 1"),
        ("1.", "expected a digit at byte 2"),
        ("1e+", "expected a digit at byte 3"),
        ("NaN", "expected a value at byte 0"),
        ("-Infinity", "expected a digit at byte 1"),
        ("True", "expected a value at byte 0"),
        ("nulll", "expected the end of the payload at byte 4"),
        ("[1,]", "expected a value at byte 3"),
        ("[1 2]", "expected `,` or `]` at byte 3"),
        ("[,1]", "expected a value at byte 1"),
        ("]", "expected a value at byte 0"),
        (r#"{"a":1,}"#, "expected a key in quotes at byte 7"),
        ("{1:2}", "expected a key in quotes or `}` at byte 1"),
        (r#"{"a" 1}"#, "expected `:` at byte 5"),
        (r#"{"a":1]"#, "expected `,` or `}` at byte 6"),
        (r#"{"a":}"#, "expected a value at byte 5"),
        ("'a'", "expected a value at byte 0"),
        ("\"a", "expected the end of a string at byte 2"),
        (
            "\"a\nb\"",
            "expected an escape for the control character at byte 2",
        ),
        ("\"\0\"", "expected an escape for the control character at byte 1"),
        (r#""\x""#, "expected an escape at byte 2"),
        (r#""\u12g4""#, "expected four hex digits of an escape at byte 5"),
        (r#""\u12"#, "expected four hex digits of an escape at byte 5"),
        (r#""\"#, "expected an escape at byte 2"),
    ] {
        assert_eq!(refusal(payload), format!("not JSON: {message}"), "of {payload:?}");
    }
}

#[test]
fn what_is_not_json_is_told_from_what_is_only_refused() {
    assert!(refusal(r#"[1e9999,"\u0000"#).starts_with("not JSON"));
}
