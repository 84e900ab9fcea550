//! Out-of-sample predictions of forest and IVM, and the blends fitted to them.

use hedgerow_core::blend::{Blend, Pair};
use hedgerow_core::traits::largest;
use serde::{Deserialize, Serialize};

use super::{Combine, ForestIvm};

/// Margins that the search for `margin` tries.
const MARGINS: [f64; 7] = [1.0, 0.9, 0.8, 0.6, 0.4, 0.2, 0.1];
/// A margin that is above that of every prediction.
const ABOVE_ALL: f64 = 2.0;
/// Fewest rows by which the blend may be switched off for one class that the forest predicts.
const LEAST_ROWS: usize = 30;

/// What an IVM must lower the log-loss of a row by, on average, to learn all the time, and rows that must tell.
const LEAST_GAIN: f64 = 0.005;
const LEAST_SHOWN: usize = 500;

/// The blend of the forest with one IVM, and where it is used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct IvmBlend {
    pub(super) exponents: Blend,
    /// For each class the forest predicts, whether the blend lowers the log-loss; true for classes that came later.
    pub(super) helps: Vec<bool>,
    /// Whether it lowers the log-loss of all rows together.
    pub(super) is_useful: bool,
    /// Whether it is known to change little.
    #[serde(default)]
    is_idle: bool,
}

impl IvmBlend {
    pub(super) fn helps(&self, predicted: usize) -> bool {
        self.is_useful && self.helps.get(predicted).copied().unwrap_or(true)
    }

    pub(super) fn helps_any(&self) -> bool {
        self.is_useful && self.helps.iter().any(|helps| *helps)
    }

    /// The blend helps where its log-loss is below that of the forest alone.
    fn new(pairs: &[&Pair], n_classes: usize) -> Self {
        let exponents = Blend::fit(pairs.iter().copied());
        let mut leads = vec![(0_usize, 0.0); n_classes];
        for pair in pairs {
            if let Some((n, sum)) = largest(&pair.forest).and_then(|predicted| leads.get_mut(predicted)) {
                *n += 1;
                *sum += exponents.lead(pair);
            }
        }
        let total: f64 = leads.iter().map(|(_, sum)| sum).sum();
        let helps = leads.iter().map(|(n, sum)| *n < LEAST_ROWS || *sum > 0.0).collect();
        let is_idle = pairs.len() >= LEAST_SHOWN && total < LEAST_GAIN * pairs.len() as f64;
        Self { exponents, helps, is_useful: total > 0.0 && !pairs.is_empty(), is_idle }
    }

    pub(super) fn is_valid(&self, n_classes: usize) -> bool {
        self.exponents.is_valid() && self.helps.len() <= n_classes
    }
}

/// The difference of the two largest probabilities.
pub(super) fn margin(proba: &[f64]) -> f64 {
    let (mut first, mut second) = (0.0_f64, 0.0_f64);
    for &p in proba {
        if p > first {
            (first, second) = (p, first);
        } else {
            second = second.max(p);
        }
    }
    first - second
}

impl ForestIvm {
    /// Fits the blends to out-of-sample predictions. IVMs that change little learn less often.
    pub(super) fn fit_blends(&mut self, validation: &[Pair]) {
        self.fit_blends_only(validation);
        self.ivms.iter_mut().for_each(|assigned| assigned.ivm.set_idle(assigned.blend.is_idle));
    }

    fn fit_blends_only(&mut self, validation: &[Pair]) {
        let with_ivm = || validation.iter().filter(|row| !row.gp.is_empty());
        let given = [self.params.margin];
        let margins = match self.params.combine {
            Combine::Route => {
                for assigned in &mut self.ivms {
                    let is_own = |row: &&Pair| largest(&row.forest) == assigned.class;
                    let own: Vec<&Pair> = with_ivm().filter(is_own).collect();
                    assigned.blend = IvmBlend::new(&own, self.n_classes);
                }
                return;
            }
            Combine::Pool => &[ABOVE_ALL][..],
            Combine::Gate if self.params.margin > 0.0 => &given,
            Combine::Gate => &MARGINS,
        };
        let Some(assigned) = self.ivms.first_mut() else { return };
        let mut most = None;
        for &tried in margins {
            let unsure: Vec<&Pair> = with_ivm().filter(|row| margin(&row.forest) < tried).collect();
            let blend = IvmBlend::new(&unsure, self.n_classes);
            let lead: f64 = unsure.iter().map(|row| blend.exponents.lead(row)).sum();
            if most.is_none_or(|most| lead > most) {
                most = Some(lead);
                (assigned.blend, self.margin) = (blend, tried);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::ClassId;

    use super::*;

    #[test]
    fn margins_by_hand() {
        assert!((margin(&[0.2, 0.5, 0.3]) - 0.2).abs() < 1e-12);
        assert_eq!((margin(&[1.0]), margin(&[0.5, 0.5])), (1.0, 0.0));
    }

    #[test]
    fn an_ivm_that_is_known_to_change_little_is_idle() {
        // Right in four of five rows, and as sure as that.
        let calibrated = |i: u32| if i.is_multiple_of(5) { 0.2 } else { 0.8 };
        let pairs = |n: u32, gp: &dyn Fn(u32) -> f64| -> Vec<Pair> {
            let pair = |i: u32| {
                let of = |p: f64| if i.is_multiple_of(2) { vec![p, 1.0 - p] } else { vec![1.0 - p, p] };
                Pair { forest: of(calibrated(i)), gp: of(gp(i)), class: ClassId(i % 2) }
            };
            (0..n).map(pair).collect()
        };
        let is_idle = |pairs: Vec<Pair>| IvmBlend::new(&pairs.iter().collect::<Vec<_>>(), 2).is_idle;
        let is_right_where_the_forest_is_wrong = |i: u32| if i.is_multiple_of(5) { 0.9 } else { 0.7 };
        assert!(!is_idle(pairs(600, &is_right_where_the_forest_is_wrong)));
        assert_eq!((is_idle(pairs(600, &calibrated)), is_idle(pairs(400, &calibrated))), (true, false));
    }

    #[test]
    fn an_ivm_that_predicts_noise_is_not_blended() {
        let pairs: Vec<Pair> = (0..200)
            .map(|i| {
                let class = ClassId(i % 2);
                let right = if i % 10 == 0 { 0.2 } else { 0.9 };
                let forest = if class.0 == 0 { vec![right, 1.0 - right] } else { vec![1.0 - right, right] };
                let gp = vec![if i % 4 < 2 { 0.9 } else { 0.1 }, if i % 4 < 2 { 0.1 } else { 0.9 }];
                Pair { forest, gp, class }
            })
            .collect();
        let pairs: Vec<&Pair> = pairs.iter().collect();
        let blend = IvmBlend::new(&pairs, 2);
        assert!(blend.exponents.gp < 0.1, "{blend:?}");
        assert!(!IvmBlend::new(&[], 2).helps(0));
    }
}
