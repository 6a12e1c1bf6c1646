//! Values that may be secret: text, `{ env = "NAME" }` or `{ file = "path" }`.
//!
//! What is read here is wrapped at once, and no fault ever holds it.

use std::env::VarError;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::node::{Node, Read};

/// A secret, not empty.
pub(super) fn secret(node: &Node<'_>) -> Read<SecretString> {
    match node.value.as_str() {
        Some("") => Err(node.fault("is empty")),
        Some(text) => Ok(SecretString::from(text)),
        None => referred(node),
    }
}

/// Whether two secrets are the same.
pub(super) fn same_secret(one: &SecretString, other: &SecretString) -> bool {
    one.expose_secret() == other.expose_secret()
}

/// As much of a URL as may be shown: scheme, host and port.
pub(super) fn origin(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

fn referred(node: &Node<'_>) -> Read<SecretString> {
    let form = "text, { env = \"NAME\" } or { file = \"path\" }";
    let table = node.value.as_table().ok_or_else(|| node.mistyped(form))?;
    let mut entries = table
        .iter()
        .map(|(key, value)| (key.get_ref().as_ref(), value.get_ref().as_str()));
    match (entries.next(), entries.next()) {
        (Some(("env", Some(name))), None) => variable(node, name),
        (Some(("file", Some(path))), None) => file(node, path),
        _ => Err(node.fault(format!("must be {form}"))),
    }
}

/// The value of the environment variable `name`, not empty.
pub(super) fn variable(node: &Node<'_>, name: &str) -> Read<SecretString> {
    // Who wrote the secret itself where its name belongs must not read it in a log.
    if name.is_empty()
        || !name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    {
        return Err(node.fault("env must name a variable in capitals, such as CRM_SECRET"));
    }
    match node.reading.sources.variable(name) {
        Ok(value) if value.is_empty() => Err(node.fault(format!("the environment variable {name} is empty"))),
        Ok(value) => Ok(SecretString::from(value)),
        Err(VarError::NotPresent) => Err(node.fault(format!(
            "the environment variable {name} is not set; set it for this process"
        ))),
        Err(VarError::NotUnicode(_)) => Err(node.fault(format!(
            "the environment variable {name} does not hold UTF-8 text"
        ))),
    }
}

fn file(node: &Node<'_>, path: &str) -> Read<SecretString> {
    let text = node.reading.sources.file(Path::new(path));
    let text = text.map_err(|error| node.fault(format!("cannot read the file `{path}`: {error}")))?;
    let line = text
        .strip_suffix("\r\n")
        .or_else(|| text.strip_suffix('\n'))
        .unwrap_or(&text);
    if line.is_empty() {
        return Err(node.fault(format!("the file `{path}` is empty")));
    }
    Ok(SecretString::from(line))
}
