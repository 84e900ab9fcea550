//! What came of trying new parts while rows were learnt.

use hedgerow::Kind;
use serde::{Serialize, Serializer};

use crate::output::count;

/// Parts that were tried, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Renewed {
    pub(crate) kind: Kind,
    pub(crate) numbers: [usize; 2],
}

impl Renewed {
    pub(crate) fn words(self) -> String {
        let words = self.kind.info().renewed.words;
        let [tried, replaced] = self.numbers.map(|n| count(n as u64));
        format!("{tried} {}, {replaced} {}", words[0], words[1])
    }

    /// A name and a value for a page.
    pub(crate) fn fact(self) -> (&'static str, String) {
        (self.kind.info().renewed.title, count(self.numbers[1] as u64))
    }
}

impl Serialize for Renewed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.kind.info().renewed.names.iter().zip(self.numbers))
    }
}
