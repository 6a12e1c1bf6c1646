//! Each kind of fault with the line that is printed for it.

use super::super::Config;
use super::{World, destination};

/// Asserts that `text` is refused with exactly these lines.
pub(super) fn refused(text: &str, lines: &[&str]) {
    assert_eq!(World::default().complaint(text), lines.join("\n"), "of:\n{text}");
}

#[test]
fn all_faults_are_named_at_once_in_the_order_of_their_lines() {
    let text = r#"[relay]
heartbeet = "5s"
lease_ttl = "ten seconds"
fetch_rows = 0

[destinations.crm]
type = "webhook"
url = "http://crm.example.com/"
topics = "customers"
order = "lates"
retry = { frist = "1s", factor = 0.5 }

[destination.erp]
type = "webhook"
"#;
    refused(
        text,
        &[
            "aftercommit.toml:2: relay.heartbeet: unknown key; did you mean `heartbeat`?",
            "aftercommit.toml:3: relay.lease_ttl: `ten seconds` is not a duration; write a whole number and one of ms, s, m, h, d, such as \"30s\"",
            "aftercommit.toml:4: relay.fetch_rows: must be a whole number from 1 to 100000",
            "aftercommit.toml:8: destinations.crm.url: plain http is not allowed; use https, or set allow_http of destination `crm`",
            "aftercommit.toml:9: destinations.crm.topics: must be an array such as [\"a\", \"b\"], not a string",
            "aftercommit.toml:10: destinations.crm.order: unknown word `lates`; did you mean `latest`?",
            "aftercommit.toml:11: destinations.crm.retry.factor: must be a number from 1 to 1000",
            "aftercommit.toml:11: destinations.crm.retry.frist: unknown key; did you mean `first`?",
            "aftercommit.toml:13: destination: unknown key; did you mean `destinations`?",
        ],
    );
}

#[test]
fn a_text_that_is_not_toml_is_refused_at_its_line() {
    refused(
        "[relay]\n[log]\n[relay]\n",
        &["aftercommit.toml:3: not TOML: duplicate key"],
    );
    refused(
        "[relay]\nheartbeat = 5s\nlease_ttl = 30s\n",
        &[
            "aftercommit.toml:2: not TOML: string values must be quoted, expected literal string",
            "aftercommit.toml:3: not TOML: string values must be quoted, expected literal string",
        ],
    );
}

#[test]
fn a_broken_structure_is_one_fault_without_its_echoes() {
    refused(
        "[destinations.crm]\ntopics = [\"a\"\nurl = \"b\"\n[relay]\nmax_held = 5\n",
        &["aftercommit.toml:3: not TOML: missing comma between array elements, expected `,`"],
    );
}

#[test]
fn an_unknown_key_far_from_any_lists_what_there_is() {
    refused(
        "[log]\ncolour = true\n",
        &["aftercommit.toml:2: log.colour: unknown key; known are format, filter"],
    );
    refused(
        "verbose = true\n",
        &[
            "aftercommit.toml:1: verbose: unknown key; known are database, admin, relay, log, topics, destinations, hosts",
        ],
    );
}

#[test]
fn suggestions_see_through_case_dashes_and_swapped_letters() {
    for (wrong, meant) in [
        ("max-attempts", "max_attempts"),
        ("Max_Age", "max_age"),
        ("maxdelay", "max_delay"),
        ("fisrt", "first"),
    ] {
        refused(
            &destination(&format!("retry = {{ {wrong} = 1 }}")),
            &[&format!(
                "aftercommit.toml:5: destinations.crm.retry.{wrong}: unknown key; did you mean `{meant}`?"
            )],
        );
    }
}

#[test]
fn what_is_required_is_named_at_the_header_of_its_table() {
    refused(
        "\n[destinations.crm]\n\n[topics.customers]\n",
        &[
            "aftercommit.toml:2: destinations.crm.type: is missing; it has no default",
            "aftercommit.toml:2: destinations.crm.topics: is missing; it has no default",
            "aftercommit.toml:2: destinations.crm.url: is missing; it has no default",
            "aftercommit.toml:4: topics.customers.kind: is missing; it has no default",
        ],
    );
}

#[test]
fn a_value_of_the_wrong_type_is_told_which_one_it_should_be() {
    refused(
        "relay = 5\n[log]\nformat = 7\n[admin]\nlisten = 8484\n",
        &[
            "aftercommit.toml:1: relay: must be a table, not an integer",
            "aftercommit.toml:3: log.format: must be text in quotes, not an integer",
            "aftercommit.toml:5: admin.listen: must be text in quotes, not an integer",
        ],
    );
    refused(
        &destination("timeout = 15\nallow_http = \"no\"\nconcurrency = 1.5\nmax_response_bytes = true"),
        &[
            "aftercommit.toml:5: destinations.crm.timeout: must be a duration such as \"30s\", not an integer",
            "aftercommit.toml:6: destinations.crm.allow_http: must be true or false, not a string",
            "aftercommit.toml:7: destinations.crm.concurrency: must be a whole number from 1 to 4096, not a float",
            "aftercommit.toml:8: destinations.crm.max_response_bytes: must be a size such as \"4MiB\", not a boolean",
        ],
    );
    refused(
        "[destinations]\ncrm = \"https://crm.example.com\"\n[[topics]]\n",
        &[
            "aftercommit.toml:2: destinations.crm: must be a table, not a string",
            "aftercommit.toml:3: topics: must be a table, not an array",
        ],
    );
}

#[test]
fn a_number_outside_its_range_is_told_the_range() {
    for (setting, range) in [
        (
            "concurrency = 0",
            "concurrency: must be a whole number from 1 to 4096",
        ),
        ("shards = 65", "shards: must be a whole number from 1 to 64"),
        (
            "shards = 99999999999999999999",
            "shards: must be a whole number from 1 to 64",
        ),
        (
            "retry.max_attempts = 0",
            "retry.max_attempts: must be a whole number from 1 to 1000000",
        ),
        (
            "retry.max_attempts = -1",
            "retry.max_attempts: must be a whole number from 1 to 1000000",
        ),
        (
            "retry.factor = 0.9",
            "retry.factor: must be a number from 1 to 1000",
        ),
        (
            "retry.factor = nan",
            "retry.factor: must be a number from 1 to 1000",
        ),
        (
            "retry.factor = inf",
            "retry.factor: must be a number from 1 to 1000",
        ),
        (
            "retry.first = \"0s\"",
            "retry.first: must be between 1ms and 3650d",
        ),
        (
            "retry.max_age = \"4000d\"",
            "retry.max_age: must be between 1ms and 3650d",
        ),
        (
            "max_response_bytes = \"1GiB\"",
            "max_response_bytes: must be between 0B and 16MiB",
        ),
    ] {
        refused(
            &destination(setting),
            &[&format!("aftercommit.toml:5: destinations.crm.{range}")],
        );
    }
}

#[test]
fn names_of_topics_and_destinations_are_bounded() {
    let long = "t".repeat(256);
    refused(
        &format!("[topics.{long}]\nkind = \"event\"\n"),
        &[&format!(
            "aftercommit.toml:1: topics.{long}: a topic's name must have 1 to 255 bytes"
        )],
    );
    refused(
        "[topics.\"\"]\nkind = \"event\"\n",
        &["aftercommit.toml:1: topics.\"\": a topic's name must have 1 to 255 bytes"],
    );
    World::default().read(&format!("[topics.{}]\nkind = \"event\"\n", "t".repeat(255)));
    for name in ["CRM", "\"\"", "\"crm eu\"", &"c".repeat(65)] {
        let text = destination("").replace("crm]", &format!("{name}]"));
        refused(
            &text,
            &[&format!(
                "aftercommit.toml:1: destinations.{name}: a destination's name must have 1 to 64 of a-z, 0-9, _ and -"
            )],
        );
    }
}

#[test]
fn each_bad_element_of_an_array_is_named_with_its_own_line() {
    refused(
        &destination("allow_networks = [\n  \"10.0.0.0/8\",\n  \"10.0.0\",\n  10,\n]"),
        &[
            "aftercommit.toml:7: destinations.crm.allow_networks[1]: must be a network in CIDR form, such as \"10.20.0.0/16\"",
            "aftercommit.toml:8: destinations.crm.allow_networks[2]: must be text in quotes, not an integer",
        ],
    );
    refused(
        &destination("").replace("[\"customers\"]", "[\"a\", \"\", \"b\"]"),
        &["aftercommit.toml:4: destinations.crm.topics[1]: a topic's name must have 1 to 255 bytes"],
    );
    refused(
        &destination("").replace("[\"customers\"]", "[\"a\", \"b\", \"a\"]"),
        &["aftercommit.toml:4: destinations.crm.topics[2]: names the same topic again; remove it"],
    );
}

#[test]
fn words_are_those_of_their_option() {
    for (setting, complaint) in [
        (
            "method = \"post\"",
            "method: unknown word `post`; did you mean `POST`?",
        ),
        (
            "method = \"DELETE\"",
            "method: unknown word `DELETE`; known are POST, PUT, PATCH",
        ),
        (
            "body = \"envelop\"",
            "body: unknown word `envelop`; did you mean `envelope`?",
        ),
        (
            "uncertain_policy = \"drop\"",
            "uncertain_policy: unknown word `drop`; known are resend, hold",
        ),
        (
            "order = \"fifo\"",
            "order: unknown word `fifo`; known are latest, ordered, independent",
        ),
    ] {
        refused(
            &destination(setting),
            &[&format!("aftercommit.toml:5: destinations.crm.{complaint}")],
        );
    }
    refused(
        &destination("").replace("\"webhook\"", "\"webhok\""),
        &["aftercommit.toml:2: destinations.crm.type: unknown word `webhok`; did you mean `webhook`?"],
    );
    refused(
        "[topics.t]\nkind = \"stream\"\n",
        &["aftercommit.toml:2: topics.t.kind: unknown word `stream`; known are event, state"],
    );
    refused(
        &destination("idempotency_key.form = \"base64\""),
        &[
            "aftercommit.toml:5: destinations.crm.idempotency_key.form: unknown key form `base64`; known are token, quoted, uuid, short, hex",
        ],
    );
}

#[test]
fn urls_and_headers_keep_the_rules_of_the_core() {
    for (url, complaint) in [
        ("crm.example.com", "is not a URL: relative URL without a base"),
        (
            "ftp://crm.example.com",
            "`ftp` is no scheme for a destination; use https",
        ),
    ] {
        refused(
            &destination("").replace("https://crm.example.com/hook", url),
            &[&format!("aftercommit.toml:3: destinations.crm.url: {complaint}")],
        );
    }
    for (setting, complaint) in [
        (
            "headers = { host = \"other\" }",
            "headers.host: header \"host\" is set by the relay itself and cannot be set here",
        ),
        (
            "headers = { Idempotency-Key = \"mine\" }",
            "headers.Idempotency-Key: header \"Idempotency-Key\" is set by the relay itself and cannot be set here",
        ),
        (
            "headers = { x-a = \"1\", X-A = \"2\" }",
            "headers: names the header x-a twice",
        ),
        (
            "idempotency_key.header = \"webhook-id\"",
            "idempotency_key.header: header \"webhook-id\" is set by the relay itself and cannot be set here",
        ),
        (
            "proxy = \"socks5://proxy\"",
            "proxy: must be an http or https URL",
        ),
    ] {
        refused(
            &destination(setting),
            &[&format!("aftercommit.toml:5: destinations.crm.{complaint}")],
        );
    }
}

#[test]
fn addresses_and_filters_are_checked() {
    refused(
        "[admin]\nlisten = \"localhost:8484\"\n[log]\nfilter = \"aftercommit=loud\"\n",
        &[
            "aftercommit.toml:2: admin.listen: must be an IP address and a port, such as \"127.0.0.1:8484\", or \"off\"",
            "aftercommit.toml:4: log.filter: is not a filter: error parsing level filter: expected one of \"off\", \"error\", \"warn\", \"info\", \"debug\", \"trace\", or a number 0-5",
        ],
    );
    refused(
        "[database]\nurl = \"mysql://localhost/x\"\nnamespace = \"\"\n",
        &[
            "aftercommit.toml:2: database.url: must begin with sqlite: or postgres://",
            "aftercommit.toml:3: database.namespace: must have 1 to 255 bytes",
        ],
    );
}

#[test]
fn a_file_that_is_not_there_says_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aftercommit.toml");
    let faults = Config::read(&path).unwrap_err().to_string();
    assert_eq!(
        faults,
        format!(
            "{}: there is no such file; `aftercommit init` writes one",
            path.display()
        )
    );
}

#[test]
fn what_a_terminal_would_obey_is_escaped() {
    refused(
        &destination("timeout = \"\\u001b[31m5s\"\norder = \"a\\nb\"\n\"url\\u0007\" = 1"),
        &[
            "aftercommit.toml:5: destinations.crm.timeout: `\\u{1b}[31m5s` is not a duration; write a whole number and one of ms, s, m, h, d, such as \"30s\"",
            "aftercommit.toml:6: destinations.crm.order: unknown word `a\\nb`; known are latest, ordered, independent",
            "aftercommit.toml:7: destinations.crm.\"url\\u{7}\": unknown key; did you mean `url`?",
        ],
    );
}
