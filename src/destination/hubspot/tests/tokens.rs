//! Tokens: replaced once when they are refused, and given up when that does not help.

use std::sync::Arc;

use super::super::tokens::{AfterRefusal, Source, Token, Tokens};
use super::NOW;
use crate::clock::SystemClock;
use crate::destination::credentials::Credentials;

fn tokens() -> Tokens {
    let credentials = Credentials::new("crm", "the private app in HubSpot", &["access_token"]);
    let source = Source::Private("pat".into());
    Tokens::new(source, Arc::new(credentials), Arc::new(SystemClock::start()))
}

async fn token(tokens: &Tokens) -> Token {
    tokens.get(NOW).await.ok().unwrap()
}

#[tokio::test]
async fn a_refused_token_is_replaced_once_whoever_of_those_that_hold_it_says_so() {
    let tokens = tokens();
    let first = token(&tokens).await;
    for _ in 0..4 {
        assert_eq!(tokens.refused(&first), AfterRefusal::TryAgain);
    }
    let second = token(&tokens).await;
    assert_eq!(
        tokens.refused(&first),
        AfterRefusal::TryAgain,
        "a late word of the first says nothing of the second"
    );
    assert_eq!(tokens.refused(&second), AfterRefusal::GiveUp);
    let third = token(&tokens).await;
    assert_eq!(
        tokens.refused(&third),
        AfterRefusal::TryAgain,
        "a person has mended something"
    );
}

#[tokio::test]
async fn a_token_that_was_taken_once_may_be_replaced_again() {
    let tokens = tokens();
    assert_eq!(tokens.refused(&token(&tokens).await), AfterRefusal::TryAgain);
    let second = token(&tokens).await;
    tokens.taken(&second);
    assert_eq!(tokens.refused(&second), AfterRefusal::TryAgain);
}

#[tokio::test]
async fn no_token_is_shown() {
    let header = token(&tokens()).await.header();
    assert_eq!(header.as_bytes(), b"Bearer pat");
    assert!(!format!("{header:?}").contains("pat"));
}
