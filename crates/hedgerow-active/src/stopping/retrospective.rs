//! Advice from labelled rows alone.
//!
//! A [`Stopper`] wants to be shown every model as it comes. Here models are trained again on the first labels of a pool, as many as had been given some time
//! ago, and all of them predict rows that have no label now. So advice needs no stop set of its own, from which no row may be queried, and labels
//! may be taken back or changed. Models are kept, so that after a few more labels only the newest are trained.

use std::collections::BTreeMap;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Checked, ClassId, Dataset, Par, Result};

use super::advice::Advice;
use super::gain::Gain;
use super::history::Observed;
use super::params::StoppingParams;
use super::stopper::{AHEAD, Stopper};
use crate::model::{QueryModel, Trainer};
use crate::pool::Pool;

/// Rows without a label that models predict.
const STOP_ROWS: usize = 1_000;
/// Models are trained for so many points within the window of the parameters.
const POINTS: usize = 6;
/// Where there are too few labels for the lag of the parameters, the gain is estimated over this part of the labels.
const SHORT_LAG: usize = 3;

/// A model, and one with another seed.
type Pair = [Box<dyn QueryModel>; 2];

/// Advises by models of the first labels of a pool.
pub struct Retrospective {
    params: Checked<StoppingParams>,
    seed: u64,
    /// The labels that models were trained on, in order.
    labels: Vec<(usize, ClassId)>,
    /// Models by the number of labels.
    models: BTreeMap<usize, Pair>,
}

impl Retrospective {
    /// Without models yet.
    pub fn new(params: Checked<StoppingParams>, seed: u64) -> Self {
        Self { params, seed, labels: Vec::new(), models: BTreeMap::new() }
    }

    /// Whether more labels are worth their price, by the labels of a pool in the order in which they came.
    pub fn advise(&mut self, pool: &Pool, trainer: &dyn Trainer, par: &Par) -> Result<Advice> {
        let n_labels = pool.labelled().len();
        let mut stopper = Stopper::new(self.params.clone());
        if pool.n_unlabelled() == 0 {
            let reason = "every row has a label".into();
            return Ok(Advice { stop: true, n_labels, reason, ..stopper.advise() });
        }
        self.forget_others(pool);
        let (params, rows) = (self.params.get().clone(), stop_rows(pool, self.seed));
        let points = points(n_labels, &params);
        self.models.retain(|n, _| points.contains(n));
        let x = pool.rows(&rows);
        let mut advice = Advice { n_labels, ..stopper.advise() };
        for n in points {
            let Some([model, other]) = self.pair(pool, n, trainer, par)? else { continue };
            let [proba, other] = [model.predict_proba(x.view(), par)?, other.predict_proba(x.view(), par)?];
            // Where the seed changes nothing there is nothing to compare with.
            let other_seed = (proba != other).then(|| other.view());
            advice = stopper.observe(&Observed { other_seed, ..Observed::new(n, proba.view()) })?;
        }
        if advice.gain.is_none() {
            let lag = (n_labels / SHORT_LAG).clamp(1, params.lag);
            advice.gain = Gain::estimate(stopper.history(), lag, params.window, AHEAD);
        }
        Ok(advice)
    }

    /// Drops models of labels that have changed since.
    fn forget_others(&mut self, pool: &Pool) {
        let now = labels(pool);
        let n_same = now.iter().zip(&self.labels).take_while(|(a, b)| a == b).count();
        let n_classes = pool.schema().n_classes();
        self.models.retain(|n, pair| *n <= n_same && pair[0].n_classes() == n_classes);
        self.labels = now;
    }

    /// The models of the first labels; none if these are of one class.
    fn pair(
        &mut self,
        pool: &Pool,
        n_labels: usize,
        trainer: &dyn Trainer,
        par: &Par,
    ) -> Result<Option<&Pair>> {
        if !self.models.contains_key(&n_labels) {
            let first = &self.labels[..n_labels];
            if first.iter().all(|(_, class)| *class == first[0].1) {
                return Ok(None);
            }
            let (rows, classes): (Vec<usize>, Vec<ClassId>) = first.iter().copied().unzip();
            let data = Dataset::new(pool.schema().clone(), pool.features().select(&rows), classes, None)?;
            let seed = self.seed.wrapping_add(2 * n_labels as u64);
            let pair = [trainer.train(&data, seed, par)?, trainer.train(&data, seed.wrapping_add(1), par)?];
            self.models.insert(n_labels, pair);
        }
        Ok(self.models.get(&n_labels))
    }
}

/// Rows and labels in the order in which these came.
fn labels(pool: &Pool) -> Vec<(usize, ClassId)> {
    pool.labelled().iter().filter_map(|&row| pool.label(row).map(|class| (row, class))).collect()
}

/// The numbers of labels that models are compared at: those now, and multiples of a step back to where the first comparison of the window begins.
fn points(n_labels: usize, params: &StoppingParams) -> Vec<usize> {
    let step = (params.window / POINTS).max(1);
    let first = n_labels.saturating_sub(params.window + params.lag + step).max(1).next_multiple_of(step);
    let mut points: Vec<usize> = (first..n_labels).step_by(step).collect();
    points.extend((n_labels > 0).then_some(n_labels));
    points
}

/// Rows without a label, drawn at random but the same for the same seed as long as they have none.
fn stop_rows(pool: &Pool, seed: u64) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..pool.n_rows()).collect();
    Rng::new(seed, Purpose::Query, u64::MAX - 1).shuffle(&mut rows);
    rows.retain(|&row| pool.label(row).is_none());
    rows.truncate(STOP_ROWS);
    rows
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Error, Features, Params as _};
    use ndarray::{Array2, ArrayView2};

    use super::*;

    /// Predicts the class of the nearest of its rows; counts how often it is trained.
    struct Nearest(AtomicUsize);

    struct Trained(Array2<f32>, Vec<ClassId>, usize);

    impl QueryModel for Trained {
        fn n_classes(&self) -> usize {
            self.2
        }

        fn predict_proba(&self, x: ArrayView2<'_, f32>, _par: &Par) -> Result<Array2<f64>> {
            let mut proba = Array2::zeros((x.nrows(), self.2));
            for (row, x) in x.rows().into_iter().enumerate() {
                let distance = |i: usize| (&self.0.row(i) - &x).mapv(|d| d * d).sum();
                let nearest = (0..self.1.len()).min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
                proba[(row, self.1[nearest.unwrap()].index())] = 1.0;
            }
            Ok(proba)
        }
    }

    impl Trainer for Nearest {
        fn train(&self, data: &Dataset, _seed: u64, _par: &Par) -> Result<Box<dyn QueryModel>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if data.labels().iter().all(|class| *class == data.labels()[0]) {
                return Err(Error::param("labels", "of two classes", "one"));
            }
            let x = data.features.to_array(0..data.n_rows());
            Ok(Box::new(Trained(x, data.labels().to_vec(), data.schema.n_classes())))
        }
    }

    fn retrospective() -> Retrospective {
        Retrospective::new(StoppingParams::default().check().unwrap(), 7)
    }

    /// Three clouds far apart.
    fn pool(n_rows: usize, n_labels: usize) -> Pool {
        let data = blobs(n_rows, 2, 3, 2);
        let apart = |(row, column): (usize, usize)| {
            data.features.value(row, column) + 100.0 * data.labels()[row].0 as f32
        };
        let x = Array2::from_shape_fn((n_rows, 2), apart);
        let label = |row: usize| (row < n_labels).then(|| data.labels()[row]);
        let labels = (0..n_rows).map(label).collect();
        Pool::new(data.schema.clone(), Features::from_view(x.view()), labels).unwrap()
    }

    #[test]
    fn points_are_as_far_apart_as_rules_look_back() {
        let params = StoppingParams::default();
        assert!(points(0, &params).is_empty());
        assert_eq!(points(4, &params), [4]);
        assert_eq!(points(23, &params), [10, 20, 23]);
        assert_eq!(points(143, &params), [50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 143]);
    }

    #[test]
    fn labels_that_change_nothing_lead_to_a_stop_but_not_too_early() {
        let (trainer, par) = (Nearest(AtomicUsize::new(0)), Par::sequential());
        let mut retrospective = retrospective();
        let mut advise = |pool: &Pool| retrospective.advise(pool, &trainer, &par).unwrap();
        let none = advise(&pool(400, 0));
        assert!(!none.stop && none.n_labels == 0 && none.gain.is_none(), "{none}");
        let few = advise(&pool(400, 30));
        assert!(!few.stop && few.reason.contains("30 labels of at least 50"), "{few}");
        assert!(few.gain.is_some(), "estimated over fewer labels");
        let many = advise(&pool(400, 150));
        assert!(many.stop && many.gain.unwrap().mean < 0.01, "{many}");
        let all = advise(&pool(400, 400));
        assert!(all.stop && all.reason == "every row has a label" && all.n_labels == 400);
    }

    #[test]
    fn models_are_trained_once_and_again_only_where_labels_have_changed() {
        let (trainer, par) = (Nearest(AtomicUsize::new(0)), Par::sequential());
        let mut kept = retrospective();
        let mut pool = pool(300, 120);
        let trained = || trainer.0.swap(0, Ordering::Relaxed);
        kept.advise(&pool, &trainer, &par).unwrap();
        assert_eq!(trained(), 2 * points(120, kept.params.get()).len());
        pool.set_label(200, ClassId(0)).unwrap();
        kept.advise(&pool, &trainer, &par).unwrap();
        assert_eq!(trained(), 2, "only the newest");
        let other = ClassId((pool.label(95).unwrap().0 + 1) % 3);
        pool.set_label(95, other).unwrap();
        let advice = kept.advise(&pool, &trainer, &par).unwrap();
        assert_eq!(trained(), 2 * [100, 110, 120, 121].len(), "those that have seen the label");
        assert_eq!(advice, retrospective().advise(&pool, &trainer, &par).unwrap());
    }
}
