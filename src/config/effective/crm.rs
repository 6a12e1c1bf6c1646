//! The part of the effective configuration that is about CRMs.

use std::fmt::{self, Formatter};

use super::super::destination::hubspot::HubspotAccess;
use super::super::destination::salesforce::LoginProof;
use super::super::{CrmConfig, HubspotConfig, SalesforceConfig, TransportConfig};
use super::{SECRET, bytes, segment, span, text};
use crate::config::secret::origin;
use crate::core::mapping::{Constant, FieldRule, Source};

impl CrmConfig {
    fn write(&self, url: &str, id_field: &str, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{url} = {}\nobject = {}",
            text(origin(&self.url)),
            text(&self.object)
        )?;
        writeln!(f, "{id_field} = {}", text(&self.id_field))?;
        if let Some(path) = &self.id_from {
            writeln!(f, "id_from = {}", path_text(path))?;
        }
        writeln!(f, "null_policy = {}", text(self.mapping.null_policy))?;
        writeln!(f, "send_idempotency_key = {}", self.send_idempotency_key)?;
        writeln!(
            f,
            "batch_size = {}\nbatch_wait = {}",
            self.batch_size,
            span(self.batch_wait)
        )?;
        self.transport.write(f)
    }

    pub(super) fn write_fields(&self, name: &str, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n[destinations.{name}.fields]")?;
        for (field, rule) in &self.mapping.fields {
            writeln!(f, "{} = {}", segment(field), rule_text(rule))?;
        }
        Ok(())
    }
}

impl SalesforceConfig {
    pub(super) fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            crm,
            api_version,
            login,
            update_only,
            duplicate_rule,
            call_options,
            daily_limit_reserve,
            bulk_threshold,
            bulk_timeout,
        } = self;
        crm.write("login_url", "external_id", f)?;
        writeln!(
            f,
            "api_version = {}\nclient_id = {}",
            text(api_version),
            text(SECRET)
        )?;
        match &login.proof {
            LoginProof::ClientSecret(_) => writeln!(f, "client_secret = {}", text(SECRET))?,
            LoginProof::PrivateKey {
                username, audience, ..
            } => {
                writeln!(f, "private_key = {}\nusername = {}", text(SECRET), text(username))?;
                if let Some(audience) = audience {
                    writeln!(f, "audience = {}", text(audience))?;
                }
            }
        }
        writeln!(f, "update_only = {update_only}")?;
        if let Some(value) = duplicate_rule {
            writeln!(f, "duplicate_rule = {}", text(value))?;
        }
        if let Some(value) = call_options {
            writeln!(f, "call_options = {}", text(value))?;
        }
        writeln!(
            f,
            "daily_limit_reserve = {daily_limit_reserve:?}\nbulk_threshold = {}\nbulk_timeout = {}",
            bulk_threshold.unwrap_or(0),
            span(*bulk_timeout)
        )
    }
}

impl HubspotConfig {
    pub(super) fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { crm, access } = self;
        crm.write("url", "id_property", f)?;
        let secrets: &[&str] = match access {
            HubspotAccess::PrivateApp(_) => &["access_token"],
            HubspotAccess::OAuth { .. } => &["client_id", "client_secret", "refresh_token"],
        };
        secrets
            .iter()
            .try_for_each(|key| writeln!(f, "{key} = {}", text(SECRET)))
    }
}

impl TransportConfig {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            timeout,
            connect_timeout,
            allow_http,
            allow_networks,
            proxy,
            max_response_bytes,
            keep_response_bytes,
        } = self;
        writeln!(
            f,
            "timeout = {}\nconnect_timeout = {}",
            span(*timeout),
            span(*connect_timeout)
        )?;
        let networks: Vec<String> = allow_networks.iter().map(ToString::to_string).collect();
        writeln!(
            f,
            "allow_http = {allow_http}\nallow_networks = {}",
            text(networks)
        )?;
        if let Some(proxy) = proxy {
            writeln!(f, "proxy = {}", text(origin(proxy)))?;
        }
        writeln!(f, "max_response_bytes = {}", bytes(*max_response_bytes))?;
        writeln!(f, "keep_response_bytes = {}", bytes(*keep_response_bytes))
    }
}

fn path_text(path: &[String]) -> String {
    if path.iter().any(|key| key.contains('.')) {
        text(path)
    } else {
        text(path.join("."))
    }
}

fn rule_text(rule: &FieldRule) -> String {
    let source = match &rule.source {
        Source::Path(path) if rule.kind.is_none() && rule.null_policy.is_none() => return path_text(path),
        Source::Path(path) => format!("from = {}", path_text(path)),
        Source::Constant(Constant::Text(value)) => format!("value = {}", text(value)),
        Source::Constant(Constant::Number(digits)) => format!("value = {digits}"),
        Source::Constant(Constant::Boolean(flag)) => format!("value = {flag}"),
    };
    let kind = rule.kind.map(|kind| format!(", type = {}", text(kind)));
    let nulls = rule
        .null_policy
        .map(|policy| format!(", null_policy = {}", text(policy)));
    format!(
        "{{ {source}{}{} }}",
        kind.unwrap_or_default(),
        nulls.unwrap_or_default()
    )
}
