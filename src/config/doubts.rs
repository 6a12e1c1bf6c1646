//! What a configuration may say and was probably not meant to: for a person who looks, and never a reason to refuse it.

use std::fmt;

use super::Config;
use super::fault::nearest;

/// A topic that only a destination names, beside a declared one whose name is nearly the same.
///
/// A topic need not be declared, so this can be meant; but a misspelt one is routed and never has a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicDoubt {
    /// The destination that names it.
    pub destination: String,
    /// The topic as it is written there.
    pub topic: String,
    /// The declared topic that may be meant.
    pub nearest: String,
}

impl Config {
    /// Topics of destinations that look misspelt.
    pub fn doubts(&self) -> Vec<TopicDoubt> {
        let named = self.destinations.iter().flat_map(|(destination, config)| {
            let topics = config.topics.iter();
            topics.map(move |topic| (destination, topic))
        });
        named
            .filter(|(_, topic)| !self.topics.contains_key(*topic))
            .filter_map(|(destination, topic)| {
                let nearest = nearest(topic, self.topics.keys().map(String::as_str))?;
                Some(TopicDoubt {
                    destination: destination.clone(),
                    topic: topic.clone(),
                    nearest: nearest.to_owned(),
                })
            })
            .collect()
    }
}

impl fmt::Display for TopicDoubt {
    /// A sentence that does not name the destination.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, nearest, .. } = self;
        write!(
            f,
            "its topic `{topic}` is not declared; did you mean `{nearest}`? If not, declare [topics.{topic}]"
        )
    }
}
