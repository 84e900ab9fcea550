//! One question: is this row's value of a column below a threshold, or in a set of categories?

use super::Link;

/// A split: 16 bytes. A walk goes left if `x[feature] < threshold`, or if the category is in the set.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Split {
    /// The threshold; for categories the bits of the set, or its place in the tree's list of sets.
    pub(crate) threshold: f32,
    /// The column.
    pub(crate) feature: u16,
    /// [`MISSING_LEFT`], [`CATEGORIES`], [`LONG_SET`].
    pub(crate) flags: u16,
    /// Where a yes leads, and where a no leads. An array, so that the comparison is an address and not a branch to guess.
    pub(crate) links: [Link; 2],
}

/// A value of a row: any float, or a whole number where rows hold small ones.
pub(crate) trait Value: Copy + Into<f32> {}

impl Value for f32 {}
impl Value for u8 {}
impl Value for u16 {}

/// A missing value goes left.
pub(crate) const MISSING_LEFT: u16 = 1;
/// The split asks for a category.
pub(crate) const CATEGORIES: u16 = 2;
/// The set of categories is in the tree's list.
pub(crate) const LONG_SET: u16 = 4;

/// Categories that go left: the words of a bit set from the first to the last that is not empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CategorySet {
    first_word: u32,
    words: Vec<u32>,
}

impl CategorySet {
    /// A set of the categories given.
    pub fn new(categories: impl IntoIterator<Item = usize>) -> Self {
        let mut categories: Vec<usize> = categories.into_iter().collect();
        categories.sort_unstable();
        let first_word = categories.first().map_or(0, |c| c / 32);
        let last_word = categories.last().map_or(0, |c| c / 32);
        let mut words = vec![0; last_word - first_word + 1];
        for category in categories {
            words[category / 32 - first_word] |= 1 << (category % 32);
        }
        Self { first_word: first_word as u32, words }
    }

    /// Whether a category is in the set.
    #[inline]
    pub fn contains(&self, category: usize) -> bool {
        has(self.first_word as usize, &self.words, category)
    }
}

#[inline]
fn has(first_word: usize, words: &[u32], category: usize) -> bool {
    let word = (category / 32).checked_sub(first_word).and_then(|at| words.get(at));
    word.is_some_and(|word| word >> (category % 32) & 1 == 1)
}

impl Split {
    /// A split from the numbers in a model file.
    pub fn from_parts(threshold: f32, feature: u16, flags: u16, links: [Link; 2]) -> Self {
        Self { threshold, feature, flags, links }
    }

    /// The threshold (for categories the bits of the set, or its place in the list).
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// The column.
    pub fn feature(&self) -> u16 {
        self.feature
    }

    /// The links: yes, no.
    pub fn links(&self) -> [Link; 2] {
        self.links
    }

    /// Where a row goes. `sets` is the tree's list of category sets.
    #[inline]
    pub(crate) fn next<V: Value>(&self, row: &[V], sets: &[u32]) -> Link {
        self.links[usize::from(!self.goes_left(row, sets))]
    }

    /// Whether a row goes left.
    #[inline]
    pub(crate) fn goes_left<V: Value>(&self, row: &[V], sets: &[u32]) -> bool {
        let value: f32 = row[usize::from(self.feature)].into();
        let missing_left = self.flags & MISSING_LEFT != 0;
        if self.flags & CATEGORIES == 0 {
            (value < self.threshold) | (value.is_nan() & missing_left)
        } else {
            self.category_goes_left(value, sets).unwrap_or(missing_left)
        }
    }

    #[cold]
    fn category_goes_left(&self, value: f32, sets: &[u32]) -> Option<bool> {
        if !(0.0..65_536.0).contains(&value) {
            return None;
        }
        let own = [self.threshold.to_bits()];
        let (first_word, words) = self.set_words(&own, sets);
        Some(has(first_word, words, value as usize))
    }

    /// The first word's number and the words of the set, from the split itself or the tree's list.
    fn set_words<'a>(&self, own: &'a [u32; 1], sets: &'a [u32]) -> (usize, &'a [u32]) {
        if self.flags & LONG_SET == 0 {
            return (0, own);
        }
        let words = sets.get(own[0] as usize..).and_then(|rest| match rest {
            [n_words, first_word, rest @ ..] => Some((*first_word as usize, rest.get(..*n_words as usize)?)),
            _ => None,
        });
        words.unwrap_or((0, &[]))
    }

    /// The set of categories that go left, if the split asks for one.
    pub(crate) fn categories(&self, sets: &[u32]) -> Option<CategorySet> {
        let own = [self.threshold.to_bits()];
        (self.flags & CATEGORIES != 0).then(|| {
            let (first_word, words) = self.set_words(&own, sets);
            CategorySet { first_word: first_word as u32, words: words.to_vec() }
        })
    }

    /// Makes this a split on a set of categories.
    pub(crate) fn set_categories(&mut self, set: &CategorySet, sets: &mut Vec<u32>) {
        self.flags = self.flags & MISSING_LEFT | CATEGORIES;
        match (set.first_word, &set.words[..]) {
            (0, [word]) => self.threshold = f32::from_bits(*word),
            (first_word, words) => {
                self.flags |= LONG_SET;
                self.threshold = f32::from_bits(sets.len() as u32);
                sets.extend([words.len() as u32, first_word]);
                sets.extend_from_slice(words);
            }
        }
    }

    /// Follows a set in the tree's list that has moved up by so many places.
    pub(super) fn move_set(&mut self, by: usize) {
        if self.flags & LONG_SET != 0 {
            self.threshold = f32::from_bits(self.threshold.to_bits() + by as u32);
        }
    }

    /// Whether the flags are known and the set, if any, exists.
    pub(super) fn set_ok(&self, sets: &[u32]) -> bool {
        let known = self.flags & !(MISSING_LEFT | CATEGORIES | LONG_SET) == 0;
        let own = [self.threshold.to_bits()];
        known && (self.flags & LONG_SET == 0 || !self.set_words(&own, sets).1.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_sixteen_bytes() {
        assert_eq!(size_of::<Split>(), 16);
    }

    #[test]
    fn sets_short_and_long() {
        for n in [3, 32, 33, 500] {
            let set = CategorySet::new((0..n).filter(|c| c % 3 == 1));
            let mut split = Split::from_parts(0.0, 0, MISSING_LEFT, [Link::to_split(1), Link::to_split(2)]);
            let mut sets = vec![9, 9];
            split.set_categories(&set, &mut sets);
            assert_eq!(split.categories(&sets).as_ref(), Some(&set));
            for c in 0..n {
                assert_eq!(split.next(&[c as f32], &sets) == split.links[0], c % 3 == 1);
            }
            assert_eq!(split.next(&[f32::NAN], &sets), split.links[0]);
            assert_eq!(split.next(&[9999.0], &sets), split.links[1], "what is not in the set goes right");
        }
    }

    #[test]
    fn equal_goes_right_and_missing_where_it_is_told() {
        let split = |flags| Split::from_parts(1.0, 0, flags, [Link::to_split(1), Link::to_split(2)]);
        assert_eq!(split(0).next(&[1.0], &[]), split(0).links[1]);
        assert_eq!(split(0).next(&[0.9], &[]), split(0).links[0]);
        assert_eq!(split(0).next(&[f32::NAN], &[]), split(0).links[1]);
        assert_eq!(split(MISSING_LEFT).next(&[f32::NAN], &[]), split(0).links[0]);
    }
}
