//! The statements that a source takes on SQLite, made of names that are quoted. Pure: nothing here asks the database.
//!
//! They stay within what SQLite 3.40 knows, where a trigger holds them: a producer may bring so old a library.

use super::slice::{Column, Literal, Slice, Test};
use super::{Deletes, Place, Source};
use crate::store::error::Objection;

/// A source, and the columns that it has now.
#[derive(Debug)]
pub(super) struct Reading<'s> {
    pub(super) source: &'s Source,
    pub(super) columns: Vec<String>,
}

/// What a row version is, as the way out of another one.
pub(super) const VERSION: &str = "a row version is a whole number, or a time such as 2026-11-29 18:05:37: use such a column, or leave \
                                  the version out";

/// What a trigger stands at.
const EVENTS: [&str; 3] = ["insert", "update", "delete"];

impl Reading<'_> {
    /// The triggers, each as its name and the statement that makes it.
    pub(super) fn triggers(&self) -> Vec<(String, String)> {
        let table = quoted(self.source.place.table().unwrap_or_default());
        let bodies = [
            self.check_version() + &self.upsert(),
            format!(
                "{}{}\n    {}",
                self.check_version(),
                self.delete(&format!(
                    " and {} is not {}",
                    self.row_key("old"),
                    self.row_key("new")
                )),
                self.upsert()
            ),
            self.delete(""),
        ];
        let named = EVENTS.iter().zip(bodies).map(|(event, body)| {
            let name = trigger_name(event, &self.source.topic);
            let made = format!(
                "create trigger {} after {event} on {table} begin\n    {body}\nend",
                quoted(&name)
            );
            (name, made)
        });
        named.collect()
    }

    /// Rows of the source with their key, version and payload: the newest of each row key.
    pub(super) fn rows(&self, condition: &str) -> String {
        format!(
            "select row_key, row_version, payload from (\n\
                 select *, row_number() over (partition by row_key order by row_version is null desc, row_version desc, payload desc) as place\n\
                 from (select {key} as row_key, {version} as row_version, {payload} as payload from {place} where {condition})\n\
             ) where place = 1",
            key = self.row_key("source"),
            version = self.version("source"),
            payload = self.payload("source"),
            place = self.place(),
        )
    }

    /// How many rows there are.
    pub(super) fn count(&self, condition: &str) -> String {
        format!("select count(*) from {} where {condition}", self.place())
    }

    /// Row keys under which rows of different content stand.
    pub(super) fn ambiguous(&self, condition: &str) -> String {
        format!(
            "select {key} as row_key from {place} where {condition} group by 1 having count(distinct {payload}) > 1 limit 1",
            key = self.row_key("source"),
            place = self.place(),
            payload = self.payload("source"),
        )
    }

    /// Values of the version column that order nothing.
    pub(super) fn bad_version(&self, condition: &str) -> Option<String> {
        let column = column("source", self.source.version.as_deref()?);
        let is_none = is_no_version(&column);
        Some(format!(
            "select {column} as value from {} where ({condition}) and {is_none} limit 1",
            self.place()
        ))
    }

    /// `topic "orders": the version column "at"`.
    pub(super) fn version_column(&self) -> String {
        let Source { topic, version, .. } = self.source;
        let name = version.as_deref().unwrap_or_default();
        format!("topic \"{topic}\": the version column \"{name}\"")
    }

    /// The condition that a slice makes, in which names and literals are quoted anew.
    pub(super) fn condition(&self, slice: &str, deletes: Deletes) -> Result<String, Objection> {
        let topic = &self.source.topic;
        let parsed = Slice::parse(slice).ok_or_else(|| {
            Objection::new(
                format!("topic \"{topic}\": the partition is not understood: {slice}"),
                "write columns beside literals, joined by \"and\": event_date = '2025-05-18' and region in ('eu', 'us')",
            )
        })?;
        let terms = parsed
            .terms
            .iter()
            .map(|term| Ok(term_text(self.column_of(&term.column, deletes)?, &term.test)));
        let terms: Vec<String> = terms.collect::<Result<_, Objection>>()?;
        Ok(terms.join(" and "))
    }

    fn column_of(&self, wanted: &Column, deletes: Deletes) -> Result<&str, Objection> {
        let Source { topic, excluded, .. } = self.source;
        let found = self.columns.iter().find(|name| wanted.is(name));
        let name = found.ok_or_else(|| {
            Objection::new(
                format!(
                    "topic \"{topic}\": the partition names \"{}\", which is no column of its source",
                    wanted.name()
                ),
                format!("name one of {}", self.columns.join(", ")),
            )
        })?;
        // Which rows of the slice have gone, their payloads must say.
        if deletes != Deletes::Kept && excluded.contains(name) {
            return Err(Objection::new(
                format!(
                    "topic \"{topic}\": \"{name}\" is not in the payloads, so what is gone from the slice cannot be known"
                ),
                "take another column, or capture without deletes",
            ));
        }
        Ok(name)
    }

    /// Row keys that the ledger knows as there and the source has no longer; of a slice, by its condition.
    pub(super) fn gone(&self, slice: Option<&str>) -> String {
        let whole = format!(
            "select identity as row_key from ledger as known where topic = $1 and op = 'upsert' \
             and not exists (select 1 from {} where {} = known.identity)",
            self.place(),
            self.row_key("source")
        );
        let Some(slice) = slice else { return whole };
        // Which rows of the slice have gone, their last payloads say.
        let fields: Vec<String> = self
            .included()
            .map(|name| format!("payload ->> {} as {}", literal(name), quoted(name)))
            .collect();
        format!(
            "{whole} and exists (select 1 from (select {} from outbox where id = known.outbox_id) as source where {slice})",
            fields.join(", ")
        )
    }

    /// Fails where the new row has a version that orders nothing.
    fn check_version(&self) -> String {
        let Some(name) = &self.source.version else {
            return String::new();
        };
        let problem = format!("{} holds what is none; {VERSION}", self.version_column());
        format!(
            "select raise(abort, {}) where {};\n    ",
            literal(&problem),
            is_no_version(&column("new", name))
        )
    }

    fn upsert(&self) -> String {
        format!(
            "insert into outbox (topic, row_key, row_version, op, payload)\n    values ({}, {}, {}, 'upsert', {});",
            literal(&self.source.topic),
            self.row_key("new"),
            self.version("new"),
            self.payload("new")
        )
    }

    /// Of a row that the ledger knows as there.
    fn delete(&self, condition: &str) -> String {
        let topic = literal(&self.source.topic);
        let key = self.row_key("old");
        format!(
            "insert into outbox (topic, row_key, op)\n    select {topic}, {key}, 'delete'\n    \
             where exists (select 1 from ledger where topic = {topic} and identity = {key} and op = 'upsert'){condition};"
        )
    }

    fn place(&self) -> String {
        match &self.source.place {
            Place::Table(name) => format!("{} as source", quoted(name)),
            Place::Query(text) => format!("({text}\n) as source"),
        }
    }

    fn included(&self) -> impl Iterator<Item = &String> {
        self.columns
            .iter()
            .filter(|name| !self.source.excluded.contains(name))
    }

    /// As `aftercommit.row_key` on PostgreSQL.
    fn row_key(&self, row: &str) -> String {
        let text = |name: &String| format!("cast({} as text)", column(row, name));
        match &self.source.key[..] {
            [one] => text(one),
            several => {
                let parts = several.iter().map(text);
                let escaped: Vec<String> = parts
                    .map(|part| format!("replace(replace({part}, '~', '~0'), '/', '~1')"))
                    .collect();
                escaped.join(" || '/' || ")
            }
        }
    }

    /// A time as microseconds since 1970 in UTC, as fine as SQLite reads it: to the millisecond. What is no version is left, and
    /// the outbox refuses it.
    fn version(&self, row: &str) -> String {
        let Some(name) = &self.source.version else {
            return "null".to_owned();
        };
        let column = column(row, name);
        format!(
            "case when typeof({column}) <> 'text' then {column} when {digits} then cast({column} as integer) \
             when {time} then cast(strftime('%s', {column}) as integer) * 1000000 \
             + cast(round((strftime('%f', {column}) - strftime('%S', {column})) * 1000) as integer) * 1000 \
             else {column} end",
            digits = is_digits(&column),
            time = is_time(&column),
        )
    }

    /// Numbers keep every digit, which `json_object` would not do for those with a fraction; bytes are hexadecimal.
    fn payload(&self, row: &str) -> String {
        let fields: Vec<String> = self
            .included()
            .map(|name| {
                let column = column(row, name);
                format!(
                    "{}, case typeof({column}) when 'real' then json(quote({column})) when 'blob' then hex({column}) else {column} end",
                    literal(name)
                )
            })
            .collect();
        format!("json_object({})", fields.join(", "))
    }
}

/// What a trigger is called.
pub(super) fn trigger_name(event: &str, topic: &str) -> String {
    format!("aftercommit_{event}_{topic}")
}

/// The names of all triggers of a topic.
pub(super) fn trigger_names(topic: &str) -> Vec<String> {
    EVENTS.iter().map(|event| trigger_name(event, topic)).collect()
}

/// A name, as it stands in SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn column(row: &str, name: &str) -> String {
    format!("{row}.{}", quoted(name))
}

fn term_text(name: &str, test: &Test) -> String {
    let column = column("source", name);
    match test {
        Test::Compare(operator, literal) => format!("{column} {operator} {}", literal_text(literal)),
        Test::In(literals) => {
            let literals: Vec<String> = literals.iter().map(literal_text).collect();
            format!("{column} in ({})", literals.join(", "))
        }
        Test::IsNull => format!("{column} is null"),
        Test::IsNotNull => format!("{column} is not null"),
    }
}

fn literal_text(value: &Literal) -> String {
    match value {
        Literal::Text(text) => literal(text),
        Literal::Number(number) => number.clone(),
        Literal::True => "true".to_owned(),
        Literal::False => "false".to_owned(),
    }
}

/// A text that is a whole number. SQLite would read it as a day, counted from 4714 BC.
fn is_digits(column: &str) -> String {
    format!("({column} not glob '*[^0-9]*' and length({column}) between 1 and 18)")
}

/// A text that SQLite reads as a time, and that begins with a date: not `now`, nor a time of the day.
fn is_time(column: &str) -> String {
    format!(
        "({column} glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' and julianday({column}) is not null)"
    )
}

fn is_no_version(column: &str) -> String {
    format!(
        "typeof({column}) not in ('integer', 'null') and not (typeof({column}) = 'text' and ({} or {}))",
        is_digits(column),
        is_time(column)
    )
}
