//! Labels that come later than their rows: a row is predicted at once, and learnt when so many more rows have come.

use std::collections::VecDeque;

use hedgerow_core::{Mixed, Par, Result, Rows, Schema, Target, Targets, Task, Training, Update};
use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::Model;

/// Rows that were predicted and wait for their labels.
///
/// ```
/// use hedgerow::core::{Budget, ClassId, LabelTable, Par, Rows, Schema, Silent, Training};
/// use hedgerow::{Delay, Kind, Model, ModelParams};
/// use ndarray::array;
///
/// let labels = LabelTable::from(["no", "yes"].map(String::from).to_vec());
/// let schema = Schema { labels, ..Schema::unnamed(1) };
/// let mut model = Model::new(schema.clone(), &ModelParams::new(Kind::Forest))?;
/// let (par, budget) = (Par::shared(), Budget::open());
/// let training = Training { par: &par, budget: &budget, observer: &Silent };
/// let (x, labels) = (array![[0.0], [1.0], [0.1]], [0, 1, 0].map(ClassId));
/// let mut delay = Delay::new(2);
/// let update = delay.learn(&mut model, &schema, Rows::new(x.view(), &labels[..], None), &training)?;
/// assert_eq!((update.predictions.nrows(), delay.n_waiting(), model.n_seen()), (3, 2, Some(1)));
/// # Ok::<(), hedgerow::core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Delay {
    n_rows: usize,
    waiting: VecDeque<Waiting>,
}

/// A row that waits for its label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Waiting {
    #[serde(deserialize_with = "with_missing")]
    values: Vec<f32>,
    target: Target,
    weight: f32,
    /// What was predicted of the class when it came.
    earlier: Mixed,
}

impl Delay {
    /// Labels come when so many more rows have come; with 0 a row is learnt as soon as it is predicted.
    pub fn new(n_rows: usize) -> Self {
        Self { n_rows, waiting: VecDeque::new() }
    }

    /// The same rows wait, and from now on labels come after so many more rows.
    #[must_use]
    pub fn with_rows(self, n_rows: usize) -> Self {
        Self { n_rows, ..self }
    }

    /// Rows that wait for their labels.
    pub fn n_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Predicts rows one after the other, and learns those whose labels have come by then. The update counts rows predicted; its predictions are of
    /// the model as it was when each row came. `schema` is as for [`Model::learn_rows`].
    pub fn learn(
        &mut self,
        model: &mut Model,
        schema: &Schema,
        rows: Rows<'_>,
        training: &Training<'_>,
    ) -> Result<Update> {
        if self.n_rows == 0 {
            let earlier = self.finish(model, schema, training)?;
            let mut update = model.learn_rows(schema, rows, training)?;
            update.add_changes(earlier);
            return Ok(update);
        }
        rows.targets.check_task(model.task())?;
        // Of one row, threads would cost more than they do.
        let (n, par) = (rows.targets.len(), Par::sequential());
        let n_columns = if model.task() == Task::Regression { 2 } else { schema.n_classes() };
        let mut update = Update { predictions: Array2::zeros((n, n_columns)), ..Update::default() };
        for (i, target) in rows.targets.iter().enumerate() {
            let row = rows.x.slice(s![i..=i, ..]);
            let (predicted_now, earlier) = match target {
                Target::Class(_) => model.predict_early(row, &par)?.pop().unwrap_or_default(),
                Target::Value(_) => (model.predict_table(row, &par)?.row(0).to_vec(), Mixed::default()),
            };
            if let Target::Class(class) = target {
                update.sets.push(model.set_outcome(&predicted_now, class.index()));
            }
            let mut predicted = update.predictions.row_mut(i);
            if predicted_now.is_empty() {
                // No label has come yet: one class is as probable as another.
                predicted.fill(1.0 / schema.n_classes().max(1) as f64);
            }
            predicted.iter_mut().zip(predicted_now).for_each(|(to, p)| *to = p);
            let weight = rows.weights.map_or(1.0, |w| w[i]);
            self.waiting.push_back(Waiting {
                values: row.iter().copied().collect(),
                target,
                weight,
                earlier,
            });
            while self.waiting.len() > self.n_rows {
                self.learn_oldest(model, schema, training, &mut update)?;
            }
            update.n_learnt += 1;
            if training.budget.stop.is_stopped() {
                break;
            }
        }
        Ok(update)
    }

    /// Learns all rows that still wait: their labels have come.
    pub fn finish(&mut self, model: &mut Model, schema: &Schema, training: &Training<'_>) -> Result<Update> {
        let mut update = Update::default();
        while !self.waiting.is_empty() && !training.budget.stop.is_stopped() {
            self.learn_oldest(model, schema, training, &mut update)?;
        }
        Ok(update)
    }

    fn learn_oldest(
        &mut self,
        model: &mut Model,
        schema: &Schema,
        training: &Training<'_>,
        update: &mut Update,
    ) -> Result<()> {
        let Some(row) = self.waiting.front() else { return Ok(()) };
        if let Ok(x) = ArrayView2::from_shape((1, row.values.len()), &row.values) {
            let (target, weight) = (Targets::from(row.target), [row.weight]);
            let weights = (row.weight != 1.0).then_some(&weight[..]);
            let rows = Rows::new(x, target.view(), weights).with_earlier(std::slice::from_ref(&row.earlier));
            update.add_changes(model.learn_rows(schema, rows, training)?);
        }
        self.waiting.pop_front();
        Ok(())
    }
}

/// Reads values of which some are missing: JSON has no word for `NaN` and takes null.
pub fn with_missing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    let values = Vec::<Option<f32>>::deserialize(deserializer)?;
    Ok(values.into_iter().map(|value| value.unwrap_or(f32::NAN)).collect())
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, ClassId, Par, Silent};

    use super::*;
    use crate::kinds::{Kind, ModelParams};

    #[test]
    fn a_row_is_learnt_when_its_label_comes() {
        let data = blobs(60, 2, 2, 3);
        let params = ModelParams::new(Kind::default()).with_settings([("n_trees", "5")]).unwrap();
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let x = data.features.to_array(0..60);
        let rows = |range: std::ops::Range<usize>| {
            Rows::new(x.slice(s![range.clone(), ..]), &data.labels()[range], None)
        };
        let new = || Model::new(data.schema.clone(), &params).unwrap();
        // By definition: predict row t by a model that has learnt the rows before t - 7, and calibrate by what was predicted of each.
        let mut naive = new();
        let (mut expected, mut mixed) = (Vec::new(), Vec::new());
        for t in 0..60_usize {
            let row = x.slice(s![t..=t, ..]);
            expected.push(naive.predict_proba_par(row, &par).unwrap().row(0).to_vec());
            mixed.extend(naive.predict_early(row, &par).unwrap().into_iter().map(|(_, mixed)| mixed));
            if t >= 7 {
                let (x, labels) = (x.slice(s![t - 7..t - 6, ..]), &data.labels()[t - 7..t - 6]);
                let late = Rows::new(x, labels, None).with_earlier(&mixed[t - 7..t - 6]);
                naive.learn_rows(&data.schema, late, &training).unwrap();
            }
        }
        for size in [1, 13, 60] {
            let (mut model, mut delay, mut predicted) = (new(), Delay::new(7), Vec::new());
            for first in (0..60).step_by(size) {
                let part = rows(first..60.min(first + size));
                let update = delay.learn(&mut model, &data.schema, part, &training).unwrap();
                predicted.extend(update.predictions.rows().into_iter().map(|row| row.to_vec()));
                // It can be saved in between.
                delay = serde_json::from_str(&serde_json::to_string(&delay).unwrap()).unwrap();
            }
            assert_eq!((predicted.len(), delay.n_waiting(), model.n_seen()), (60, 7, Some(53)));
            let pad = |p: &Vec<f64>| [p.clone(), vec![0.0; 2 - p.len()]].concat();
            assert_eq!(predicted, expected.iter().map(pad).collect::<Vec<_>>(), "{size} rows at a time");
            assert!(model == naive);
            delay.finish(&mut model, &data.schema, &training).unwrap();
            assert_eq!((delay.n_waiting(), model.n_seen()), (0, Some(60)));
        }
    }

    #[test]
    fn late_labels_calibrate_what_was_predicted_when_their_rows_came() {
        // Every 40 rows the classes may trade places. The newest rows tell how they stand; those of 40 rows ago tell nothing.
        let data = blobs(4_000, 2, 2, 5);
        let mut rng = hedgerow_core::rng::Rng::new(1, hedgerow_core::rng::Purpose::Data, 0);
        let swaps: Vec<u32> = (0..100).map(|_| rng.below(2)).collect();
        let own = data.labels().iter().enumerate();
        let labels: Vec<ClassId> = own.map(|(t, class)| ClassId(class.0 ^ swaps[t / 40])).collect();
        let x = data.features.to_array(0..4_000);
        let (par, budget) = (Par::shared(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let mean_loss = |n_rows: usize| {
            let mut model = Model::new(data.schema.clone(), &ModelParams::new(Kind::default())).unwrap();
            let rows = Rows::new(x.view(), &labels[..], None);
            let update = Delay::new(n_rows).learn(&mut model, &data.schema, rows, &training).unwrap();
            let predicted = update.predictions.rows().into_iter().zip(&labels).skip(1_000);
            predicted.map(|(p, class)| -p[class.index()].ln()).sum::<f64>() / 3_000.0
        };
        let losses = [0, 40].map(mean_loss);
        assert!(losses[0] < 0.6 && (0.65..0.8).contains(&losses[1]), "{losses:?}");
    }
}
