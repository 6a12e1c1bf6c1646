//! How far a verb is: a bar on standard error where a person watches, or else a line per step.

use std::io::{self, IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressStyle};

/// Says what is being done.
pub(super) fn say(text: &str) {
    // Where standard error is closed nobody listens.
    let _ = writeln!(io::stderr(), "{text}");
}

/// The progress of one step.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A step of `length` rows that are then `done`, for example committed.
    pub(super) fn of(length: u64, done: &str) -> Self {
        Self::new(
            ProgressBar::new(length),
            &format!("  {{bar:40}} {{human_pos}} of {{human_len}} {done}, {{eta}} left"),
        )
    }

    /// A step that reads `bytes` of input, or input of unknown length.
    pub(super) fn reading(bytes: Option<u64>) -> Self {
        match bytes {
            Some(bytes) => Self::new(ProgressBar::new(bytes), "  {bar:40} {percent}% {msg}, {eta} left"),
            None => Self::new(ProgressBar::new_spinner(), "  {spinner} {msg}, {elapsed}"),
        }
    }

    fn new(bar: ProgressBar, template: &str) -> Self {
        if !io::stderr().is_terminal() {
            return Self {
                bar: ProgressBar::hidden(),
            };
        }
        // A template that cannot be read costs the look of the bar and no more.
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self {
            bar: bar.with_style(style),
        }
    }

    /// The bar, for a reader that moves it.
    pub(super) fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    pub(super) fn at(&self, position: u64) {
        self.bar.set_position(position);
    }

    pub(super) fn tell(&self, message: String) {
        self.bar.set_message(message);
    }

    pub(super) fn done(&self) {
        self.bar.finish_and_clear();
    }
}
