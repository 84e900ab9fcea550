//! What every kind of model promises, whatever it is.

use ndarray::{Array2, s};

use super::{check_distributions, check_prediction_is_pure, check_regressor, check_shapes};
use crate::budget::{Budget, StopReason};
use crate::data::{
    ClassId, Column, ColumnKind, Dataset, Features, LabelTable, Schema, TargetSlice, Targets, Task,
};
use crate::error::Error;
use crate::kind::{ModelKind, RunStart, fit};
use crate::learn::{Rows, Training, Update};
use crate::metrics::ValueReport;
use crate::online::{OnlineModel, Predictor};
use crate::par::Par;
use crate::quality::ClassQuality;
use crate::rng::{Purpose, Rng};
use crate::run::{Effort, JobState, Step};
use crate::traits::{Normals, Silent};

/// Checks a kind of model with parameters that make it small, for each task it does. Kinds that learn row by row must retain at most a few
/// hundred rows.
pub fn check_kind<P: ModelKind>(params: &P)
where
    P::Model: Clone,
{
    P::INFO.tasks.iter().for_each(|task| check_task(params, *task));
}

/// Rows with targets of this task.
fn rows_of(task: Task, n_rows: usize, seed: u64) -> Dataset {
    match task {
        Task::Classification => mixed(n_rows, 3, seed),
        Task::Regression => mixed_numbers(n_rows, seed),
    }
}

fn check_task<P: ModelKind>(params: &P, task: Task)
where
    P::Model: Clone,
{
    let data = rows_of(task, 300, 1);
    let fitted = fit_with(&data, params, 1);
    assert_eq!(fitted.predictor().task(), task);
    let x = rows_to_predict(&data);
    check_predictions(&fitted, &x);
    assert!(fitted.bytes() > 0 && !fitted.summary(data.schema.labels.names()).parts.is_empty());
    let threads = fit_with(&data, params, 3);
    assert_eq!(predict(&fitted, &x), predict(&threads, &x), "the number of threads changed the model");
    check_slices(&data, params, &fitted, &x);
    check_interrupt(&data, params, &x);
    if P::INFO.learns {
        assert!(fitted.can_learn(), "a fitted model can go on learning");
        check_new(&data, params, &x);
        check_batches(&data, params, &x);
        check_late_category(params, task);
        if task == Task::Classification {
            check_late_class(params);
            check_single_class(&data, params, &x);
        }
        check_hard_rows(&data, &fitted, &x);
        check_memory(params, task);
        check_frozen(&data, fitted, &x);
    } else {
        assert!(!fitted.can_learn() && P::new_model(&data.schema, &checked(params)).is_err());
    }
}

/// Rows of four numbers, a category and a flag, some of them missing; classes are blobs that overlap a little.
pub fn mixed(n_rows: usize, n_classes: usize, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, Purpose::Data, 9);
    let mut schema = Schema::unnamed(6);
    let categories = ["red", "green", "blue"].map(String::from).to_vec();
    schema.columns[4] = Column { name: "color".into(), kind: ColumnKind::Categorical { categories } };
    schema.columns[5] =
        Column { name: "flag".into(), kind: ColumnKind::Boolean { no: "no".into(), yes: "yes".into() } };
    schema.labels =
        LabelTable::from((0..n_classes).map(|class| format!("class {class}")).collect::<Vec<_>>());
    let mut features = Features::new(6);
    let mut labels = Vec::with_capacity(n_rows);
    for _ in 0..n_rows {
        let class = rng.index(n_classes);
        let mut row = [0.0_f32; 6];
        for (column, value) in row.iter_mut().take(4).enumerate() {
            let centre = if column % n_classes == class { 2.0 } else { 0.0 };
            *value = (centre + rng.normal()) as f32;
        }
        row[4] = if rng.unit() < 0.7 { (class % 3) as f32 } else { rng.index(3) as f32 };
        row[5] = rng.index(2) as f32;
        if rng.unit() < 0.1 {
            row[rng.index(5)] = f32::NAN;
        }
        features.push(&row);
        labels.push(ClassId(class as u32));
    }
    Dataset::new(schema, features, labels, None).expect("the parts fit")
}

/// The same rows with numbers: a sum over some of the columns with a little noise, which missing values hide in part.
pub fn mixed_numbers(n_rows: usize, seed: u64) -> Dataset {
    let mut data = mixed(n_rows, 3, seed);
    let mut rng = Rng::new(seed, Purpose::Data, 10);
    let x =
        data.features.to_array(0..n_rows).mapv(|value| if value.is_nan() { 0.0 } else { f64::from(value) });
    let value = |row: ndarray::ArrayView1<'_, f64>| row[0] - 0.5 * row[1] + 0.5 * row[4] + 0.2 * rng.normal();
    let values: Vec<f64> = x.rows().into_iter().map(value).collect();
    data.edit(|data| {
        data.schema.labels = LabelTable::default();
        data.targets = Targets::Values(values);
    })
    .expect("the parts fit");
    data
}

fn checked<P: ModelKind>(params: &P) -> crate::params::Checked<P> {
    params.clone().check().unwrap()
}

fn fit_with<P: ModelKind>(data: &Dataset, params: &P, threads: usize) -> P::Model {
    let (par, budget) = (Par::new(threads).unwrap(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let fitted = fit(data, &checked(params), &training).unwrap();
    assert_eq!(fitted.stop, StopReason::Done);
    fitted.model
}

/// Training rows, rows far away, and rows with nothing in them.
fn rows_to_predict(data: &Dataset) -> Array2<f32> {
    let mut x = data.features.to_array(0..40);
    x.slice_mut(s![10..15, ..4]).fill(1e30);
    x.slice_mut(s![15..20, ..]).fill(f32::NAN);
    x
}

fn predict(model: &dyn OnlineModel, x: &Array2<f32>) -> Array2<f64> {
    model.predictor().predict(x.view(), &Par::sequential())
}

/// Predictions of either task are sound and depend on the row alone.
fn check_predictions(model: &dyn OnlineModel, x: &Array2<f32>) {
    match model.predictor() {
        Predictor::Classifier(classifier) => {
            check_distributions(classifier, x.view());
            check_prediction_is_pure(classifier, x.view());
            check_shapes(classifier);
        }
        Predictor::Regressor(regressor) => check_regressor(regressor, x.view()),
    }
}

/// Learns rows, cut into batches of this size, with so many threads.
fn learn(model: &mut dyn OnlineModel, data: &Dataset, batch: usize, threads: usize) -> Vec<Update> {
    let (par, budget) = (Par::new(threads).unwrap(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let learn_batch = |first: usize| {
        let rows = first..(first + batch).min(data.n_rows());
        let x = data.features.to_array(rows.clone());
        let rows = Rows::new(x.view(), data.targets.view().slice(rows), None);
        model.learn(&data.schema, rows, &training).unwrap()
    };
    (0..data.n_rows()).step_by(batch).map(learn_batch).collect()
}

/// All predictions, with probability 0 for classes that were not known yet.
fn predictions(updates: &[Update]) -> Array2<f64> {
    let n = updates.iter().map(|update| update.predictions.nrows()).sum();
    let n_columns = updates.iter().map(|update| update.predictions.ncols()).max().unwrap_or(0);
    let mut all = Array2::zeros((n, n_columns));
    let mut first = 0;
    for update in updates {
        let (n, known) = update.predictions.dim();
        all.slice_mut(s![first..first + n, ..known]).assign(&update.predictions);
        first += n;
    }
    all
}

/// A training run that is driven in slices, its jobs in an order drawn at random and side by side, gives the model of a fit. Sums may be taken in
/// another order, so predictions agree within rounding.
fn check_slices<P: ModelKind>(data: &Dataset, params: &P, fitted: &P::Model, x: &Array2<f32>) {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let start = RunStart { data, params: &checked(params), previous: None, lanes: 2, training: &training };
    let mut run = P::start_run(&start).unwrap();
    let mut rng = Rng::new(7, Purpose::Data, 0);
    let mut steps: Vec<(usize, Step)> = Vec::new();
    loop {
        let jobs = run.jobs();
        let is_free = |job: &usize| steps.iter().all(|(at_work, _)| at_work != job);
        let ready: Vec<usize> =
            (0..jobs.len()).filter(|job| jobs[*job].state == JobState::Ready && is_free(job)).collect();
        if !ready.is_empty() && (steps.is_empty() || rng.unit() < 0.6) {
            let job = ready[rng.index(ready.len())];
            steps.push((job, run.begin(&[job], Effort::Slice)));
        } else if steps.is_empty() {
            break;
        } else {
            let (_, step) = steps.swap_remove(rng.index(steps.len()));
            run.merge(step.run(&training)).unwrap();
        }
    }
    let made = run.model().unwrap().run(&training).unwrap().model;
    let largest = (predict(&made, x) - predict(fitted, x)).iter().fold(0.0_f64, |most, d| most.max(d.abs()));
    assert!(largest < 1e-6, "a run in slices differs from a fit by {largest}");
}

/// Who interrupts gets a model that predicts, or is told that there is none.
fn check_interrupt<P: ModelKind>(data: &Dataset, params: &P, x: &Array2<f32>) {
    let (par, budget) = (Par::sequential(), Budget::open());
    budget.stop.stop();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    match fit(data, &checked(params), &training) {
        Ok(fitted) => {
            assert_ne!(fitted.stop, StopReason::Done);
            check_predictions(&fitted.model, x);
        }
        Err(error) => assert!(matches!(error, Error::Interrupted), "{error}"),
    }
}

/// A model predicts before anything was learnt: all classes alike, or all rows.
fn check_new<P: ModelKind>(data: &Dataset, params: &P, x: &Array2<f32>) {
    let model = P::new_model(&data.schema, &checked(params)).unwrap();
    assert_eq!((model.n_seen(), model.n_retained(), model.can_learn()), (0, 0, true));
    check_predictions(&model, x);
    let predicted = predict(&model, x);
    match data.task() {
        Task::Classification => {
            assert!(predicted.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-9), "the prior is uniform");
        }
        Task::Regression => assert!(predicted.rows().into_iter().all(|row| row == predicted.row(0))),
    }
}

/// How rows are cut into batches, threads, and empty batches change nothing; and what is learnt is worth something.
fn check_batches<P: ModelKind>(data: &Dataset, params: &P, x: &Array2<f32>)
where
    P::Model: Clone,
{
    let new = || P::new_model(&data.schema, &checked(params)).unwrap();
    let mut whole = new();
    let of_whole = predictions(&learn(&mut whole, data, data.n_rows(), 1));
    assert_eq!(whole.n_seen(), data.n_rows() as u64);
    for (batch, threads) in [(1, 1), (37, 3)] {
        let mut model = new();
        let none = data.select(&[]);
        learn(&mut model, &none, 1, 1);
        let cut = predictions(&learn(&mut model, data, batch, threads));
        assert_eq!(cut, of_whole, "batches of {batch} changed the predictions");
        assert_eq!(predict(&model, x), predict(&whole, x), "batches of {batch} changed the model");
    }
    let second_half = of_whole.slice(s![150.., ..]);
    match data.targets.view().slice(150..300) {
        TargetSlice::Classes(labels) => {
            let quality = ClassQuality::new(&second_half.to_owned(), labels);
            assert!(quality.accuracy > 0.6 && quality.log_loss < 0.95, "prequential: {quality:?}");
        }
        TargetSlice::Values(values) => {
            let report = ValueReport::new(&Normals::of_table(second_half), values).unwrap();
            assert!(report.nmse.unwrap() < 0.3 && report.coverage90 > 0.75, "prequential: {report:?}");
        }
    }
}

/// A class becomes known with its first row, wherever rows are cut, and is predicted from then on.
fn check_late_class<P: ModelKind>(params: &P) {
    let data = mixed(400, 3, 4);
    let is_early = |row: &usize| *row >= 150 || data.labels()[*row].0 < 2;
    let rows: Vec<usize> = (0..400).filter(is_early).collect();
    let data = data.select(&rows);
    let first = data.labels().iter().position(|class| class.0 == 2).unwrap();
    let early = data.schema.with_classes(2).into_owned();
    let of = |batch: usize| {
        let mut model = P::new_model(&early, &checked(params)).unwrap();
        let updates = learn(&mut model, &data, batch, 1);
        assert_eq!(model.predictor().n_classes(), 3);
        predictions(&updates)
    };
    let (whole, cut) = (of(1000), of(23));
    assert_eq!(whole, cut, "batches changed when a class is known");
    assert!(whole.slice(s![..first, 2]).iter().all(|p| *p == 0.0), "a class is known before its first row");
    assert!(whole[(first, 2)] < 0.5, "the first row of a class cannot be foreseen");
    let late = (first + 50..data.n_rows()).filter(|row| data.labels()[*row].0 == 2);
    let mean = |rows: Vec<usize>| rows.iter().map(|&row| whole[(row, 2)]).sum::<f64>() / rows.len() as f64;
    assert!(mean(late.collect()) > 0.4, "the late class is never learnt");
}

/// What a model learns of a category that comes later is what one learns that knew it from the start.
fn check_late_category<P: ModelKind>(params: &P, task: Task) {
    let data = rows_of(task, 300, 5);
    let mut early = data.schema.clone();
    early.columns[4].kind = ColumnKind::Categorical { categories: vec!["red".into()] };
    let first: Vec<usize> = (0..200).filter(|&row| data.features.value(row, 4).max(0.0) == 0.0).collect();
    let first = data.select(&first);
    let later = data.select(&(200..300).collect::<Vec<_>>());
    let x = data.features.to_array(0..60);
    let of = |schema: &Schema, batch: usize| {
        let mut model = P::new_model(schema, &checked(params)).unwrap();
        learn(&mut model, &first.under(schema).unwrap(), 50, 1);
        let updates = learn(&mut model, &later, batch, 1);
        check_predictions(&model, &x);
        [predictions(&updates), predict(&model, &x)]
    };
    let [late, knowing] = [&early, &data.schema].map(|schema| of(schema, 30));
    assert_eq!(late, of(&early, 1000), "batches change what is learnt of a late category");
    let apart = [0, 1].map(|i| (&late[i] - &knowing[i]).mapv(f64::abs).mean().unwrap());
    assert!(apart.iter().all(|apart| *apart < 0.1), "a late category is learnt differently: {apart:?}");
}

/// Rows of a single class are learnt; another class may follow.
fn check_single_class<P: ModelKind>(data: &Dataset, params: &P, x: &Array2<f32>) {
    let mut model = P::new_model(&data.schema, &checked(params)).unwrap();
    let only: Vec<usize> = (0..data.n_rows()).filter(|row| data.labels()[*row].0 == 1).collect();
    learn(&mut model, &data.select(&only), 40, 1);
    check_predictions(&model, x);
    let near = predict(&model, &data.features.to_array(0..8));
    assert!(near.rows().into_iter().all(|row| row[1] > row[0] && row[1] > row[2]), "{near:.2}");
    learn(&mut model, data, 40, 1);
    check_predictions(&model, x);
}

/// Infinite numbers, labels of no class and targets that are no numbers are refused with nothing learnt; missing values and rows that are all alike
/// are learnt.
fn check_hard_rows<M: OnlineModel + Clone>(data: &Dataset, fitted: &M, x: &Array2<f32>) {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let (mut model, before) = (fitted.clone(), predict(fitted, x));
    let mut wrong = data.features.to_array(0..20);
    wrong[(7, 2)] = f32::INFINITY;
    let targets = data.targets.view().slice(0..20);
    let rows = Rows::new(wrong.view(), targets, None);
    assert!(model.learn(&data.schema, rows, &training).is_err(), "infinite values are refused");
    wrong[(7, 2)] = 0.0;
    let mut unknown = targets.to_targets();
    match &mut unknown {
        Targets::Classes(classes) => classes[3] = ClassId(9),
        Targets::Values(values) => values[3] = f64::NAN,
    }
    let rows = Rows::new(wrong.view(), unknown.view(), None);
    assert!(model.learn(&data.schema, rows, &training).is_err(), "targets that are none are refused");
    assert_eq!((model.n_seen(), predict(&model, x)), (fitted.n_seen(), before), "nothing was learnt");
    for value in [f32::NAN, 0.0] {
        wrong.fill(value);
        let rows = Rows::new(wrong.view(), targets, None);
        for _ in 0..10 {
            model.learn(&data.schema, rows, &training).unwrap();
        }
        check_predictions(&model, x);
    }
}

/// The number of retained rows is bounded by the parameters, memory by the budget.
fn check_memory<P: ModelKind>(params: &P, task: Task) {
    let data = rows_of(task, 3_000, 6);
    let most = params.max_retained();
    // A kind that keeps sums only has no limit, and retains no rows.
    assert!(most <= 1_000, "a check of memory needs few retained rows");
    let mut model = P::new_model(&data.schema, &checked(params)).unwrap();
    let mut sizes = Vec::new();
    for first in [0, 1_500, 2_000, 2_500] {
        let end = if first == 0 { 1_500 } else { first + 500 };
        learn(&mut model, &data.select(&(first..end).collect::<Vec<_>>()), 250, 1);
        // Between two times that something is due, more rows may wait.
        assert!(model.n_retained() <= most + most / 2 + 300, "{} rows, {most} allowed", model.n_retained());
        sizes.push(model.bytes());
    }
    let (before, after) = (sizes[0].max(sizes[1]) as f64, sizes[3] as f64);
    assert!(after < 1.5 * before, "memory grows with the rows seen: {sizes:?}");
}

/// Frozen models predict the same, take less memory, and learn no more.
fn check_frozen<M: OnlineModel + Clone>(data: &Dataset, fitted: M, x: &Array2<f32>) {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut learnt = fitted.clone();
    learn(&mut learnt, data, 100, 1);
    for model in [fitted, learnt] {
        let (expected, bytes, has_rows) = (predict(&model, x), model.bytes(), model.n_retained() > 0);
        let mut frozen = model.frozen();
        assert_eq!(predict(&frozen, x), expected);
        assert!(frozen.bytes() < bytes || !has_rows, "frozen, it takes no less memory");
        assert!((frozen.n_seen(), frozen.n_retained()) == (0, 0));
        let rows = Rows::new(x.view(), data.targets.view().slice(0..40), None);
        let refused = frozen.learn(&data.schema, rows, &training);
        assert!(matches!(refused, Err(Error::Frozen)));
    }
}
