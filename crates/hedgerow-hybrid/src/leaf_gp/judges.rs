//! Rows outside: what was said about rows that neither trees nor processes had seen, and what is decided by it.

use hedgerow_core::{ClassId, Par};
use hedgerow_gp::calibration::Calibration;
use ndarray::Array2;

use super::LeafGp;
use crate::blend::{Blend, Pair};

/// Fewest rows that say how far processes and shares are trusted.
const LEAST_ROWS: usize = 30;

/// What was said about rows: a row a row, a column a class.
pub(super) struct Judges {
    pub(super) scores: Array2<f64>,
    /// Rows of zeros where nobody knows.
    pub(super) shares: Array2<f64>,
    pub(super) classes: Vec<ClassId>,
    /// Whether a process had a say.
    pub(super) is_heard: Vec<bool>,
}

impl LeafGp {
    /// Decides by rows outside how scores become probabilities, and how far shares of classes are trusted beside them.
    pub(super) fn judge(&mut self, judges: &Judges, par: &Par) {
        self.calibration = Some(Calibration::fit(&judges.scores, &judges.classes, par));
        self.trust(judges);
    }

    /// Decides by rows outside how far shares of classes are trusted beside processes.
    pub(super) fn trust(&mut self, judges: &Judges) {
        let calibration = self.calibration.as_ref().filter(|_| self.params.blend);
        self.blend = calibration.and_then(|calibration| judges.blend(calibration));
    }

    /// Whether processes have a say where there are any.
    pub(super) fn hears_processes(&self) -> bool {
        self.blend.is_none_or(|blend| blend.machine > 0.0)
    }

    /// Tells the account what came of rows outside.
    pub(super) fn note(&mut self, judges: &Judges) {
        self.account.grow(self.n_classes);
        let both = judges.scores.rows().into_iter().zip(judges.shares.rows());
        for ((scores, shares), (class, is_heard)) in both.zip(judges.classes.iter().zip(&judges.is_heard)) {
            let (mut answer, shares) = (scores.to_vec(), shares.to_vec());
            self.combine(&mut answer, &shares);
            let is_heard = *is_heard && self.hears_processes();
            self.account.add(class.index(), &shares, &answer, is_heard);
        }
    }
}

impl Judges {
    /// Whether there are rows of more than one class.
    pub(super) fn is_mixed(&self) -> bool {
        self.classes.iter().any(|class| *class != self.classes[0])
    }

    /// How far shares and calibrated processes are trusted; none if shares do not help.
    fn blend(&self, calibration: &Calibration) -> Option<Blend> {
        let known: Vec<usize> =
            (0..self.classes.len()).filter(|&row| self.shares.row(row).sum() > 0.0).collect();
        if known.len() < LEAST_ROWS {
            return None;
        }
        let of_row = |&row: &usize| {
            let mut answer = self.scores.row(row).to_vec();
            calibration.apply(&mut answer);
            (self.shares.row(row).to_vec(), answer, self.classes[row])
        };
        let rows: Vec<(Vec<f64>, Vec<f64>, ClassId)> = known.iter().map(of_row).collect();
        let each = rows.iter();
        let pairs: Vec<Pair<'_>> =
            each.map(|(forest, machine, class)| Pair { forest, machine, class: *class }).collect();
        Blend::if_better(&pairs)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hedgerow_core::rng::{Purpose, Rng};
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, Classifier as _, Dataset, Features, Params as _, Rows, Silent, Training};

    use super::super::LeafGpParams;
    use super::*;

    /// Twelve columns of three values each, of which two say something about two classes; a quarter of the labels is wrong.
    fn categories(n: usize, seed: u64) -> Dataset {
        let mut rng = Rng::new(seed, Purpose::Data, 11);
        let mut data = blobs(n, 12, 2, seed);
        let x = Array2::from_shape_fn((n, 12), |_| rng.index(3) as f32);
        data.features = Features::from_view(x.view());
        let rows = x.rows().into_iter();
        let is_second = rows.map(|row| (row[0] + row[1] > 2.0) != (rng.unit() < 0.25));
        data.labels = is_second.map(|is| ClassId(u32::from(is))).collect();
        data
    }

    /// Two classes on both sides of a slanting line, which processes follow and leaves do not.
    fn slanting(n: usize, seed: u64) -> Dataset {
        let mut rng = Rng::new(seed, Purpose::Data, 12);
        let mut data = blobs(n, 2, 2, seed);
        let x = Array2::from_shape_fn((n, 2), |_| rng.unit() as f32);
        data.features = Features::from_view(x.view());
        data.labels = x.rows().into_iter().map(|row| ClassId(u32::from(row[0] > row[1]))).collect();
        data
    }

    fn fit(data: &Dataset, blend: bool) -> LeafGp {
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let params = LeafGpParams { n_trees: 5, leaf_rows: 40, blend, ..LeafGpParams::default() };
        LeafGp::fit(data, &params.check().unwrap(), &training).unwrap().model
    }

    /// The mean log-loss.
    fn loss(model: &LeafGp, data: &Dataset) -> f64 {
        let x = data.features.to_array(0..data.n_rows());
        let proba = model.predict_proba(x.view(), &Par::sequential()).unwrap();
        let of_row = |(row, label): (ndarray::ArrayView1<'_, f64>, &ClassId)| -libm::log(row[label.index()]);
        proba.rows().into_iter().zip(&data.labels).map(of_row).sum::<f64>() / data.n_rows() as f64
    }

    #[test]
    fn shares_count_where_they_help() {
        let (train, test) = (categories(800, 1), categories(2000, 2));
        let [with, without] = [true, false].map(|blend| fit(&train, blend));
        let blend = with.blend().unwrap();
        assert!(blend.forest > 0.2 && blend.machine < 0.8, "{blend:?}");
        let (a, b) = (loss(&with, &test), loss(&without, &test));
        assert!(a < b - 0.005, "{a} with shares, {b} without");
        assert_eq!((without.blend(), without.account().n_rows()), (None, 0));
        let account = with.account();
        assert_eq!((account.n_rows(), account.heard.iter().sum::<u64>() > 700), (800, true));
    }

    #[test]
    fn where_they_do_not_help_processes_answer_alone() {
        let (train, test) = (slanting(600, 1), slanting(300, 2));
        let [with, without] = [true, false].map(|blend| fit(&train, blend));
        assert_eq!(with.blend(), None);
        let x = test.features.to_array(0..300);
        let [a, b] =
            [&with, &without].map(|model| model.predict_proba(x.view(), &Par::sequential()).unwrap());
        assert_eq!(a, b);
        let [before, after] = with.account().n_right();
        assert!(after > before + 10, "{before} right before, {after} after");
    }

    #[test]
    fn two_together_are_at_least_as_good_as_each_on_rows_outside() {
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        for data in [categories(500, 3), slanting(500, 3)] {
            let model = fit(&data, true);
            let judges = model.unseen(&data, Duration::ZERO, &training).unwrap().unwrap();
            assert_eq!((judges.classes.len(), model.account().n_rows()), (500, 500));
            let loss_with = |blend: Option<Blend>| {
                let tried = LeafGp { blend, account: crate::Account::default(), ..model.clone() };
                let mut noted = tried;
                noted.note(&judges);
                noted.account().losses.iter().map(|loss| loss[1]).sum::<f64>()
            };
            let found = loss_with(model.blend());
            assert!(found <= loss_with(None) && found <= loss_with(Some(Blend::FOREST)));
        }
    }

    #[test]
    fn online_the_newest_rows_decide_and_are_counted() {
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let data = categories(900, 4);
        let params = LeafGpParams { n_trees: 3, leaf_rows: 40, ..LeafGpParams::default() };
        let mut model = LeafGp::new(&data.schema, &params.check().unwrap()).unwrap();
        let x = data.features.to_array(0..900);
        let rows = Rows { x: x.view(), labels: &data.labels, weights: None };
        let lesson = model.learn(&data.schema, rows, &training).unwrap();
        let counted = model.account().n_rows();
        assert!((850..900).contains(&counted), "{counted}: all since there were leaves");
        let right = |from: usize| {
            let said = hedgerow_core::traits::most_probable(lesson.answers.slice(ndarray::s![from.., ..]));
            said.iter().zip(&data.labels[from..]).filter(|(a, b)| a == b).count() as u64
        };
        assert_eq!(model.account().n_right()[1], right(900 - counted as usize));
        let course = model.course.as_ref().unwrap();
        assert_eq!((course.shares.len(), course.scores.len()), (counted as usize, counted as usize));
    }
}
