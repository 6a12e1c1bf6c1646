//! What a destination of `type = "hubspot"` may say.

use secrecy::ExposeSecret;

use super::super::HubspotConfig;
use super::super::destination::hubspot::HubspotAccess;
use super::super::node::{Node, Read};
use super::super::secret::secret;
use super::super::section::Section;
use super::Surroundings;
use super::crm::{Names, crm};

/// Inputs of one batch call.
const MOST_RECORDS: u32 = 100;

const NAMES: Names = Names {
    url: "url",
    id_field: "id_property",
    most_records: MOST_RECORDS,
};

/// Reads what is HubSpot's own.
pub(super) fn hubspot(
    name: &str,
    section: &mut Section<'_>,
    surroundings: Surroundings,
) -> Read<HubspotConfig> {
    let crm = crm(name, section, surroundings, &NAMES);
    let access = access(section);
    Ok(HubspotConfig {
        crm: crm?,
        access: access?,
    })
}

fn access(section: &mut Section<'_>) -> Read<HubspotAccess> {
    let access_token = section.optional("access_token", token);
    let client_id = section.optional("client_id", secret);
    let client_secret = section.optional("client_secret", secret);
    let refresh_token = section.optional("refresh_token", secret);
    match (access_token?, client_id?, client_secret?, refresh_token?) {
        (Some(token), None, None, None) => Ok(HubspotAccess::PrivateApp(token)),
        (None, Some(client_id), Some(client_secret), Some(refresh_token)) => Ok(HubspotAccess::OAuth {
            client_id,
            client_secret,
            refresh_token,
        }),
        _ => Err(section.fault_here(
            "needs one way in: access_token alone (a private app), or client_id, client_secret and refresh_token (OAuth)",
        )),
    }
}

/// It goes into a header as it is.
fn token(node: &Node<'_>) -> Read<secrecy::SecretString> {
    let token = secret(node)?;
    if token.expose_secret().bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(token)
    } else {
        Err(node.fault("must be printable ASCII without blanks"))
    }
}
