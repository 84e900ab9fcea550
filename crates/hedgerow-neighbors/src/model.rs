//! A classifier of the rows nearby: prepared rows, settings, calibration.

use hedgerow_core::calibration::Calibration;
use hedgerow_core::prepare::Preparation;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::second_order::{labels_like, log_odds, shared_prior};
use hedgerow_core::text::count;
use hedgerow_core::{
    About, Budget, Candidate, Checked, Classifier, Dataset, Error, Features, OutOfSample, Par,
    RelativeEvidence, Result, RetainedRows, Schema, SecondOrder, StopReason, Task, Training,
};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use serde::{Deserialize, Serialize};

use crate::leave_one_out::{LeaveOneOut, rising};
use crate::method::{Method, Near};
use crate::points::{Points, rows_of};
use crate::state::OnlineState;

/// Rows predicted together by a thread.
const BLOCK: usize = 16;
/// Training rows that are predicted by all others, at most, to calibrate by; of them, those that settings are chosen by. The second numbers are for
/// models that learn on, which choose more often.
const CALIBRATED_BY: [usize; 2] = [2000, 500];
const CHOSEN_BY: [usize; 2] = [1000, 500];
/// The same once a budget is spent.
const IN_HASTE: usize = 100;

/// A classifier of the rows nearby, by the parameters of its method: [`KdeClassifier`](crate::KdeClassifier) or
/// [`KnnClassifier`](crate::KnnClassifier).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "P: Method")]
pub struct NeighborClassifier<P: Method> {
    pub(crate) params: P,
    pub(crate) n_classes: usize,
    pub(crate) preparation: Preparation,
    /// None before anything was learnt.
    pub(crate) settings: Option<P::Settings>,
    /// From log odds to probabilities; none where there is nothing yet to calibrate by.
    pub(crate) calibration: Option<Calibration>,
    /// What predictions are computed from; not saved where it follows from retained rows.
    #[serde(default, skip_serializing_if = "Points::is_derived")]
    pub(crate) points: Points,
    /// What learning more needs; none if it was left out.
    pub(crate) online: Option<OnlineState>,
}

/// What choosing settings changed.
pub(crate) struct Choice {
    pub(crate) n_tried: usize,
    pub(crate) n_replaced: usize,
    /// Log odds of rows by all others.
    pub(crate) scores: OutOfSample,
}

impl<P: Method> NeighborClassifier<P> {
    /// A classifier that has learnt nothing yet and predicts its prior.
    pub fn new(schema: &Schema, params: &Checked<P>) -> Result<Self> {
        schema.check_sizes()?;
        let preparation = Preparation::of(schema, &Features::new(schema.n_features()));
        let max_rows = params.get().common().max_rows;
        let rows = RetainedRows::new(schema.n_features(), Task::Classification);
        Ok(Self {
            params: params.get().clone(),
            n_classes: schema.n_classes(),
            points: Points::new(preparation.width()),
            preparation,
            settings: None,
            calibration: None,
            online: Some(OnlineState::new(rows, 0, max_rows)),
        })
    }

    /// Fits rows: those that are too many to be retained are left out at random, and so are rows of weight 0.
    pub(crate) fn fit(
        data: &Dataset,
        params: &Checked<P>,
        training: &Training<'_>,
    ) -> Result<(Candidate<Self>, StopReason)> {
        data.check_trainable(Task::Classification)?;
        let mut model = Self::new(&data.schema, params)?;
        let common = model.params.common();
        let bytes = model.bytes_of_row();
        let most = common.max_rows.min(affordable_rows(data.n_rows(), bytes, training.budget)?);
        let weighty: Vec<usize> =
            (0..data.n_rows()).filter(|&row| data.weights.as_ref().is_none_or(|w| w[row] > 0.0)).collect();
        let drawn = Rng::new(common.seed, Purpose::Sample, 8).sample(weighty.len(), most);
        let rows = match &drawn {
            Some(drawn) => drawn.iter().map(|&place| weighty[place]).collect(),
            None => weighty,
        };
        let is_whole = rows.len() == data.n_rows();
        let kept = if is_whole { data.clone() } else { data.select(&rows) };
        let retained = RetainedRows::of(&kept);
        let mut online = OnlineState::new(retained, data.n_rows(), common.max_rows);
        model.learn_retained(&mut online, &kept.schema, training);
        let Choice { mut scores, .. } = model.choose(training, 0);
        online.prequential = prequential_of(&scores);
        model.online = Some(online);
        if let Some(calibration) = &model.calibration {
            scores.calibrate(calibration, training.par);
        }
        scores.renumber(|row| rows[row]);
        let validation = model.calibration.is_some().then_some(scores);
        let mut candidate = Candidate::new(model, validation);
        if drawn.is_some() {
            let [kept, all] = [most, data.n_rows()].map(|n| count(n as u64));
            candidate
                .notes
                .push(format!("{kept} of {all} rows are kept, drawn at random; max_rows is their number"));
        }
        Ok((candidate, training.budget.spent().unwrap_or(StopReason::Done)))
    }

    /// How it is trained.
    pub fn params(&self) -> &P {
        &self.params
    }

    /// Rows that predictions are computed from.
    pub fn n_rows(&self) -> usize {
        self.points.len()
    }

    /// Prepares columns by the retained rows, and those rows by them.
    pub(crate) fn learn_retained(
        &mut self,
        online: &mut OnlineState,
        schema: &Schema,
        training: &Training<'_>,
    ) {
        let rows = &online.rows;
        self.preparation = Preparation::until(&training.budget.stop, schema, rows.features());
        self.prepare_points(rows, training.par);
    }

    /// Prepares retained rows as the columns are prepared now.
    pub(crate) fn prepare_points(&mut self, rows: &RetainedRows, par: &Par) {
        let prepared = self.preparation.map_all_narrow(rows.features(), par);
        self.points = Points::new(self.preparation.width());
        self.points.extend(prepared.view(), rows.labels(), rows.weights());
    }

    /// Chooses settings by leave-one-out predictions, and calibrates by them. `place` says by how many.
    pub(crate) fn choose(&mut self, training: &Training<'_>, place: usize) -> Choice {
        let is_spent = training.budget.spent().is_some();
        let [most, of_them] = [CALIBRATED_BY, CHOSEN_BY].map(|n| if is_spent { IN_HASTE } else { n[place] });
        let (common, par) = (self.params.common(), training.par);
        let left_out = LeaveOneOut::new(&self.points, self.n_classes, most, common, par);
        let (settings, n_tried) = self.params.choose(&left_out.some(of_them));
        let scores = left_out.scores(&self.params, &settings);
        let fit = |scores: &OutOfSample| rising(scores.calibration(par));
        self.calibration = if scores.has_two_classes() { fit(&scores) } else { None };
        let n_replaced = usize::from(self.settings.as_ref().is_some_and(|before| *before != settings));
        self.settings = Some(settings);
        Choice { n_tried, n_replaced, scores }
    }

    /// The labels near a prepared row among the first `n` rows.
    pub(crate) fn evidence(&self, x: &[f32], n: usize, distances: &mut Vec<f32>) -> Vec<f64> {
        let mut evidence = vec![0.0; self.n_classes];
        if let Some(settings) = &self.settings {
            self.points.distances(self.params.common().metric, x, n, distances);
            let labels = &self.points.labels()[..n];
            let weights = self.points.weights().map(|weights| &weights[..n]);
            let near = Near { x, distances, labels, weights };
            self.params.evidence(settings, &near, &mut evidence);
        }
        evidence
    }

    /// The prior of each class in predictions by the first `n` rows.
    pub(crate) fn prior(&self, n: usize) -> Vec<f64> {
        shared_prior(self.params.common().prior_of(self.n_classes), &self.points.counts(n, self.n_classes))
    }

    /// The probabilities of a row by the labels near it and the prior.
    pub(crate) fn probabilities(&self, evidence: &[f64], prior: &[f64]) -> Vec<f64> {
        if let Some(calibration) = &self.calibration {
            let mut scores = log_odds(evidence, prior);
            calibration.apply(&mut scores);
            return scores;
        }
        let sum: f64 = evidence.iter().chain(prior).sum();
        evidence.iter().zip(prior).map(|(evidence, prior)| (evidence + prior) / sum).collect()
    }

    /// Something of each row by the labels near it: rows as they come in a table.
    fn each<T: Send>(
        &self,
        x: ArrayView2<'_, f32>,
        par: &Par,
        of: impl Fn(Vec<f64>) -> T + Send + Sync,
    ) -> Vec<T> {
        let blocks: Vec<_> = x.axis_chunks_iter(Axis(0), BLOCK).collect();
        let done = par.map(blocks.len(), |block| {
            let mut distances = Vec::with_capacity(self.points.len() + BLOCK);
            let prepared = rows_of(self.preparation.map_narrow(blocks[block]).view());
            let mut of_row = |x: Vec<f32>| of(self.evidence(&x, self.points.len(), &mut distances));
            prepared.into_iter().map(&mut of_row).collect::<Vec<T>>()
        });
        done.into_iter().flatten().collect()
    }

    /// Bytes that a retained row takes while it is prepared, nearly.
    pub(crate) fn bytes_of_row(&self) -> usize {
        4 * (self.preparation.n_features() + 2 * self.preparation.width()) + 16
    }
}

/// What was predicted of rows, for prequential predictions to begin with.
pub(crate) fn prequential_of(scores: &OutOfSample) -> hedgerow_core::Prequential {
    let of = |(row, class): (ndarray::ArrayView1<'_, f64>, &hedgerow_core::ClassId)| {
        hedgerow_core::blend::Pair { forest: Vec::new(), gp: row.to_vec(), class: *class }
    };
    hedgerow_core::Prequential::after(scores.values.rows().into_iter().zip(scores.labels()).map(of).collect())
}

/// Rows of so many bytes that a limit on memory has room for, of so many; fails if there are too few.
fn affordable_rows(n: usize, bytes: usize, budget: &Budget) -> Result<usize> {
    /// Rows that are worth something.
    const LEAST: usize = 100;
    let Some(limit) = budget.bytes else { return Ok(usize::MAX) };
    let rows = usize::try_from(limit).unwrap_or(usize::MAX) / bytes.max(1);
    if rows >= n.min(LEAST) {
        return Ok(rows);
    }
    let least = n.min(LEAST);
    Err(Error::too_few_bytes(format!("a model of {least} rows"), (least * bytes) as u64, limit))
}

impl<P: Method> Classifier for NeighborClassifier<P> {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        let prior = self.prior(self.points.len());
        let rows = self.each(x, par, |evidence| self.probabilities(&evidence, &prior));
        for (proba, mut to) in rows.into_iter().zip(out.rows_mut()) {
            to.iter_mut().zip(proba).for_each(|(to, p)| *to = p);
        }
    }
}

impl<P: Method> RelativeEvidence for NeighborClassifier<P> {
    fn predict_evidence_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder> {
        let prior = self.params.common().prior_of(self.n_classes);
        let is_even = self.params.tells_like_even();
        let rows = self.each(x, par, |evidence| {
            let count: f64 = evidence.iter().sum();
            if !is_even || count <= 0.0 {
                return evidence;
            }
            let shares = evidence.iter().map(|e| e / count);
            let labels = labels_like(count, shares.clone(), prior);
            shares.map(|share| labels * share).collect()
        });
        let of = |(row, class): (usize, usize)| rows[row][class] + prior;
        let concentrations = Array2::from_shape_fn((rows.len(), self.n_classes), of);
        SecondOrder::dirichlet(About::RelativeEvidence, concentrations, prior)
    }
}
