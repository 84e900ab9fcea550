//! Folds of k-fold cross-validation.

use crate::rng::Rng;

/// Rows dealt at random into folds of nearly the same size.
#[derive(Debug, Clone)]
pub struct Folds {
    order: Vec<usize>,
    n_folds: usize,
}

impl Folds {
    /// Deals `n_rows` rows into `n_folds` folds.
    pub fn new(n_rows: usize, n_folds: usize, mut rng: Rng) -> Self {
        let mut order: Vec<usize> = (0..n_rows).collect();
        rng.shuffle(&mut order);
        Self { order, n_folds: n_folds.max(1) }
    }

    /// The number of folds that hold `n_wanted` rows together; all of them where there are fewer rows.
    pub fn n_with(&self, n_wanted: usize) -> usize {
        (self.n_folds * n_wanted).div_ceil(self.order.len().max(1)).clamp(1, self.n_folds)
    }

    /// The training rows (all other folds) and the held-out rows (this fold), both ascending.
    pub fn cut(&self, fold: usize) -> [Vec<usize>; 2] {
        [false, true].map(|is_left| {
            let places = (0..self.order.len()).filter(|place| (place % self.n_folds == fold) == is_left);
            let mut rows: Vec<usize> = places.map(|place| self.order[place]).collect();
            rows.sort_unstable();
            rows
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    #[test]
    fn every_row_is_left_out_once() {
        let folds = Folds::new(23, 5, Rng::new(1, Purpose::Validation, 0));
        let mut left_out = Vec::new();
        for fold in 0..5 {
            let [kept, left] = folds.cut(fold);
            assert!(kept.is_sorted() && left.is_sorted() && (4..=5).contains(&left.len()));
            assert!(kept.len() + left.len() == 23 && left.iter().all(|row| !kept.contains(row)));
            left_out.extend(left);
        }
        left_out.sort_unstable();
        assert_eq!(left_out, (0..23).collect::<Vec<_>>());
        assert_eq!([1, 4, 5, 23, 99].map(|n| folds.n_with(n)), [1, 1, 2, 5, 5]);
        assert_eq!(
            Folds::new(0, 5, Rng::new(1, Purpose::Validation, 0)).cut(3),
            [Vec::<usize>::new(), Vec::new()]
        );
    }
}
