//! Learning more: rows come, are answered, and compete for places in the machines.
//!
//! A bounded number of rows is remembered: active ones, and others that stand for all that was seen. Every now and then the
//! machines are trained on them, with the kernel found before: a new row becomes active if its label says more than that of the
//! least telling active row, which loses its place and may be forgotten later. What that costs depends on the number of
//! rows remembered, never on how many were seen.

use std::time::Instant;

use hedgerow_core::{
    Budget, ClassId, Classifier as _, Dataset, Error, Lesson, Result, Rows, Schema, Training,
};
use ndarray::{Array2, ArrayView2, Axis, s};

use super::IvmOptions;
use super::class_kernels;
use super::classifier::{IvmClassifier, Learnt};
use super::task::{Judged, Refitting, Task};
use super::tune::tune;
use crate::prepare::Preparation;
use crate::refit::RIDGES;

impl IvmClassifier {
    /// Answers rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is that of earlier calls,
    /// grown by the classes and categories that have come since. Row weights are not looked at.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Lesson> {
        self.check(schema, rows)?;
        self.n_classes = schema.n_classes();
        let n = rows.labels.len();
        let mut lesson = Lesson { answers: Array2::zeros((n, self.n_classes)), ..Lesson::default() };
        while lesson.n_learnt < n {
            let Some(memory) = &self.memory else { return Err(Error::NoRows) };
            let room =
                usize::try_from(memory.look_at.saturating_sub(memory.n_seen)).unwrap_or(usize::MAX).max(1);
            let range = lesson.n_learnt..n.min(lesson.n_learnt.saturating_add(room));
            let part = s![range.clone(), ..];
            self.predict_proba_impl(rows.x.slice(part), training.par, lesson.answers.slice_mut(part));
            lesson.n_learnt = range.end;
            if let Some(memory) = &mut self.memory {
                memory.add(rows, range);
                if memory.n_seen >= memory.look_at {
                    self.look_around(schema, training, &mut lesson)?;
                }
            }
            if training.budget.stop.is_stopped() {
                break;
            }
        }
        Ok(lesson)
    }

    fn check(&self, schema: &Schema, rows: Rows<'_>) -> Result<()> {
        if self.memory.is_none() {
            return Err(Error::NoRows);
        }
        rows.check(schema, self.n_features(), self.n_classes)
    }

    /// Trains the machines on what is remembered.
    fn look_around(&mut self, schema: &Schema, training: &Training<'_>, lesson: &mut Lesson) -> Result<()> {
        let Some(memory) = &mut self.memory else { return Ok(()) };
        let most = self.params.pool_rows();
        lesson.n_forgotten += memory.forget(most, self.params.seed);
        memory.count();
        memory.look_at = memory.n_seen + memory.pause();
        if !memory.has_two_classes() {
            return Ok(());
        }
        let data = memory.dataset(schema)?;
        let was_active: Vec<bool> = memory.ratings.iter().map(|rating| *rating > 0.0).collect();
        // Columns and kernel are looked at again whenever twice as many rows have been seen, until the memory is full.
        let has_grown = memory.n_seen >= 2 * memory.tuned_at && memory.n_rows() < most;
        let before = (self.preparation.clone(), self.learnt.clone(), memory.tuned_at);
        if self.learnt.is_none() || has_grown {
            memory.tuned_at = memory.n_seen;
            self.preparation = Preparation::until(&training.budget.stop, schema, &data.features);
            self.learnt = None;
        }
        let (ratings, _) = self.train(&data, training)?;
        if before.1.is_some() && training.budget.spent().is_some() {
            // Cut short: what was known before is better.
            (self.preparation, self.learnt) = (before.0, before.1);
            if let Some(memory) = &mut self.memory {
                memory.tuned_at = before.2;
            }
            return Ok(());
        }
        let is_new = |(rating, was_active): (&f64, &bool)| *rating > 0.0 && !was_active;
        lesson.n_tried += was_active.iter().filter(|was| !**was).count();
        lesson.n_replaced += ratings.iter().zip(&was_active).filter(|pair| is_new(*pair)).count();
        if let Some(memory) = &mut self.memory {
            memory.ratings = ratings;
        }
        Ok(())
    }

    /// Trains on rows, with the kernel that there is or the best that is found. Returns what each row is worth, and scores of rows
    /// without their own labels.
    pub(super) fn train(&mut self, data: &Dataset, training: &Training<'_>) -> Result<(Vec<f64>, Judged)> {
        let known = self.learnt.as_ref();
        let mut plan = Plan {
            kernel: known.map(|learnt| learnt.kernel),
            class_kernels: known.map_or_else(Vec::new, |learnt| learnt.class_kernels.clone()),
            refit: known.and_then(|learnt| learnt.refit.as_ref()).map(|refit| (refit.length, refit.ridge)),
        };
        let stop = &training.budget.stop;
        let until_stopped = Training { par: &training.par.until(stop), ..*training };
        let mut found = None;
        if !stop.is_stopped() {
            let x = self.preparation.map_all_narrow(&data.features, until_stopped.par);
            let result = self.train_on(x.view(), &data.labels, &mut plan, &until_stopped);
            // What was being done when the switch was thrown is good for nothing, errors included.
            found = if stop.is_stopped() { None } else { Some(result?) };
        }
        let (learnt, ratings, judged) = match found {
            Some(found) => found,
            None => self.in_haste(data, plan, training)?,
        };
        self.learnt = Some(learnt);
        Ok((ratings, judged))
    }

    fn train_on(
        &self,
        x: ArrayView2<'_, f32>,
        labels: &[ClassId],
        plan: &mut Plan,
        training: &Training<'_>,
    ) -> Result<(Learnt, Vec<f64>, Judged)> {
        let options = self.params.options();
        let task = Task {
            x,
            squares: None,
            labels,
            n_classes: self.n_classes,
            options: &options,
            noise: self.params.noise_variance,
            par: training.par,
            budget: training.budget,
        };
        let kernel = if let Some(kernel) = plan.kernel {
            kernel
        } else {
            // The search may have half of the time; machines need the rest.
            let half = |end: Instant| Instant::now() + end.saturating_duration_since(Instant::now()) / 2;
            let budget = Budget { deadline: training.budget.deadline.map(half), ..training.budget.clone() };
            let kernel = tune(&Task { budget: &budget, ..task }, &self.params, training.observer)?;
            if self.params.class_kernels {
                plan.class_kernels =
                    class_kernels::find(&Task { budget: &budget, ..task }, &self.params, kernel)?;
            }
            kernel
        };
        plan.kernel = Some(kernel);
        let is_late = training.budget.spent().is_some();
        let how = match plan.refit {
            Some((length, ridge)) => {
                Refitting { length, ridges: vec![ridge], may_grow: false, may_move: false }
            }
            None => Refitting {
                length: kernel[0],
                ridges: RIDGES.to_vec(),
                may_grow: !is_late,
                may_move: self.params.length_scale == 0.0 && !is_late,
            },
        };
        let how = self.params.refit.then_some(&how);
        if is_late {
            few(&task, kernel, how)
        } else {
            Learnt::from_task(&task, kernel, &plan.class_kernels, how)
        }
    }

    /// Small machines from some of the rows once nobody wants to wait any longer: a moment's work, and far better than nothing.
    fn in_haste(
        &self,
        data: &Dataset,
        mut plan: Plan,
        training: &Training<'_>,
    ) -> Result<(Learnt, Vec<f64>, Judged)> {
        const MOST_ROWS: usize = 400;
        let rows = spread(data.n_rows(), MOST_ROWS);
        let some = data.select(&rows);
        let x = self.preparation.map_all_narrow(&some.features, training.par);
        let found = self.train_on(x.view(), &some.labels, &mut plan, training)?;
        Ok(placed(found, &rows, data.n_rows()))
    }
}

/// What is known before machines are trained.
struct Plan {
    /// Length scale and variance.
    kernel: Option<[f64; 2]>,
    /// Those of each class, where they have their own.
    class_kernels: Vec<[f64; 2]>,
    /// Length scale and s² of the regression.
    refit: Option<(f64, f64)>,
}

/// Small machines from some of the rows, for a budget that was spent before there were any.
fn few(task: &Task<'_>, kernel: [f64; 2], how: Option<&Refitting>) -> Result<(Learnt, Vec<f64>, Judged)> {
    const MOST_ROWS: usize = 2000;
    const MOST_ACTIVE: usize = 50;
    let n = task.labels.len();
    let rows = spread(n, MOST_ROWS);
    let labels: Vec<ClassId> = rows.iter().map(|&row| task.labels[row]).collect();
    let x = task.x.select(Axis(0), &rows);
    let most = MOST_ACTIVE.min(n / (2 * task.n_classes.max(1))).max(1);
    let options = IvmOptions { n_active: task.options.n_active.min(most), ..task.options.clone() };
    let budget = Budget::open();
    let small = Task { x: x.view(), labels: &labels, options: &options, budget: &budget, ..*task };
    Ok(placed(Learnt::from_task(&small, kernel, &[], how)?, &rows, n))
}

/// At most so many rows, spread over all.
fn spread(n: usize, most: usize) -> Vec<usize> {
    (0..n).step_by(n.div_ceil(most).max(1)).collect()
}

/// What was found on some of the rows, told of all.
fn placed(
    (learnt, of_rows, mut judged): (Learnt, Vec<f64>, Judged),
    rows: &[usize],
    n: usize,
) -> (Learnt, Vec<f64>, Judged) {
    judged.rows.iter_mut().for_each(|row| *row = rows[*row]);
    let mut ratings = vec![0.0; n];
    rows.iter().zip(of_rows).for_each(|(&row, rating)| ratings[row] = rating);
    (learnt, ratings, judged)
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::{blobs, check_distributions, check_prediction_is_pure, check_shapes};
    use hedgerow_core::traits::most_probable;
    use hedgerow_core::{LabelTable, Par, Params as _, Silent};

    use super::*;
    use crate::IvmParams;

    fn new(data: &Dataset, params: IvmParams) -> IvmClassifier {
        IvmClassifier::new(&data.schema, &params.check().unwrap()).unwrap()
    }

    fn small() -> IvmParams {
        IvmParams { n_active: 15, max_rows: 200, ..IvmParams::default() }
    }

    /// Teaches all rows in calls of some size; returns the answers.
    fn teach(model: &mut IvmClassifier, data: &Dataset, size: usize, threads: usize) -> Array2<f64> {
        let par = Par::new(threads).unwrap();
        let budget = Budget::open();
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let x = data.features.to_array(0..data.n_rows());
        let mut answers = Array2::zeros((data.n_rows(), data.schema.n_classes()));
        for first in (0..data.n_rows()).step_by(size) {
            let end = data.n_rows().min(first + size);
            let rows =
                Rows { x: x.slice(s![first..end, ..]), labels: &data.labels[first..end], weights: None };
            let lesson = model.learn(&data.schema, rows, &training).unwrap();
            assert_eq!(lesson.n_learnt, end - first);
            answers.slice_mut(s![first..end, ..]).assign(&lesson.answers);
        }
        answers
    }

    #[test]
    fn batches_and_threads_change_nothing() {
        let data = blobs(500, 3, 3, 1);
        let mut models: Vec<IvmClassifier> = (0..3).map(|_| new(&data, small())).collect();
        let whole = teach(&mut models[0], &data, 500, 1);
        assert_eq!(whole, teach(&mut models[1], &data, 7, 1));
        assert_eq!(whole, teach(&mut models[2], &data, 100, 3));
        assert!(models[0] == models[1] && models[0] == models[2]);
        let right = most_probable(whole.slice(s![250.., ..]))
            .iter()
            .zip(&data.labels[250..])
            .filter(|(a, b)| a == b)
            .count();
        assert!(right > 230, "{right} of 250");
        assert!(models[0].n_remembered() <= 200 + 128 && models[0].n_seen() == 500);
        let x = data.features.to_array(0..40);
        check_distributions(&models[0], x.view());
        check_prediction_is_pure(&models[0], x.view());
        check_shapes(&models[0]);
    }

    #[test]
    fn a_fit_that_is_interrupted_at_once_gives_a_model_that_is_worth_something() {
        let (par, data) = (Par::sequential(), blobs(600, 3, 3, 1));
        let budget = Budget::open();
        budget.stop.stop();
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        for refit in [true, false] {
            let params = IvmParams { refit, ..IvmParams::default() }.check().unwrap();
            let fitted = IvmClassifier::fit(&data, &params, &training).unwrap();
            assert_eq!(fitted.stop, hedgerow_core::StopReason::Interrupted);
            let answers = fitted.classifier.predict(data.features.to_array(0..600).view(), &par).unwrap();
            let right = answers.iter().zip(&data.labels).filter(|(a, b)| a == b).count();
            assert!(right > 540, "{right} of 600");
        }
    }

    #[test]
    fn a_class_may_come_late_and_is_learnt() {
        let all = blobs(600, 3, 3, 2);
        let early: Vec<usize> = (0..300).filter(|row| all.labels[*row].0 < 2).collect();
        let mut model = new(&all, small());
        let mut schema = all.schema.clone();
        schema.labels = LabelTable::from(vec!["0".to_string(), "1".to_string()]);
        let first = Dataset { schema, ..all.select(&early) };
        model.n_classes = 2;
        teach(&mut model, &first, 64, 1);
        let late: Vec<usize> = (300..600).collect();
        let late = all.select(&late);
        let answers = teach(&mut model, &late, 64, 1);
        assert!(answers.row(0)[2] > 0.0 && answers.row(0)[2] < 0.05);
        let last = most_probable(answers.slice(s![200.., ..]));
        let right = last.iter().zip(&late.labels[200..]).filter(|(a, b)| a == b).count();
        assert!(right > 80, "{right} of 100");
        assert!(
            model
                .learn(
                    &first.schema,
                    Rows { x: Array2::zeros((0, 3)).view(), labels: &[], weights: None },
                    &Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent }
                )
                .is_err(),
            "classes are never taken away"
        );
    }

    #[test]
    fn a_fitted_model_goes_on_and_hard_rows_do_no_harm() {
        let par = Par::sequential();
        let budget = Budget::open();
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let data = blobs(300, 2, 2, 3);
        let mut model = IvmClassifier::fit(&data, &small().check().unwrap(), &training).unwrap().classifier;
        assert_eq!((model.n_seen(), model.n_remembered()), (300, 200));
        assert!(model.active_rows().nrows() > 0 && model.bytes() > 1000);
        // Equal rows with contradicting labels, gaps, huge and tiny numbers.
        let mut hard = blobs(200, 2, 2, 4);
        let x = Array2::from_shape_fn((200, 2), |(row, _)| match row % 4 {
            0 => f32::NAN,
            1 => 1e30,
            2 => -1e-30,
            _ => 1.0,
        });
        hard.features = hedgerow_core::Features::from_view(x.view());
        teach(&mut model, &hard, 50, 1);
        check_distributions(&model, x.view());
        let mut empty = new(&hard, small());
        check_distributions(&empty, x.view());
        hard.labels.fill(ClassId(1));
        teach(&mut empty, &hard, 50, 1);
        assert!(empty.predict_proba(x.view(), &par).unwrap()[(0, 1)] > 0.9, "one class only");
        let frozen = &mut model.frozen();
        let rows = Rows { x: x.view(), labels: &hard.labels, weights: None };
        assert!(matches!(frozen.learn(&hard.schema, rows, &training), Err(Error::NoRows)));
        budget.stop.stop();
        let lesson = empty.learn(&hard.schema, rows, &training).unwrap();
        assert!(lesson.n_learnt < 200, "it can be interrupted");
    }
}
