//! The session with the org: an access token, and the instance that it is good for.
//!
//! One token call is in flight however many batches wait for it, and what became of it, good or bad, is theirs too. A
//! token has no end that one could know, so a 401 is what ends it: it is replaced once, and one that replaced a refused
//! one and is refused too is given up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::header::HeaderValue;
use url::Url;

use super::classify::{Judgement, Met};
use super::login::{Granted, Login, Trouble};
use crate::clock::Clock;
use crate::core::outcome::{Outcome, Refusal};
use crate::core::time::Timestamp;
use crate::destination::client::{GuardedClient, Guards};
use crate::destination::failure::Failure;
use crate::destination::resolver::Lookup;

/// What requests are sent with.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) instance: Arc<Instance>,
    pub(super) authorization: HeaderValue,
    generation: u64,
}

/// Where the org's data is.
pub(super) struct Instance {
    pub(super) url: Url,
    pub(super) client: GuardedClient,
}

/// What follows from a refused token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterRefusal {
    /// There is or will be another one: the rows are worth another attempt at once.
    TryAgain,
    /// It had replaced a refused one: only a person can mend this.
    GiveUp,
}

/// Opens sessions.
pub(super) struct Sessions {
    login: Login,
    /// To the token endpoint.
    client: GuardedClient,
    /// For clients to whatever instance the endpoint names.
    guards: Guards,
    lookup: Arc<dyn Lookup>,
    clock: Arc<dyn Clock>,
    /// Held by the one token call in flight.
    call: tokio::sync::Mutex<()>,
    /// Never held across an await.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    live: Option<Live>,
    generations: u64,
    /// What the next token takes the place of.
    replaces: Replaces,
    /// How many calls have ended: whoever waited for one takes what came of it.
    calls: u64,
    last_trouble: Option<Trouble>,
    /// The instance of the last token, so that its connections are kept.
    instance: Option<Arc<Instance>>,
}

struct Live {
    session: Session,
    replaces: Replaces,
}

/// What a token took the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Replaces {
    /// Nothing, or one that had been good.
    #[default]
    AGoodOne,
    /// One that was refused; and nothing has shown yet that this one is better.
    ARefusedOne,
}

impl Sessions {
    /// Sessions by `login`, whose requests go through `client`.
    pub(super) fn new(
        login: Login,
        client: GuardedClient,
        guards: Guards,
        lookup: Arc<dyn Lookup>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            login,
            client,
            guards,
            lookup,
            clock,
            call: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// The session. Waits for at most one token call of others, and one of its own.
    pub(super) async fn get(&self, now: Timestamp) -> Result<Session, Trouble> {
        let calls = {
            let state = self.state();
            if let Some(live) = &state.live {
                return Ok(live.session.clone());
            }
            state.calls
        };
        let _turn = self.call.lock().await;
        {
            let state = self.state();
            if let Some(live) = &state.live {
                return Ok(live.session.clone());
            }
            if let Some(trouble) = state.last_trouble.as_ref().filter(|_| state.calls != calls) {
                return Err(trouble.clone());
            }
        }
        let opened = match self.call(now).await {
            Ok(granted) => self.open(&granted),
            Err(trouble) => Err(trouble),
        };
        self.state().take_in(opened)
    }

    /// A request of `session` was answered 401.
    pub(super) fn refused(&self, session: &Session) -> AfterRefusal {
        let mut state = self.state();
        let is_it = |live: &mut Live| live.session.generation == session.generation;
        let Some(live) = state.live.take_if(is_it) else {
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

    /// A request of `session` was answered, and not with 401.
    pub(super) fn taken(&self, session: &Session) {
        if let Some(live) = &mut self.state().live
            && live.session.generation == session.generation
        {
            live.replaces = Replaces::AGoodOne;
        }
    }

    /// What a person can do once tokens are given up.
    pub(super) fn way_out(&self) -> String {
        self.login.way_out()
    }

    /// What a refused token means for rows: another attempt at once, or a pause.
    pub(super) fn about_token(&self, refused: Judgement, session: &Session) -> Judgement {
        match self.refused(session) {
            AfterRefusal::TryAgain => refused,
            AfterRefusal::GiveUp => Judgement {
                met: Met::Outcome(Outcome::Refused(Refusal::Gone)),
                detail: Some(format!(
                    "HTTP 401 for a token and for the one that replaced it; {}, then resume",
                    self.way_out()
                )),
                ..refused
            },
        }
    }

    async fn call(&self, now: Timestamp) -> Result<Granted, Trouble> {
        let request = self
            .login
            .request(now)
            .map_err(|bad| Trouble::Refused(bad.to_string()))?;
        match self.client.send(request).await.result {
            Ok(answer) => self.login.read(&answer),
            Err(Failure::Unreachable(why) | Failure::Unknown(why)) => {
                Err(Trouble::Unreachable(format!("no access token: {why}")))
            }
        }
    }

    /// The instance that the endpoint names must pass the same guards as any URL.
    fn open(&self, granted: &Granted) -> Result<(Arc<Instance>, HeaderValue), Trouble> {
        let known = &self.guards.secrets;
        known.take_over(&granted.access_token);
        let refused = |why: String| {
            let why = known.all().without(&why);
            Trouble::Refused(format!("cannot use the instance that the login names: {why}"))
        };
        let authorization = bearer(&granted.access_token).ok_or_else(|| {
            Trouble::Refused("the access token holds characters that no header can carry".to_owned())
        })?;
        let url = Url::parse(&granted.instance_url).map_err(|error| refused(error.to_string()))?;
        if let Some(known) = self.state().instance.as_ref().filter(|known| known.url == url) {
            return Ok((Arc::clone(known), authorization));
        }
        let client = GuardedClient::new(
            &url,
            &self.guards,
            Arc::clone(&self.lookup),
            Arc::clone(&self.clock),
        )
        .map_err(|error| refused(error.to_string()))?;
        Ok((Arc::new(Instance { url, client }), authorization))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_in(&mut self, opened: Result<(Arc<Instance>, HeaderValue), Trouble>) -> Result<Session, Trouble> {
        self.calls += 1;
        self.last_trouble = opened.as_ref().err().cloned();
        let (instance, authorization) = opened?;
        self.generations += 1;
        self.instance = Some(Arc::clone(&instance));
        let session = Session {
            instance,
            authorization,
            generation: self.generations,
        };
        self.live = Some(Live {
            session: session.clone(),
            replaces: std::mem::take(&mut self.replaces),
        });
        Ok(session)
    }
}

/// `Bearer …`, not to be shown.
fn bearer(token: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}
