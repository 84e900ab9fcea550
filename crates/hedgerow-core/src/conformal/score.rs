//! How badly a class conforms to a prediction, from 0 (as well as can be) to 1.

/// The scores of a row by its own class.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Scores {
    pub(super) class: usize,
    pub(super) ambiguity: f32,
    pub(super) mass: f32,
}

crate::columns! {
    ScoresColumns of Scores {
        each class: usize = |row| row.class,
        each ambiguity: f32 = |row| row.ambiguity,
        each mass: f32 = |row| row.mass,
    }
    |ScoresColumns { class, ambiguity, mass }| {
        let (class, ambiguity, mass): (Vec<usize>, Vec<f32>, Vec<f32>) = (class.0, ambiguity.0, mass.0);
        let fits = class.len() == ambiguity.len() && class.len() == mass.len();
        let rows = class.into_iter().zip(ambiguity).zip(mass);
        fits.then(|| rows.map(|((class, ambiguity), mass)| Scores { class, ambiguity, mass }).collect())
    }
}

impl Scores {
    pub(super) fn new(proba: &[f64], class: usize) -> Self {
        Self { class, ambiguity: ambiguity(proba, class), mass: mass_before(proba, class) }
    }

    /// Whether what was read is possible.
    pub(super) fn is_valid(&self, n_classes: usize) -> bool {
        self.class < n_classes && [self.ambiguity, self.mass].iter().all(|score| (0.0..=1.0).contains(score))
    }
}

/// 1 − p of the class (Sadinle, Lei & Wasserman, 2019, "Least ambiguous set-valued classifiers with bounded error levels").
pub(super) fn ambiguity(proba: &[f64], class: usize) -> f32 {
    let p = proba.get(class).copied().unwrap_or(0.0);
    // A number that is none conforms to nothing.
    if p.is_nan() { 1.0 } else { (1.0 - p).clamp(0.0, 1.0) as f32 }
}

/// The probability of all classes that are more probable (Romano, Sesia & Candès, 2020, "Classification with valid and adaptive coverage", without
/// the random share of the class itself: the most probable class has 0, so a set has it always).
pub(super) fn mass_before(proba: &[f64], class: usize) -> f32 {
    let p = proba.get(class).copied().filter(|p| !p.is_nan()).unwrap_or(0.0);
    let before: f64 = proba.iter().filter(|other| **other > p).sum();
    before.clamp(0.0, 1.0) as f32
}

/// The same for every class.
pub(super) fn masses_before(proba: &[f64]) -> Vec<f32> {
    (0..proba.len()).map(|class| mass_before(proba, class)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        let p = [0.5, 0.125, 0.25, 0.125];
        assert_eq!([0, 1, 2, 3, 4].map(|class| ambiguity(&p, class)), [0.5, 0.875, 0.75, 0.875, 1.0]);
        assert_eq!(masses_before(&p), [0.0, 0.75, 0.5, 0.75]);
        assert_eq!(mass_before(&p, 9), 1.0);
        assert_eq!(ambiguity(&[f64::NAN], 0), 1.0);
        assert_eq!(ambiguity(&[1.0 + 1e-12], 0), 0.0);
    }
}
