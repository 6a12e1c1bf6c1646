//! Reads a payload token by token, by the grammar of RFC 8259 and nothing more.
//!
//! It borrows from the payload, computes no value and keeps no state but its place, so that it cannot be led into
//! recursion or allocation. What may come next is [`super::rewrite`]'s to know.

use super::NotCanonical;
use super::number::Number;
use super::text::RawText;

pub(super) struct Reader<'a> {
    payload: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(payload: &'a str) -> Self {
        Self { payload, at: 0 }
    }

    /// The byte offset of what comes next.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next byte that is no blank, not yet taken; none at the end.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    /// Takes the byte that [`Reader::peek`] saw.
    pub(super) fn take(&mut self) {
        self.at += 1;
    }

    /// Takes `null`, `true` or `false`.
    pub(super) fn word(&mut self) -> Result<&'static str, NotCanonical> {
        let rest = &self.payload.as_bytes()[self.at..];
        let word = ["null", "true", "false"]
            .into_iter()
            .find(|word| rest.starts_with(word.as_bytes()));
        let word = word.ok_or_else(|| self.expected("a value"))?;
        self.at += word.len();
        Ok(word)
    }

    /// Takes a number.
    pub(super) fn number(&mut self) -> Result<Number<'a>, NotCanonical> {
        let at = self.at;
        let negative = self.take_if(b"-");
        let whole = if self.byte() == Some(b'0') {
            self.take();
            "0"
        } else {
            self.digits()?
        };
        let fraction = if self.take_if(b".") { self.digits()? } else { "" };
        let mut exponent = "";
        if self.take_if(b"eE") {
            let sign = self.at;
            self.take_if(b"+-");
            self.digits()?;
            exponent = &self.payload[sign..self.at];
        }
        Ok(Number {
            at,
            negative,
            whole,
            fraction,
            exponent,
        })
    }

    /// Takes a string, from its opening to its closing quote.
    pub(super) fn text(&mut self) -> Result<RawText<'a>, NotCanonical> {
        let at = self.at;
        self.take();
        loop {
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                None => return Err(self.expected("the end of a string")),
                Some(0..=0x1f) => return Err(self.expected("an escape for the control character")),
                Some(_) => self.take(),
            }
        }
        let raw = &self.payload[at + 1..self.at];
        self.take();
        Ok(RawText { at, raw })
    }

    /// The refusal of a payload that does not go on with `expected`.
    pub(super) fn expected(&self, expected: &'static str) -> NotCanonical {
        NotCanonical::NotJson {
            expected,
            at: self.at,
        }
    }

    fn byte(&self) -> Option<u8> {
        self.payload.as_bytes().get(self.at).copied()
    }

    fn take_if(&mut self, any_of: &[u8]) -> bool {
        let taken = self.byte().is_some_and(|byte| any_of.contains(&byte));
        self.at += usize::from(taken);
        taken
    }

    /// Takes one digit or more.
    fn digits(&mut self) -> Result<&'a str, NotCanonical> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        if self.at == from {
            return Err(self.expected("a digit"));
        }
        Ok(&self.payload[from..self.at])
    }

    /// Takes one escape of a string.
    fn escape(&mut self) -> Result<(), NotCanonical> {
        self.take();
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.take(),
            Some(b'u') => {
                self.take();
                for _ in 0..4 {
                    if !self.byte().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.expected("four hex digits of an escape"));
                    }
                    self.take();
                }
            }
            _ => return Err(self.expected("an escape")),
        }
        Ok(())
    }
}
