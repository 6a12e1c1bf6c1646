//! Judges what was seen around kills. Pure.

use std::time::Duration;

use super::difference;
use super::mid_run::{Killed, Observed, millis};
use super::picture::Picture;
use super::report::{Finding, Outcome, Test};
use super::sessions::Seen;

/// Judges kills. Where a re-run changes rows, a state can be another run's and whole.
pub(super) fn mid_run(observed: &Observed, re_run: Outcome) -> Finding {
    let test = Test::MidRunFailure;
    let Observed {
        before,
        clean,
        kills,
        end,
    } = observed;
    let whole = clean.as_ref().unwrap_or(end);
    let is_whole = |picture: &Picture| [before, whole, end].contains(&picture);
    let partial = kills.iter().find_map(|killed| {
        let after = millis(killed.kill.after);
        if !is_whole(&killed.picture) {
            return Some((
                &killed.picture,
                format!("killed after {after}, it left something partial"),
            ));
        }
        let seen = format!("killed after {after}, it was seen partial while the server went on");
        let partial = killed.meanwhile.iter().find(|picture| !is_whole(picture));
        partial.map(|picture| (picture, seen))
    });
    let wrong = match partial {
        Some(partial) => Some(partial),
        None if end != whole => Some((end, "after kills it ended otherwise than a clean run".to_owned())),
        None => None,
    };
    match wrong {
        Some((picture, _)) if re_run == Outcome::Failed && picture.has_row_keys_of(end) => test.not_proven(
            "every run leaves something else, so partial and whole cannot be told apart".to_owned(),
            "see to the re-run first, then verify again",
        ),
        Some((picture, seen)) => test
            .failed(seen, "commit once: what the pipeline writes and its outbox rows in one transaction")
            .with(difference::lines(&picture.differences(whole), "and after a whole run")),
        None if before == whole => test.not_proven(
            "the topic held all of it before, so nothing partial could have been seen".to_owned(),
            "verify with a topic that is empty, or give --reset with a command that restores the state before",
        ),
        None if !kills.iter().any(met) => test.not_proven(
            unmet(kills),
            unmet_way_out(kills),
        ),
        None => {
            let clean = clean.as_ref().map_or("", |_| ", and the end was that of a clean run");
            test.passed(format!("{}, nothing partial was to be seen{clean}", kills_text(kills)))
        }
    }
}

/// Whether the kill met something that was written and not committed. No other kill proves anything.
fn met(Killed { kill, .. }: &Killed) -> bool {
    kill.met == Seen::Writing
}

fn unmet(kills: &[Killed]) -> String {
    match kills.len() {
        0 => "it ended by itself before it could be killed".to_owned(),
        1 => "the kill did not meet it while it wrote".to_owned(),
        kills => format!("of {kills} kills none met it while it wrote"),
    }
}

fn unmet_way_out(kills: &[Killed]) -> &'static str {
    if kills.iter().any(|killed| killed.kill.met == Seen::Unknown) {
        "this system does not tell who writes to a SQLite file: verify on Linux"
    } else {
        "give it more rows to write, or --reset so that it can be killed more often"
    }
}

/// `killed 9 times after 20 ms to 340 ms, twice while it wrote`.
fn kills_text(kills: &[Killed]) -> String {
    let after = || kills.iter().map(|killed| killed.kill.after);
    let (first, last): (Option<Duration>, Option<Duration>) = (after().min(), after().max());
    let [first, last] = [first, last].map(|after| millis(after.unwrap_or_default()));
    let span = if first == last {
        first
    } else {
        format!("{first} to {last}")
    };
    let writing = kills
        .iter()
        .filter(|killed| killed.kill.met == Seen::Writing)
        .count();
    let writing = if writing == 0 {
        String::new()
    } else {
        format!(", {} while it wrote", times(writing))
    };
    format!("killed {} after {span}{writing}", times(kills.len()))
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Cause, Kill};
    use super::*;

    /// A picture with so many outbox rows.
    fn rows(outbox_rows: u64) -> Picture {
        Picture {
            outbox_rows,
            row_keys: outbox_rows,
            ..Picture::default()
        }
    }

    fn killed(met: Seen, picture: Picture) -> Killed {
        let after = Duration::from_millis(30);
        Killed {
            kill: Kill {
                after,
                cause: Cause::Time,
                met,
            },
            meanwhile: vec![],
            picture,
        }
    }

    fn judged(kills: &[Killed], re_run: Outcome) -> Outcome {
        let observed = Observed {
            before: rows(0),
            clean: None,
            kills: kills.to_vec(),
            end: rows(9),
        };
        mid_run(&observed, re_run).outcome
    }

    #[test]
    fn nothing_or_all_passes_and_anything_between_fails() {
        let nothing = killed(Seen::Writing, rows(0));
        let all = killed(Seen::Connected, rows(9));
        assert_eq!(judged(&[nothing.clone(), all], Outcome::Passed), Outcome::Passed);
        assert_eq!(
            judged(&[nothing, killed(Seen::Writing, rows(5))], Outcome::Passed),
            Outcome::Failed
        );
    }

    #[test]
    fn no_kill_or_none_that_met_a_write_proves_nothing() {
        assert_eq!(judged(&[], Outcome::Passed), Outcome::NotProven);
        let visible = Kill {
            cause: Cause::Visible,
            ..killed(Seen::Connected, rows(9)).kill
        };
        let visible = Killed {
            kill: visible,
            ..killed(Seen::Connected, rows(9))
        };
        assert_eq!(judged(&[visible], Outcome::Passed), Outcome::NotProven);
        for met in [Seen::Unknown, Seen::Nothing, Seen::Connected] {
            let outcome = judged(&[killed(met, rows(0))], Outcome::Passed);
            assert_eq!(outcome, Outcome::NotProven, "{met:?}");
        }
    }

    #[test]
    fn what_was_partial_while_the_server_went_on_fails_though_the_end_is_whole() {
        let seen = |meanwhile: &[u64]| Killed {
            meanwhile: meanwhile.iter().map(|&count| rows(count)).collect(),
            ..killed(Seen::Writing, rows(9))
        };
        assert_eq!(judged(&[seen(&[0, 9])], Outcome::Passed), Outcome::Passed);
        assert_eq!(judged(&[seen(&[0, 5])], Outcome::Passed), Outcome::Failed);
    }

    #[test]
    fn a_topic_that_was_whole_before_proves_nothing() {
        let kills = vec![killed(Seen::Writing, rows(9))];
        let observed = Observed {
            before: rows(9),
            clean: None,
            kills,
            end: rows(9),
        };
        assert_eq!(mid_run(&observed, Outcome::Passed).outcome, Outcome::NotProven);
    }

    #[test]
    fn an_end_that_is_not_that_of_a_clean_run_fails() {
        let kills = vec![killed(Seen::Writing, rows(0))];
        let observed = Observed {
            before: rows(0),
            clean: Some(rows(8)),
            kills,
            end: rows(9),
        };
        assert_eq!(mid_run(&observed, Outcome::Passed).outcome, Outcome::Failed);
    }

    #[test]
    fn where_a_re_run_changes_rows_only_missing_row_keys_are_partial() {
        let other_content = Picture {
            deliveries: 1,
            ..rows(9)
        };
        assert_eq!(
            judged(&[killed(Seen::Writing, other_content)], Outcome::Failed),
            Outcome::NotProven
        );
        let other_keys = rows(5);
        assert_eq!(
            judged(&[killed(Seen::Writing, other_keys)], Outcome::Failed),
            Outcome::Failed
        );
    }

    #[test]
    fn kills_are_counted_in_words() {
        let text = kills_text(&[killed(Seen::Writing, rows(0)), killed(Seen::Connected, rows(0))]);
        assert_eq!(text, "killed twice after 30 ms, once while it wrote");
    }
}
