//! What a replay would do if it ran now: the same look and the same plan, and nothing written.

use std::collections::BTreeMap;

use super::replay_plan::{Plan, Planned};
use super::replay_request::{ReplayRate, ReplayRequest};
use super::replay_walk::{Candidate, ReplayWalk};
use super::{AdminError, AdminStore};

/// Deliveries that one step of a dry run looks at.
const STEP: u32 = 5_000;
/// Deliveries that a dry run shows.
const SAMPLE: usize = 10;
/// Deliveries a second that a replay makes due at least, where no rate says otherwise; `cargo bench --bench replay` holds it.
const UNLIMITED: u64 = 20_000;

/// What a replay would do if it ran now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct DryRun {
    /// Deliveries that match.
    pub matched: u64,
    /// Of those, how many it would make due.
    pub requeued: u64,
    /// Of those, how many are owed already.
    pub left_alone: u64,
    /// Of those, how many are on the wire now.
    pub in_flight: u64,
    /// Of those, how many a newer version has overtaken; `force` sends them.
    pub skipped: u64,
    /// How many match in each state; rows that a destination never had are `missing`.
    pub by_state: BTreeMap<&'static str, u64>,
    /// Deliveries a second that it makes due at most; none: as fast as it goes.
    pub rate: Option<ReplayRate>,
    /// How long it takes to make them due, in seconds; without a rate at 20,000 a second, though it may go faster. How fast they
    /// are sent after that is the destination's own matter.
    pub seconds: u64,
    /// What follows from the choice of the key.
    pub consequence: &'static str,
    /// The first ten, the oldest outbox id first.
    pub sample: Vec<Candidate>,
}

impl AdminStore {
    /// What the request would do if it ran now. Nothing is written, and every delivery that matches is looked at.
    pub async fn dry_run(&self, request: &ReplayRequest) -> Result<DryRun, AdminError> {
        self.check_replay(request).await?;
        let mut run = DryRun::of(request);
        let mut walk = ReplayWalk::start(&self.database, &request.selection, None, i64::MAX).await?;
        loop {
            let seen = walk.step(STEP).await?;
            let plan = Plan::of(&self.database, &seen.candidates, request.stale).await?;
            run.add(seen.candidates, &plan);
            if !seen.more {
                break;
            }
        }
        let rate = request.rate.map_or(UNLIMITED, |rate| u64::from(rate.get()));
        run.seconds = run.requeued.div_ceil(rate);
        Ok(run)
    }
}

impl DryRun {
    fn of(request: &ReplayRequest) -> Self {
        Self {
            matched: 0,
            requeued: 0,
            left_alone: 0,
            in_flight: 0,
            skipped: 0,
            by_state: BTreeMap::new(),
            rate: request.rate,
            seconds: 0,
            consequence: request.key.consequence(),
            sample: vec![],
        }
    }

    fn add(&mut self, candidates: Vec<Candidate>, plan: &Plan) {
        for candidate in candidates {
            self.matched += 1;
            *self.by_state.entry(candidate.state()).or_default() += 1;
            match plan.of_candidate(&candidate) {
                Planned::Requeue => self.requeued += 1,
                Planned::LeaveAlone => self.left_alone += 1,
                Planned::InFlight => self.in_flight += 1,
                Planned::Skip => self.skipped += 1,
            }
            if self.sample.len() < SAMPLE {
                self.sample.push(candidate);
            }
        }
    }
}
