//! Salesforce's codes, as its REST API answers them.

use aftercommit::mock::crm::{MockServer, Schema, ServerOptions, parse_rules};
use aftercommit::mock::salesforce::{DEFAULT_SCHEMA, Salesforce, SalesforceOptions};

use super::{Backend, Code, World, config, on_both, play, rules};

/// What a record meets, whatever becomes of the others of its call. One that is tried again is alone by then.
const RECORDS: &str = r#"
| code                                          | cause                  | the row met                              | its mates met | becomes |
|---|---|---|---|---|
| REQUIRED_FIELD_MISSING                        | {}                     | refused 200                              | accepted 200 | dead: REQUIRED_FIELD_MISSING (Name) |
| INVALID_FIELD                                 | invalid-field          | refused 200                              | accepted 200 | dead: INVALID_FIELD |
| INVALID_FIELD_FOR_INSERT_UPDATE               | not-writable           | refused 200                              | accepted 200 | dead: INVALID_FIELD_FOR_INSERT_UPDATE |
| STRING_TOO_LONG                               | {"name":"n","phone":"0123456789012345678901234567890123456789-"} | refused 200 | accepted 200 | dead: STRING_TOO_LONG (Phone) |
| MALFORMED_ID                                  | {"name":"n","parent_id":"x"} | refused 200                        | accepted 200 | dead: MALFORMED_ID (ParentId) |
| FIELD_CUSTOM_VALIDATION_EXCEPTION             | validation-rule        | refused 200                              | accepted 200 | dead: FIELD_CUSTOM_VALIDATION_EXCEPTION |
| INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST       | {"name":"n","tier":"lead"} | refused 200                          | accepted 200 | dead: INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST (Tier__c) |
| ENTITY_IS_DELETED                             | deleted-entity         | refused 200                              | accepted 200 | dead: ENTITY_IS_DELETED |
| DUPLICATES_DETECTED                           | duplicates-detected    | refused 200                              | accepted 200 | dead: DUPLICATES_DETECTED |
| DUPLICATE_VALUE                               | duplicate-value        | refused 200                              | accepted 200 | dead: DUPLICATE_VALUE |
| JSON_PARSER_ERROR                             | {"name":"n","revenue":"banana"} | refused 200                     | accepted 200 | dead: JSON_PARSER_ERROR |
| INVALID_CROSS_REFERENCE_KEY                   | cross-reference        | refused 200                              | accepted 200 | dead: INVALID_CROSS_REFERENCE_KEY |
| INVALID_FIELD: foreign key not found          | {"name":"n","parent":"nobody"} | throttled 200                    | accepted 200 | waits: 1 s |
| UNABLE_TO_LOCK_ROW                            | unable-to-lock-row:2   | refused 200, refused 400, accepted 201   | accepted 200 | delivered |
| CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY: lock    | flow-lock:2            | refused 200, refused 400, accepted 201   | accepted 200 | delivered |
| CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY: queries | too-many-queries:2     | refused 200, refused 400, accepted 201   | accepted 200 | delivered |
| CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY: other   | trigger-error          | refused 200                              | accepted 200 | dead: CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY |
| QUERY_TIMEOUT                                 | query-timeout:2        | refused 200, refused 400, accepted 201   | accepted 200 | delivered |
| REQUEST_RUNNING_TOO_LONG                      | running-too-long:2     | refused 200, refused 400, accepted 201   | accepted 200 | delivered |
| TXN_SECURITY_METERING_ERROR                   | metering:2             | refused 200, refused 400, accepted 201   | accepted 200 | delivered |
| UNKNOWN_EXCEPTION                             | unknown-exception:2    | refused 200, refused 400, accepted 201   | accepted 200 | delivered |
| UNKNOWN_EXCEPTION, always                     | unknown-exception      | refused 200, refused 400, refused 400    | accepted 200 | dead: UNKNOWN_EXCEPTION |
"#;

/// What a request meets as a whole.
const REQUESTS: &str = r"
| answer                                    | cause                    | the row met                            | its mates met            | becomes |
|---|---|---|---|---|
| 300, a list of URLs                       | several-match            | refused 300                            | none there               | dead: make the field unique |
| 400 JSON_PARSER_ERROR                     | parser-error             | refused 400, refused 400               | refused 400, accepted 200 | dead: JSON_PARSER_ERROR |
| 401 INVALID_SESSION_ID                    | invalid-session:once     | throttled 401, accepted 200            | the same                 | delivered |
| 401 INVALID_SESSION_ID, again             | invalid-session:2        | throttled 401, refused 401             | the same                 | paused: HTTP 401 for a token and for the one that replaced it |
| 401 INVALID_AUTH_HEADER                   | invalid-auth-header:once | throttled 401, accepted 200            | the same                 | delivered |
| 401 INVALID_AUTH_HEADER, again            | invalid-auth-header:2    | throttled 401, refused 401             | the same                 | paused: HTTP 401 |
| 401 INVALID_JWT_FORMAT                    | invalid-jwt:once         | throttled 401, accepted 200            | the same                 | delivered |
| 401 INVALID_JWT_FORMAT, again             | invalid-jwt:2            | throttled 401, refused 401             | the same                 | paused: HTTP 401 |
| 403 REQUEST_LIMIT_EXCEEDED: TotalRequests | request-limit            | refused 403                            | the same                 | paused: HTTP 403, REQUEST_LIMIT_EXCEEDED |
| 403 REQUEST_LIMIT_EXCEEDED: LongTxn       | long-request-limit:once  | throttled 403, accepted 200            | the same                 | delivered |
| 403 CONCURRENT_REQUESTS_LIMIT_EXCEEDED    | concurrent-limit:once    | throttled 403, accepted 200            | the same                 | delivered |
| 403 INSUFFICIENT_ACCESS                   | insufficient-access      | refused 403                            | the same                 | paused: HTTP 403, INSUFFICIENT_ACCESS |
| 403 API_DISABLED_FOR_ORG                  | api-disabled             | refused 403                            | the same                 | paused: HTTP 403, API_DISABLED_FOR_ORG |
| 403 STORAGE_LIMIT_EXCEEDED                | storage-limit            | refused 403                            | the same                 | paused: HTTP 403, STORAGE_LIMIT_EXCEEDED |
| 404 NOT_FOUND                             | not-found                | refused 404                            | the same                 | paused: check object, external_id and api_version |
| 404 INVALID_CROSS_REFERENCE_KEY           | no-such-record           | refused 404                            | none there               | dead: HTTP 404, INVALID_CROSS_REFERENCE_KEY |
| 405                                       | fail=405                 | refused 405, refused 405               | refused 405, accepted 200 | dead: HTTP 405 |
| 414                                       | fail=414                 | refused 414, refused 414               | refused 414, accepted 200 | dead: HTTP 414 |
| 420                                       | fail=420:once            | throttled 420, accepted 200            | the same                 | delivered |
| 429                                       | fail=429:once            | throttled 429, accepted 200            | the same                 | delivered |
| 500                                       | server-error:once        | refused 500, accepted 200              | the same                 | delivered |
| 502                                       | fail=502:once            | unknown 502, accepted 200              | the same                 | delivered |
| 503 SERVER_UNAVAILABLE                    | server-unavailable:once  | throttled 503, accepted 200            | the same                 | delivered |
| 503, a page                               | maintenance:once         | throttled 503, accepted 200            | the same                 | delivered |
| 504                                       | fail=504:once            | unknown 504, accepted 200              | the same                 | delivered |
| no answer                                 | drop:once                | unknown -, accepted 200                | the same                 | delivered |
| 200, and no JSON                          | not-json:once            | unknown 200, accepted 200              | the same                 | delivered |
";

const SECTION: &str = r#"
[topics.{name}]
kind = "state"
[destinations.{name}]
type = "salesforce"
login_url = "{url}"
topics = ["{name}"]
object = "Account"
external_id = "Ext__c"
client_id = "app"
client_secret = "secret"
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "2s"
connect_timeout = "1s"
batch_wait = "20ms"
fields = { Name = "name", Phone = "phone", AnnualRevenue = "revenue", Tier__c = "tier", ParentId = "parent_id", "Parent.Ext__c" = "parent" }
retry = { first = "1ms", max_delay = "5ms", max_attempts = 3 }
"#;

async fn play_at_an_org(backend: Backend, codes: &[Code]) {
    let mut options = SalesforceOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap());
    options.daily_limit = 100_000;
    let mock = MockServer::start(Salesforce::new(options), ServerOptions::default())
        .await
        .unwrap();
    mock.arm(parse_rules(&rules(codes, "Ext__c")).unwrap());
    let config = config(codes, &SECTION.replace("{url}", &mock.url()));
    play(World::with(backend, &config).await, &config, codes).await;
    mock.shutdown().await;
}

/// The same lines for rows that are sent alone: what stood in an answer to many is then the answer.
fn alone(codes: Vec<Code>) -> Vec<Code> {
    let status = |met: &str| {
        met.replace("refused 200", "refused 400")
            .replace("throttled 200", "throttled 400")
            .replace("accepted 200", "accepted 201")
    };
    let alone = |code: Code| Code {
        met: status(&code.met),
        mates_met: None,
        ..code
    };
    codes.into_iter().map(alone).collect()
}

on_both! {
    async fn each_code_about_a_record_concerns_that_row_alone(backend: Backend) {
        play_at_an_org(backend, &Code::table(RECORDS)).await;
    }

    async fn each_code_about_a_record_means_the_same_where_the_record_is_alone(backend: Backend) {
        play_at_an_org(backend, &alone(Code::table(RECORDS))).await;
    }

    async fn each_code_about_a_request_is_divided_waited_for_or_left_to_a_person(backend: Backend) {
        play_at_an_org(backend, &Code::table(REQUESTS)).await;
    }
}
