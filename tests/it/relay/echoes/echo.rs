//! A receiver that repeats whatever it is sent, in the form of each API that it stands for.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use url::form_urlencoded::byte_serialize;

/// What it gives who logs in.
pub(super) const ACCESS_TOKEN: &str = "4cc3ssT0kenX";
/// What it gives in place of the refresh token.
pub(super) const REFRESH_TOKEN: &str = "n3wRefr3shU";

/// Whether one can log in.
#[derive(Clone, Copy)]
pub(super) enum Login {
    Good,
    Refused,
}

/// Listens until it is dropped.
pub(super) struct Echo {
    url: String,
    signatures: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

impl Echo {
    pub(super) async fn start(login: Login) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let signatures: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, own) = (signatures.clone(), url.clone());
        let router = Router::new().fallback(move |request: Request| {
            if let Some(signature) = request.headers().get("webhook-signature") {
                kept.lock().unwrap().push(signature.to_str().unwrap().to_owned());
            }
            answer(request, login, own.clone())
        });
        let mut task = JoinSet::new();
        task.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            signatures,
            _task: task,
        }
    }

    pub(super) fn url(&self) -> String {
        self.url.clone()
    }

    pub(super) fn signatures(&self) -> Vec<String> {
        self.signatures.lock().unwrap().clone()
    }
}

async fn answer(request: Request, login: Login, url: String) -> (StatusCode, String) {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    let path = head.uri.path();
    if path.ends_with("/token") {
        return match login {
            Login::Good => (
                StatusCode::OK,
                json!({ "access_token": ACCESS_TOKEN, "refresh_token": REFRESH_TOKEN, "expires_in": 1800, "instance_url": url })
                    .to_string(),
            ),
            Login::Refused => (
                StatusCode::BAD_REQUEST,
                json!({ "error": "invalid_client", "error_description": format!("bad {}", secret_of(&body)) }).to_string(),
            ),
        };
    }
    let lines = head
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
    let lines: Vec<String> = lines.collect();
    let said = format!("{} {}\n{}", head.method, head.uri, lines.join("\n"));
    let escaped: String = byte_serialize(said.as_bytes()).collect();
    let authorization = head
        .headers
        .get("authorization")
        .map_or("", |value| value.to_str().unwrap());
    let token = authorization.trim_start_matches("Bearer ");
    match path {
        path if path.starts_with("/hooks") => (
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("{said}\n{escaped}\n{}", Value::from(said.as_str())),
        ),
        path if path.starts_with("/crm") => {
            // It repeats what it gave at the log in, too, which no request to it has held.
            let message = format!("{REFRESH_TOKEN} {said}");
            let problem = json!({
                "category": token, "message": message, "errors": [{ "code": token, "context": { "propertyName": [token] } }],
            });
            (StatusCode::CONFLICT, problem.to_string())
        }
        _ => {
            let problem = json!([{ "errorCode": token, "message": said, "fields": [token] }]);
            (StatusCode::BAD_REQUEST, problem.to_string())
        }
    }
}

/// The client's secret in the form that it sent.
fn secret_of(form: &str) -> String {
    let mut fields = url::form_urlencoded::parse(form.as_bytes());
    let secret = fields.find(|(name, _)| name == "client_secret");
    secret.map(|(_, value)| value.into_owned()).unwrap_or_default()
}
