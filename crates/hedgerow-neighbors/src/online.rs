//! Online learning: a row counts from the moment it was learnt, and the oldest rows are forgotten.
//!
//! Each row is predicted by the rows before it, so how they are cut into calls changes nothing. Every now and then what is too much is
//! forgotten and the calibration fitted to the newest predictions; settings are chosen anew when twice as many rows were learnt, and whenever all
//! retained rows are others.

use hedgerow_core::blend::Pair;
use hedgerow_core::online::work_on;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::second_order::log_odds;
use hedgerow_core::text::count;
use hedgerow_core::{
    ClassId, Learning, OnlineModel, Par, Predictor, RelativeEvidence, Result, RetainedRows, Rows, Schedule,
    Summary,
};
use ndarray::{Array2, ArrayView1};

use crate::leave_one_out::rising;
use crate::method::Method;
use crate::model::{Choice, NeighborClassifier, prequential_of};
use crate::points::rows_of;
use crate::state::{LATE, OnlineState, pause};

/// Rows predicted together by a thread.
const BLOCK: usize = 16;
/// Times that a row may count for a calibration.
const MOST_TIMES: f64 = 20.0;

impl<P: Method> OnlineModel for NeighborClassifier<P> {
    fn predictor(&self) -> Predictor<'_> {
        Predictor::Classifier(self)
    }

    fn relative_evidence(&self) -> Option<&dyn RelativeEvidence> {
        Some(self)
    }

    fn retained(&self) -> Option<(&Schedule, &RetainedRows)> {
        self.online.as_ref().map(|online| (&online.schedule, &online.rows))
    }

    /// A calibration that does not know a class would hold it back: there is none until enough is known again.
    fn know_classes(&mut self, n_classes: usize) {
        if n_classes > self.n_classes {
            (self.n_classes, self.calibration) = (n_classes, None);
        }
    }

    fn ingest(&mut self, rows: Rows<'_>, learning: &mut Learning<'_>) -> Result<Array2<f64>> {
        let Some(mut online) = self.online.take() else { return Ok(Array2::zeros((0, self.n_classes))) };
        let learnt = self.learn_in_order(rows, learning.training.par);
        let mut proba = Array2::zeros((learnt.len(), self.n_classes));
        for (i, ((evidence, prior), mut to)) in learnt.iter().zip(proba.rows_mut()).enumerate() {
            to.assign(&ArrayView1::from(&self.probabilities(evidence, prior)));
            let scores = log_odds(evidence, prior);
            self.note(&mut online, scores, rows.labels()[i], rows.weights.map(|weights| weights[i]));
        }
        online.rows.add(rows);
        self.online = Some(online);
        Ok(proba)
    }

    fn maintain(&mut self, learning: &mut Learning<'_>) -> Result<()> {
        work_on(
            self,
            |model| &mut model.online,
            |model, online| {
                model.update(online, learning);
                Ok(())
            },
        )
    }

    fn forget(&mut self, row: ArrayView1<'_, f32>, class: ClassId, _par: &Par) -> bool {
        let Some(online) = &mut self.online else { return false };
        let (features, labels) = (online.rows.features(), online.rows.labels());
        let is_same = |a: f32, b: f32| a == b || (a.is_nan() && b.is_nan());
        let is_it = |place: &usize| {
            labels[*place] == class
                && row.iter().enumerate().all(|(c, v)| is_same(features.value(*place, c), *v))
        };
        if row.len() != features.n_features() {
            return false;
        }
        let Some(gone) = (0..labels.len()).rev().find(is_it) else { return false };
        let kept: Vec<usize> = (0..labels.len()).filter(|place| *place != gone).collect();
        online.rows.keep(&kept);
        self.points.keep(&kept);
        true
    }

    fn frozen(mut self) -> Self {
        self.points.is_derived = false;
        Self { online: None, ..self }
    }

    fn bytes(&self) -> usize {
        let of_settings = self.settings.as_ref().map_or(0, P::bytes);
        let of_online = self.online.as_ref().map_or(0, OnlineState::bytes);
        size_of::<Self>() + self.points.bytes() + of_settings + of_online
    }

    fn summary(&self, _classes: &[String]) -> Summary {
        let rows = self.points.len();
        let summary =
            Summary::new(format!("{} rows", count(rows as u64))).count("rows_kept", "Rows kept", rows);
        match &self.settings {
            Some(settings) => P::summarize(settings, summary),
            None => summary.details("nothing learnt yet".into()),
        }
    }
}

impl<P: Method> NeighborClassifier<P> {
    /// Adds rows, and returns the evidence for each by those before it, with the prior.
    fn learn_in_order(&mut self, rows: Rows<'_>, par: &Par) -> Vec<(Vec<f64>, Vec<f64>)> {
        let n_before = self.points.len();
        let prepared = self.preparation.map_narrow(rows.x);
        self.points.extend(prepared.view(), rows.labels(), rows.weights);
        let prepared = rows_of(prepared.view());
        let blocks: Vec<&[Vec<f32>]> = prepared.chunks(BLOCK).collect();
        let model = &*self;
        let done = par.map(blocks.len(), |block| {
            let first = n_before + block * BLOCK;
            let mut distances = Vec::with_capacity(first + 2 * BLOCK);
            let of = |(i, x): (usize, &Vec<f32>)| {
                (model.evidence(x, first + i, &mut distances), model.prior(first + i))
            };
            blocks[block].iter().enumerate().map(of).collect::<Vec<_>>()
        });
        done.into_iter().flatten().collect()
    }

    /// Notes what was predicted of a row for later calibrations, as often as its weight is of the mean weight so far.
    fn note(&self, online: &mut OnlineState, scores: Vec<f64>, class: ClassId, weight: Option<f32>) {
        let weight = weight.map(f64::from);
        online.schedule.add(1);
        online.weight_seen += weight.unwrap_or(1.0);
        let n_seen = online.schedule.n_seen();
        let times = match weight {
            Some(weight) if online.weight_seen > 0.0 => {
                let mean = online.weight_seen / n_seen as f64;
                let chance =
                    Rng::new(self.params.common().seed, Purpose::Validation, 9 + (n_seen << 4)).unit();
                (weight / mean + chance).min(MOST_TIMES) as usize
            }
            Some(_) => 0,
            None => 1,
        };
        let pair = Pair { forest: Vec::new(), gp: scores, class };
        (0..times).for_each(|_| online.prequential.push(pair.clone()));
    }

    /// Forgets what is too much, chooses settings anew where that is due, and calibrates otherwise.
    fn update(&mut self, online: &mut OnlineState, learning: &mut Learning<'_>) {
        let max_rows = self.params.common().max_rows;
        online.schedule.postpone(pause(max_rows));
        learning.update.n_forgotten += self.forget_oldest(online, learning.training.budget.bytes);
        if online.is_outdated(max_rows) {
            online.schedule.note_search();
            self.learn_retained(online, learning.schema, learning.training);
            let Choice { n_tried, n_replaced, scores } = self.choose(learning.training, 1);
            learning.update.n_tried += n_tried;
            learning.update.n_replaced += n_replaced;
            online.prequential = prequential_of(&scores);
        } else if let Some(scores) = online.prequential.scores(self.n_classes, LATE) {
            self.calibration = rising(scores.calibration(learning.training.par));
        }
    }

    /// Forgets the oldest rows while there are more than may be retained, or than there is room for.
    fn forget_oldest(&mut self, online: &mut OnlineState, limit: Option<u64>) -> usize {
        let most = self.params.common().max_rows;
        let excess = online.rows.n_excess(most, self.bytes() + online.bytes(), limit);
        if excess > 0 {
            let kept: Vec<usize> = (excess..online.rows.len()).collect();
            online.rows.keep(&kept);
            self.points.keep(&kept);
        }
        excess
    }
}
