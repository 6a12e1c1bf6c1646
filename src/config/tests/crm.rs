//! What a destination of a CRM takes, what it refuses and in which words, and that its secrets are shown nowhere.

use std::time::Duration;

use super::super::destination::salesforce::LoginProof;
use super::super::{ReceiverConfig, SalesforceConfig};
use super::World;
use super::faults::refused;
use crate::core::mapping::{Constant, FieldKind, NullPolicy, Source};
use crate::core::policy::IdempotencyWindow;

/// A destination with what is required of it and `more`; its header is line 1, `more` begins in line 8.
fn salesforce(more: &str) -> String {
    let required = "type = \"salesforce\"\ntopics = [\"customers\"]\nobject = \"Account\"\nexternal_id = \"Ext__c\"\n\
                    client_id = \"canary5ecret\"\nfields = {}";
    format!("[destinations.crm]\n{required}\n{more}\n")
}

const SECRET: &str = "client_secret = \"canary5ecret\"\n";

fn read(text: &str) -> SalesforceConfig {
    let config = World::default().read(text);
    match &config.destinations["crm"].receiver {
        ReceiverConfig::Salesforce(salesforce) => SalesforceConfig::clone(salesforce),
        other => panic!("{other:?}"),
    }
}

fn with_fields(fields: &str) -> String {
    salesforce(SECRET).replace("fields = {}", &format!("fields = {fields}"))
}

#[test]
fn fields_come_from_paths_and_constants_with_hints() {
    let config = read(&with_fields(
        "{ Email = \"email\", \"Parent__r.Ext__c\" = \"parent.id\", Odd = [\"a.b\", \"c\"], \
         Since = { from = \"since\", type = \"date\", null_policy = \"omit\" }, Rate = { value = 1.50 } }",
    ));
    let fields = &config.crm.mapping.fields;
    let path = |keys: &[&str]| Source::Path(keys.iter().map(|key| (*key).to_owned()).collect());
    assert_eq!(fields["Email"].source, path(&["email"]));
    assert_eq!(fields["Parent__r.Ext__c"].source, path(&["parent", "id"]));
    assert_eq!(fields["Odd"].source, path(&["a.b", "c"]));
    assert_eq!(
        (fields["Since"].kind, fields["Since"].null_policy),
        (Some(FieldKind::Date), Some(NullPolicy::Omit))
    );
    assert_eq!(
        fields["Rate"].source,
        Source::Constant(Constant::Number("1.50".to_owned())),
        "with the digits that were written"
    );
    assert_eq!(config.crm.mapping.null_policy, NullPolicy::Clear);
}

#[test]
fn what_a_field_cannot_be_is_refused_by_its_name() {
    for (fields, problem) in [
        (
            "{ Email = { form = \"email\" } }",
            &[
                "fields.Email.form: unknown key; did you mean `from`?",
                "fields.Email: must name one of from and value",
            ][..],
        ),
        (
            "{ Since = { from = \"since\", type = \"day\" } }",
            &["fields.Since.type: unknown word `day`; did you mean `date`?"],
        ),
        (
            "{ Since = { value = \"x\", type = \"date\" } }",
            &["fields.Since: is a constant, which takes neither type nor null_policy"],
        ),
        (
            "{ Email = \"a..b\" }",
            &["fields.Email: must be a path such as \"email\" or \"parent.id\""],
        ),
        (
            "{ \"a b\" = \"c\" }",
            &[
                "fields.\"a b\": is no name of a field: letters, digits, _ and -, as Email or Parent__r.Ext__c",
            ],
        ),
        (
            "{ Ext__c = \"id\" }",
            &["fields: names Ext__c, which is set by external_id; remove it"],
        ),
    ] {
        let complaint = World::default().complaint(&with_fields(fields));
        let expected: Vec<_> = problem
            .iter()
            .map(|problem| format!("aftercommit.toml:7: destinations.crm.{problem}"))
            .collect();
        let mut lines: Vec<_> = complaint.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, expected, "{fields}");
    }
}

#[test]
fn a_repetition_is_harmless_for_ever_unless_the_configuration_says_otherwise() {
    let window = |more: &str| {
        let config = World::default().read(&salesforce(&(SECRET.to_owned() + more)));
        config.destinations["crm"].policy.idempotency_window
    };
    assert_eq!(window(""), IdempotencyWindow::Unbounded);
    let an_hour = IdempotencyWindow::For(Duration::from_hours(1));
    assert_eq!(window("idempotency_window = \"1h\""), an_hour);
}

#[test]
fn one_way_to_log_in_is_asked_for() {
    let problem = "aftercommit.toml:1: destinations.crm: needs one way to log in: client_secret alone (client credentials), \
                   or private_key and username (JWT bearer)";
    for login in [
        "",
        "private_key = \"k\"",
        "username = \"u\"",
        "client_secret = \"s\"\nusername = \"u\"",
    ] {
        refused(&salesforce(login), &[problem]);
    }
    let jwt = read(&salesforce(
        "private_key = \"k\"\nusername = \"u\"\naudience = \"https://a.example\"",
    ));
    assert!(matches!(jwt.login.proof, LoginProof::PrivateKey { .. }));
}

#[test]
fn the_options_are_held_to_what_the_api_takes() {
    for (option, problem) in [
        (
            "batch_size = 201",
            "batch_size: must be a whole number from 1 to 200",
        ),
        (
            "api_version = \"45.0\"",
            "api_version: must be a version from \"46.0\" on, such as \"62.0\"",
        ),
        (
            "daily_limit_reserve = 2",
            "daily_limit_reserve: must be a number from 0 to 1",
        ),
        (
            "bulk_threshold = 10001",
            "bulk_threshold: must be a whole number from 0 to 10000",
        ),
        (
            "bulk_threshold = 1\nupdate_only = true",
            "bulk_threshold: must be 0 with update_only, since a job cannot be told to create no record; remove one of them",
        ),
        (
            "login_url = \"https://a.example/services\"",
            "login_url: must be scheme and host alone, such as \"https://example.my.salesforce.com\"",
        ),
        (
            "login_url = \"http://a.example\"",
            "login_url: plain http is not allowed; use https, or set allow_http of destination `crm`",
        ),
        (
            "duplicate_rule = \"a\\nb\"",
            "duplicate_rule: must be the value of a header: 1 to 1024 printable ASCII characters",
        ),
        ("method = \"PUT\"", "method: unknown key; known are"),
    ] {
        let complaint = World::default().complaint(&salesforce(&(SECRET.to_owned() + option)));
        let expected = format!("aftercommit.toml:9: destinations.crm.{problem}");
        assert!(complaint.starts_with(&expected), "{complaint}");
    }
}

#[test]
fn jobs_are_on_unless_an_option_is_set_that_they_do_not_heed() {
    let threshold = |options: &str| read(&salesforce(&(SECRET.to_owned() + options))).bulk_threshold;
    assert_eq!(threshold(""), Some(2000));
    assert_eq!(threshold("bulk_threshold = 0"), None);
    assert_eq!(threshold("update_only = true"), None);
    assert_eq!(threshold("update_only = true\nbulk_threshold = 0"), None);
    assert_eq!(threshold("duplicate_rule = \"allowSave=true\""), None);
    let knowingly = "duplicate_rule = \"allowSave=true\"\nbulk_threshold = 500";
    assert_eq!(threshold(knowingly), Some(500), "whoever sets it means it");
}

#[test]
fn what_a_crm_has_is_shown_without_its_secrets_and_differs_by_every_option() {
    let base = salesforce(SECRET);
    let config = World::default().read(&base);
    let shown = format!("{config}{config:?}");
    assert!(
        !shown.contains("canary5ecret") && shown.contains("client_secret = \"(secret)\""),
        "{shown}"
    );
    let before = &config.destinations["crm"];
    assert!(!before.differs(&World::default().read(&base).destinations["crm"]));
    for change in [
        base.replace("Account", "Contact"),
        base.replace("Ext__c", "Other__c"),
        base.replace("client_id = \"canary5ecret\"", "client_id = \"other\""),
        base.replace("client_secret = \"canary5ecret\"", "client_secret = \"other\""),
        base.replace("fields = {}", "fields = { Name = \"name\" }"),
        base.clone() + "id_from = \"id\"",
        base.clone() + "null_policy = \"omit\"",
        base.clone() + "send_idempotency_key = false",
        base.clone() + "batch_size = 10",
        base.clone() + "batch_wait = \"1s\"",
        base.clone() + "timeout = \"10s\"",
        base.clone() + "login_url = \"https://test.salesforce.com\"",
        base.clone() + "api_version = \"61.0\"",
        base.clone() + "update_only = true",
        base.clone() + "duplicate_rule = \"allowSave=true\"",
        base.clone() + "call_options = \"client=a\"",
        base.clone() + "daily_limit_reserve = 0.5",
        base.clone() + "bulk_threshold = 500",
        base.clone() + "bulk_timeout = \"5m\"",
    ] {
        let changed = World::default().read(&change);
        assert!(before.differs(&changed.destinations["crm"]), "{change}");
    }
}
