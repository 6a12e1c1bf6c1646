//! What the client will not do: go elsewhere, connect where it may not, tell what it should not.

use std::net::TcpListener;

use super::listener::{Connection, Listener};
use super::*;
use crate::config::destination::SigningSecret;

fn error(config: &WebhookConfig) -> String {
    match Webhook::new("crm", config, Arc::new(SystemClock::start())) {
        Ok(_) => panic!("it was taken"),
        Err(error) => format!("{error}"),
    }
}

/// A port at which nobody listens.
fn deaf() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn a_redirect_is_refused_and_never_followed() {
    let elsewhere = Listener::answering(OK);
    for status in [301, 302, 303, 307, 308] {
        let location = format!("http://{}/", elsewhere.address);
        let listener = Listener::answering(format!(
            "HTTP/1.1 {status} Elsewhere\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
        ));
        let report = deliver_to(&patient(&at(listener.address))).await;
        assert_eq!(report.outcome, Outcome::Refused(Refusal::Retryable), "{status}");
        assert!(report.detail.unwrap().contains("redirects are never followed"));
        listener.only_request();
    }
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn a_redirect_to_nowhere_is_no_success() {
    for location in [
        "http://1.2.3.999/",
        "http://[::1/",
        "",
        "\u{fc}",
        "//",
        "http://a@b:c/",
    ] {
        let listener = Listener::answering(format!(
            "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
        ));
        let report = deliver_to(&patient(&at(listener.address))).await;
        let told = matches!(
            report.outcome,
            Outcome::Refused(Refusal::Retryable) | Outcome::Unknown
        );
        assert!(told, "{location}: {report:?}");
        listener.only_request();
    }
}

#[tokio::test]
async fn a_receiver_that_cannot_be_connected_to_was_sent_nothing() {
    let deaf = deaf();
    let report = deliver_to(&patient(&at(deaf))).await;
    assert_eq!(report.outcome, Outcome::Unreachable);
    let detail = report.detail.unwrap();
    assert!(
        detail.starts_with(&format!("cannot connect to http://{deaf}: Connection refused")),
        "{detail}"
    );
}

#[tokio::test]
async fn a_failed_tls_handshake_proves_that_nothing_was_sent() {
    let listener = Listener::run(|connection| {
        connection.read_a_little();
        connection.write(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let url = format!("https://{}/in?token=canary", listener.address);
    let report = deliver_to(&patient(&url)).await;
    assert_eq!(report.outcome, Outcome::Unreachable, "{report:?}");
}

#[tokio::test]
async fn a_name_leads_only_to_addresses_that_are_allowed() {
    let listener = Listener::answering(OK);
    let url = format!(
        "http://receiver.example:{}/in?token=canary",
        listener.address.port()
    );
    for (allow_networks, expected) in [
        ("127.0.0.1/32", Outcome::Accepted),
        ("10.0.0.0/8", Outcome::Unreachable),
    ] {
        let config = WebhookConfig {
            allow_networks: vec![allow_networks.parse().unwrap()],
            ..patient(&url)
        };
        let names = Arc::new(Names(vec![listener.address.ip()]));
        let webhook = Webhook::with_lookup("crm", &config, Arc::new(SystemClock::start()), names).unwrap();
        let report = deliver(&webhook, &outgoing(row("{}"))).await;
        assert_eq!(report.outcome, expected, "{report:?}");
        if expected == Outcome::Unreachable {
            assert_eq!(
                report.detail.unwrap(),
                format!(
                    "cannot connect to http://receiver.example:{}: `receiver.example` resolves to an address that is \
                     refused: 127.0.0.1 is a loopback address; name its network in allow_networks of destination \
                     `crm` to allow it",
                    listener.address.port()
                )
            );
        }
    }
    listener.only_request();
}

#[tokio::test]
async fn a_name_that_turns_private_after_its_first_look_up_is_refused_then() {
    struct Rebinding(std::sync::atomic::AtomicU32);
    #[async_trait::async_trait]
    impl Lookup for Rebinding {
        async fn addresses(&self, _host: &str) -> std::io::Result<Vec<IpAddr>> {
            let turn = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Ok(vec![
                if turn == 0 { "127.0.0.1" } else { "127.0.0.2" }.parse().unwrap(),
            ])
        }
    }
    let listener = Listener::run(|connection| {
        connection.read_request();
        connection.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    });
    let url = format!("http://receiver.example:{}/", listener.address.port());
    let config = WebhookConfig {
        allow_networks: vec!["127.0.0.1/32".parse().unwrap()],
        ..patient(&url)
    };
    let names = Arc::new(Rebinding(0.into()));
    let webhook = Webhook::with_lookup("crm", &config, Arc::new(SystemClock::start()), names).unwrap();
    assert_eq!(
        deliver(&webhook, &outgoing(row("1"))).await.outcome,
        Outcome::Accepted
    );
    assert_eq!(
        deliver(&webhook, &outgoing(row("2"))).await.outcome,
        Outcome::Unreachable
    );
}

#[test]
fn a_url_that_leads_inside_is_refused_when_the_destination_is_made() {
    let closed = |url: &str| WebhookConfig {
        allow_networks: Vec::new(),
        ..config(url)
    };
    assert!(
        error(&closed("http://[::ffff:127.0.0.1]/?t=canary")).starts_with("127.0.0.1 is a loopback address")
    );
    assert!(
        error(&WebhookConfig {
            allow_http: false,
            ..closed("http://hooks.example/")
        })
        .contains("allow_http")
    );
    assert!(!error(&closed("https://user:canary@hooks.example/")).contains("canary"));
}

#[tokio::test]
async fn a_proxy_that_is_configured_is_used_wherever_it_stands() {
    let proxy = Listener::answering(OK);
    for host in ["127.0.0.1", "proxy.example"] {
        let config = WebhookConfig {
            proxy: Some(format!("http://{host}:{}", proxy.address.port()).parse().unwrap()),
            allow_networks: Vec::new(),
            ..patient("http://hooks.example/in")
        };
        let names = Arc::new(Names(vec![proxy.address.ip()]));
        let webhook = Webhook::with_lookup("crm", &config, Arc::new(SystemClock::start()), names).unwrap();
        let report = deliver(&webhook, &outgoing(row("{}"))).await;
        assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
        assert!(
            proxy
                .only_request()
                .head
                .starts_with("POST http://hooks.example/in HTTP/1.1\r\n")
        );
    }
}

/// Runs itself again with proxies in the environment, which a process cannot safely set for itself.
#[tokio::test]
async fn proxies_of_the_environment_are_ignored() {
    const CHILD: &str = "AFTERCOMMIT_TEST_PROXIED";
    const PROXIES: [&str; 6] = [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ];
    let listener = Listener::answering(OK);
    if std::env::var_os(CHILD).is_some() {
        assert_eq!(
            deliver_to(&patient(&at(listener.address))).await.outcome,
            Outcome::Accepted
        );
        assert!(
            listener
                .only_request()
                .head
                .starts_with("POST /in?token=canary HTTP/1.1\r\n")
        );
        return;
    }
    let name = "destination::webhook::tests::guards::proxies_of_the_environment_are_ignored";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", name])
        .env(CHILD, "1")
        .env_remove("no_proxy")
        .env_remove("NO_PROXY");
    for variable in PROXIES {
        child.env(variable, format!("http://{}", listener.address));
    }
    let output = child.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    assert!(listener.seen().is_empty());
}

#[tokio::test]
async fn no_secret_reaches_a_report() {
    let failing: [fn() -> Listener; 4] = [
        || Listener::run(Connection::read_a_little),
        || Listener::run(Connection::hang),
        || {
            Listener::answering(
                &b"HTTP/1.1 302 Found\r\nlocation: http://x/?t=canary\r\ncontent-length: 0\r\n\r\n"[..],
            )
        },
        || Listener::answering(&b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\n"[..]),
    ];
    let secret = |url: &str| WebhookConfig {
        headers: vec![("authorization".to_owned(), "Bearer canary".into())],
        secrets: vec![SigningSecret("whsec_canarycanarycanarycanarycanarycanary".into())],
        ..config(url)
    };
    let mut urls: Vec<_> = Vec::new();
    let listeners: Vec<_> = failing.iter().map(|listener| listener()).collect();
    urls.extend(listeners.iter().map(|listener| at(listener.address)));
    urls.push(at(deaf()));
    for url in urls {
        let report = deliver_to(&secret(&url)).await;
        assert!(!format!("{report:?}").contains("canary"), "{report:?}");
    }
}

#[test]
fn a_secret_that_cannot_sign_is_refused_without_showing_it() {
    let bad = WebhookConfig {
        secrets: vec![SigningSecret("whsec_canarycanary".into())],
        ..config("https://hooks.example/")
    };
    let message = error(&bad);
    assert!(
        message.contains("24 to 64 bytes") && !message.contains("canary"),
        "{message}"
    );
}
