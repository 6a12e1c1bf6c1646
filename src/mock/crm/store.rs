//! The records of a CRM, in memory. It finds them by id and by the key fields of the schema, without regard to case.
//!
//! It keeps what it is given: whether values fit their fields is decided before.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::schema::Schema;
use super::value::{Fields, Value};

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id, which the store's caller chose.
    pub id: String,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub modified: Timestamp,
    /// Its values; a field that was cleared is absent.
    pub fields: Fields,
}

/// All records of one CRM.
#[derive(Debug)]
pub struct Store {
    schema: Arc<Schema>,
    tables: BTreeMap<String, Table>,
    numbers: u64,
    /// What to put back, the newest last, while a transaction is open.
    undo: Option<Vec<(String, String, Option<Record>)>>,
}

#[derive(Debug, Default)]
struct Table {
    records: BTreeMap<String, Record>,
    /// From key field and folded value to ids.
    index: HashMap<(String, String), Vec<String>>,
}

/// A record in a dump: id and values, without times, so that equal contents give equal dumps.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Dumped<'a> {
    /// The record's id.
    pub id: &'a str,
    /// Its values.
    pub fields: &'a Fields,
}

impl Store {
    /// An empty store of the schema's objects.
    pub fn new(schema: Arc<Schema>) -> Self {
        Self {
            schema,
            tables: BTreeMap::new(),
            numbers: 0,
            undo: None,
        }
    }

    /// A number that was not given out before, from 1; what ids are made from.
    pub fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// The record of this id.
    pub fn get(&self, object: &str, id: &str) -> Option<&Record> {
        self.tables.get(object)?.records.get(id)
    }

    /// The records whose key field holds this value, the oldest first. Names as in the schema, values without regard
    /// to case.
    pub fn find(&self, object: &str, field: &str, value: &str) -> Vec<&Record> {
        let Some(table) = self.tables.get(object) else {
            return Vec::new();
        };
        let ids = table.index.get(&(field.to_owned(), fold(value)));
        ids.into_iter()
            .flatten()
            .filter_map(|id| table.records.get(id))
            .collect()
    }

    /// The records of an object, ordered by id.
    pub fn records(&self, object: &str) -> impl Iterator<Item = &Record> {
        self.tables
            .get(object)
            .into_iter()
            .flat_map(|table| table.records.values())
    }

    /// How many records there are, of all objects.
    pub fn len(&self) -> usize {
        self.tables.values().map(|table| table.records.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores a new record under this id; `null` is not kept.
    pub fn insert(&mut self, object: &str, id: String, mut fields: Fields, now: Timestamp) {
        fields.retain(|_, value| *value != Value::Null);
        let record = Record {
            id,
            created: now,
            modified: now,
            fields,
        };
        self.put(object, &record.id.clone(), Some(record));
    }

    /// Sets these fields of a record and leaves the others; `null` clears. Nothing happens if there is no such record.
    pub fn update(&mut self, object: &str, id: &str, fields: Fields, now: Timestamp) {
        let Some(mut record) = self.get(object, id).cloned() else {
            return;
        };
        for (name, value) in fields {
            if value == Value::Null {
                record.fields.remove(&name);
            } else {
                record.fields.insert(name, value);
            }
        }
        record.modified = now;
        self.put(object, id, Some(record));
    }

    /// Removes a record and returns it.
    pub fn delete(&mut self, object: &str, id: &str) -> Option<Record> {
        self.put(object, id, None)
    }

    /// Begins a transaction, in place of one that was open.
    pub fn begin(&mut self) {
        self.undo = Some(Vec::new());
    }

    /// Ends the transaction and keeps what it did.
    pub fn commit(&mut self) {
        self.undo = None;
    }

    /// Ends the transaction and takes back what it did.
    pub fn roll_back(&mut self) {
        for (object, id, before) in self.undo.take().into_iter().flatten().rev() {
            self.put(&object, &id, before);
        }
    }

    /// Forgets all records. Numbers go on, so that no id is ever given twice.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.undo = None;
    }

    /// All records by object, sorted by the first key field that they have and by id. An object without records is
    /// there with none.
    pub fn dump(&self) -> BTreeMap<&str, Vec<Dumped<'_>>> {
        let objects = self.schema.objects();
        objects
            .map(|(name, object)| {
                let keys: Vec<&str> = object.keys().collect();
                let mut records: Vec<&Record> = self.records(name).collect();
                records.sort_by_key(|record| {
                    let key = keys.iter().find_map(|key| record.fields.get(*key));
                    (key.and_then(Value::as_text).unwrap_or_default(), &record.id)
                });
                let dumped = records.into_iter().map(|record| Dumped {
                    id: &record.id,
                    fields: &record.fields,
                });
                (name, dumped.collect())
            })
            .collect()
    }

    /// The one place in which records change: keeps index and undo log with them.
    fn put(&mut self, object: &str, id: &str, record: Option<Record>) -> Option<Record> {
        let keys: Vec<&str> = self
            .schema
            .object(object)
            .map(|(_, object)| object.keys().collect())
            .unwrap_or_default();
        let table = self.tables.entry(object.to_owned()).or_default();
        if let Some(record) = &record {
            table.enter(&keys, record);
        }
        let before = match record {
            Some(record) => table.records.insert(id.to_owned(), record),
            None => table.records.remove(id),
        };
        if let Some(before) = &before {
            table.leave(&keys, before);
        }
        if let Some(undo) = &mut self.undo {
            undo.push((object.to_owned(), id.to_owned(), before.clone()));
        }
        before
    }
}

impl Table {
    fn enter(&mut self, keys: &[&str], record: &Record) {
        for entry in entries(keys, record) {
            self.index.entry(entry).or_default().push(record.id.clone());
        }
    }

    fn leave(&mut self, keys: &[&str], record: &Record) {
        for entry in entries(keys, record) {
            let Some(ids) = self.index.get_mut(&entry) else {
                continue;
            };
            // One of them: the same entry may just have been made for the record's next state.
            if let Some(position) = ids.iter().position(|id| *id == record.id) {
                ids.remove(position);
            }
            if ids.is_empty() {
                self.index.remove(&entry);
            }
        }
    }
}

fn entries(keys: &[&str], record: &Record) -> Vec<(String, String)> {
    keys.iter()
        .filter_map(|key| {
            let value = record.fields.get(*key)?.as_text()?;
            Some(((*key).to_owned(), fold(value)))
        })
        .collect()
}

fn fold(value: &str) -> String {
    value.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = "[Account]\nprefix = \"001\"\n\
        fields.Ext = { type = \"text\", key = \"unique\" }\nfields.Name = { type = \"text\" }";

    fn store() -> Store {
        Store::new(Arc::new(Schema::parse(SCHEMA).unwrap()))
    }

    fn fields(json: &str) -> Fields {
        serde_json::from_str(json).unwrap()
    }

    fn dump(store: &Store) -> String {
        serde_json::to_string(&store.dump()).unwrap()
    }

    #[test]
    fn records_are_found_by_their_key_of_today_without_regard_to_case() {
        let mut store = store();
        let now = Timestamp::UNIX_EPOCH;
        store.insert("Account", "1".into(), fields(r#"{"Ext":"É-a","Name":"x"}"#), now);
        assert_eq!(store.find("Account", "Ext", "é-A").len(), 1);
        store.update("Account", "1", fields(r#"{"Ext":"b","Name":null}"#), now);
        assert_eq!(store.find("Account", "Ext", "É-a").len(), 0);
        store.update("Account", "1", fields(r#"{"Ext":"b"}"#), now);
        assert_eq!(store.find("Account", "Ext", "B").len(), 1);
        assert_eq!(dump(&store), r#"{"Account":[{"id":"1","fields":{"Ext":"b"}}]}"#);
        store.delete("Account", "1");
        assert_eq!(store.find("Account", "Ext", "b").len(), 0);
        assert_eq!(dump(&store), r#"{"Account":[]}"#);
    }

    #[test]
    fn a_transaction_that_is_rolled_back_leaves_no_trace() {
        let mut store = store();
        let now = Timestamp::UNIX_EPOCH;
        store.insert("Account", "1".into(), fields(r#"{"Ext":"a"}"#), now);
        store.insert("Account", "2".into(), fields(r#"{"Ext":"b"}"#), now);
        let before = dump(&store);
        store.begin();
        store.update("Account", "1", fields(r#"{"Ext":"c"}"#), now);
        store.insert("Account", "3".into(), fields(r#"{"Ext":"a"}"#), now);
        store.delete("Account", "2");
        store.roll_back();
        assert_eq!(dump(&store), before);
        assert_eq!(store.find("Account", "Ext", "a")[0].id, "1");
        assert_eq!(store.find("Account", "Ext", "c").len(), 0);
    }
}
