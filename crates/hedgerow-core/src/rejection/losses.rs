//! What decisions cost.

use ndarray::Array2;

use crate::data::ClassId;
use crate::error::{Error, Result, check_shapes};

/// The loss of every decision for rows of every class.
#[derive(Debug, Clone, PartialEq)]
pub struct Losses {
    /// Rows are true classes, columns decisions.
    table: Array2<f64>,
}

/// What is decided about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It is of this class.
    Class(ClassId),
    /// Nothing: every class is expected to cost more than that.
    Rejected,
}

impl Losses {
    /// 1 for every mistake.
    pub fn zero_one(n_classes: usize) -> Self {
        Self {
            table: Array2::from_shape_fn((n_classes, n_classes), |(own, decided)| {
                f64::from(u8::from(own != decided))
            }),
        }
    }

    /// Of two classes: the loss of taking the first for the second, and of taking the second for the first.
    pub fn binary(first_as_second: f64, second_as_first: f64) -> Result<Self> {
        Self::new(ndarray::array![[0.0, first_as_second], [second_as_first, 0.0]])
    }

    /// From a table whose rows are true classes and whose columns are decisions; fails unless it is square and all losses are finite numbers of 0 or more.
    pub fn new(table: Array2<f64>) -> Result<Self> {
        check_shapes([("decisions in the table of losses", table.nrows(), table.ncols())])?;
        match table.iter().find(|loss| !(loss.is_finite() && **loss >= 0.0)) {
            Some(loss) => Err(Error::param("losses", "finite numbers, 0 or more", loss)),
            None => Ok(Self { table }),
        }
    }

    /// The same with another loss for taking one class for another.
    pub fn with(mut self, truth: ClassId, decided: ClassId, loss: f64) -> Result<Self> {
        let n = self.table.nrows();
        let Some(own) = self.table.get_mut((truth.index(), decided.index())) else {
            let got = truth.index().max(decided.index()) + 1;
            return Err(Error::Shape { what: "classes in the table of losses", expected: n, got });
        };
        *own = loss;
        Self::new(self.table)
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> usize {
        self.table.nrows()
    }

    /// The expected loss of every decision for a row with these probabilities.
    pub fn expected(&self, proba: &[f64]) -> Vec<f64> {
        let loss = |decided| self.table.column(decided).iter().zip(proba).map(|(loss, p)| loss * p).sum();
        (0..self.table.ncols()).map(loss).collect()
    }

    /// The decision with the least expected loss, of equals the first; none if that is more than a rejection costs.
    pub fn decide(&self, proba: &[f64], reject_cost: Option<f64>) -> Decision {
        let mut best = (0, f64::INFINITY);
        for (class, loss) in self.expected(proba).into_iter().enumerate() {
            if loss < best.1 {
                best = (class, loss);
            }
        }
        match reject_cost {
            Some(cost) if best.1 > cost => Decision::Rejected,
            _ => Decision::Class(ClassId(best.0 as u32)),
        }
    }

    /// Of two classes: the probability of the second from which on it is decided for, θ = L₁₂ / (L₁₂ + L₂₁); none where there are more classes, right
    /// decisions cost something, or nothing does.
    pub fn threshold(&self) -> Option<f64> {
        let is_plain = self.table.dim() == (2, 2) && self.table[(0, 0)] == 0.0 && self.table[(1, 1)] == 0.0;
        let sum = if is_plain { self.table[(0, 1)] + self.table[(1, 0)] } else { 0.0 };
        (sum > 0.0).then(|| self.table[(0, 1)] / sum)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn the_threshold_parts_the_decisions() {
        for (first, second, theta) in [(1.0, 1.0, 0.5), (1.0, 4.0, 0.2), (3.0, 1.0, 0.75)] {
            let losses = Losses::binary(first, second).unwrap();
            assert_eq!(losses.threshold(), Some(theta));
            for (p, class) in [(theta - 1e-9, 0), (theta + 1e-9, 1)] {
                assert_eq!(losses.decide(&[1.0 - p, p], None), Decision::Class(ClassId(class)), "{theta}");
            }
        }
        assert_eq!(Losses::binary(0.0, 0.0).unwrap().threshold(), None);
        assert_eq!(Losses::zero_one(3).threshold(), None);
        assert_eq!(Losses::zero_one(2).threshold(), Some(0.5));
    }

    #[test]
    fn decisions_by_hand() {
        let losses = Losses::new(array![[0.0, 1.0, 8.0], [2.0, 0.0, 2.0], [4.0, 4.0, 0.0]]).unwrap();
        let p = [0.5, 0.25, 0.25];
        assert_eq!(losses.expected(&p), [1.5, 1.5, 4.5]);
        assert_eq!(losses.decide(&p, None), Decision::Class(ClassId(0)), "of equals the first");
        assert_eq!(losses.decide(&p, Some(1.5)), Decision::Class(ClassId(0)));
        assert_eq!(losses.decide(&p, Some(1.4)), Decision::Rejected);
        // Chow's rule: with losses of 1, a row is rejected where 1 − max p is more than that costs.
        for (p, cost, decided) in [([0.6, 0.4], 0.41, true), ([0.6, 0.4], 0.39, false)] {
            let decision = Losses::zero_one(2).decide(&p, Some(cost));
            assert_eq!(decision == Decision::Class(ClassId(0)), decided, "{cost}");
        }
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        assert!(Losses::new(Array2::zeros((2, 3))).is_err());
        for loss in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Losses::binary(1.0, loss).unwrap_err().to_string().contains("0 or more"));
        }
        assert!(Losses::zero_one(2).with(ClassId(0), ClassId(2), 1.0).unwrap_err().to_string().contains('3'));
    }
}
