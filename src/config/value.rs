//! The kinds of values: numbers, durations, sizes, rates, words, addresses.
//!
//! Each function reads one value and records what is wrong with it. Which key takes which kind, the readers say.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use ipnet::IpNet;
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned};
use toml::de::DeValue;

use crate::core::limit::bucket::Rate;

use super::fault::way_out;
use super::node::{Node, Read};
use super::units;

/// The shortest duration where none at all would make no sense.
pub(super) const MOMENT: Duration = Duration::from_millis(1);

/// The longest duration, so that no sum of times overflows.
pub(super) const DECADE: Duration = Duration::from_hours(24 * 3650);

/// `true` or `false`.
pub(super) fn flag(node: &Node<'_>) -> Read<bool> {
    node.value.as_bool().ok_or_else(|| node.mistyped("true or false"))
}

/// A whole number within `range`.
pub(super) fn number(range: RangeInclusive<u32>) -> impl Fn(&Node<'_>) -> Read<u32> {
    move |node| {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        let number = integer(node.value).ok_or_else(|| node.mistyped(&wanted))?;
        let number = u32::try_from(number).ok().filter(|number| range.contains(number));
        number.ok_or_else(|| node.fault(format!("must be {wanted}")))
    }
}

/// A number from 1 to 1000, whole or not.
pub(super) fn factor(node: &Node<'_>) -> Read<f64> {
    fraction(node, "a number from 1 to 1000", 1.0..=1000.0)
}

/// A share of a whole: above nothing, at most all of it.
pub(super) fn share(node: &Node<'_>) -> Read<f64> {
    fraction(node, "a number from 0.01 to 1", 0.01..=1.0)
}

/// A part of a whole, from nothing to all of it.
pub(super) fn part(node: &Node<'_>) -> Read<f64> {
    fraction(node, "a number from 0 to 1", 0.0..=1.0)
}

fn fraction(node: &Node<'_>, wanted: &str, range: RangeInclusive<f64>) -> Read<f64> {
    let number = match node.value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        value => {
            let whole = integer(value).ok_or_else(|| node.mistyped(wanted))?;
            u32::try_from(whole).ok().map(f64::from)
        }
    };
    let number = number.filter(|number| range.contains(number));
    number.ok_or_else(|| node.fault(format!("must be {wanted}")))
}

/// A duration within `range`.
pub(super) fn duration(range: RangeInclusive<Duration>) -> impl Fn(&Node<'_>) -> Read<Duration> {
    move |node| {
        let text = node
            .value
            .as_str()
            .ok_or_else(|| node.mistyped("a duration such as \"30s\""))?;
        let duration = units::duration(text).map_err(|problem| node.fault(problem))?;
        let [least, most] = [range.start(), range.end()].map(|end| units::duration_text(*end));
        let outside = || node.fault(format!("must be between {least} and {most}"));
        range.contains(&duration).then_some(duration).ok_or_else(outside)
    }
}

/// A size within `range`, in bytes.
pub(super) fn size(range: RangeInclusive<u32>) -> impl Fn(&Node<'_>) -> Read<u32> {
    move |node| {
        let bytes = match node.value {
            DeValue::String(text) => units::size(text).map_err(|problem| node.fault(problem))?,
            value => {
                let bytes = integer(value).ok_or_else(|| node.mistyped("a size such as \"4MiB\""))?;
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
        };
        let [least, most] = [range.start(), range.end()].map(|end| units::size_text(u64::from(*end)));
        let outside = || node.fault(format!("must be between {least} and {most}"));
        u32::try_from(bytes)
            .ok()
            .filter(|bytes| range.contains(bytes))
            .ok_or_else(outside)
    }
}

/// A rate such as `100/10s`.
pub(super) fn rate(node: &Node<'_>) -> Read<Rate> {
    let text = node
        .value
        .as_str()
        .ok_or_else(|| node.mistyped("a rate such as \"100/10s\""))?;
    units::rate(text).map_err(|problem| node.fault(problem))
}

/// One of the words of `T`, as serde spells them.
pub(super) fn word<T: DeserializeOwned>(node: &Node<'_>) -> Read<T> {
    T::deserialize(StrDeserializer::new(node.text()?)).map_err(|WrongWord(problem)| node.fault(problem))
}

/// Where to listen; `None` for `off`.
pub(super) fn listen(node: &Node<'_>) -> Read<Option<SocketAddr>> {
    let text = node.text()?;
    if text == "off" {
        return Ok(None);
    }
    let problem = "must be an IP address and a port, such as \"127.0.0.1:8484\", or \"off\"";
    text.parse().map(Some).map_err(|_| node.fault(problem))
}

/// A network in CIDR form.
pub(super) fn network(node: &Node<'_>) -> Read<IpNet> {
    node.text()?
        .parse()
        .map_err(|_| node.fault("must be a network in CIDR form, such as \"10.20.0.0/16\""))
}

fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    // A number that no i64 holds is out of every range here.
    Some(i64::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i64::MAX))
}

/// Lets serde say which words there are, so that they stand in their enum alone.
#[derive(Debug)]
struct WrongWord(String);

impl de::Error for WrongWord {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self(problem.to_string())
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self(format!(
            "unknown word `{}`; {}",
            word.escape_debug(),
            way_out(word, known)
        ))
    }
}

impl fmt::Display for WrongWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl de::StdError for WrongWord {}
