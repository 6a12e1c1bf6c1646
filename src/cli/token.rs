//! `aftercommit token`: who may look and who may change something, over the API and on the page.
//!
//! A token is shown once, when it is made. Each change is on the audit.

use std::time::Duration;

use anyhow::Context as _;
use clap::Subcommand;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Serialize;

use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use super::{act, database, table, times};
use crate::config;
use crate::core::time::Timestamp;
use crate::store::admin::{AdminStore, Role, Token, TokenName, TokenText};

#[derive(clap::Args)]
pub(super) struct TokenVerb {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Make a token, and show it this once
    Create(Create),
    /// List tokens, those that have ended too
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// End a token; its name is not given again
    Revoke {
        /// The name of the token
        name: String,
        #[command(flatten)]
        output: OutputArgs,
    },
}

#[derive(clap::Args)]
struct Create {
    /// Whose it is, for the audit: letters, digits and . _ @ -
    name: TokenName,

    /// What it allows: viewer looks, operator changes things as well
    #[arg(long)]
    role: Role,

    /// When it ends by itself, such as 12h or 90d [default: never]
    #[arg(long, value_name = "DURATION", value_parser = config::duration)]
    expires: Option<Duration>,

    #[command(flatten)]
    output: OutputArgs,
}

/// A token that has just been made.
#[derive(Serialize)]
struct Created<'t> {
    /// The one time that it is shown.
    token: &'t str,
    #[serde(flatten)]
    known: Token,
}

pub(super) async fn run(verb: TokenVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let store = database::desk(settings).await?.store;
    match verb.what {
        What::Create(create) => create.run(&store).await?,
        What::List { output } => {
            let (tokens, now) = (store.tokens().await?, store.now().await?);
            output.open().print(&tokens, |tokens| list(tokens, now))?;
        }
        What::Revoke { name, output } => {
            let token = store.revoke_token(&name, &act::actor()).await?;
            output.open().print(&token, |token| match token.revoked_at {
                Some(at) => format!("{} has ended: revoked at {}", token.name, times::utc(at)),
                None => format!("{} goes on", token.name),
            })?;
        }
    }
    Ok(Exit::Done)
}

impl Create {
    async fn run(self, store: &AdminStore) -> anyhow::Result<()> {
        let mut random = [0; 32];
        let drawn = SystemRandom::new().fill(&mut random);
        drawn
            .ok()
            .context("the system gives no random bytes for a token")?;
        let text = TokenText::of(random);
        let known = store
            .create_token(&self.name, self.role, self.expires, &text, &act::actor())
            .await?;
        let created = Created {
            token: text.expose(),
            known,
        };
        self.output.open().print(&created, |created| {
            format!(
                "the {} token of {}, which is not shown again:\n\n{}",
                created.known.role, created.known.name, created.token
            )
        })?;
        Ok(())
    }
}

fn list(tokens: &[Token], now: Timestamp) -> String {
    if tokens.is_empty() {
        return "no tokens; the one of the configuration is an operator called config".to_owned();
    }
    let header = ["NAME", "ROLE", "MADE", "BY", "ENDS"];
    let row = |token: &Token| {
        [
            token.name.clone(),
            token.role.to_string(),
            times::at(token.created_at, now),
            token.created_by.clone(),
            end(token, now),
        ]
    };
    table::table(header, tokens.iter().map(row)).trim_fmt()
}

fn end(token: &Token, now: Timestamp) -> String {
    match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("revoked {}", times::relative(at, now)),
        (None, Some(at)) if at <= now => format!("expired {}", times::relative(at, now)),
        (None, Some(at)) => times::relative(at, now),
        (None, None) => "never".to_owned(),
    }
}
