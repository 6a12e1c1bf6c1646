//! Rewrites a payload into its canonical form, in one pass and without recursion.
//!
//! Values are written to `out` as they end; an object is put in order when it closes. A value that is refused marks
//! what holds it and reading goes on, because a later equal key may yet drop it; what it left in `out` goes with it.
//! So an invalid payload is always told from one that is only refused, and nesting of any depth costs time and memory
//! in step with its length.
//!
//! ```text
//!   Value, Item ──[──▶ Item        Value, Item ──{──▶ Member ──"key"──▶ Colon ──:──▶ Value
//!   a value ends ──▶ NextItem, NextMember or End, by what holds it
//!   NextItem ──,──▶ Value   ──]──▶ the array ends
//!   NextMember ──,──▶ Key   ──}──▶ the object ends
//! ```

use std::ops::Range;

use super::reader::Reader;
use super::text::Text;
use super::{MAX_DEPTH, NotCanonical};

/// What may come next.
#[derive(Clone, Copy)]
enum Expect {
    Value,
    /// A first item, or the end of the array.
    Item,
    Key,
    /// A first key, or the end of the object.
    Member,
    Colon,
    NextItem,
    NextMember,
    End,
}

/// An array or object that has begun and not yet ended.
struct Open {
    container: Container,
    /// Where it starts in `out`.
    start: usize,
    /// The first reason why it has no canonical form.
    refused: Option<NotCanonical>,
}

#[derive(Clone, Copy)]
enum Container {
    Array,
    Object {
        /// How many members, in `Rewrite::members`, belong to objects around this one.
        first_member: usize,
    },
}

struct Member<'a> {
    key: Text<'a>,
    /// The canonical value in `out`, unless it is refused.
    value: Range<usize>,
    refused: Option<NotCanonical>,
}

pub(super) struct Rewrite<'a> {
    reader: Reader<'a>,
    out: String,
    /// From the outermost to the innermost.
    open: Vec<Open>,
    /// The members of all open objects, those of the innermost last.
    members: Vec<Member<'a>>,
    /// Why the payload as a whole is refused.
    refused: Option<NotCanonical>,
    /// Where an object is put in order; kept only to save allocations.
    ordered: String,
}

impl<'a> Rewrite<'a> {
    pub(super) fn new(payload: &'a str) -> Self {
        Self {
            reader: Reader::new(payload),
            out: String::with_capacity(payload.len()),
            open: Vec::new(),
            members: Vec::new(),
            refused: None,
            ordered: String::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<String, NotCanonical> {
        let mut expect = Expect::Value;
        loop {
            let next = self.reader.peek();
            expect = match (expect, next) {
                (Expect::Item | Expect::NextItem, Some(b']'))
                | (Expect::Member | Expect::NextMember, Some(b'}')) => self.close(),
                (Expect::Value | Expect::Item, Some(b'[')) => self.open_array(),
                (Expect::Value | Expect::Item, Some(b'{')) => self.open_object(),
                (Expect::Value | Expect::Item, Some(byte)) => self.scalar(byte)?,
                (Expect::Member | Expect::Key, Some(b'"')) => self.key()?,
                (Expect::Colon, Some(b':')) => self.pass(Expect::Value),
                (Expect::NextItem, Some(b',')) => self.next_item(),
                (Expect::NextMember, Some(b',')) => self.pass(Expect::Key),
                (Expect::End, None) => return self.refused.map_or(Ok(self.out), Err),
                (unmet, _) => return Err(self.reader.expected(unmet.name())),
            };
        }
    }

    fn pass(&mut self, then: Expect) -> Expect {
        self.reader.take();
        then
    }

    fn next_item(&mut self) -> Expect {
        self.out.push(',');
        self.pass(Expect::Value)
    }

    fn open_array(&mut self) -> Expect {
        self.open_container(Container::Array);
        self.out.push('[');
        Expect::Item
    }

    fn open_object(&mut self) -> Expect {
        self.open_container(Container::Object {
            first_member: self.members.len(),
        });
        Expect::Member
    }

    fn open_container(&mut self, container: Container) {
        let refused = self.depth().err();
        self.open.push(Open {
            container,
            start: self.out.len(),
            refused,
        });
        self.reader.take();
    }

    /// Closes the innermost array or object, whose end comes next.
    fn close(&mut self) -> Expect {
        self.reader.take();
        let Some(Open {
            container,
            start,
            refused,
        }) = self.open.pop()
        else {
            return Expect::End;
        };
        let written = match container {
            Container::Array => {
                self.out.push(']');
                refused.map_or(Ok(()), Err)
            }
            Container::Object { first_member } => {
                let written = refused
                    .map_or(Ok(()), Err)
                    .and_then(|()| self.order(start, first_member));
                self.members.truncate(first_member);
                written
            }
        };
        self.end_value(written)
    }

    /// Puts the members from `first_member` on in order, in place of their values at `start` in `out`.
    fn order(&mut self, start: usize, first_member: usize) -> Result<(), NotCanonical> {
        let members = &mut self.members[first_member..];
        // Stable, so that of equal keys the last written stays last.
        members.sort_by(|left, right| left.key.cmp(&right.key));
        self.ordered.clear();
        self.ordered.push('{');
        for group in members.chunk_by(|left, right| left.key == right.key) {
            let Some(last) = group.last() else { continue };
            if let Some(refused) = last.refused {
                return Err(refused);
            }
            if self.ordered.len() > 1 {
                self.ordered.push(',');
            }
            last.key.write(&mut self.ordered);
            self.ordered.push(':');
            self.ordered.push_str(&self.out[last.value.clone()]);
        }
        self.ordered.push('}');
        self.out.truncate(start);
        self.out.push_str(&self.ordered);
        Ok(())
    }

    /// Takes a key. An object with a key that is refused is refused itself: no later key is equal to it.
    fn key(&mut self) -> Result<Expect, NotCanonical> {
        let (key, refused) = match self.reader.text()?.unescape() {
            Ok(key) => (key, None),
            Err(refused) => (Text::default(), Some(refused)),
        };
        if let Some(open) = self.open.last_mut() {
            open.refused = open.refused.or(refused);
        }
        let start = self.out.len();
        self.members.push(Member {
            key,
            value: start..start,
            refused: None,
        });
        Ok(Expect::Colon)
    }

    /// Takes a value that is neither array nor object and starts with `byte`.
    fn scalar(&mut self, byte: u8) -> Result<Expect, NotCanonical> {
        let depth = self.depth();
        let written = match byte {
            b'"' => self
                .reader
                .text()?
                .unescape()
                .map(|text| text.write(&mut self.out)),
            b'-' | b'0'..=b'9' => self.reader.number()?.write(&mut self.out),
            _ => {
                self.out.push_str(self.reader.word()?);
                Ok(())
            }
        };
        Ok(self.end_value(depth.and(written)))
    }

    /// Whether a value that starts here is nested too deep.
    fn depth(&self) -> Result<(), NotCanonical> {
        if self.open.len() > MAX_DEPTH {
            return Err(NotCanonical::TooDeep { at: self.reader.at() });
        }
        Ok(())
    }

    /// Notes with what holds it how a value has ended.
    fn end_value(&mut self, written: Result<(), NotCanonical>) -> Expect {
        let refused = written.err();
        let Some(open) = self.open.last_mut() else {
            self.refused = refused;
            return Expect::End;
        };
        match open.container {
            Container::Array => {
                open.refused = open.refused.or(refused);
                Expect::NextItem
            }
            Container::Object { .. } => {
                if let Some(member) = self.members.last_mut() {
                    member.value.end = self.out.len();
                    member.refused = refused;
                }
                Expect::NextMember
            }
        }
    }
}

impl Expect {
    /// The words for a person whose payload has something else there.
    fn name(self) -> &'static str {
        match self {
            Self::Value => "a value",
            Self::Item => "a value or `]`",
            Self::Key => "a key in quotes",
            Self::Member => "a key in quotes or `}`",
            Self::Colon => "`:`",
            Self::NextItem => "`,` or `]`",
            Self::NextMember => "`,` or `}`",
            Self::End => "the end of the payload",
        }
    }
}
