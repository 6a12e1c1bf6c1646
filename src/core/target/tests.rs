//! Every special network at its edges, every spelling of an address, every URL that is refused.

use super::*;

fn rule(allow_http: bool, allow_networks: &[&str]) -> TargetRule {
    TargetRule {
        destination: "crm".to_owned(),
        allow_http,
        allow_networks: allow_networks
            .iter()
            .map(|network| network.parse().unwrap())
            .collect(),
    }
}

fn check_url(url: &str) -> Result<(), String> {
    rule(false, &[])
        .check_url(&url.parse().unwrap())
        .map_err(|bad| bad.to_string())
}

fn check_address(address: &str) -> Result<(), ForbiddenAddress> {
    rule(false, &[]).check_address(address.parse().unwrap())
}

#[test]
fn the_first_and_last_address_of_every_special_network_is_refused_and_their_neighbours_are_not() {
    for (refused, neighbours) in [
        ("0.0.0.0 0.255.255.255", "1.0.0.0"),
        ("10.0.0.0 10.255.255.255", "9.255.255.255 11.0.0.0"),
        ("100.64.0.0 100.127.255.255", "100.63.255.255 100.128.0.0"),
        ("127.0.0.0 127.255.255.255", "126.255.255.255 128.0.0.0"),
        ("168.63.129.16", "168.63.129.15 168.63.129.17"),
        ("169.254.0.0 169.254.255.255", "169.253.255.255 169.255.0.0"),
        ("172.16.0.0 172.31.255.255", "172.15.255.255 172.32.0.0"),
        ("192.0.0.0 192.0.0.255", "191.255.255.255 192.0.1.0"),
        ("192.0.2.0 192.0.2.255", "192.0.1.255 192.0.3.0"),
        ("192.88.99.0 192.88.99.255", "192.88.98.255 192.88.100.0"),
        ("192.168.0.0 192.168.255.255", "192.167.255.255 192.169.0.0"),
        ("198.18.0.0 198.19.255.255", "198.17.255.255 198.20.0.0"),
        ("198.51.100.0 198.51.100.255", "198.51.99.255 198.51.101.0"),
        ("203.0.113.0 203.0.113.255", "203.0.112.255 203.0.114.0"),
        ("224.0.0.0 255.255.255.255", "223.255.255.255"),
        (
            ":: ::1 64:ff9b:1::1 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "2000::",
        ),
        (
            "2001:: 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
            "2000:ffff:: 2001:200::",
        ),
        (
            "2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db7:: 2001:db9::",
        ),
        (
            "2002:: 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:ffff:: 2003::",
        ),
        (
            "3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
            "3ffe:ffff:: 3fff:1000::",
        ),
        (
            "4000:: fc00:: fe80::1 ff02::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "3fff:ffff::",
        ),
    ] {
        for address in refused.split(' ') {
            assert!(check_address(address).is_err(), "{address}");
        }
        for address in neighbours.split(' ') {
            assert_eq!(check_address(address), Ok(()), "{address}");
        }
    }
}

#[test]
fn an_ipv4_address_in_ipv6_clothes_is_unwrapped_before_it_is_judged() {
    assert!(check_address("::ffff:127.0.0.1").is_err());
    assert_eq!(check_address("::ffff:8.8.8.8"), Ok(()));
    assert!(check_address("64:ff9b::8.8.8.8").is_err());
    let mapped = "::ffff:10.0.0.5".parse().unwrap();
    assert!(rule(false, &["10.0.0.0/8"]).check_address(mapped).is_ok());
    assert!(rule(false, &["::/0"]).check_address(mapped).is_err());
}

#[test]
fn a_network_is_allowed_by_naming_it_and_no_other_is_with_it() {
    let rule = rule(false, &["10.0.0.0/24", "fd00::/8"]);
    for (address, allowed) in [
        ("10.0.0.5", true),
        ("10.0.1.5", false),
        ("fd12::1", true),
        ("fc00::1", false),
        ("127.0.0.1", false),
    ] {
        assert_eq!(
            rule.check_address(address.parse().unwrap()).is_ok(),
            allowed,
            "{address}"
        );
    }
}

#[test]
fn every_spelling_of_an_address_is_read_as_that_address() {
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.0.1.",
        "0x7f000001",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "017700000001",
        "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
        "127\u{3002}0\u{ff0e}0\u{ff61}1",
        "%31%32%37.0.0.1",
        "127.0.0.%31",
        "\u{2460}27.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
    ] {
        assert_eq!(
            check_url(&format!("https://{host}/hook")).unwrap_err(),
            "127.0.0.1 is a loopback address; name its network in allow_networks of destination `crm` to allow it",
            "{host}"
        );
    }
    assert!(check_url("https://[::1]/").is_err());
    assert!(check_url("https://[::]/").is_err());
}

#[test]
fn a_public_https_url_is_allowed() {
    for url in [
        "https://hooks.example/in?token=abc",
        "https://hooks.example:8443/in",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]/",
        "https://b\u{fc}cher.example/",
        "https://my_service.internal/",
    ] {
        assert_eq!(check_url(url), Ok(()), "{url}");
    }
}

#[test]
fn plain_http_is_refused_until_it_is_allowed() {
    assert_eq!(
        check_url("http://hooks.example/").unwrap_err(),
        "plain http is not allowed; use https, or set allow_http of destination `crm`"
    );
    assert_eq!(
        rule(true, &[]).check_url(&"http://hooks.example/".parse().unwrap()),
        Ok(())
    );
}

#[test]
fn other_schemes_user_info_and_odd_hosts_are_refused() {
    for url in [
        "ftp://hooks.example/",
        "file:///etc/passwd",
        "unix:/run/x.sock",
        "https://user@hooks.example/",
        "https://:canary@hooks.example/",
        "https://user:canary@hooks.example/?t=canary",
        "https://a`b.example/",
        "https://a{b.example/",
    ] {
        let message = check_url(url).unwrap_err();
        assert!(!message.contains("canary"), "{message}");
    }
}

#[test]
fn the_message_names_the_way_out() {
    assert_eq!(
        check_url("https://10.0.0.5/in?token=canary").unwrap_err(),
        "10.0.0.5 is a private address; name its network in allow_networks of destination `crm` to allow it"
    );
}
