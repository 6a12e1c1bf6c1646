//! Which URLs and addresses a destination may be reached at.
//!
//! A configured URL must not lead into the network that the relay itself stands in, whatever its host's name resolves
//! to. The rule is pure: the configuration asks it about URLs, the client's resolver about every address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

/// What one destination allows.
#[derive(Debug, Clone)]
pub struct TargetRule {
    /// The destination's name, for messages.
    pub destination: String,
    /// Whether plain http will do.
    pub allow_http: bool,
    /// Networks outside the public internet that may be reached.
    pub allow_networks: Vec<IpNet>,
}

/// A URL that a destination may not have. No message repeats more of the URL than its scheme and host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    /// Neither https nor http.
    #[error("`{0}` is no scheme for a destination; use https")]
    Scheme(String),
    /// Plain http, and nobody allowed it.
    #[error("plain http is not allowed; use https, or set allow_http of destination `{destination}`")]
    PlainHttp {
        /// The destination's name.
        destination: String,
    },
    /// A user name or password in the URL.
    #[error("the URL holds a user name or password, which would show in logs; send it as a header instead")]
    UserInfo,
    /// A host that can be no name of the DNS.
    #[error("`{0}` is no host name: letters, digits, `-`, `_` and `.` only")]
    HostName(String),
    /// An IP literal that may not be reached.
    #[error(transparent)]
    Address(#[from] ForbiddenAddress),
}

/// An address that a destination may not be reached at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {what}; name its network in allow_networks of destination `{destination}` to allow it")]
pub struct ForbiddenAddress {
    /// The address, unwrapped if it was an IPv4 address in IPv6 clothes.
    pub address: IpAddr,
    /// What kind of address it is.
    pub what: &'static str,
    /// The destination's name.
    pub destination: String,
}

impl TargetRule {
    /// Whether requests may go to `url`. The addresses behind a name are another question, see
    /// [`TargetRule::check_address`].
    pub fn check_url(&self, url: &Url) -> Result<(), BadTarget> {
        match url.scheme() {
            "https" => {}
            "http" if self.allow_http => {}
            "http" => {
                return Err(BadTarget::PlainHttp {
                    destination: self.destination.clone(),
                });
            }
            other => return Err(BadTarget::Scheme(other.to_owned())),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadTarget::UserInfo);
        }
        self.check_host(url)
    }

    /// Whether the host of `url` may be connected to, as far as its text says: IP literals in any spelling (the URL
    /// parser has read them already), and names that an HTTP request can carry.
    pub fn check_host(&self, url: &Url) -> Result<(), BadTarget> {
        match url.host() {
            Some(Host::Ipv4(address)) => Ok(self.check_address(address.into())?),
            Some(Host::Ipv6(address)) => Ok(self.check_address(address.into())?),
            Some(Host::Domain(name)) if is_name(name) => Ok(()),
            Some(Host::Domain(name)) => Err(BadTarget::HostName(name.to_owned())),
            None => Err(BadTarget::HostName(String::new())),
        }
    }

    /// Whether a connection to `address` may be made.
    pub fn check_address(&self, address: IpAddr) -> Result<(), ForbiddenAddress> {
        let address = address.to_canonical();
        let Some(what) = outside_the_internet(address) else {
            return Ok(());
        };
        if self
            .allow_networks
            .iter()
            .any(|network| network.contains(&address))
        {
            return Ok(());
        }
        Err(ForbiddenAddress {
            address,
            what,
            destination: self.destination.clone(),
        })
    }
}

fn is_name(host: &str) -> bool {
    !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// What `address` is, if it is not an address of the public internet.
fn outside_the_internet(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => SPECIAL_V4
            .iter()
            .find(|(net, length, _)| in_v4(address, *net, *length))
            .map(|it| it.2),
        IpAddr::V6(address) => {
            let special = SPECIAL_V6
                .iter()
                .find(|(net, length, _)| in_v6(address, *net, *length))
                .map(|it| it.2);
            let global = in_v6(address, GLOBAL_UNICAST, 3);
            special.or((!global).then_some("not an address of the public internet"))
        }
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

const fn v6(a: u16, b: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0)
}

/// The only part of IPv6 that is given out: `2000::/3`.
const GLOBAL_UNICAST: Ipv6Addr = v6(0x2000, 0);

/// The special networks of IPv4, from the IANA registry, and one address that is special at a large cloud.
const SPECIAL_V4: [(Ipv4Addr, u32, &str); 16] = [
    (v4(0, 0, 0, 0), 8, "an address of this host"),
    (v4(10, 0, 0, 0), 8, "a private address"),
    (v4(100, 64, 0, 0), 10, "an address behind a carrier's NAT"),
    (v4(127, 0, 0, 0), 8, "a loopback address"),
    (v4(169, 254, 0, 0), 16, "a link-local address"),
    (v4(168, 63, 129, 16), 32, "a cloud's metadata service"),
    (v4(172, 16, 0, 0), 12, "a private address"),
    (v4(192, 0, 0, 0), 24, "a reserved address"),
    (v4(192, 0, 2, 0), 24, "a documentation address"),
    (v4(192, 88, 99, 0), 24, "a 6to4 relay"),
    (v4(192, 168, 0, 0), 16, "a private address"),
    (v4(198, 18, 0, 0), 15, "a benchmarking address"),
    (v4(198, 51, 100, 0), 24, "a documentation address"),
    (v4(203, 0, 113, 0), 24, "a documentation address"),
    (v4(224, 0, 0, 0), 4, "a multicast address"),
    (v4(240, 0, 0, 0), 4, "a reserved address"),
];

/// The special networks of IPv6; whatever lies outside [`GLOBAL_UNICAST`] is refused even if it is not named here.
const SPECIAL_V6: [(Ipv6Addr, u32, &str); 10] = [
    (Ipv6Addr::LOCALHOST, 128, "a loopback address"),
    (Ipv6Addr::UNSPECIFIED, 128, "an address of this host"),
    (v6(0x64, 0xff9b), 96, "an IPv4 address behind NAT64"),
    (v6(0x2001, 0), 23, "a reserved address"),
    (v6(0x2001, 0xdb8), 32, "a documentation address"),
    (v6(0x2002, 0), 16, "a 6to4 address"),
    (v6(0x3fff, 0), 20, "a documentation address"),
    (v6(0xfc00, 0), 7, "a private address"),
    (v6(0xfe80, 0), 10, "a link-local address"),
    (v6(0xff00, 0), 8, "a multicast address"),
];

/// Whether the first `length` (1 to 32) bits of both addresses are equal.
fn in_v4(address: Ipv4Addr, network: Ipv4Addr, length: u32) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (32 - length) == 0
}

/// Whether the first `length` (1 to 128) bits of both addresses are equal.
fn in_v6(address: Ipv6Addr, network: Ipv6Addr, length: u32) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (128 - length) == 0
}

#[cfg(test)]
mod tests;
