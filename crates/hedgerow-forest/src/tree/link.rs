//! Where a step of a walk leads.

/// A split's number or a leaf, in 32 bits.
///
/// ```text
/// 0nnnnnnn nnnnnnnn nnnnnnnn nnnnnnnn   split n
/// 11rrrrrr rrrrrrrr cccccccc cccccccc   pure leaf: r rows (up to 16,383) of class c
/// 10aaaaaa aaaaaaaa aaaaaaaa aaaaaaaa   leaf listed at place a of the leaf array
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link(u32);

const LEAF: u32 = 1 << 31;
const PURE: u32 = 1 << 30;
const MOST_ROWS: u32 = (1 << 14) - 1;

/// What a [`Link`] means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The split of this number.
    Split(usize),
    /// A leaf in which all rows have one class.
    Pure {
        /// The class.
        class: usize,
        /// How many rows there are.
        rows: u32,
    },
    /// A leaf at this place of the tree's leaf list.
    Listed(usize),
}

impl Link {
    /// A link to a split.
    pub(crate) fn to_split(index: usize) -> Self {
        debug_assert!(index < LEAF as usize);
        Self(index as u32)
    }

    /// A link that is a pure leaf; none if there are too many rows for it.
    pub(crate) fn pure(class: usize, rows: u32) -> Option<Self> {
        (rows <= MOST_ROWS && u16::try_from(class).is_ok())
            .then_some(Self(LEAF | PURE | rows << 16 | class as u32))
    }

    /// A link to a listed leaf; none if the list is too long for it.
    pub(crate) fn listed(at: usize) -> Option<Self> {
        (at < PURE as usize).then_some(Self(LEAF | at as u32))
    }

    /// The bits, as they stand in a model file.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// A link from its bits. It may lead nowhere until the tree has been checked.
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The number of the split, if the link leads to one.
    #[inline]
    pub fn as_split(self) -> Option<usize> {
        (self.0 & LEAF == 0).then_some(self.0 as usize)
    }

    /// What the link means.
    #[inline]
    pub fn target(self) -> Target {
        if self.0 & LEAF == 0 {
            Target::Split(self.0 as usize)
        } else if self.0 & PURE != 0 {
            Target::Pure { class: (self.0 & 0xffff) as usize, rows: (self.0 >> 16) & MOST_ROWS }
        } else {
            Target::Listed((self.0 & (PURE - 1)) as usize)
        }
    }
}

impl Default for Link {
    /// An empty leaf of class 0.
    fn default() -> Self {
        Self(LEAF | PURE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_come_back_as_they_went() {
        assert_eq!(Link::to_split(77).target(), Target::Split(77));
        assert_eq!(
            Link::pure(65_535, 16_383).unwrap().target(),
            Target::Pure { class: 65_535, rows: 16_383 }
        );
        assert_eq!(Link::pure(1, 16_384), None);
        assert_eq!(Link::listed((1 << 30) - 1).unwrap().target(), Target::Listed((1 << 30) - 1));
        assert_eq!(Link::listed(1 << 30), None);
    }
}
