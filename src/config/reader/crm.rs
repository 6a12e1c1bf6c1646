//! What a destination of any CRM may say: object, id, fields, batches, and how it is reached.

use std::time::Duration;

use url::Url;

use super::super::CrmConfig;
use super::super::node::{Node, Read};
use super::super::section::Section;
use super::super::value::{duration, flag, number, word};
use super::Surroundings;
use super::fields::{fields, path};
use super::transport::{Reach, transport};
use crate::core::mapping::Mapping;

/// The longest that a row may wait for others of its request.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// How one CRM calls what all of them have.
pub(super) struct Names {
    /// The key of the URL.
    pub(super) url: &'static str,
    /// The key of the field that holds a record's id.
    pub(super) id_field: &'static str,
    /// Records of one request at most.
    pub(super) most_records: u32,
}

/// Reads what the CRMs have in common.
pub(super) fn crm(
    name: &str,
    section: &mut Section<'_>,
    surroundings: Surroundings,
    names: &Names,
) -> Read<CrmConfig> {
    let reach = Reach::of(section);
    let url = section.setting(names.url, |node| bare(node, reach.target(name, node)?));
    let object = section.required("object", identifier);
    let id_field = section.required(names.id_field, identifier);
    let id_from = section.optional("id_from", path);
    let null_policy = section.setting("null_policy", word);
    let fields = section.required("fields", fields);
    let send_idempotency_key = section.setting("send_idempotency_key", flag);
    let batch_size = section.setting("batch_size", number(1..=names.most_records));
    let batch_wait = section.setting("batch_wait", duration(Duration::ZERO..=LONGEST_WAIT));
    let transport = transport(section, reach, surroundings);
    if let (Ok(id_field), Ok(fields)) = (&id_field, &fields)
        && fields.contains_key(id_field)
    {
        section.fault(
            "fields",
            format!("names {id_field}, which is set by {}; remove it", names.id_field),
        );
    }
    Ok(CrmConfig {
        url: url?,
        object: object?,
        id_field: id_field?,
        id_from: id_from?,
        mapping: Mapping {
            fields: fields?,
            null_policy: null_policy?,
        },
        send_idempotency_key: send_idempotency_key?,
        batch_size: batch_size?,
        batch_wait: batch_wait?,
        transport: transport?,
    })
}

/// Paths are ours; and what is no path cannot be a secret, so that the whole may be shown.
fn bare(node: &Node<'_>, url: Url) -> Read<Url> {
    if url.path() == "/" && url.query().is_none() && url.fragment().is_none() {
        Ok(url)
    } else {
        Err(node.fault("must be scheme and host alone, such as \"https://example.my.salesforce.com\""))
    }
}

/// The name of an object or a field: it goes into paths.
pub(super) fn identifier(node: &Node<'_>) -> Read<String> {
    let text = node.text()?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=255).contains(&text.len()) && text.bytes().all(allowed) {
        Ok(text.to_owned())
    } else {
        Err(node.fault("must be an API name: 1 to 255 of letters, digits, _ and -"))
    }
}
