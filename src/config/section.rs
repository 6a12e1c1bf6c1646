//! One table of a configuration, before the defaults that stand behind it.
//!
//! A key is known because the reader asks for it; what nobody asked for is an unknown key. Which keys there are, and
//! what they mean, the readers say.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::fault::way_out;
use super::node::{Faulty, Node, Read, Reading, all, segment};

/// A table: what the configuration says, and what the defaults say.
pub(super) struct Section<'a> {
    reading: &'a Reading<'a>,
    path: String,
    line: Option<usize>,
    given: Option<&'a DeTable<'a>>,
    /// Where its defaults stand; what an earlier one documents goes before a later one.
    documented: Vec<&'a DeTable<'a>>,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// The whole configuration.
    pub(super) fn root(
        reading: &'a Reading<'a>,
        given: &'a DeTable<'a>,
        documented: &'a DeTable<'a>,
    ) -> Self {
        Self {
            reading,
            path: String::new(),
            line: None,
            given: Some(given),
            documented: vec![documented],
            known: vec![],
        }
    }

    /// Reads this table with `read`, then records the keys that nobody asked for.
    pub(super) fn within<T>(mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let value = read(&mut self);
        for (key, _) in self.given.into_iter().flatten() {
            if !self.known.contains(&key.get_ref().as_ref()) {
                let line = self.reading.line(&key.span());
                let problem = format!("unknown key; {}", way_out(key.get_ref(), &self.known));
                self.reading
                    .fault(Some(line), Some(self.path_of(key.get_ref())), problem);
            }
        }
        value
    }

    /// The value of `key`, or its default.
    pub(super) fn setting<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Node<'a>) -> Read<T>,
    ) -> Read<T> {
        match self.node(key).or_else(|| self.default(key)) {
            Some(node) => read(&node),
            None => Err(self.fault(key, "has no default in aftercommit.default.toml")),
        }
    }

    /// The value of `key`, which has no default and may be absent.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Node<'a>) -> Read<T>,
    ) -> Read<Option<T>> {
        self.node(key).map(|node| read(&node)).transpose()
    }

    /// The value of `key`, which has no default and must be there.
    pub(super) fn required<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Node<'a>) -> Read<T>,
    ) -> Read<T> {
        match self.node(key) {
            Some(node) => read(&node),
            None => Err(self.fault(key, "is missing; it has no default")),
        }
    }

    /// The table `key` within this one; what it does not say has its default.
    pub(super) fn section<T>(&mut self, key: &'static str, read: impl FnOnce(&mut Self) -> T) -> T {
        let given = self.node(key).and_then(|node| node.table().ok());
        let within = |table: &&'a DeTable<'a>| table.get(key)?.get_ref().as_table();
        let documented = self.documented.iter().filter_map(within).collect();
        let section = Self {
            reading: self.reading,
            path: self.path_of(key),
            line: self.line_of(key),
            given,
            documented,
            known: vec![],
        };
        section.within(read)
    }

    /// Every table within the table `key`, by its name. The defaults document one of them, as an example; and further
    /// ones for another `type`, which say only what is different.
    pub(super) fn each<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&str, &mut Self) -> Read<T>,
    ) -> Read<BTreeMap<String, T>> {
        let Some(node) = self.node(key) else {
            return Ok(BTreeMap::new());
        };
        let examples = self.examples(key);
        let names = node.table()?;
        let one = |(name, node): (&str, Node<'a>)| {
            let section = Self {
                reading: self.reading,
                path: node.path.clone(),
                line: self.line_in(names, name),
                given: Some(node.table()?),
                documented: alike(node.table()?, &examples),
                known: vec![],
            };
            Ok((name.to_owned(), section.within(|section| read(name, section))?))
        };
        all(node.entries()?.into_iter().map(one)).map(BTreeMap::from_iter)
    }

    fn examples(&self, key: &str) -> Vec<&'a DeTable<'a>> {
        let tables = self
            .documented
            .iter()
            .filter_map(|table| table.get(key)?.get_ref().as_table());
        let examples = tables.flat_map(|table| table.iter());
        let examples = examples.filter_map(|(_, example)| example.get_ref().as_table());
        examples.collect()
    }

    /// Whether the configuration itself says something of `key`.
    pub(super) fn says(&self, key: &str) -> bool {
        self.given.is_some_and(|given| given.contains_key(key))
    }

    /// Puts on record what is wrong with `key`, or with its absence.
    pub(super) fn fault(&self, key: &str, problem: impl Into<String>) -> Faulty {
        self.reading
            .fault(self.line_of(key).or(self.line), Some(self.path_of(key)), problem)
    }

    /// Puts on record what is wrong with this table as a whole, its name for example.
    pub(super) fn fault_here(&self, problem: impl Into<String>) -> Faulty {
        self.reading.fault(self.line, Some(self.path.clone()), problem)
    }

    /// The value that the configuration gives for `key`, which is known from now on.
    fn node(&mut self, key: &'static str) -> Option<Node<'a>> {
        self.known.push(key);
        let documented = self.documented.iter().any(|table| table.contains_key(key));
        debug_assert!(
            documented,
            "{} is not documented in aftercommit.default.toml",
            self.path_of(key)
        );
        let value = self.given?.get(key)?;
        let line = Some(self.reading.line(&value.span()));
        Some(Node {
            reading: self.reading,
            path: self.path_of(key),
            line,
            value: value.get_ref(),
        })
    }

    fn default(&self, key: &str) -> Option<Node<'a>> {
        let mut values = self.documented.iter().filter_map(|table| table.get(key));
        let value = values.next()?.get_ref();
        Some(Node {
            reading: self.reading,
            path: self.path_of(key),
            line: None,
            value,
        })
    }

    fn line_of(&self, key: &str) -> Option<usize> {
        self.line_in(self.given?, key)
    }

    fn line_in(&self, table: &DeTable<'a>, key: &str) -> Option<usize> {
        let (key, _) = table.get_key_value(key)?;
        Some(self.reading.line(&key.span()))
    }

    fn path_of(&self, key: &str) -> String {
        let separator = if self.path.is_empty() { "" } else { "." };
        format!("{}{separator}{}", self.path, segment(key))
    }
}

/// The examples that stand behind a table: those of its `type`, then the first, which has whatever types share.
fn alike<'a>(given: &DeTable<'a>, examples: &[&'a DeTable<'a>]) -> Vec<&'a DeTable<'a>> {
    let type_of = |table: &DeTable<'a>| table.get("type")?.get_ref().as_str().map(str::to_owned);
    let wanted = type_of(given);
    let (first, others) = match examples.split_first() {
        Some((first, others)) => (Some(*first), others),
        None => (None, examples),
    };
    let own = others
        .iter()
        .copied()
        .filter(|example| wanted.is_some() && type_of(example) == wanted);
    own.chain(first).collect()
}
