//! Random JSON values, their canonical form computed a second way, and random spellings of them.
//!
//! The second way shares no code with the first: `bigdecimal` writes the numbers, `serde_json` the strings, and a
//! `BTreeMap` sorts the keys.

use std::collections::BTreeMap;

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, Sign};
use fastrand::Rng;

/// A JSON value as it is meant; equal if the same is meant.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::core) enum Value {
    Null,
    Bool(bool),
    Number(BigDecimal),
    Text(String),
    Array(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

/// Characters that the rules tell apart, and neighbours of theirs.
const CHARS: [char; 26] = [
    'a',
    'z',
    'A',
    '0',
    ' ',
    '"',
    '\\',
    '/',
    '\u{1}',
    '\u{8}',
    '\t',
    '\n',
    '\u{b}',
    '\u{c}',
    '\r',
    '\u{1f}',
    '\u{7f}',
    '\u{80}',
    'é',
    '\u{301}',
    '\u{2028}',
    '\u{d7ff}',
    '\u{e000}',
    '\u{fb33}',
    '😀',
    '\u{10ffff}',
];

/// Values that have no canonical form. They may stand wherever a later equal key replaces them.
const REFUSED: [&str; 4] = [r#""\u0000""#, r#"{"\udc00":[]}"#, "-1e1000", "[1e-1001]"];

impl Value {
    /// A value with at most `depth` levels below it; about eight values in all for a depth of 3.
    pub(in crate::core) fn random(rng: &mut Rng, depth: usize) -> Self {
        let kinds = if depth == 0 { 5 } else { 11 };
        match rng.u8(..kinds) {
            0 => Self::Null,
            1 => Self::Bool(rng.bool()),
            2 | 3 => Self::Number(random_number(rng)),
            4 => Self::Text(random_text(rng)),
            5..=7 => Self::Array(
                (0..rng.usize(..4))
                    .map(|_| Self::random(rng, depth - 1))
                    .collect(),
            ),
            _ => {
                let members = (0..rng.usize(..5)).map(|_| (random_text(rng), Self::random(rng, depth - 1)));
                Self::Object(members.collect())
            }
        }
    }

    /// The canonical form, computed the second way.
    pub(in crate::core) fn expected(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(is) => is.to_string(),
            Self::Number(number) => number.normalized().to_plain_string(),
            Self::Text(text) => serde_json::to_string(text).unwrap(),
            Self::Array(items) => {
                format!(
                    "[{}]",
                    items.iter().map(Self::expected).collect::<Vec<_>>().join(",")
                )
            }
            Self::Object(members) => {
                let member = |(key, value): (&String, &Self)| {
                    format!("{}:{}", serde_json::to_string(key).unwrap(), value.expected())
                };
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }

    /// One of the many texts that mean this value.
    pub(in crate::core) fn spell(&self, rng: &mut Rng) -> String {
        let mut text = String::new();
        self.spell_into(rng, &mut text);
        text
    }

    fn spell_into(&self, rng: &mut Rng, out: &mut String) {
        blanks(rng, out);
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(is) => out.push_str(if *is { "true" } else { "false" }),
            Self::Number(number) => spell_number(number, rng, out),
            Self::Text(text) => spell_text(text, rng, out),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    item.spell_into(rng, out);
                }
                blanks(rng, out);
                out.push(']');
            }
            Self::Object(members) => spell_members(members, rng, out),
        }
        blanks(rng, out);
    }

    /// A value that differs from this one in one place, as little as can be.
    pub(in crate::core) fn changed(&self, rng: &mut Rng) -> Self {
        let mut value = self.clone();
        match &mut value {
            Self::Null => return Self::Text("null".to_owned()),
            Self::Bool(is) => *is = !*is,
            Self::Number(number) => {
                let last_place = BigDecimal::new(BigInt::from(1), number.as_bigint_and_exponent().1);
                *number += last_place;
            }
            Self::Text(text) => text.insert(0, CHARS[rng.usize(..CHARS.len())]),
            Self::Array(items) if items.is_empty() => items.push(Self::Null),
            Self::Array(items) => {
                let index = rng.usize(..items.len());
                items[index] = items[index].changed(rng);
            }
            Self::Object(members) => match members.pop_first() {
                None => drop(members.insert(String::new(), Self::Null)),
                Some((key, member)) if rng.bool() => drop(members.insert(key, member.changed(rng))),
                Some(_) => {}
            },
        }
        value
    }
}

fn random_number(rng: &mut Rng) -> BigDecimal {
    let digits = match rng.u8(..4) {
        0 => rng.i64(-2..3),
        1 => rng.i64(-1000..1000) * 100,
        _ => rng.i64(..),
    };
    BigDecimal::new(BigInt::from(digits), rng.i64(-6..25))
}

fn random_text(rng: &mut Rng) -> String {
    (0..rng.usize(..5))
        .map(|_| CHARS[rng.usize(..CHARS.len())])
        .collect()
}

fn blanks(rng: &mut Rng, out: &mut String) {
    while rng.u8(..4) == 0 {
        out.push([' ', '\t', '\n', '\r'][rng.usize(..4)]);
    }
}

/// Spells the members in any order, and before them now and then a member that an equal key replaces.
fn spell_members(members: &BTreeMap<String, Value>, rng: &mut Rng, out: &mut String) {
    let mut order: Vec<_> = members.iter().collect();
    rng.shuffle(&mut order);
    let replaced = order
        .iter()
        .filter(|_| rng.u8(..8) == 0)
        .map(|(key, _)| (*key, None))
        .collect::<Vec<_>>();
    let kept = order.iter().map(|(key, value)| (*key, Some(*value)));
    out.push('{');
    for (index, (key, value)) in replaced.into_iter().chain(kept).enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        blanks(rng, out);
        spell_text(key, rng, out);
        blanks(rng, out);
        out.push(':');
        match value {
            Some(value) => value.spell_into(rng, out),
            None if rng.bool() => Value::random(rng, 1).spell_into(rng, out),
            None => out.push_str(REFUSED[rng.usize(..REFUSED.len())]),
        }
    }
    blanks(rng, out);
    out.push('}');
}

/// Spells a number with zeros added, its point anywhere, and the exponent that makes up for it.
fn spell_number(number: &BigDecimal, rng: &mut Rng, out: &mut String) {
    let (unscaled, scale) = number.as_bigint_and_exponent();
    let negative = unscaled.sign() == Sign::Minus || (unscaled.sign() == Sign::NoSign && rng.bool());
    let added = rng.usize(..3);
    let digits = if unscaled.sign() == Sign::NoSign {
        "0".to_owned()
    } else {
        unscaled.magnitude().to_string() + &"0".repeat(added)
    };
    let scale = scale + i64::try_from(added).unwrap();
    let point = match usize::try_from(scale) {
        // Where no exponent is needed, as people write it.
        Ok(scale) if scale <= digits.len() && rng.bool() => digits.len() - scale,
        _ => rng.usize(..=digits.len()),
    };
    let leading = if point == 0 { rng.usize(..3) } else { 0 };
    let (whole, fraction) = (&digits[..point], "0".repeat(leading) + &digits[point..]);
    let exponent = i64::try_from(fraction.len()).unwrap() - scale;

    out.push_str(if negative { "-" } else { "" });
    out.push_str(if whole.is_empty() { "0" } else { whole });
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(&fraction);
    }
    if exponent != 0 || rng.u8(..8) == 0 {
        out.push(if rng.bool() { 'e' } else { 'E' });
        out.push_str(if exponent < 0 {
            "-"
        } else {
            ["", "+"][rng.usize(..2)]
        });
        out.push_str(["", "0", "000"][rng.usize(..3)]);
        out.push_str(&exponent.unsigned_abs().to_string());
    }
}

fn spell_text(text: &str, rng: &mut Rng, out: &mut String) {
    out.push('"');
    for meant in text.chars() {
        let short = match meant {
            '"' => Some('"'),
            '\\' => Some('\\'),
            '/' => Some('/'),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        let needs_escape = meant < ' ' || meant == '"' || meant == '\\';
        match short {
            Some(short) if rng.bool() => out.extend(['\\', short]),
            _ if needs_escape || rng.u8(..4) == 0 => {
                for unit in meant.encode_utf16(&mut [0; 2]) {
                    let digits = format!("{unit:04x}");
                    out.push_str("\\u");
                    out.push_str(&if rng.bool() { digits.to_uppercase() } else { digits });
                }
            }
            _ => out.push(meant),
        }
    }
    out.push('"');
}
