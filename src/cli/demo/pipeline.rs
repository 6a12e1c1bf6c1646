//! A pretended pipeline: transactions that insert into the outbox, one of which is rolled back and one run twice.
//!
//! What it committed it remembers, so that the end can be compared with it.

use crate::core::row::Op;
use crate::store::StoreError;

use super::session::{End, Session};
use super::verdict::{Fact, Id};

pub(super) const ORDERS: &str = "orders";
pub(super) const CUSTOMERS: &str = "customers";

/// Rows of a transaction at most.
const MOST_ROWS: u64 = 500;
/// Transactions that a small demo has.
const TRANSACTIONS: u64 = 12;

/// What nobody may ever hear of.
const ROLLED_BACK: &str = r#"{"rolled_back": true}"#;

/// What the pipeline has done.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// What it committed and the ledger let in, in its order.
    pub(super) committed: Vec<Fact>,
    /// Rows that it inserted and rolled back.
    pub(super) rolled_back: u64,
    /// Rows of committed transactions that the ledger knew.
    pub(super) skipped: u64,
}

/// Makes rows: three orders and two changes of a customer, over and over.
pub(super) struct Pipeline {
    /// Begins every row key.
    pub(super) prefix: String,
    /// Rows to commit.
    pub(super) rows: u64,
    pub(super) chance: fastrand::Rng,
    made: u64,
}

impl Pipeline {
    pub(super) fn new(prefix: String, rows: u64, chance: fastrand::Rng) -> Self {
        Self {
            prefix,
            rows,
            chance,
            made: 0,
        }
    }

    /// Runs every transaction. `committed` is told how many rows have been committed so far.
    pub(super) async fn run(
        mut self,
        session: &mut Session,
        committed: impl Fn(u64),
    ) -> Result<Log, StoreError> {
        let mut log = Log::default();
        let size = (self.rows / TRANSACTIONS).clamp(1, MOST_ROWS);
        let transactions = self.rows.div_ceil(size);
        for number in 0..transactions {
            if number == transactions / 3 {
                self.fail(session, size, &mut log).await?;
            }
            let size = size.min(self.rows - self.made);
            let batch: Vec<_> = (0..size).map(|_| self.next_row()).collect();
            let admitted = session.transaction(&batch, End::Commit).await?;
            log.skipped += size - admitted.min(size);
            if number == transactions / 2 {
                // The scheduler tries a task again that had succeeded.
                log.skipped += size - session.transaction(&batch, End::Commit).await?.min(size);
            }
            log.committed.extend(batch.into_iter().map(|(_, fact)| fact));
            committed(log.committed.len() as u64);
        }
        Ok(log)
    }

    /// A transaction that fails at its end. Its rows are like others, but nobody may ever hear of them.
    async fn fail(&mut self, session: &mut Session, size: u64, log: &mut Log) -> Result<(), StoreError> {
        let before = self.made;
        let mut batch: Vec<_> = (0..size).map(|_| self.next_row()).collect();
        for (_, fact) in &mut batch {
            ROLLED_BACK.clone_into(&mut fact.payload);
        }
        session.transaction(&batch, End::RollBack).await?;
        log.rolled_back += size;
        self.made = before;
        Ok(())
    }

    fn next_row(&mut self) -> (Op, Fact) {
        self.made += 1;
        let number = self.made;
        if number % 5 < 3 {
            self.order(number)
        } else {
            self.customer(number)
        }
    }

    fn order(&mut self, number: u64) -> (Op, Fact) {
        let cents = self.chance.u64(100..100_000);
        let payload = format!(
            r#"{{"order_id": {number}, "customer_id": {}, "total": {}.{:02}}}"#,
            self.chance.u64(0..self.customers()),
            cents / 100,
            cents % 100
        );
        let id = Id {
            topic: ORDERS.to_owned(),
            row_key: order_key(&self.prefix, number),
            row_version: None,
        };
        (Op::Event, Fact { id, payload })
    }

    /// A change of one of few customers, so that newer versions overtake older ones.
    fn customer(&mut self, number: u64) -> (Op, Fact) {
        let customer = self.chance.u64(0..self.customers());
        let payload =
            format!(r#"{{"customer_id": {customer}, "name": "Customer {customer}", "points": {number}}}"#);
        let id = Id {
            topic: CUSTOMERS.to_owned(),
            row_key: format!("{}customer-{customer}", self.prefix),
            row_version: i64::try_from(number).ok(),
        };
        (Op::Upsert, Fact { id, payload })
    }

    fn customers(&self) -> u64 {
        (self.rows / 10).max(1)
    }
}

/// The row key of an order.
pub(super) fn order_key(prefix: &str, number: u64) -> String {
    format!("{prefix}order-{number}")
}
