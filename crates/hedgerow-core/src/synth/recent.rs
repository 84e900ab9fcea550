//! The concepts in use.

/// The two concepts asked for last. More are never in use at a time, so memory does not grow with the number of changes.
#[derive(Debug, Clone)]
pub(super) struct Recent<T>(Vec<(u64, T)>);

impl<T> Recent<T> {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(2))
    }

    /// The concept of this number, made if it is not at hand.
    pub(super) fn get(&mut self, number: u64, make: impl FnOnce() -> T) -> &T {
        if let Some(place) = self.0.iter().position(|(known, _)| *known == number) {
            self.0.swap(0, place);
        } else {
            self.0.truncate(1);
            self.0.insert(0, (number, make()));
        }
        &self.0[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_concepts_in_turn_are_made_once() {
        let mut made = Vec::new();
        let mut recent = Recent::new();
        for number in [0, 1, 0, 1, 2, 1, 2, 0] {
            let got = *recent.get(number, || {
                made.push(number);
                number * 10
            });
            assert_eq!(got, number * 10);
        }
        assert_eq!(made, [0, 1, 2, 0]);
    }
}
