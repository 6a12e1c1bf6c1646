//! What a destination of `type = "salesforce"` may say.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::super::SalesforceConfig;
use super::super::destination::salesforce::{LoginProof, SalesforceLogin};
use super::super::node::{Faulty, Node, Read};
use super::super::secret::secret;
use super::super::section::Section;
use super::super::value::{duration, flag, number, part};
use super::Surroundings;
use super::crm::{Names, crm};

/// Records of one call of sObject Collections.
const MOST_RECORDS: u32 = 200;

/// Rows of one job of the Bulk API.
const MOST_OF_JOB: u32 = 10_000;
/// How long a job may be given.
const JOB_TIMES: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);

const NAMES: Names = Names {
    url: "login_url",
    id_field: "external_id",
    most_records: MOST_RECORDS,
};

/// Reads what is Salesforce's own.
pub(super) fn salesforce(
    name: &str,
    section: &mut Section<'_>,
    surroundings: Surroundings,
) -> Read<SalesforceConfig> {
    let crm = crm(name, section, surroundings, &NAMES);
    let api_version = section.setting("api_version", api_version);
    let login = login(section);
    let update_only = section.setting("update_only", flag);
    let duplicate_rule = section.optional("duplicate_rule", header_value);
    let call_options = section.optional("call_options", header_value);
    let daily_limit_reserve = section.setting("daily_limit_reserve", part);
    let bulk_threshold = bulk_threshold(section, update_only, duplicate_rule.as_ref());
    let bulk_timeout = section.setting("bulk_timeout", duration(JOB_TIMES));
    Ok(SalesforceConfig {
        crm: crm?,
        api_version: api_version?,
        login: login?,
        update_only: update_only?,
        duplicate_rule: duplicate_rule?,
        call_options: call_options?,
        daily_limit_reserve: daily_limit_reserve?,
        bulk_threshold: bulk_threshold?,
        bulk_timeout: bulk_timeout?,
    })
}

/// Jobs heed neither a duplicate rule's header nor `update_only`, so with these there are none unless asked for.
fn bulk_threshold(
    section: &mut Section<'_>,
    update_only: Read<bool>,
    duplicate_rule: Result<&Option<String>, &Faulty>,
) -> Read<Option<usize>> {
    let rows = section.setting("bulk_threshold", number(0..=MOST_OF_JOB))?;
    let threshold = usize::try_from(rows).ok().filter(|rows| *rows > 0);
    let asked_for = section.says("bulk_threshold") && threshold.is_some();
    match (update_only, duplicate_rule) {
        (Ok(true), _) if asked_for => Err(section.fault(
            "bulk_threshold",
            "must be 0 with update_only, since a job cannot be told to create no record; remove one of them",
        )),
        (Ok(false), Ok(None)) => Ok(threshold),
        _ => Ok(threshold.filter(|_| asked_for)),
    }
}

fn login(section: &mut Section<'_>) -> Read<SalesforceLogin> {
    let client_id = section.required("client_id", secret);
    let client_secret = section.optional("client_secret", secret);
    let private_key = section.optional("private_key", secret);
    let username = section.optional("username", |node| Ok(node.text()?.to_owned()));
    let audience = section.optional("audience", |node| Ok(node.text()?.to_owned()));
    let (client_id, username, audience) = (client_id?, username?, audience?);
    let proof = match (client_secret?, private_key?, username) {
        (Some(secret), None, None) if audience.is_none() => LoginProof::ClientSecret(secret),
        (None, Some(pem), Some(username)) => LoginProof::PrivateKey {
            pem,
            username,
            audience,
        },
        _ => {
            let way_out = "needs one way to log in: client_secret alone (client credentials), or private_key and \
                           username (JWT bearer)";
            return Err(section.fault_here(way_out));
        }
    };
    Ok(SalesforceLogin { client_id, proof })
}

/// Collections upsert and `created` in the answer came with 46.0.
fn api_version(node: &Node<'_>) -> Read<String> {
    let text = node.text()?;
    let major = text
        .strip_suffix(".0")
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(46..=999) => Ok(text.to_owned()),
        _ => Err(node.fault("must be a version from \"46.0\" on, such as \"62.0\"")),
    }
}

fn header_value(node: &Node<'_>) -> Read<String> {
    let text = node.text()?;
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if plain && (1..=1024).contains(&text.len()) {
        Ok(text.to_owned())
    } else {
        Err(node.fault("must be the value of a header: 1 to 1024 printable ASCII characters"))
    }
}
