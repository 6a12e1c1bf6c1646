//! What a monitoring system reads of the database every few seconds.
//!
//! Less than the status: nothing whose cost grows with what has ended, and nothing that tells topics or row keys apart. It
//! still walks through what is owed, so whoever asks does it seldom.

use std::str::FromStr;
use std::time::Duration;

use super::AdminStore;
use super::walk;
use crate::core::delivery::State;
use crate::core::row::UnknownWord;
use crate::store::database::{Args, Row, Statement, sql};
use crate::store::{NotedUsage, StoreError};

/// What the database says, as numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gauges {
    /// Every destination that the database knows, by name.
    pub destinations: Vec<String>,
    /// Deliveries that have not ended, by destination and by whether they may be sent now.
    pub owed: Vec<OwedGauge>,
    /// Deliveries whose attempt is on record and not yet settled, by destination.
    pub in_flight: Vec<(String, u64)>,
    /// Deliveries that are dead or uncertain, by destination.
    pub trouble: Vec<(String, State, u64)>,
    /// Destinations that somebody paused.
    pub paused: Vec<String>,
    /// Destinations of which no request works.
    pub failing: Vec<String>,
    /// What receivers said last of their daily limits.
    pub usage: Vec<(String, NotedUsage)>,
    /// Rows whose topic has no route.
    pub unrouted: u64,
    /// Relays that were heard of within the time to live of a lease.
    pub relays: u64,
}

/// What is owed to a destination and may be sent now, or only later.
#[derive(Debug, Clone, PartialEq)]
pub struct OwedGauge {
    /// The destination.
    pub destination: String,
    /// Whether it may be sent.
    pub standing: Standing,
    /// How many deliveries.
    pub owed: u64,
    /// How long the oldest of them has been owed.
    pub oldest: Duration,
}

/// Whether a delivery that is owed may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Now.
    Due,
    /// Later: a retry waits.
    Waiting,
}

impl Standing {
    /// Both, in the order in which people read them.
    pub const ALL: [Self; 2] = [Self::Due, Self::Waiting];

    /// The word in SQL and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Waiting => "waiting",
        }
    }
}

impl FromStr for Standing {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|standing| standing.as_str() == word);
        found.ok_or_else(|| UnknownWord {
            what: "standing",
            word: word.to_owned(),
            known: "due, waiting",
        })
    }
}

impl AdminStore {
    /// What the database says now. The parts are read one after the other, so their sums need not agree to the last one.
    pub async fn gauges(&self) -> Result<Gauges, StoreError> {
        let (owed, unrouted) = self.owed_gauges().await?;
        let relays = self.relays().await?;
        Ok(Gauges {
            destinations: walk::known_destinations(&self.database).await?,
            owed,
            in_flight: self
                .of_each(sql!(shared "in_flight_counts"), |row| row.int("in_flight"))
                .await?,
            trouble: self.stuck().await?,
            paused: self.named(sql!(shared "paused_destinations")).await?,
            failing: self.named(sql!(shared "failing_destinations")).await?,
            usage: self.of_each(sql!(shared "usages"), NotedUsage::read).await?,
            unrouted,
            relays: relays.iter().map(|relay| u64::from(relay.alive)).sum(),
        })
    }

    /// And how many rows have no route.
    async fn owed_gauges(&self) -> Result<(Vec<OwedGauge>, u64), StoreError> {
        let (mut gauges, mut unrouted) = (vec![], 0);
        for row in self
            .database
            .read(sql!(shared "owed_gauges"), Args::new())
            .await?
        {
            let (destination, owed): (&str, u64) = (row.text("destination")?, row.int("owed")?);
            if destination.is_empty() {
                unrouted += owed;
                continue;
            }
            gauges.push(OwedGauge {
                destination: destination.to_owned(),
                standing: row.word("standing")?,
                owed,
                oldest: row.time("now")?.since(row.time("oldest_owed_at")?),
            });
        }
        Ok((gauges, unrouted))
    }

    async fn stuck(&self) -> Result<Vec<(String, State, u64)>, StoreError> {
        let rows = self
            .database
            .read(sql!(shared "trouble_counts"), Args::new())
            .await?;
        let count = |row: &Row| {
            Ok((
                row.text("destination")?.to_owned(),
                row.word("state")?,
                row.int("deliveries")?,
            ))
        };
        rows.iter().map(count).collect()
    }

    async fn named(&self, statement: &'static Statement) -> Result<Vec<String>, StoreError> {
        let named = self.of_each(statement, |_| Ok(())).await?;
        Ok(named.into_iter().map(|(destination, ())| destination).collect())
    }

    async fn of_each<T>(
        &self,
        statement: &'static Statement,
        value: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<(String, T)>, StoreError> {
        let rows = self.database.read(statement, Args::new()).await?;
        let of = |row: &Row| Ok((row.text("destination")?.to_owned(), value(row)?));
        rows.iter().map(of).collect()
    }
}
