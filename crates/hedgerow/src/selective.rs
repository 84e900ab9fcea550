//! Streams in which labels have a price: every row is predicted, and learnt only if its label was asked for.

use hedgerow_active::stream::{BatchQuerier, Because, StreamQuerier, StreamQueryParams, uncertainty};
use hedgerow_core::{Checked, DataProblem, Drift, Par, Result, Rows, Schema, Target, Task, Training, Update};
use ndarray::{Array2, ArrayView1, ArrayView2, s};
use serde::{Deserialize, Serialize};

use crate::delay::with_missing;
use crate::model::Model;

/// Rows predicted at once, at least and at most: after a label was learnt, those behind it are predicted anew.
const AT_ONCE: [usize; 2] = [4, 256];

/// Predicts the rows of a stream, asks for the labels of some, and has a model learn these.
///
/// With `batch` 1 a row is learnt before the next one is predicted. Otherwise the rows of a batch are all predicted by the model that there is at its
/// beginning, and those whose labels were asked for are learnt at its end. How rows are cut into calls changes nothing.
///
/// ```
/// use hedgerow::active::stream::StreamQueryParams;
/// use hedgerow::core::{Budget, Par, Params as _, Rows, Silent, Training, testing::blobs};
/// use hedgerow::{Model, ModelParams, Selective};
///
/// let data = blobs(1_000, 2, 2, 1);
/// let mut model = Model::new(data.schema.clone(), &ModelParams::default())?;
/// let mut stream = Selective::new(StreamQueryParams { rate: 0.05, ..Default::default() }.check()?);
/// let training = Training { par: &Par::shared(), budget: &Budget::open(), observer: &Silent };
/// let x = data.features.to_array(0..1_000);
/// let (update, asked) = stream.learn(&mut model, &data.schema, Rows::new(x.view(), data.labels(), None), &training)?;
/// assert_eq!((update.predictions.nrows(), stream.n_queried() <= 50), (1_000, true));
/// assert_eq!(asked.iter().flatten().count() as u64, stream.n_queried());
/// # Ok::<(), hedgerow::core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selective {
    querier: Querier,
    /// Rows of the batch that has begun.
    waiting: Vec<Waiting>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Querier {
    Rows(StreamQuerier),
    Batches(BatchQuerier),
}

/// A row of a batch, with its label, which may be asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Waiting {
    #[serde(deserialize_with = "with_missing")]
    values: Vec<f32>,
    target: Target,
    weight: f32,
    uncertainty: f64,
}

impl Selective {
    /// For a stream that begins.
    pub fn new(params: Checked<StreamQueryParams>) -> Self {
        let querier = match params.get().batch {
            1 => Querier::Rows(StreamQuerier::new(params)),
            _ => Querier::Batches(BatchQuerier::new(params)),
        };
        Self { querier, waiting: Vec::new() }
    }

    /// The parameters.
    pub fn params(&self) -> &StreamQueryParams {
        match &self.querier {
            Querier::Rows(querier) => querier.params(),
            Querier::Batches(querier) => querier.params(),
        }
    }

    /// Labels asked for so far.
    pub fn n_queried(&self) -> u64 {
        match &self.querier {
            Querier::Rows(querier) => querier.n_queried(),
            Querier::Batches(querier) => querier.n_queried(),
        }
    }

    /// How many of them were drawn at random.
    pub fn n_random(&self) -> u64 {
        match &self.querier {
            Querier::Rows(querier) => querier.n_random(),
            Querier::Batches(querier) => querier.n_random(),
        }
    }

    /// Rows so far.
    pub fn n_seen(&self) -> u64 {
        match &self.querier {
            Querier::Rows(querier) => querier.n_seen(),
            Querier::Batches(querier) => querier.n_seen() + self.waiting.len() as u64,
        }
    }

    /// Predicts rows one after the other, and has the model learn those whose labels are asked for. The update counts rows predicted; its predictions are
    /// of the model as it was when each row came. Drifts are placed in the rows of the stream, as far as the labels tell. With it comes, for each row, why its
    /// label was asked for; of batches, that is not known yet where a batch goes on in the next call. `schema` is as for [`Model::learn_rows`]. Fails for a regression.
    pub fn learn(
        &mut self,
        model: &mut Model,
        schema: &Schema,
        rows: Rows<'_>,
        training: &Training<'_>,
    ) -> Result<(Update, Vec<Option<Because>>)> {
        if rows.targets.task() == Task::Regression {
            let (expected, got) = (Task::Classification, Task::Regression);
            return Err(DataProblem::WrongTask { expected, got }.into());
        }
        rows.check(schema, model.n_features(), model.n_classes())?;
        let n = rows.targets.len();
        let mut run = Run {
            model,
            schema,
            rows,
            training,
            update: Update { predictions: Array2::zeros((n, schema.n_classes())), ..Update::default() },
            because: vec![None; n],
        };
        while run.update.n_learnt < n && !training.budget.stop.is_stopped() {
            match &mut self.querier {
                Querier::Rows(querier) => run.rows_one_by_one(querier)?,
                Querier::Batches(querier) => run.part_of_batch(querier, &mut self.waiting)?,
            }
        }
        run.because.truncate(run.update.n_learnt);
        Ok((run.update, run.because))
    }
}

/// What one call has to do and has done.
struct Run<'a, 'b> {
    model: &'a mut Model,
    schema: &'a Schema,
    rows: Rows<'b>,
    training: &'a Training<'a>,
    update: Update,
    because: Vec<Option<Because>>,
}

impl Run<'_, '_> {
    /// Predicts some rows up to the first whose label is asked for, and learns that.
    fn rows_one_by_one(&mut self, querier: &mut StreamQuerier) -> Result<()> {
        let first = self.update.n_learnt;
        let [least, most] = AT_ONCE;
        let expected = (1.5 / querier.params().rate) as usize;
        let proba = self.predict(expected.clamp(least, most))?;
        for (i, proba) in proba.rows().into_iter().enumerate() {
            let row = first + i;
            let because = querier.query(proba);
            self.note(row, proba);
            self.because[row] = because;
            if because.is_some() {
                let one = self.rows.slice(row..row + 1);
                return self.learn(one, querier.n_seen());
            }
        }
        Ok(())
    }

    /// Predicts rows up to the end of the batch; there, it learns those whose labels are asked for.
    fn part_of_batch(&mut self, querier: &mut BatchQuerier, waiting: &mut Vec<Waiting>) -> Result<()> {
        let (first, size) = (self.update.n_learnt, querier.params().batch);
        let proba = self.predict(size - waiting.len())?;
        for (i, proba) in proba.rows().into_iter().enumerate() {
            let (row, target) = (first + i, self.rows.targets.iter().nth(first + i));
            self.note(row, proba);
            let Some(target) = target else { continue };
            waiting.push(Waiting {
                values: self.rows.x.row(row).to_vec(),
                target,
                weight: self.rows.weights.map_or(1.0, |weights| weights[row]),
                uncertainty: uncertainty(proba),
            });
        }
        if waiting.len() < size {
            return Ok(());
        }
        let uncertain: Vec<f64> = waiting.iter().map(|row| row.uncertainty).collect();
        let mut chosen = querier.query(&uncertain);
        for (place, because) in &chosen {
            // Rows of an earlier call are not among those of this one.
            let row = (self.update.n_learnt + place).checked_sub(waiting.len());
            if let Some(to) = row.and_then(|row| self.because.get_mut(row)) {
                *to = Some(*because);
            }
        }
        // In the order in which they came: that of a batch says nothing to a model.
        chosen.sort_by_key(|(row, _)| *row);
        for row in chosen.into_iter().map(|(row, _)| &waiting[row]) {
            if let Ok(x) = ArrayView2::from_shape((1, row.values.len()), &row.values) {
                let (target, weight) = (row.target.into(), [row.weight]);
                let target: &hedgerow_core::Targets = &target;
                let weights = self.rows.weights.map(|_| &weight[..]);
                self.learn(Rows::new(x, target.view(), weights), querier.n_seen())?;
            }
        }
        waiting.clear();
        Ok(())
    }

    /// The predictions of the next rows, at most so many.
    fn predict(&self, most: usize) -> Result<Array2<f64>> {
        let first = self.update.n_learnt;
        let end = self.rows.targets.len().min(first + most.max(1));
        // Of a few rows, threads would cost more than they do.
        let par = Par::sequential();
        let par = if end - first < AT_ONCE[1] / 2 { &par } else { self.training.par };
        self.model.predict_proba_par(self.rows.x.slice(s![first..end, ..]), par)
    }

    /// Notes what was predicted of the next row.
    fn note(&mut self, row: usize, proba: ArrayView1<'_, f64>) {
        let mut to = self.update.predictions.row_mut(row);
        if proba.is_empty() {
            // No label has come yet: one class is as probable as another.
            to.fill(1.0 / self.schema.n_classes().max(1) as f64);
        }
        to.iter_mut().zip(proba).for_each(|(to, p)| *to = *p);
        if let Some(class) = self.rows.labels().get(row) {
            self.update.sets.push(self.model.set_outcome(&proba.to_vec(), class.index()));
        }
        self.update.n_learnt += 1;
    }

    /// Learns rows, of a stream of which so many have come.
    fn learn(&mut self, rows: Rows<'_>, n_seen: u64) -> Result<()> {
        let learnt_before = self.model.n_seen().unwrap_or(0);
        let mut update = self.model.learn_rows(self.schema, rows, self.training)?;
        for drift in &mut update.drifts {
            *drift = in_stream(*drift, learnt_before + 1, n_seen);
        }
        self.update.add_changes(update);
        Ok(())
    }
}

/// A drift that was noticed with the newest label, placed in the rows of a stream: labels lie about evenly in it.
fn in_stream(drift: Drift, n_labels: u64, n_seen: u64) -> Drift {
    let labels_ago = n_labels.saturating_sub(drift.since);
    let rows_ago = (labels_ago as f64 * n_seen as f64 / n_labels.max(1) as f64) as u64;
    Drift { noticed_at: n_seen, since: n_seen.saturating_sub(rows_ago), ..drift }
}

#[cfg(test)]
mod tests;
