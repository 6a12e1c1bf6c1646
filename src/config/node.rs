//! One value of a configuration, with the path and the line that lead to it.
//!
//! Whoever reads a value records here what is wrong with it and reads on, so that all faults come out at once.
//! Nothing here knows which keys there are.

use std::cell::RefCell;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::fault::Fault;
use super::sources::Sources;

/// A value could not be read; why is on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Faulty;

/// What reading comes to.
pub(super) type Read<T> = Result<T, Faulty>;

/// One pass over a configuration.
pub(super) struct Reading<'a> {
    text: &'a str,
    /// Environment and files.
    pub(super) sources: &'a dyn Sources,
    /// Shared, since values that are looked at side by side record their faults in one place.
    faults: RefCell<Vec<Fault>>,
}

impl<'a> Reading<'a> {
    /// Starts to read `text`.
    pub(super) fn new(text: &'a str, sources: &'a dyn Sources) -> Self {
        Self {
            text,
            sources,
            faults: RefCell::default(),
        }
    }

    /// Puts a fault on record.
    pub(super) fn fault(
        &self,
        line: Option<usize>,
        key: Option<String>,
        problem: impl Into<String>,
    ) -> Faulty {
        self.faults.borrow_mut().push(Fault {
            line,
            key,
            problem: problem.into(),
        });
        Faulty
    }

    /// The text as TOML. Where it is none, each place that is wrong is on record.
    pub(super) fn table(&self) -> Read<Spanned<DeTable<'a>>> {
        let (table, mut errors) = DeTable::parse_recoverable(self.text);
        errors.sort_by_key(|error| error.span().map(|span| span.start));
        // An error with a width is about what stands there. One between two characters says that the structure broke,
        // and what comes after it is its echo.
        let broken = errors
            .iter()
            .position(|error| error.span().is_none_or(|span| span.is_empty()));
        errors.truncate(broken.map_or(errors.len(), |index| index + 1));
        let faults = errors.iter().map(|error| {
            let line = error.span().map(|span| self.line(&span));
            self.fault(line, None, format!("not TOML: {}", error.message()))
        });
        faults.last().map_or(Ok(table), Err)
    }

    /// The line in which `span` starts, from 1.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        1 + self
            .text
            .bytes()
            .take(span.start)
            .filter(|byte| *byte == b'\n')
            .count()
    }

    /// What is on record.
    pub(super) fn into_faults(self) -> Vec<Fault> {
        self.faults.into_inner()
    }
}

/// A value, where it stands and how it is called.
#[derive(Clone)]
pub(super) struct Node<'a> {
    /// The pass that it belongs to.
    pub(super) reading: &'a Reading<'a>,
    /// How faults call it, such as `destinations.crm.secrets[0]`.
    pub(super) path: String,
    /// Where it stands; none for a default.
    pub(super) line: Option<usize>,
    /// What stands there.
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Node<'a> {
    /// Puts on record what is wrong with this value.
    pub(super) fn fault(&self, problem: impl Into<String>) -> Faulty {
        self.reading.fault(self.line, Some(self.path.clone()), problem)
    }

    /// The text that it is, or a fault.
    pub(super) fn text(&self) -> Read<&'a str> {
        self.value.as_str().ok_or_else(|| self.mistyped("text in quotes"))
    }

    /// The elements of the array that it is, or a fault.
    pub(super) fn elements(&self) -> Read<Vec<Self>> {
        let array = self
            .value
            .as_array()
            .ok_or_else(|| self.mistyped("an array such as [\"a\", \"b\"]"))?;
        let element = |(index, value)| self.child(&format!("[{index}]"), value);
        Ok(array.iter().enumerate().map(element).collect())
    }

    /// The table that it is, or a fault.
    pub(super) fn table(&self) -> Read<&'a DeTable<'a>> {
        self.value.as_table().ok_or_else(|| self.mistyped("a table"))
    }

    /// The entries of the table that it is, or a fault.
    pub(super) fn entries(&self) -> Read<Vec<(&'a str, Self)>> {
        let entry = |(key, value): (&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>)| {
            let key: &'a str = key.get_ref();
            (key, self.child(&format!(".{}", segment(key)), value))
        };
        Ok(self.table()?.iter().map(entry).collect())
    }

    /// Records that the value is of another type than `wanted`. It says which, never what stands there.
    pub(super) fn mistyped(&self, wanted: &str) -> Faulty {
        self.fault(format!(
            "must be {wanted}, not {}",
            article(self.value.type_str())
        ))
    }

    fn child(&self, step: &str, value: &'a Spanned<DeValue<'a>>) -> Self {
        Self {
            reading: self.reading,
            path: format!("{}{step}", self.path),
            line: self.line.map(|_| self.reading.line(&value.span())),
            value: value.get_ref(),
        }
    }
}

/// Reads every one, so that each fault is on record, and only then gives up if one was faulty.
pub(super) fn all<T>(reads: impl Iterator<Item = Read<T>>) -> Read<Vec<T>> {
    let reads: Vec<_> = reads.collect();
    reads.into_iter().collect()
}

/// A key as a path shows it: quoted where TOML needs quotes.
pub(super) fn segment(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(bare) {
        key.to_owned()
    } else {
        format!("{key:?}")
    }
}

fn article(type_name: &str) -> String {
    let vowel = type_name.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {type_name}", if vowel { "an" } else { "a" })
}
