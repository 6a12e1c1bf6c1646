//! What a destination of `type = "hubspot"` takes, and that its secrets are shown nowhere.

use super::World;
use super::faults::refused;

/// A destination with what is required of it and `more`; its header is line 1, `more` begins in line 7.
fn hubspot(more: &str) -> String {
    let required = "type = \"hubspot\"\ntopics = [\"customers\"]\nobject = \"contacts\"\nid_property = \"email\"\nfields = {}";
    format!("[destinations.crm]\n{required}\n{more}\n")
}

const OAUTH: &str = "client_id = \"canary5ecret-a\"\nclient_secret = \"canary5ecret-b\"\nrefresh_token = \"canary5ecret-c\"\n";

#[test]
fn one_way_in_is_asked_for() {
    let problem = "aftercommit.toml:1: destinations.crm: needs one way in: access_token alone (a private app), or client_id, \
                   client_secret and refresh_token (OAuth)";
    for access in [
        "",
        "client_id = \"a\"",
        "client_id = \"a\"\nclient_secret = \"b\"",
        "access_token = \"a\"\nrefresh_token = \"b\"",
    ] {
        refused(&hubspot(access), &[problem]);
    }
    World::default().read(&hubspot("access_token = \"pat\""));
    World::default().read(&hubspot(OAUTH));
}

#[test]
fn the_options_are_held_to_what_the_api_takes() {
    for (option, problem) in [
        (
            "access_token = \"a b\"",
            "access_token: must be printable ASCII without blanks",
        ),
        (
            "batch_size = 101",
            "batch_size: must be a whole number from 1 to 100",
        ),
        ("login_url = \"https://a.example\"", "login_url: unknown key"),
    ] {
        let access = if option.starts_with("access_token") {
            ""
        } else {
            "access_token = \"pat\""
        };
        let complaint = World::default().complaint(&hubspot(&format!("{option}\n{access}")));
        let expected = format!("aftercommit.toml:7: destinations.crm.{problem}");
        assert!(complaint.starts_with(&expected), "{complaint}");
    }
}

#[test]
fn what_gives_access_is_not_shown_and_makes_a_difference() {
    let base = hubspot(OAUTH);
    let config = World::default().read(&base);
    let shown = format!("{config}{config:?}");
    assert!(!shown.contains("canary5ecret"), "{shown}");
    assert!(shown.contains("refresh_token = \"(secret)\""), "{shown}");
    let before = &config.destinations["crm"];
    assert!(!before.differs(&World::default().read(&base).destinations["crm"]));
    for change in [
        base.replace("canary5ecret-a", "other"),
        base.replace("canary5ecret-b", "other"),
        base.replace("canary5ecret-c", "other"),
        base.replace("contacts", "companies"),
        hubspot("access_token = \"pat\""),
        hubspot("access_token = \"another\""),
    ] {
        let changed = World::default().read(&change);
        assert!(before.differs(&changed.destinations["crm"]), "{change}");
    }
    let private = World::default().read(&hubspot("access_token = \"pat\""));
    let another = World::default().read(&hubspot("access_token = \"another\""));
    assert!(private.destinations["crm"].differs(&another.destinations["crm"]));
}
