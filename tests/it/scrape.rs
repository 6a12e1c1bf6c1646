//! What `/metrics` says, read back.

use std::collections::{BTreeMap, BTreeSet};

/// One answer in Prometheus' text format.
#[derive(Debug)]
pub(crate) struct Scrape {
    series: BTreeMap<String, f64>,
    /// Name and type of each metric.
    kinds: BTreeMap<String, String>,
}

impl Scrape {
    pub(crate) fn read(text: &str) -> Self {
        let (mut series, mut kinds) = (BTreeMap::new(), BTreeMap::new());
        for line in text.lines() {
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(
                    kinds.insert(name.to_owned(), kind.to_owned()).is_none(),
                    "{name} twice"
                );
            } else if !line.starts_with('#') {
                let (name, value) = line.rsplit_once(' ').unwrap();
                let value = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
                assert!(series.insert(name.to_owned(), value).is_none(), "{name} twice");
            }
        }
        Self { series, kinds }
    }

    /// The whole number of a series, such as `owed{destination="crm",state="due"}`.
    pub(crate) fn value(&self, series: &str) -> u64 {
        let value = self.fraction(series).to_string();
        value.parse().unwrap_or_else(|_| panic!("{series} is {value}"))
    }

    /// The number of a series.
    pub(crate) fn fraction(&self, series: &str) -> f64 {
        let value = self.series.get(&format!("aftercommit_{series}"));
        *value.unwrap_or_else(|| panic!("no {series} in {:#?}", self.series))
    }

    /// Whether any series of this name is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        let name = format!("aftercommit_{name}");
        self.series
            .keys()
            .any(|series| series.split('{').next() == Some(&name))
    }

    /// The names of all metrics, with the suffixes of a histogram's series.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let names = self.kinds.iter().flat_map(|(name, kind)| {
            let suffixes: &[&str] = if kind == "histogram" {
                &["_bucket", "_sum", "_count"]
            } else {
                &[""]
            };
            suffixes.iter().map(move |suffix| format!("{name}{suffix}"))
        });
        names.collect()
    }

    /// The names of all metrics, as they are documented.
    pub(crate) fn metrics(&self) -> BTreeSet<String> {
        self.kinds.keys().cloned().collect()
    }

    /// The names of all labels.
    pub(crate) fn labels(&self) -> BTreeSet<&str> {
        let braces = self.series.keys().filter_map(|series| series.split_once('{'));
        let pairs = braces.flat_map(|(_, labels)| labels.trim_end_matches('}').split("\","));
        pairs.filter_map(|pair| Some(pair.split_once('=')?.0)).collect()
    }
}
