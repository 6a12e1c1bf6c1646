//! `examples/monitoring`: what it names is what a daemon tells, and Prometheus' own tool accepts it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use aftercommit::mock::receiver::{Receiver, ReceiverOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::scrape::Scrape;
use crate::store::world::{Backend, World};

use super::command::Project;

const ALERTS: &str = include_str!("../../../examples/monitoring/alerts.yml");
const DASHBOARD: &str = include_str!("../../../examples/monitoring/dashboard.json");
const README: &str = include_str!("../../../examples/monitoring/README.md");
const TESTS: &str = include_str!("../../../examples/monitoring/alerts_test.yml");

/// What a daemon says once it dispatches.
async fn scraped() -> String {
    let world = World::migrated(Backend::Sqlite).await;
    let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
    let project = Project::with(&format!(
        "[database]\nurl = \"{}\"\n[admin]\nlisten = \"127.0.0.1:0\"\nopen_metrics = true\n[relay]\npoll_idle = \"20ms\"\n\
         [topics.orders]\nkind = \"event\"\n[destinations.hook]\ntype = \"webhook\"\nurl = \"{}\"\n\
         topics = [\"orders\"]\nallow_http = true\nallow_networks = [\"127.0.0.0/8\"]\n",
        world.url,
        receiver.url()
    ));
    // As of a CRM: a webhook has no limit.
    world
        .execute("insert into aftercommit.usage (destination, used, allowed, reserve, heard_at) values ('hook', 1, 9, 0, now())")
        .await;
    let mut daemon = project.start(&["run", "--json"]);
    let ready: serde_json::Value = serde_json::from_str(&daemon.line().await).unwrap();
    world
        .execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', '1', 'event', '{}')")
        .await;
    receiver.received(1).await;
    let address = ready["admin"].as_str().unwrap().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address.trim_end_matches('/')).await.unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.to_owned()
}

/// Every word in a text that begins as our metrics do.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    let ours = words.filter(|word| word.starts_with("aftercommit_"));
    ours.map(str::to_owned).collect()
}

#[tokio::test]
async fn every_metric_that_a_rule_a_panel_or_the_readme_names_is_told_by_the_daemon_and_none_is_left_out() {
    let scrape = Scrape::read(&scraped().await);
    for (what, text) in [
        ("alerts.yml", ALERTS),
        ("alerts_test.yml", TESTS),
        ("dashboard.json", DASHBOARD),
    ] {
        let unknown: Vec<_> = named(text).difference(&scrape.names()).cloned().collect();
        assert!(unknown.is_empty(), "{what} names {unknown:?}, which nobody tells");
        assert!(named(text).len() > 5, "{what}");
    }
    assert_eq!(
        named(README),
        scrape.metrics(),
        "README.md lists what /metrics tells"
    );
    let shown: BTreeSet<String> = &named(DASHBOARD) | &named(ALERTS);
    let base = |name: &String| {
        ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(name)
            .to_owned()
    };
    let shown: BTreeSet<String> = shown.iter().map(base).collect();
    assert_eq!(shown, scrape.metrics(), "each is on the dashboard or in a rule");
}

#[test]
fn every_alert_has_a_test_in_which_it_fires() {
    let names = |text: &str, key: &str| -> BTreeSet<String> {
        let lines = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix(key));
        lines.map(|name| name.trim().to_owned()).collect()
    };
    assert_eq!(names(ALERTS, "- alert:"), names(TESTS, "- alertname:"));
    assert!(names(ALERTS, "- alert:").len() > 5);
    let fires = TESTS.matches("- exp_labels:").count();
    assert!(fires >= names(ALERTS, "- alert:").len(), "{fires} fire");
}

#[test]
fn the_dashboard_is_one_that_grafana_can_import() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    assert_eq!(dashboard["title"], "Aftercommit");
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has an id of its own");
    for panel in panels {
        assert_eq!(
            panel["datasource"]["uid"], "${source}",
            "no source of somebody's own"
        );
        let targets = panel["targets"].as_array().unwrap();
        assert!(targets.iter().all(|target| target["expr"].is_string()), "{panel}");
    }
}

/// A copy of the folder, with a token as the configuration expects it.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let copy = tempfile::tempdir().unwrap();
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/monitoring");
    for file in fs::read_dir(original).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    fs::write(copy.path().join("aftercommit.token"), "a-token").unwrap();
    let path = copy.path().to_owned();
    (copy, path)
}

/// Runs Prometheus' tool on the folder, which must go well.
fn promtool(folder: &Path, arguments: &[&str], input: &str) {
    use std::io::Write as _;
    let child = Command::new("promtool")
        .args(arguments)
        .current_dir(folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn();
    let mut child = child.unwrap_or_else(|error| {
        panic!("promtool cannot be run: {error}; install Prometheus (Debian: apt-get install prometheus), or run ./test, which does")
    });
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "promtool {arguments:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn promtool_accepts_the_configuration_and_the_rules_and_their_tests_pass() {
    let (_keep, folder) = folder();
    promtool(&folder, &["check", "config", "prometheus.yml"], "");
    promtool(&folder, &["test", "rules", "alerts_test.yml"], "");
}

#[tokio::test]
async fn promtool_finds_nothing_to_mend_in_what_the_daemon_tells() {
    let (_keep, folder) = folder();
    promtool(&folder, &["check", "metrics"], &scraped().await);
}

/// The expressions of the dashboard, with Grafana's own variables filled in, as rules that promtool can check.
#[test]
fn promtool_can_read_every_expression_of_the_dashboard() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap());
    let rule = |(number, target): (usize, &serde_json::Value)| {
        let expression = target["expr"].as_str().unwrap();
        let expression = expression
            .replace("$__rate_interval", "1m")
            .replace("$destination", ".*");
        format!("      - record: panel:{number}\n        expr: >-\n          {expression}\n")
    };
    let rules: String = targets.enumerate().map(rule).collect();
    let (_keep, folder) = folder();
    let rules = format!("groups:\n  - name: dashboard\n    rules:\n{rules}");
    fs::write(folder.join("panels.yml"), rules).unwrap();
    promtool(&folder, &["check", "rules", "panels.yml"], "");
}
