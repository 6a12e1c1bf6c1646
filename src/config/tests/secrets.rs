//! Where secrets come from, and that nothing shows them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use secrecy::ExposeSecret;

use super::super::{Config, DATABASE_URL, ReceiverConfig};
use super::{World, destination};

/// Stands in every secret of these tests; nothing may ever print it.
const CANARY: &str = "canary5ecret";

/// A signing secret that holds the canary, 24 bytes in base64.
const SIGNING: &str = "whsec_canary5ecretAAAAAAAAAAAAAAAAAAAA";

#[test]
fn a_secret_is_text_a_variable_or_a_file_without_its_last_newline() {
    let world = World::default()
        .with_variable("CRM_TOKEN", "from a variable")
        .with_file("secrets/erp", "from a file\r\n");
    let config = world.read(&destination(
        "[destinations.crm.headers]\nx-a = \"as text\"\nx-b = { env = \"CRM_TOKEN\" }\nx-c = { file = \"secrets/erp\" }",
    ));
    let ReceiverConfig::Webhook(webhook) = &config.destinations["crm"].receiver else {
        panic!("no webhook")
    };
    let headers: Vec<_> = webhook
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose_secret()))
        .collect();
    assert_eq!(
        headers,
        [
            ("x-a", "as text"),
            ("x-b", "from a variable"),
            ("x-c", "from a file")
        ]
    );
}

#[test]
fn only_one_newline_is_taken_from_a_file() {
    let world = World::default().with_file("token", "two newlines\n\n");
    assert_eq!(
        world.complaint("[admin]\ntoken = { file = \"token\" }\n"),
        "aftercommit.toml:2: admin.token: must be printable ASCII without blanks"
    );
}

#[test]
fn a_file_is_looked_for_beside_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aftercommit.toml");
    std::fs::write(folder.path().join("token"), "beside\n").unwrap();
    std::fs::write(&path, "[admin]\ntoken = { file = \"token\" }\n").unwrap();
    let token = Config::read(&path).unwrap().admin.token.unwrap();
    assert_eq!(token.expose_secret(), "beside");
}

#[test]
fn a_secret_that_is_not_there_is_named_by_key_line_and_source() {
    let not_text = OsString::from_vec(vec![0xff; 4]);
    let world = World::default()
        .with_variable("EMPTY", "")
        .with_variable("NOT_TEXT", not_text)
        .with_file("blank", "\n");
    for (value, problem) in [
        ("\"\"", "is empty"),
        (
            "{ env = \"ABSENT\" }",
            "the environment variable ABSENT is not set; set it for this process",
        ),
        ("{ env = \"EMPTY\" }", "the environment variable EMPTY is empty"),
        (
            "{ env = \"NOT_TEXT\" }",
            "the environment variable NOT_TEXT does not hold UTF-8 text",
        ),
        (
            "{ file = \"absent\" }",
            "cannot read the file `absent`: entity not found",
        ),
        ("{ file = \"blank\" }", "the file `blank` is empty"),
        (
            "{ environment = \"X\" }",
            "must be text, { env = \"NAME\" } or { file = \"path\" }",
        ),
        (
            "{ env = \"X\", file = \"x\" }",
            "must be text, { env = \"NAME\" } or { file = \"path\" }",
        ),
        (
            "5",
            "must be text, { env = \"NAME\" } or { file = \"path\" }, not an integer",
        ),
    ] {
        let complaint = world.complaint(&format!("[admin]\ntoken = {value}\n"));
        assert_eq!(complaint, format!("aftercommit.toml:2: admin.token: {problem}"));
    }
}

#[test]
fn the_variable_for_the_database_goes_before_the_text() {
    let world = World::default().with_variable(DATABASE_URL, "postgres://db/a");
    let config = world.read("[database]\nurl = { env = \"ABSENT\" }\n");
    assert_eq!(config.database.url.expose_secret(), "postgres://db/a");

    let world = World::default().with_variable(DATABASE_URL, format!("mysql://{CANARY}@db/a"));
    assert_eq!(
        world.complaint("[database]\nurl = \"sqlite:x.db\"\n"),
        "aftercommit.toml: AFTERCOMMIT_DATABASE_URL: must begin with sqlite: or postgres://"
    );
}

#[test]
fn neither_debug_nor_display_shows_a_secret() {
    let text = format!(
        r#"
[database]
url = "postgres://user:{CANARY}@db.internal/pipeline?password={CANARY}"
[admin]
token = "{CANARY}"
[destinations.crm]
type = "webhook"
url = "https://crm.example.com/{CANARY}?key={CANARY}"
topics = ["customers"]
secrets = ["{SIGNING}"]
headers = {{ authorization = "Bearer {CANARY}" }}
proxy = "http://proxy.example.com:3128/{CANARY}"
"#
    );
    let config = World::default().read(&text);
    for shown in [format!("{config:?}"), format!("{config:#?}"), config.to_string()] {
        assert!(!shown.contains(CANARY), "{shown}");
        assert!(shown.contains("https://crm.example.com"), "{shown}");
    }
}

#[test]
fn no_fault_repeats_a_secret() {
    for text in [
        format!("[database]\nurl = \"{CANARY}\"\n"),
        format!("[database]\nurl = {{ env = \"{CANARY}\" }}\n"),
        format!("[database]\nurl = [\"{CANARY}\"]\n"),
        format!("[admin]\ntoken = \"{CANARY} with blanks\"\n"),
        format!("[admin]\ntoken = \"{CANARY}\nlisten = \"off\"\n"),
        format!("[admin]\ntoken = {CANARY}\n"),
        format!("[admin]\ntoken = {{ secret = \"{CANARY}\" }}\n"),
        destination(&format!("secrets = [\"{CANARY}\"]")),
        destination(&format!("secrets = [\"whsec_{CANARY}\"]")),
        destination(&format!("secrets = \"{SIGNING}\"")),
        destination(&format!("headers = {{ authorization = \" {CANARY}\" }}")),
        destination(&format!("headers = {{ host = \"{CANARY}\" }}")),
        destination(&format!("headers = {{ x-a = \"{CANARY}\\n\" }}")),
        destination(&format!("headers = \"authorization: {CANARY}\"")),
        destination(&format!("proxy = \"http://user:{CANARY}@proxy\"")),
        destination("").replace("https://crm", &format!("https://user:{CANARY}@crm")),
        destination("").replace("https://crm", &format!("https://{CANARY}@crm")),
        destination("").replace(
            "https://crm.example.com/hook",
            &format!("http://crm.example.com/{CANARY}"),
        ),
        destination("").replace("https://crm.example.com/hook", &format!("crm/{CANARY}")),
    ] {
        let faults = Config::parse(&text, &World::default()).unwrap_err();
        assert!(!faults.to_string().contains(CANARY), "{faults}");
        assert!(!format!("{faults:?}").contains(CANARY), "{faults:?}");
    }
}
