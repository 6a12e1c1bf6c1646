//! Seventeen destinations that are well, beside three that are not.

use std::time::Duration;

use crate::drain::base::{Backend, Base, Rows};
use crate::drain::child::Process;
use crate::drain::figures::median;
use crate::drain::meter::now;
use crate::drain::receiver::Receiver;
use crate::drain::relay::{Hook, config};

/// Destinations that are well throughout.
const WELL: u64 = 17;

/// How the other three misbehave: one never answers, one always asks to wait, one takes its time.
const SICK: [&str; 3] = ["hang", "throttle=429/1", "delay=2s"];

/// Bytes of payload of each row.
const BYTES: usize = 500;

/// In what company the seventeen are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    /// Nothing is owed to the other three.
    Nobody,
    /// The other three are well.
    Well,
    /// The other three misbehave.
    Sick,
}

/// Prints how many rows a second the seventeen got in each company.
pub(crate) async fn run(backend: Backend, rows: u64, rounds: u32) -> anyhow::Result<()> {
    let mut reached: [Vec<f64>; 3] = Default::default();
    for _ in 0..rounds {
        for (company, reached) in [Company::Nobody, Company::Well, Company::Sick]
            .into_iter()
            .zip(&mut reached)
        {
            reached.push(turn(backend, rows, company).await?);
        }
    }
    let [alone, well, sick] = &reached;
    let share = |of: &[f64]| median(sick.iter().zip(of).map(|(sick, of)| sick / of));
    println!("seventeen destinations, {rows} rows each          rows/s in all");
    println!(
        "nothing owed to the other three          {:>13.0}",
        median(alone.iter().copied())
    );
    println!(
        "the other three well                     {:>13.0}",
        median(well.iter().copied())
    );
    println!(
        "one hangs, one answers 429, one takes 2 s {:>12.0}",
        median(sick.iter().copied())
    );
    println!(
        "kept: {:.2} of what they reach where nothing is owed to the three, {:.2} of where all are well\n",
        share(alone),
        share(well)
    );
    Ok(())
}

/// Rows a second that the seventeen got together.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
async fn turn(backend: Backend, rows: u64, company: Company) -> anyhow::Result<f64> {
    let base = Base::new(backend).await?;
    let well = Receiver::start("")?;
    let mut hooks: Vec<Hook> = (0..WELL)
        .map(|number| hook(&format!("well_{number}"), &well))
        .collect();
    let mut others = Vec::new();
    for (number, faults) in SICK.iter().enumerate() {
        let faults = if company == Company::Sick { faults } else { "" };
        let receiver = Receiver::start(faults)?;
        hooks.push(hook(&format!("sick_{number}"), &receiver));
        others.push(receiver);
    }
    let config = base.apply(&config(base.url(), &hooks)).await?;
    let owed = hooks
        .iter()
        .filter(|hook| company != Company::Nobody || hook.name.starts_with("well"));
    for hook in owed {
        let rows = Rows {
            from: 1,
            count: rows,
            bytes: BYTES,
            large: 0,
        };
        base.commit(&hook.name, rows).await?;
    }
    base.come_to_rest().await?;

    let mut relay = Process::again(&["--relay", &config.display().to_string()])?;
    let start = now();
    relay.begin()?;
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    while well.unique_keys().await? < WELL * rows {
        looks.tick().await;
    }
    Ok((WELL * rows) as f64 / start.elapsed().as_secs_f64())
}

fn hook(name: &str, receiver: &Receiver) -> Hook {
    Hook {
        name: name.to_owned(),
        url: receiver.url().to_owned(),
        options: String::new(),
    }
}
