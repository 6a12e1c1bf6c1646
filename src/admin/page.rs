//! The page that people look at: plain files, compiled in, so that the binary is all there is to install.
//!
//! It is open to everybody and holds nothing secret: whatever it shows it asks of the API below `/v1`, with the token of
//! whoever looks. Nothing here knows deliveries.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use sha2::{Digest as _, Sha256};

use super::problem::Problem;
use crate::core::hex::Hex;

/// A browser runs our modules and no other code, asks no other host, and shows the page in no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Beside what every answer of the server says.
static HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    // Asked for again each time, so that no module meets one of another release; the tag spares the bytes.
    (header::CACHE_CONTROL, "no-cache"),
];

/// A file of the page.
struct Asset {
    name: &'static str,
    text: &'static str,
}

macro_rules! assets {
    ($($name:literal)*) => {
        [$(Asset { name: $name, text: include_str!(concat!("page/", $name)) }),*]
    };
}

const INDEX: Asset = Asset {
    name: "index.html",
    text: include_str!("page/index.html"),
};

/// What `/assets/` holds.
static ASSETS: [Asset; 33] = assets![
    "page.css" "icon.svg"
    "main.js" "session.js" "api.js" "route.js" "dom.js" "patch.js" "live.js"
    "format.js" "words.js" "icon.js" "parts.js" "ask.js" "chart.js" "filter.js"
    "login.js" "overview.js" "needs.js" "waits.js" "trouble.js"
    "deliveries.js" "bulk.js" "delivery.js" "attempts.js" "acts.js"
    "destinations.js" "destination.js" "steer.js"
    "replays.js" "replay.js" "new_replay.js" "audit.js"
];

pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", get(async |headers: HeaderMap| INDEX.answer(&headers)))
        .route("/assets/{name}", get(asset))
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let asset = ASSETS.iter().find(|asset| asset.name == name);
    let asset = asset.ok_or_else(|| Problem::not_found(&format!("/assets/{name}")))?;
    Ok(asset.answer(&headers))
}

impl Asset {
    fn answer(&self, asked: &HeaderMap) -> Response {
        let tag = format!("\"{}\"", Hex(&Sha256::digest(self.text)[..16]));
        let known = asked.get(header::IF_NONE_MATCH);
        if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
            return (StatusCode::NOT_MODIFIED, HEADERS.clone(), [(header::ETAG, tag)]).into_response();
        }
        let kind = [(header::CONTENT_TYPE, self.media_type())];
        (HEADERS.clone(), kind, [(header::ETAG, tag)], self.text).into_response()
    }

    fn media_type(&self) -> &'static str {
        match self.name.rsplit_once('.') {
            Some((_, "html")) => "text/html; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "text/javascript; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests;
