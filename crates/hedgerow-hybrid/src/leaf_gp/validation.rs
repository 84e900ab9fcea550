//! Out-of-sample scores of a model of leaf GPs, and what is decided by them.

use std::sync::Arc;

use hedgerow_core::blend::{Blend, Pair};
use hedgerow_core::{Calibration, ClassId, OutOfSample, Par, Source};
use ndarray::{Array2, ArrayView1, Axis, concatenate};

use super::LeafGp;
use super::predict::Predictions;

/// Fewest rows that a blend is fitted on.
const LEAST_ROWS: usize = 30;

/// Out-of-sample scores, with the class frequencies of the same rows.
#[derive(Debug, Clone)]
pub(super) struct Validation {
    /// Scores, before calibration.
    pub(super) scores: OutOfSample,
    /// Rows of zeros where they are not known.
    pub(super) frequencies: Array2<f64>,
    /// Whether a leaf GP was among the leaves of the row.
    pub(super) has_gp: Vec<bool>,
}

impl LeafGp {
    /// Fits calibration and blend.
    pub(super) fn calibrate(&mut self, validation: &Validation, par: &Par) {
        self.calibration = Some(Calibration::fit(&validation.scores.values, &validation.scores.labels, par));
        self.fit_blend(validation);
    }

    /// Fits the blend of class frequencies and calibrated leaf GPs; none if it is not better than the GPs alone.
    pub(super) fn fit_blend(&mut self, validation: &Validation) {
        let calibration = self.calibration.as_ref().filter(|_| self.params.blend);
        self.blend = calibration.and_then(|calibration| validation.blend(calibration));
    }

    /// Whether leaf GPs count where there are any.
    pub(super) fn uses_gps(&self) -> bool {
        self.blend.is_none_or(|blend| blend.gp > 0.0)
    }

    /// Out-of-sample probabilities. Counts in the report what leaf GPs changed about them.
    pub(super) fn account_for(&mut self, validation: Validation) -> OutOfSample {
        let Validation { mut scores, frequencies, has_gp } = validation;
        self.report.grow(self.n_classes);
        let rows = scores.values.rows_mut().into_iter().zip(frequencies.rows());
        for ((mut row, frequencies), (class, has_gp)) in rows.zip(scores.labels.iter().zip(has_gp)) {
            let (mut proba, frequencies) = (row.to_vec(), frequencies.to_vec());
            self.combine(&mut proba, &frequencies);
            self.report.add(class.index(), &frequencies, &proba, has_gp && self.uses_gps());
            row.assign(&ArrayView1::from(&proba));
        }
        scores
    }
}

impl Validation {
    /// Predictions of rows, with their numbers and classes.
    pub(super) fn new(
        predictions: Predictions,
        rows: Vec<usize>,
        labels: Vec<ClassId>,
        source: Source,
    ) -> Self {
        let Predictions { scores: values, frequencies, has_gp } = predictions;
        Self { scores: OutOfSample { source, rows, values, labels }, frequencies, has_gp }
    }

    /// Several in one; none of none.
    pub(super) fn together(parts: &[Arc<Self>]) -> Option<Self> {
        let table = |of: &dyn Fn(&Self) -> &Array2<f64>| {
            let views: Vec<_> = parts.iter().map(|part| of(part).view()).collect();
            concatenate(Axis(0), &views).ok()
        };
        let scores = OutOfSample {
            source: parts.first()?.scores.source,
            rows: parts.iter().flat_map(|part| part.scores.rows.iter().copied()).collect(),
            values: table(&|part| &part.scores.values)?,
            labels: parts.iter().flat_map(|part| part.scores.labels.iter().copied()).collect(),
        };
        let has_gp = parts.iter().flat_map(|part| part.has_gp.iter().copied()).collect();
        Some(Self { scores, frequencies: table(&|part| &part.frequencies)?, has_gp })
    }

    /// The blend of class frequencies and calibrated leaf GPs; none if it is not better than the GPs alone.
    fn blend(&self, calibration: &Calibration) -> Option<Blend> {
        let known: Vec<usize> =
            (0..self.scores.len()).filter(|&row| self.frequencies.row(row).sum() > 0.0).collect();
        if known.len() < LEAST_ROWS {
            return None;
        }
        let of_row = |&row: &usize| {
            let mut proba = self.scores.values.row(row).to_vec();
            calibration.apply(&mut proba);
            (self.frequencies.row(row).to_vec(), proba, self.scores.labels[row])
        };
        let rows: Vec<(Vec<f64>, Vec<f64>, ClassId)> = known.iter().map(of_row).collect();
        let each = rows.iter();
        let pairs: Vec<Pair<'_>> =
            each.map(|(forest, gp, class)| Pair { forest, gp, class: *class }).collect();
        Blend::if_better(&pairs)
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{
        Budget, Classifier as _, Dataset, Features, OnlineModel as _, Params as _, Rows, Silent, Training,
    };

    use super::super::LeafGpParams;
    use super::super::folds::ValidationFolds;
    use super::*;

    /// Twelve columns of three values each, of which two depend on the class; a quarter of the labels is wrong.
    fn categories(n: usize, seed: u64) -> Dataset {
        let mut rng = Rng::new(seed, Purpose::Data, 11);
        let mut data = blobs(n, 12, 2, seed);
        let x = Array2::from_shape_fn((n, 12), |_| rng.index(3) as f32);
        data.features = Features::from_view(x.view());
        let rows = x.rows().into_iter();
        let is_second = rows.map(|row| (row[0] + row[1] > 2.0) != (rng.unit() < 0.25));
        data.targets = hedgerow_core::Targets::Classes(is_second.map(|is| ClassId(u32::from(is))).collect());
        data
    }

    /// Two classes on both sides of a slanting line, which GPs follow and leaves do not.
    fn slanting(n: usize, seed: u64) -> Dataset {
        let mut rng = Rng::new(seed, Purpose::Data, 12);
        let mut data = blobs(n, 2, 2, seed);
        let x = Array2::from_shape_fn((n, 2), |_| rng.unit() as f32);
        data.features = Features::from_view(x.view());
        data.targets = hedgerow_core::Targets::Classes(
            x.rows().into_iter().map(|row| ClassId(u32::from(row[0] > row[1]))).collect(),
        );
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
        proba.rows().into_iter().zip(data.labels()).map(of_row).sum::<f64>() / data.n_rows() as f64
    }

    #[test]
    fn frequencies_count_where_they_help() {
        let (train, test) = (categories(800, 1), categories(2000, 2));
        let [with, without] = [true, false].map(|blend| fit(&train, blend));
        let blend = with.blend().unwrap();
        assert!(blend.forest > 0.2 && blend.gp < 0.8, "{blend:?}");
        let (a, b) = (loss(&with, &test), loss(&without, &test));
        assert!(a < b - 0.005, "{a} with frequencies, {b} without");
        assert_eq!((without.blend(), without.blend_report().n_rows()), (None, 0));
        let report = with.blend_report();
        assert_eq!((report.n_rows(), report.blended.iter().sum::<u64>() > 700), (800, true));
    }

    #[test]
    fn where_they_do_not_help_gps_predict_alone() {
        let (train, test) = (slanting(600, 1), slanting(300, 2));
        let [with, without] = [true, false].map(|blend| fit(&train, blend));
        assert_eq!(with.blend(), None);
        let x = test.features.to_array(0..300);
        let [a, b] =
            [&with, &without].map(|model| model.predict_proba(x.view(), &Par::sequential()).unwrap());
        assert_eq!(a, b);
        let [before, after] = with.blend_report().n_right();
        assert!(after > before + 10, "{before} right before, {after} after");
    }

    #[test]
    fn the_blend_is_at_least_as_good_as_each_out_of_fold() {
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        for data in [categories(500, 3), slanting(500, 3)] {
            let model = fit(&data, true);
            let kernel = model.kernel().unwrap();
            let folds = ValidationFolds::new(500, model.params.seed);
            let parts = (0..5).map(|fold| folds.validate(fold, &data, &model.params, kernel, &training));
            let parts: Vec<Arc<Validation>> = parts.map(|part| Arc::new(part.unwrap().unwrap())).collect();
            let all = Validation::together(&parts).unwrap();
            assert_eq!((all.scores.len(), model.blend_report().n_rows()), (500, 500));
            let loss_with = |blend: Option<Blend>| {
                let mut tried =
                    LeafGp { blend, report: hedgerow_core::BlendReport::default(), ..model.clone() };
                let quality = tried.account_for(all.clone()).quality();
                let sum = tried.blend_report().losses.iter().map(|loss| loss[1]).sum::<f64>();
                assert!((quality.log_loss * 500.0 - sum).abs() < 1e-6);
                sum
            };
            let found = loss_with(model.blend());
            assert!(found <= loss_with(None) && found <= loss_with(Some(Blend::FOREST)));
        }
    }

    #[test]
    fn online_the_newest_rows_calibrate_and_are_counted() {
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let data = categories(900, 4);
        let params = LeafGpParams { n_trees: 3, leaf_rows: 40, ..LeafGpParams::default() };
        let mut model = LeafGp::new(&data.schema, &params.check().unwrap()).unwrap();
        let x = data.features.to_array(0..900);
        let rows = Rows::new(x.view(), data.labels(), None);
        let update = model.learn(&data.schema, rows, &training).unwrap();
        let counted = model.blend_report().n_rows();
        assert!((850..900).contains(&counted), "{counted}: all since there were leaves");
        let right = |from: usize| {
            let predicted =
                hedgerow_core::traits::most_probable(update.predictions.slice(ndarray::s![from.., ..]));
            predicted.iter().zip(&data.labels()[from..]).filter(|(a, b)| a == b).count() as u64
        };
        assert_eq!(model.blend_report().n_right()[1], right(900 - counted as usize));
        let online = model.online.as_ref().unwrap();
        assert_eq!((online.frequencies.len(), online.scores.len()), (counted as usize, counted as usize));
    }
}
