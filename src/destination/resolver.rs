//! Name resolution that hands on checked addresses only.
//!
//! The client connects to exactly what this returns, so that a second look-up cannot lead elsewhere. IP literals in
//! a URL never come here; they are checked when the destination is made.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

use crate::core::target::{ForbiddenAddress, TargetRule};

/// The look-up behind the check; the system's in production, a pretended one in tests.
#[async_trait::async_trait]
pub trait Lookup: Send + Sync {
    /// Every address of `host`.
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The operating system's look-up: hosts file, DNS, whatever it is set up to ask.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

/// Asks a [`Lookup`] and lets through what a [`TargetRule`] allows, and whatever the proxy's name leads to.
pub(super) struct GuardedResolver {
    rule: Arc<TargetRule>,
    proxy: Option<String>,
    lookup: Arc<dyn Lookup>,
}

/// Why a name leads nowhere.
#[derive(Debug, thiserror::Error)]
enum ResolveError {
    #[error("cannot look up `{host}`: {why}")]
    Lookup { host: String, why: std::io::Error },
    #[error("`{host}` has no address")]
    Nothing { host: String },
    #[error("`{host}` resolves to an address that is refused: {first}")]
    Forbidden { host: String, first: ForbiddenAddress },
}

#[async_trait::async_trait]
impl Lookup for SystemLookup {
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0))
            .await?
            .map(|address| address.ip())
            .collect())
    }
}

impl GuardedResolver {
    pub(super) fn new(rule: &TargetRule, proxy: Option<&Url>, lookup: Arc<dyn Lookup>) -> Self {
        let proxy = proxy.and_then(Url::host_str).map(str::to_owned);
        Self {
            rule: Arc::new(rule.clone()),
            proxy,
            lookup,
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let is_proxy = self.proxy.as_deref() == Some(name.as_str());
        let rule = (!is_proxy).then(|| Arc::clone(&self.rule));
        let lookup = Arc::clone(&self.lookup);
        Box::pin(async move {
            let host = name.as_str();
            let looked_up = lookup.addresses(host).await;
            let mut addresses = looked_up.map_err(|why| ResolveError::Lookup {
                host: host.to_owned(),
                why,
            })?;
            if let Some(rule) = rule {
                addresses = allowed(addresses, &rule, host)?;
            }
            // Port 0 stands for the port of the URL.
            Ok(Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// Those `addresses` of `host` that may be connected to; an error if there is none.
fn allowed(addresses: Vec<IpAddr>, rule: &TargetRule, host: &str) -> Result<Vec<IpAddr>, ResolveError> {
    let mut allowed = Vec::with_capacity(addresses.len());
    let mut refused = None;
    for address in addresses {
        match rule.check_address(address) {
            Ok(()) => allowed.push(address),
            Err(forbidden) => refused = refused.or(Some(forbidden)),
        }
    }
    match (allowed.is_empty(), refused) {
        (false, _) => Ok(allowed),
        (true, Some(first)) => Err(ResolveError::Forbidden {
            host: host.to_owned(),
            first,
        }),
        (true, None) => Err(ResolveError::Nothing {
            host: host.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Answers(&'static [&'static str]);

    #[async_trait::async_trait]
    impl Lookup for Answers {
        async fn addresses(&self, _host: &str) -> std::io::Result<Vec<IpAddr>> {
            Ok(self.0.iter().map(|text| text.parse().unwrap()).collect())
        }
    }

    async fn resolve(
        answers: &'static [&'static str],
        allow_networks: &[&str],
    ) -> Result<Vec<String>, String> {
        let rule = TargetRule {
            destination: "crm".to_owned(),
            allow_http: false,
            allow_networks: allow_networks.iter().map(|text| text.parse().unwrap()).collect(),
        };
        let resolver = GuardedResolver::new(&rule, None, Arc::new(Answers(answers)));
        match resolver.resolve("receiver.example".parse().unwrap()).await {
            Ok(addresses) => Ok(addresses.map(|address| address.to_string()).collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[tokio::test]
    async fn of_a_public_and_a_private_address_only_the_public_one_is_handed_on() {
        assert_eq!(
            resolve(&["8.8.8.8", "10.0.0.5"], &[]).await,
            Ok(vec!["8.8.8.8:0".to_owned()])
        );
        assert_eq!(
            resolve(&["::1", "8.8.4.4"], &[]).await,
            Ok(vec!["8.8.4.4:0".to_owned()])
        );
    }

    #[tokio::test]
    async fn a_name_with_none_but_private_addresses_is_refused_and_the_way_out_is_named() {
        assert_eq!(
            resolve(&["10.0.0.5", "::1"], &[]).await.unwrap_err(),
            "`receiver.example` resolves to an address that is refused: 10.0.0.5 is a private address; \
             name its network in allow_networks of destination `crm` to allow it"
        );
    }

    #[tokio::test]
    async fn a_network_that_is_named_is_handed_on() {
        assert_eq!(
            resolve(&["10.0.0.5"], &["10.0.0.0/24"]).await,
            Ok(vec!["10.0.0.5:0".to_owned()])
        );
    }

    #[tokio::test]
    async fn a_name_without_addresses_is_said_to_have_none() {
        assert_eq!(
            resolve(&[], &[]).await.unwrap_err(),
            "`receiver.example` has no address"
        );
    }
}
