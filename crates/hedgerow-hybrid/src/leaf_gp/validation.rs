//! Out-of-sample scores of a model of leaf GPs, and what is decided by them.

use hedgerow_core::blend::{Blend, Pair};
use hedgerow_core::{OutOfSample, Source};
use ndarray::{Array2, ArrayView1};

use super::LeafGp;

/// Fewest rows that a blend is fitted on.
const LEAST_ROWS: usize = 30;

/// A row with its out-of-fold scores and class frequencies.
#[derive(Debug, Clone)]
pub(super) struct ValidationRow {
    /// Its place among the training rows.
    pub(super) row: usize,
    /// Class frequencies, and scores before calibration.
    pub(super) pair: Pair,
    /// Whether a leaf GP was among the leaves of the row.
    pub(super) has_gp: bool,
}

impl LeafGp {
    /// Fits the blend of class frequencies and leaf GPs, whose scores are calibrated first; none if it is not better than the GPs alone.
    pub(super) fn fit_blend(&mut self, mut rows: Vec<Pair>) {
        let calibration = self.calibration.as_ref().filter(|_| self.params.blend && rows.len() >= LEAST_ROWS);
        self.blend = calibration.and_then(|calibration| {
            rows.iter_mut().for_each(|row| calibration.apply(&mut row.gp));
            Blend::if_better(&rows)
        });
    }

    /// Whether leaf GPs count where there are any.
    pub(super) fn uses_gps(&self) -> bool {
        self.blend.is_none_or(|blend| blend.gp > 0.0)
    }

    /// Out-of-fold probabilities. Counts in the report what leaf GPs changed about them.
    pub(super) fn account_for(&mut self, validation: &[ValidationRow]) -> OutOfSample {
        self.report.grow(self.n_classes);
        let mut values = Array2::zeros((validation.len(), self.n_classes));
        for (ValidationRow { pair, has_gp, .. }, mut out) in validation.iter().zip(values.rows_mut()) {
            let mut proba = pair.gp.clone();
            self.combine(&mut proba, &pair.forest);
            self.report.add(pair.class.index(), &pair.forest, &proba, *has_gp && self.uses_gps());
            out.assign(&ArrayView1::from(&proba));
        }
        let (rows, labels) = validation.iter().map(|one| (one.row, one.pair.class)).unzip();
        OutOfSample::new(Source::OutOfFold, rows, values, labels)
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{
        Budget, ClassId, Classifier as _, Dataset, Features, ModelKind as _, OnlineModel as _, Par,
        Params as _, Rows, Silent, Training,
    };

    use super::super::LeafGpParams;
    use super::super::folds::ValidationFolds;
    use super::*;

    /// Twelve columns of three values each, of which two depend on the class; a quarter of the labels is wrong.
    fn categories(n: usize, seed: u64) -> Dataset {
        let mut rng = Rng::new(seed, Purpose::Data, 11);
        let mut data = blobs(n, 12, 2, seed);
        let x = Array2::from_shape_fn((n, 12), |_| rng.index(3) as f32);
        data.edit(|data| data.features = Features::from_view(x.view())).unwrap();
        let rows = x.rows().into_iter();
        let is_second = rows.map(|row| (row[0] + row[1] > 2.0) != (rng.unit() < 0.25));
        data.edit(|data| {
            data.targets =
                hedgerow_core::Targets::Classes(is_second.map(|is| ClassId(u32::from(is))).collect());
        })
        .unwrap();
        data
    }

    /// Two classes on both sides of a slanting line, which GPs follow and leaves do not.
    fn slanting(n: usize, seed: u64) -> Dataset {
        let mut rng = Rng::new(seed, Purpose::Data, 12);
        let mut data = blobs(n, 2, 2, seed);
        let x = Array2::from_shape_fn((n, 2), |_| rng.unit() as f32);
        data.edit(|data| data.features = Features::from_view(x.view())).unwrap();
        data.edit(|data| {
            data.targets = hedgerow_core::Targets::Classes(
                x.rows().into_iter().map(|row| ClassId(u32::from(row[0] > row[1]))).collect(),
            );
        })
        .unwrap();
        data
    }

    fn fit(data: &Dataset, blend: bool) -> LeafGp {
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let params = LeafGpParams { n_trees: 5, leaf_rows: 40, blend, ..LeafGpParams::default() };
        hedgerow_core::fit(data, &params.check().unwrap(), &training).unwrap().model
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
        assert_eq!((report.n_rows(), report.n_blended() > 700), (800, true));
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
            let all: Vec<ValidationRow> = parts.flat_map(|part| part.unwrap().unwrap()).collect();
            assert_eq!((all.len(), model.blend_report().n_rows()), (500, 500));
            let loss_with = |blend: Option<Blend>| {
                let mut tried =
                    LeafGp { blend, report: hedgerow_core::BlendReport::default(), ..model.clone() };
                let quality = tried.account_for(&all).quality();
                let sum = tried.blend_report().summed_losses()[1];
                assert!((quality.log_loss() * 500.0 - sum).abs() < 1e-6);
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
        let mut model = LeafGpParams::new_model(&data.schema, &params.check().unwrap()).unwrap();
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
        assert_eq!(online.prequential.newest(2, -1.0).len(), counted as usize);
    }
}
