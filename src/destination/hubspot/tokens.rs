//! The access token: a private app's, or one of OAuth that is renewed before it ends.
//!
//! One token call is in flight however many batches wait for it, and what became of it, good or bad, is theirs too.
//! HubSpot's documents say that a 401 is no sign that a new token is needed, yet tokens are revoked: a refused token is
//! replaced once, and one that replaced a refused one and is refused too is given up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use super::oauth::{Granted, OAuth, TokenTrouble};
use crate::clock::Clock;
use crate::core::time::Timestamp;
use crate::destination::credentials::Credentials;

/// Of its time, a token's last tenth is not used, but never more than this.
const MOST_SPARE: Duration = Duration::from_mins(5);

/// A token to send with.
#[derive(Clone)]
pub(super) struct Token {
    header: HeaderValue,
    generation: u64,
}

impl Token {
    /// `Bearer …`, marked as sensitive.
    pub(super) fn header(&self) -> HeaderValue {
        self.header.clone()
    }
}

/// What follows from a refused token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterRefusal {
    /// There is or will be another one: the rows are worth another attempt at once.
    TryAgain,
    /// It had replaced a refused one: only a person can mend this.
    GiveUp,
}

/// Hands out tokens.
pub(super) struct Tokens {
    source: Source,
    credentials: Arc<Credentials>,
    clock: Arc<dyn Clock>,
    /// Held by the one token call in flight.
    call: tokio::sync::Mutex<()>,
    /// Never held across an await.
    state: Mutex<State>,
}

/// Where tokens come from.
pub(super) enum Source {
    /// One token for ever.
    Private(SecretString),
    /// Tokens for half an hour.
    OAuth(Box<OAuth>),
}

#[derive(Default)]
struct State {
    live: Option<Live>,
    generations: u64,
    /// Whether the last token was refused, so that the next one replaces it.
    replaces: Replaces,
    /// How many calls have ended: whoever waited for one takes what came of it.
    calls: u64,
    last_trouble: Option<TokenTrouble>,
}

struct Live {
    token: Token,
    /// By the monotonic clock; none: never.
    good_until: Option<Duration>,
    replaces: Replaces,
}

/// What a token took the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Replaces {
    /// Nothing, or one that was good to its end.
    #[default]
    AGoodOne,
    /// One that was refused; and nothing has shown yet that this one is better.
    ARefusedOne,
}

impl Tokens {
    /// Tokens of `source`, whose settings `credentials` names.
    pub(super) fn new(source: Source, credentials: Arc<Credentials>, clock: Arc<dyn Clock>) -> Self {
        Self {
            source,
            credentials,
            clock,
            call: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// A token that is good now. Waits for at most one token call. `now` is what waits in its answer count from.
    pub(super) async fn get(&self, now: Timestamp) -> Result<Token, TokenTrouble> {
        let calls = {
            let state = self.state();
            if let Some(token) = state.good(self.clock.monotonic()) {
                return Ok(token);
            }
            state.calls
        };
        let _turn = self.call.lock().await;
        let monotonic = self.clock.monotonic();
        {
            let state = self.state();
            if let Some(token) = state.good(monotonic) {
                return Ok(token);
            }
            if let Some(trouble) = state.last_trouble.as_ref().filter(|_| state.calls != calls) {
                return Err(trouble.clone());
            }
        }
        let granted = match &self.source {
            Source::Private(token) => Granted::forever(token),
            Source::OAuth(oauth) => oauth.renew(now).await,
        };
        self.state().take_in(granted, monotonic)
    }

    /// A request with `token` was answered 401.
    pub(super) fn refused(&self, token: &Token) -> AfterRefusal {
        let mut state = self.state();
        let live = state
            .live
            .take_if(|live| live.token.generation == token.generation);
        let Some(live) = live else {
            // Another batch has said so before.
            return AfterRefusal::TryAgain;
        };
        match live.replaces {
            Replaces::AGoodOne => {
                state.replaces = Replaces::ARefusedOne;
                AfterRefusal::TryAgain
            }
            // Whoever resumes the destination has mended something: it begins anew.
            Replaces::ARefusedOne => AfterRefusal::GiveUp,
        }
    }

    /// A request with `token` was answered, and not with 401.
    pub(super) fn taken(&self, token: &Token) {
        let mut state = self.state();
        if let Some(live) = &mut state.live
            && live.token.generation == token.generation
        {
            live.replaces = Replaces::AGoodOne;
        }
    }

    /// What a person can do once tokens are given up.
    pub(super) fn way_out(&self) -> String {
        self.credentials.way_out()
    }

    /// What goes on record once tokens are given up, with the way out. The token of a private app was not replaced: there is
    /// but one.
    pub(super) fn given_up(&self) -> String {
        match self.source {
            Source::Private(_) => format!(
                "HTTP 401: HubSpot refuses the token; mend it in HubSpot; if that gives a new one, {}; then test, and resume",
                self.credentials.take_in()
            ),
            Source::OAuth(_) => format!(
                "HTTP 401 for a token and for the one that replaced it; {}, then resume",
                self.way_out()
            ),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn good(&self, monotonic: Duration) -> Option<Token> {
        let live = self.live.as_ref()?;
        let good = live.good_until.is_none_or(|until| monotonic < until);
        good.then(|| live.token.clone())
    }

    /// A call that was begun at `begun` has ended: the token's time counts from then, so that it is never thought longer
    /// than it is.
    fn take_in(
        &mut self,
        granted: Result<Granted, TokenTrouble>,
        begun: Duration,
    ) -> Result<Token, TokenTrouble> {
        self.calls += 1;
        self.last_trouble = granted.as_ref().err().cloned();
        let granted = granted?;
        self.generations += 1;
        let token = Token {
            header: granted.header,
            generation: self.generations,
        };
        let good_until = granted.lifetime.map(|lifetime| {
            let spare = (lifetime / 10).min(MOST_SPARE);
            begun.saturating_add(lifetime.saturating_sub(spare))
        });
        self.live = Some(Live {
            token: token.clone(),
            good_until,
            replaces: std::mem::take(&mut self.replaces),
        });
        Ok(token)
    }
}

/// `Bearer …`, not to be shown.
pub(super) fn bearer(token: &SecretString) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret())).ok()?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(lifetime: Option<Duration>) -> Granted {
        Granted {
            header: HeaderValue::from_static("Bearer t"),
            lifetime,
        }
    }

    #[test]
    fn a_token_is_given_up_before_it_ends_counted_from_before_it_was_asked_for() {
        let mut state = State::default();
        let begun = Duration::from_secs(100);
        state
            .take_in(Ok(granted(Some(Duration::from_mins(30)))), begun)
            .ok()
            .unwrap();
        let good_for = |seconds| state.good(begun + Duration::from_secs(seconds)).is_some();
        assert!(good_for(1_619));
        assert!(!good_for(1_620), "the last tenth of half an hour");
    }

    #[test]
    fn a_long_lived_token_is_given_up_five_minutes_early_and_a_private_app_s_never() {
        let mut state = State::default();
        let day = Duration::from_hours(24);
        state
            .take_in(Ok(granted(Some(day))), Duration::ZERO)
            .ok()
            .unwrap();
        let given_up = Duration::from_mins(24 * 60 - 5);
        assert!(
            state
                .good(given_up.saturating_sub(Duration::from_secs(1)))
                .is_some()
        );
        assert!(state.good(given_up).is_none());
        state.take_in(Ok(granted(None)), Duration::ZERO).ok().unwrap();
        assert!(state.good(Duration::MAX).is_some());
    }
}
