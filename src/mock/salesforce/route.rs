//! Which resource a path names, and which methods it takes. Pure.

use axum::http::Method;

/// The longest path that is read, in bytes.
pub(super) const LONGEST_PATH: usize = 16_384;
/// The versions that there are.
pub(super) const VERSIONS: std::ops::RangeInclusive<u32> = 31..=66;
/// From here on collections can be upserted, and an upsert says whether it created.
pub(super) const TELLS_CREATED: u32 = 46;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route<'a> {
    Resources,
    Limits,
    Objects,
    Describe {
        object: &'a str,
    },
    Object {
        object: &'a str,
    },
    Record {
        object: &'a str,
        id: &'a str,
    },
    ByExternalId {
        object: &'a str,
        field: &'a str,
        value: &'a str,
    },
    Collection,
    CollectionUpsert {
        object: &'a str,
        field: &'a str,
    },
    Jobs,
    Job {
        id: &'a str,
    },
    JobData {
        id: &'a str,
    },
    JobResults {
        id: &'a str,
        results: Results,
    },
}

/// The rows of a bulk job that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Results {
    Successful,
    Failed,
    Unprocessed,
}

/// The version that a path begins with, behind `/services/data`, and the rest.
pub(super) fn version<'p, 's>(parts: &'p [&'s str]) -> Option<(u32, &'p [&'s str])> {
    let (first, rest) = parts.split_first()?;
    let (major, "0") = first.strip_prefix('v')?.split_once('.')? else {
        return None;
    };
    let major = major.parse().ok().filter(|major| VERSIONS.contains(major))?;
    Some((major, rest))
}

impl<'a> Route<'a> {
    pub(super) fn of(parts: &[&'a str], version: u32) -> Option<Self> {
        Some(match *parts {
            // An empty external id: the one place where a slash at the end matters.
            ["sobjects", object, field, value] => Self::ByExternalId { object, field, value },
            [ref parts @ .., ""] => return Self::of(parts, version),
            [] => Self::Resources,
            ["limits"] => Self::Limits,
            ["sobjects"] => Self::Objects,
            ["sobjects", object, "describe"] => Self::Describe { object },
            ["sobjects", object] => Self::Object { object },
            ["sobjects", object, id] => Self::Record { object, id },
            ["composite", "sobjects"] => Self::Collection,
            ["composite", "sobjects", object, field] if version >= TELLS_CREATED => {
                Self::CollectionUpsert { object, field }
            }
            ["jobs", "ingest"] => Self::Jobs,
            ["jobs", "ingest", id] => Self::Job { id },
            ["jobs", "ingest", id, "batches"] => Self::JobData { id },
            ["jobs", "ingest", id, results] => Self::JobResults {
                id,
                results: Results::of(results)?,
            },
            _ => return None,
        })
    }

    pub(super) fn takes(self, method: &Method) -> bool {
        self.allowed()
            .split(',')
            .any(|allowed| allowed == method.as_str())
    }

    /// The methods, as the answer to a wrong one lists them.
    pub(super) fn allowed(self) -> &'static str {
        match self {
            Self::Resources
            | Self::Limits
            | Self::Objects
            | Self::Describe { .. }
            | Self::JobResults { .. } => "GET,HEAD",
            Self::Object { .. } | Self::ByExternalId { value: "", .. } | Self::Jobs => "GET,HEAD,POST",
            Self::Record { .. } | Self::ByExternalId { .. } | Self::Job { .. } => "DELETE,GET,HEAD,PATCH",
            Self::Collection => "DELETE,PATCH,POST",
            Self::CollectionUpsert { .. } => "PATCH",
            Self::JobData { .. } => "PUT",
        }
    }
}

impl Results {
    /// Real clients spell the last one in two ways.
    fn of(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "successfulresults" => Some(Self::Successful),
            "failedresults" => Some(Self::Failed),
            "unprocessedrecords" => Some(Self::Unprocessed),
            _ => None,
        }
    }
}
