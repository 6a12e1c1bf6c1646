//! The secrets of a destination, and what a receiver says without them. Pure.
//!
//! Receivers repeat what they were sent, and what they say is kept for everybody who may look. [`Excerpt`] is the only
//! form in which it can be kept of an attempt, and only [`Secrets`] makes one.
//!
//! A secret is found as it is and in the ways in which answers write it: percent-encoded, as in a form, in JSON, in
//! HTML, and these in one another (`layer`). It is found whole, by any piece of it that is long enough to be no accident, and where the
//! text ends within it (`pieces`).

mod layer;
mod pieces;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::printable::printable;
use layer::Layer;
use pieces::Text;

/// What stands in place of a secret.
pub const SECRET: &str = "(secret)";

/// A secret of fewer bytes is not looked for: it would tear words, numbers and `true` out of answers, and so few
/// characters guard nothing that could not be guessed.
const LEAST_BYTES: usize = 6;

/// So many times a text is taken out of what it was encoded by.
const DEPTH: usize = 3;

/// More bytes than are kept are looked at, so that the cut falls behind a character and not into it.
pub const BEYOND_THE_CUT: usize = 4;

/// What must not be repeated. Never shown: it has no `Debug`.
#[derive(Clone, Default)]
pub struct Secrets(Vec<Arc<[u8]>>);

/// Foreign text that may be kept and shown: without secrets, printable, capped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt(String);

impl Secrets {
    /// None at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// These.
    pub fn of<S: AsRef<[u8]>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut all = Self::none();
        for secret in secrets {
            all.add(secret.as_ref());
        }
        all
    }

    /// Adds one, unless it has fewer than six bytes: those are not looked for.
    pub fn add(&mut self, secret: &[u8]) {
        // A text may be taken out of an encoding that the secret itself only looks like.
        if secret.contains(&b'+') {
            let blanks = secret.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte });
            self.add_form(&blanks.collect::<Vec<_>>());
        }
        // One that holds what looks like an escape: one step takes away that together with those of JSON or HTML.
        if let Ok(text) = std::str::from_utf8(secret) {
            self.add_form(in_json(text).as_bytes());
            self.add_form(in_html(text).as_bytes());
        }
        let mut form = Layer::of(secret);
        for _ in 0..DEPTH {
            self.add_form(form.bytes());
            match form.decoded() {
                Some(decoded) => form = decoded,
                None => break,
            }
        }
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: &Self) {
        self.0.extend(others.0.iter().cloned());
    }

    /// `text` without them.
    pub fn without(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.redacted(text.as_bytes())).into_owned()
    }

    /// The start of what was `said`, at most `max_bytes` bytes of it, without them.
    pub fn excerpt(&self, said: &[u8], max_bytes: usize) -> Excerpt {
        // Taken out before the cut, which would leave a part of one.
        let seen = &said[..said.len().min(max_bytes.saturating_add(BEYOND_THE_CUT))];
        Excerpt(printable(&self.redacted(seen), max_bytes))
    }

    fn add_form(&mut self, form: &[u8]) {
        if form.len() >= LEAST_BYTES && !self.0.iter().any(|known| **known == *form) {
            self.0.push(form.into());
        }
    }

    fn redacted<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if text.len() < LEAST_BYTES || self.0.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut found = Vec::new();
        let mut layer = Layer::of(text);
        for depth in 0..=DEPTH {
            let text = Text::of(layer.bytes());
            let pieces = self.0.iter().flat_map(|secret| text.pieces_of(secret));
            found.extend(pieces.map(|piece| layer.source(&piece)));
            match layer.decoded().filter(|_| depth < DEPTH) {
                Some(decoded) => layer = decoded,
                None => break,
            }
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(replaced(text, found))
    }
}

impl Deref for Excerpt {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn in_html(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&#39;"),
            other => written.push(other),
        }
    }
    written
}

/// `text` with one placeholder for each run of bytes that belong to `found`.
fn replaced(text: &[u8], mut found: Vec<Range<usize>>) -> Vec<u8> {
    found.sort_unstable_by_key(|range| range.start);
    let mut out = Vec::with_capacity(text.len());
    let mut done = 0;
    let mut found = found.into_iter().peekable();
    while let Some(first) = found.next() {
        let mut end = first.end;
        while let Some(next) = found.next_if(|next| next.start <= end) {
            end = end.max(next.end);
        }
        out.extend_from_slice(&text[done..first.start]);
        out.extend_from_slice(SECRET.as_bytes());
        done = end;
    }
    out.extend_from_slice(&text[done..]);
    out
}
