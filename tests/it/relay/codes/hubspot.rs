//! HubSpot's codes, as its objects API answers them.

use aftercommit::mock::crm::{Schema, ServerOptions, parse_rules};
use aftercommit::mock::hubspot::{self, DEFAULT_SCHEMA, HubSpotFault, HubSpotOptions};

use super::{Backend, Code, World, config, on_both, play, rules};

/// What a row meets in the answer to a request that succeeds in part.
const ROWS: &str = r#"
| answer                                 | cause            | the row met               | its mates met | becomes |
|---|---|---|---|---|
| 207 VALIDATION_ERROR: INVALID_EMAIL    | invalid          | refused 207               | accepted 207  | dead: VALIDATION_ERROR: email (INVALID_EMAIL) |
| 207 VALIDATION_ERROR: PROPERTY_DOESNT_EXIST | unknown-property | refused 207          | accepted 207  | dead: VALIDATION_ERROR: nickname (PROPERTY_DOESNT_EXIST) |
| 207 VALIDATION_ERROR: a wrong type     | {"value":"banana"} | refused 207             | accepted 207  | dead: VALIDATION_ERROR: lifetime_value |
| 200, and the row is not in it          | omit             | refused 200, refused 200  | accepted 200  | dead: without this row, though it was sent alone |
| 200, written and not in it             | omit-written:once | refused 200, accepted 200 | accepted 200 | delivered |
| 409 for all because of one             | taken            | refused 409, refused 409  | refused 409, accepted 200 | dead: HTTP 409, CONFLICT |
"#;

/// What a request meets as a whole.
const REQUESTS: &str = "
| answer                                 | cause              | the row met               | its mates met             | becomes |
|---|---|---|---|---|
| 400, the id property is not unique     | non-unique         | refused 400               | the same                  | paused: need not be unique |
| 400, duplicate ids in the batch        | duplicate-ids:once | refused 400, accepted 200 | the same                  | delivered |
| 400, malformed                         | malformed          | refused 400, refused 400  | refused 400, accepted 200 | dead: HTTP 400, VALIDATION_ERROR |
| 400 with codes of properties           | invalid-call       | refused 400, refused 400  | refused 400, accepted 200 | dead: HTTP 400, VALIDATION_ERROR: email (INVALID_EMAIL) |
| 401 EXPIRED_AUTHENTICATION             | expired-token:once | throttled 401, accepted 200 | the same                | delivered |
| 401 INVALID_AUTHENTICATION             | bad-token:once     | throttled 401, accepted 200 | the same                | delivered |
| 401 INVALID_AUTHENTICATION, again      | bad-token:2        | throttled 401, refused 401 | the same                 | paused: HTTP 401: HubSpot refuses the token |
| 403 MISSING_SCOPES                     | missing-scopes     | refused 403               | the same                  | paused: crm.objects.contacts.write |
| 404 OBJECT_NOT_FOUND                   | not-found          | refused 404               | the same                  | paused: HTTP 404 |
| 409 CONFLICT                           | conflict           | refused 409, refused 409  | refused 409, accepted 200 | dead: HTTP 409, CONFLICT |
| 409 OBJECT_ALREADY_EXISTS              | exists             | refused 409, refused 409  | refused 409, accepted 200 | dead: HTTP 409, OBJECT_ALREADY_EXISTS |
| 414                                    | fail=414           | refused 414, refused 414  | refused 414, accepted 200 | dead: HTTP 414 |
| 423                                    | locked             | throttled 423             | the same                  | waits: 2 s |
| 429 TEN_SECONDLY_ROLLING               | ten-secondly       | throttled 429             | the same                  | waits: 10 s |
| 429 SECONDLY                           | secondly:once      | throttled 429, accepted 200 | the same                | delivered |
| 429 DAILY                              | daily              | throttled 429             | the same                  | waits: 0 s |
| 477 MIGRATION_IN_PROGRESS              | migrating          | throttled 477             | the same                  | waits: 3600 s |
| 500                                    | server-error:once  | refused 500, accepted 200 | the same                  | delivered |
| 502, a page                            | page:once          | unknown 502, accepted 200 | the same                  | delivered |
| 503                                    | fail=503:once      | throttled 503, accepted 200 | the same                | delivered |
| 504                                    | fail=504:once      | unknown 504, accepted 200 | the same                  | delivered |
| 521                                    | fail=521:once      | refused 521, accepted 200 | the same                  | delivered |
| 522                                    | fail=522:once      | unknown 522, accepted 200 | the same                  | delivered |
| 523                                    | fail=523:once      | refused 523, accepted 200 | the same                  | delivered |
| 524                                    | fail=524:once      | unknown 524, accepted 200 | the same                  | delivered |
| 525                                    | fail=525:once      | refused 525, accepted 200 | the same                  | delivered |
| 200 without results and errors         | empty:once         | refused 200, accepted 200 | the same                  | delivered |
| 200, and no JSON                       | not-json:once      | unknown 200, accepted 200 | the same                  | delivered |
| no answer                              | drop:once          | unknown -, accepted 200   | the same                  | delivered |
";

const SECTION: &str = r#"
[topics.{name}]
kind = "state"
[destinations.{name}]
type = "hubspot"
url = "{url}"
access_token = "pat-na1-mock"
topics = ["{name}"]
object = "contacts"
id_property = "email"
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "2s"
connect_timeout = "1s"
batch_wait = "20ms"
fields = { firstname = "name", lifetime_value = "value" }
retry = { first = "1ms", max_delay = "5ms", max_attempts = 3 }
"#;

async fn play_at_a_portal(backend: Backend, codes: &[Code]) {
    let options = HubSpotOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap());
    let portal = hubspot::start(options, ServerOptions::default()).await.unwrap();
    portal.arm(parse_rules::<HubSpotFault>(&rules(codes, "email")).unwrap());
    let config = config(codes, &SECTION.replace("{url}", &portal.url()));
    play(World::with(backend, &config).await, &config, codes).await;
    portal.shutdown().await;
}

on_both! {
    async fn each_code_about_a_row_concerns_that_row_alone(backend: Backend) {
        play_at_a_portal(backend, &Code::table(ROWS)).await;
    }

    async fn each_code_about_a_request_is_divided_waited_for_or_left_to_a_person(backend: Backend) {
        play_at_a_portal(backend, &Code::table(REQUESTS)).await;
    }
}
