//! `aftercommit check`: a line for each thing that was looked at, and an exit code for scripts.

use aftercommit::mock::crm::{MockServer, Schema, ServerOptions};
use aftercommit::mock::hubspot::{self, DEFAULT_SCHEMA, HubSpotOptions};
use aftercommit::mock::salesforce::{self, SalesforceOptions};

use super::command::Project;

fn project_of(id_property: &str, url: &str) -> Project {
    Project::with(&format!(
        r#"
[destinations.crm]
type = "hubspot"
url = "{url}"
topics = []
object = "contacts"
id_property = "{id_property}"
access_token = "pat-na1-mock"
allow_http = true
allow_networks = ["127.0.0.0/8"]
[destinations.crm.fields]
firstname = "name"
[destinations.hook]
type = "webhook"
url = "https://example.com/"
topics = []
"#
    ))
}

#[tokio::test]
async fn a_check_says_what_is_good_and_fails_for_what_is_refused() {
    let options = HubSpotOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap());
    let portal = hubspot::start(options, ServerOptions::default()).await.unwrap();
    let good = project_of("email", &portal.url()).run(&["check"]).await;
    assert_eq!(good.code, Some(0), "{good:?}");
    let lines: Vec<_> = good.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "crm: good: records of `contacts` are found by `email`, whose values are unique",
            "crm: good: `contacts`.`firstname` can be written",
            "crm: good: the token may write `contacts`",
            "hook: good: its configuration can be used; there is nothing to look at beforehand",
        ]
    );
    let project = project_of("lastname", &portal.url());
    let refused = project.run(&["check", "crm", "--json"]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let first: serde_json::Value = serde_json::from_str(refused.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["destination"], &first["grade"]),
        (&"crm".into(), &"refused".into())
    );
    assert!(first["sentence"].as_str().unwrap().contains("need not be unique"));
    assert_eq!(project.run(&["check", "nobody"]).await.code, Some(4));

    portal.with(|hubspot, _, _| hubspot.set_scopes(vec![]));
    let said = project_of("email", &portal.url())
        .run(&["check", "crm"])
        .await
        .stdout;
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        [
            "crm: unclear: the properties of `contacts` cannot be looked at (HTTP 403); the scope crm.schemas.contacts.read \
             would let this check see them",
            "crm: refused: HTTP 403: the token lacks the scope crm.objects.contacts.write; grant that in HubSpot",
        ]
    );
    portal.shutdown().await;
}

#[tokio::test]
async fn a_check_looks_at_the_objects_that_fields_refer_to() {
    let schema = Schema::parse(salesforce::DEFAULT_SCHEMA).unwrap();
    let org = salesforce::Salesforce::new(SalesforceOptions::new(schema));
    let org = MockServer::start(org, ServerOptions::default()).await.unwrap();
    for (field, code, line) in [
        (
            "Parent__r.Ext__c",
            0,
            "crm: good: `Invoice__c`.`Parent__r.Ext__c` can be written",
        ),
        (
            "Parent__r.Nope__c",
            1,
            "crm: refused: `Account` has no field `Nope__c`",
        ),
        (
            "Parent__r.Name",
            1,
            "crm: refused: `Account`.`Name`, which `Parent__r.Name` in fields names, is no External ID",
        ),
        (
            "Parent__c.Ext__c",
            1,
            "crm: refused: `Invoice__c` has no relationship `Parent__c`",
        ),
    ] {
        let project = Project::with(&format!(
            r#"
[destinations.crm]
type = "salesforce"
login_url = "{}"
topics = []
object = "Invoice__c"
external_id = "Ext__c"
client_id = "app"
client_secret = "secret"
allow_http = true
allow_networks = ["127.0.0.0/8"]
[destinations.crm.fields]
"{field}" = "parent"
"#,
            org.url()
        ));
        let checked = project.run(&["check"]).await;
        assert_eq!(checked.code, Some(code), "{checked:?}");
        assert!(
            checked.stdout.lines().last().unwrap().starts_with(line),
            "{checked:?}"
        );
    }
    org.shutdown().await;
}

#[tokio::test]
async fn a_topic_that_looks_misspelt_is_told_and_one_that_needs_no_declaration_is_not() {
    let configuration = r#"
[database]
url = "sqlite:outbox.db"
[topics.customers]
kind = "state"
[topics.orders]
kind = "event"
[destinations.hook]
type = "webhook"
url = "https://example.com/"
topics = ["custmers", "orders", "invoices"]
"#;
    let project = Project::with(configuration);
    let doubt =
        "its topic `custmers` is not declared; did you mean `customers`? If not, declare [topics.custmers]";
    let said = project.run(&["check"]).await.done();
    assert!(said.contains(&format!("hook: unclear: {doubt}\n")), "{said}");
    assert!(!said.contains("invoices"), "{said}");
    project.run(&["migrate"]).await.done();
    let said = project.run(&["apply"]).await.done();
    assert!(said.starts_with("2 topics, 3 routes\n"), "{said}");
    assert!(
        said.ends_with(&format!("warning: destination `hook`: {doubt}\n")),
        "{said}"
    );
    let told = project.run(&["apply", "--json"]).await.json();
    assert_eq!(told["warnings"].as_array().unwrap().len(), 1, "{told}");

    let error = project
        .run(&["enqueue", "--topic", "customer", "--key", "id"])
        .await
        .failed(2);
    assert!(
        error.contains("no topic `customer`") && error.contains("it declares customers, orders"),
        "{error}"
    );
}
