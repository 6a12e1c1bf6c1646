//! Carries what the SDK's thread wants to send to the collector, on the program's own runtime.
//!
//! The collector is the operator's, named in the environment, so the guards for receivers are not meant for it: it may stand
//! in a private network and behind the proxy of the environment.

use std::time::Duration;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use reqwest::Client;
use tokio::runtime::Handle;

use crate::telemetry::TelemetryError;

/// One request at most; the SDK has its own schedule.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends by the program's own HTTP client.
#[derive(Debug)]
pub(super) struct Courier {
    http: Client,
    runtime: Handle,
}

impl Courier {
    /// One that works on the runtime in which it is made.
    pub(super) fn new() -> Result<Self, TelemetryError> {
        // Somebody may have chosen the process's cryptography before.
        let _already_chosen = rustls::crypto::ring::default_provider().install_default();
        #[expect(
            clippy::disallowed_methods,
            reason = "the guards are for receivers; this goes to the operator's own collector"
        )]
        let http = Client::builder().timeout(TIMEOUT).build();
        Ok(Self {
            http: http.map_err(|error| TelemetryError::Traces(error.to_string()))?,
            runtime: Handle::current(),
        })
    }
}

#[async_trait::async_trait]
impl HttpClient for Courier {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (http, request) = (self.http.clone(), reqwest::Request::try_from(request)?);
        // The SDK's thread has no runtime.
        let sent = self.runtime.spawn(async move {
            #[expect(
                clippy::disallowed_methods,
                reason = "the guards are for receivers; this goes to the operator's own collector"
            )]
            let answer = http.execute(request).await.map_err(reqwest::Error::without_url)?;
            let mut response = Response::builder().status(answer.status());
            if let Some(headers) = response.headers_mut() {
                headers.clone_from(answer.headers());
            }
            let body = answer.bytes().await.map_err(reqwest::Error::without_url)?;
            Ok(response.body(body)?)
        });
        sent.await?
    }
}
