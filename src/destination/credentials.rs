//! Which settings the credentials of a destination stand in: said wherever a receiver refuses them. Names alone, never values.

/// Where the credentials of a destination stand, and who gives them out.
pub(super) struct Credentials {
    issuer: &'static str,
    settings: String,
}

impl Credentials {
    /// `names` are keys of the destination's section; one at least. `issuer` is who can say whether they are good.
    pub(super) fn new(destination: &str, issuer: &'static str, names: &[&str]) -> Self {
        let (last, before) = names.split_last().unwrap_or((&"", &[]));
        let before: Vec<String> = before.iter().map(|name| quoted(destination, name)).collect();
        let last = quoted(destination, last);
        let settings = if before.is_empty() {
            last
        } else {
            format!("{} and {last}", before.join(", "))
        };
        Self { issuer, settings }
    }

    /// What a person can do about a refusal: both sides are named, since only that person knows which one changed.
    pub(super) fn way_out(&self) -> String {
        format!(
            "check {} and {}, and let the relay read what changes there (SIGHUP, or a restart)",
            self.issuer, self.settings
        )
    }

    /// What a person does with a new one.
    pub(super) fn take_in(&self) -> String {
        format!(
            "put it into {} and let the relay read it (SIGHUP, or a restart)",
            self.settings
        )
    }
}

fn quoted(destination: &str, name: &str) -> String {
    format!("`destinations.{destination}.{name}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_named_whole_so_that_it_can_be_looked_for() {
        let way_out = |names: &[&str]| Credentials::new("shop", "the receiver", names).way_out();
        assert_eq!(
            way_out(&["secrets"]),
            "check the receiver and `destinations.shop.secrets`, and let the relay read what changes there (SIGHUP, or a restart)"
        );
        assert!(way_out(&["url", "headers", "secrets"]).contains(
            "`destinations.shop.url`, `destinations.shop.headers` and `destinations.shop.secrets`"
        ));
    }
}
