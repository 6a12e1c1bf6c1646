//! Single rows for one destination, while another has a long backlog.

use std::time::Duration;

use aftercommit::mock::receiver::{Detail, JournalOptions, Receiver, ReceiverOptions};

use crate::drain::base::{Backend, Base, Rows};
use crate::drain::child::Process;
use crate::drain::meter::now;
use crate::drain::receiver;
use crate::drain::relay::{Hook, config};

/// Single rows, as long as the backlog lasts.
const SINGLES: u64 = 50;

/// Between two of them.
const PAUSE: Duration = Duration::from_millis(50);

/// `relay.poll_idle` as the default configuration has it.
const POLL: Duration = Duration::from_millis(250);

/// Prints how long single rows took from their commit to their arrival.
pub(crate) async fn run(backend: Backend, backlog: u64) -> anyhow::Result<()> {
    let base = Base::new(backend).await?;
    let busy = receiver::Receiver::start("")?;
    let journal = JournalOptions {
        detail: Detail::Counts,
        ..JournalOptions::default()
    };
    let options = ReceiverOptions {
        journal,
        ..ReceiverOptions::default()
    };
    let quiet = Receiver::start(options).await?;
    let hook = |name: &str, url: &str| Hook {
        name: name.to_owned(),
        url: url.to_owned(),
        options: String::new(),
    };
    let hooks = [hook("busy", busy.url()), hook("quiet", &quiet.url())];
    let config = base.apply(&config(base.url(), &hooks)).await?;
    let rows = |from, count| Rows {
        from,
        count,
        bytes: 500,
        large: 0,
    };
    base.fill("busy", rows(1, backlog)).await?;

    let mut relay = Process::again(&["--relay", &config.display().to_string()])?;
    relay.begin()?;
    while busy.unique_keys().await? == 0 {
        tokio::time::sleep(PAUSE).await;
    }
    let mut delays = Vec::new();
    for number in 1..=SINGLES {
        if busy.unique_keys().await? == backlog {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        base.commit("quiet", rows(number, 1)).await?;
        let committed = now();
        quiet.received(number).await;
        delays.push(committed.elapsed());
    }
    delays.sort();
    let ms = |delay: Option<&Duration>| delay.map_or(f64::NAN, |delay| delay.as_secs_f64() * 1e3);
    println!("single rows beside a backlog of {backlog}: {} rows", delays.len());
    println!(
        "commit to arrival: median {:.1} ms, longest {:.1} ms (two poll intervals are {} ms)",
        ms(delays.get(delays.len() / 2)),
        ms(delays.last()),
        2 * POLL.as_millis()
    );
    quiet.shutdown().await?;
    Ok(())
}
