//! A forest that answers first, and Informative Vector Machines that settle what it is unsure of (spec 000, chapter 5).
//!
//! What machines are made for, and how far they are trusted, comes from rows that nobody had seen when they were answered: out-of-bag answers of the forest
//! and answers of machines without a row's own label when a model is fitted, answers given before a row was learnt afterwards. Answers to rows
//! that a forest was fitted to would say that it needs no help: it knows them all.
//!
//! `heard` has those rows and decides by them, [`Blend`] makes one answer of two, [`Account`] tells what machines have changed, `online` goes on
//! learning.

mod assemble;
mod heard;
mod online;
mod params;
mod saved;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::traits::largest;
use hedgerow_core::{
    Checked, ClassId, Classifier, Dataset, Error, Folds, Par, Params as _, Result, Schema, StopReason,
    Training,
};
use hedgerow_forest::{Forest, OnlineForest};
use hedgerow_gp::ivm::{FittedIvm, HeldOut};
use hedgerow_gp::{IvmClassifier, IvmParams};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};

pub use crate::account::{Account, ClassAccount};
pub use crate::blend::Blend;
pub use assemble::{Heard as JudgeAnswers, MachineRows, Trained};
use heard::{Heard, Verdict};
use online::Course;
pub use params::{Combine, ForestIvmParams};
pub use saved::ForestIvmFacts;

/// Wrong answers of the forest that a machine is made for at least.
const LEAST_WRONG: usize = 10;
/// A machine is judged by parts of this number, as many of them as give enough rows; fewer rows than the last are not cut.
const FOLDS: usize = 5;
const ENOUGH_JUDGES: usize = 1500;
const LEAST_CUT: usize = 100;

/// A forest, as far as it goes on learning.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// It only answers.
    Alone(Box<Forest>),
    /// With the rows it remembers.
    Learning(Box<OnlineForest>),
}

impl Part {
    /// The forest.
    pub fn forest(&self) -> &Forest {
        match self {
            Self::Alone(forest) => forest,
            Self::Learning(online) => online.forest(),
        }
    }
}

/// A forest with machines that help it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestIvm {
    params: ForestIvmParams,
    n_classes: usize,
    part: Part,
    machines: Vec<Machine>,
    /// Two best classes farther apart than this are no matter for a machine.
    margin: f64,
    account: Account,
    /// What learning more needs; none if it was left out.
    course: Option<Course>,
}

/// A machine, and when it is asked.
#[derive(Debug, Clone, PartialEq)]
struct Machine {
    /// The answer of the forest that it hears; none if it hears all.
    class: Option<usize>,
    ivm: IvmClassifier,
    verdict: Verdict,
}

/// A fitted model and why fitting ended.
#[derive(Debug, Clone)]
pub struct FittedForestIvm {
    /// The model.
    pub model: ForestIvm,
    /// Why fitting ended.
    pub stop: StopReason,
}

impl ForestIvm {
    /// Fits a forest, then machines for what it is unsure of. Machines do not look at row weights.
    pub fn fit(
        data: &Dataset,
        params: &Checked<ForestIvmParams>,
        training: &Training<'_>,
    ) -> Result<FittedForestIvm> {
        let params = params.get().clone();
        let fitted = Forest::fit(data, &params.forest_params().check()?, training)?;
        let answers = fitted.oob.as_ref().map_or_else(
            || Array2::from_elem((data.n_rows(), data.schema.n_classes()), f64::NAN),
            |oob| oob.probabilities(&fitted.forest),
        );
        let is_honest: Vec<bool> =
            answers.rows().into_iter().map(|row| row.iter().all(|p| p.is_finite())).collect();
        let n_classes = data.schema.n_classes();
        let online = OnlineForest::from_fitted(fitted.forest, data.clone());
        let mut model = Self {
            params,
            n_classes,
            part: Part::Learning(Box::new(online)),
            machines: Vec::new(),
            margin: 0.0,
            account: Account::default(),
            course: None,
        };
        let said: Vec<Option<usize>> = (0..data.n_rows())
            .map(|row| if is_honest[row] { largest(answers.row(row)) } else { None })
            .collect();
        let mut heard: Vec<Heard> = Vec::new();
        for (class, rows) in model.tasks(&said, &data.labels) {
            if training.budget.stop.is_stopped() {
                break;
            }
            let task = if rows.len() == data.n_rows() {
                Cow::Borrowed(data)
            } else {
                Cow::Owned(data.select(&rows))
            };
            if task.check_trainable().is_err() {
                continue;
            }
            let fitted = IvmClassifier::fit(&task, &model.machine_params().check()?, training)?;
            if training.budget.stop.is_stopped() {
                // A machine made in haste is no help, and finding that out would take longer still.
                break;
            }
            let HeldOut { rows: judged, proba, .. } = model.unseen(&task, &fitted, training)?;
            for (&row, proba) in judged.iter().zip(proba.rows()) {
                let row = rows[row];
                if is_honest[row] {
                    let (forest, machine) = (answers.row(row).to_vec(), proba.to_vec());
                    heard.push(Heard { forest, machine, class: data.labels[row] });
                }
            }
            model.machines.push(Machine { class, ivm: fitted.classifier, verdict: Verdict::default() });
        }
        // Rows that no machine hears are counted too, as far as they are not too many.
        if model.params.combine == Combine::Route || model.machines.is_empty() {
            let is_mute = |class: usize| model.machines.iter().all(|machine| machine.class != Some(class));
            for (row, said) in said.iter().enumerate() {
                if said.is_some_and(is_mute) {
                    let forest = answers.row(row).to_vec();
                    heard.push(Heard { forest, machine: Vec::new(), class: data.labels[row] });
                }
            }
        }
        model.judge(&heard);
        model.account.grow(n_classes);
        for heard in &heard {
            model.note(heard);
        }
        model.course = Some(Course::of_fitted(data.n_rows() as u64, heard));
        let stop = training.budget.spent().unwrap_or(fitted.stop);
        Ok(FittedForestIvm { model, stop })
    }

    /// What machines are to be made for: the answer of the forest that each will hear, and rows.
    fn tasks(&self, said: &[Option<usize>], labels: &[ClassId]) -> Vec<(Option<usize>, Vec<usize>)> {
        let is_wrong = |row: &usize| said[*row].is_some_and(|said| said != labels[*row].index());
        let n_wrong = |rows: &[usize]| rows.iter().filter(|row| is_wrong(row)).count();
        let all: Vec<usize> = (0..said.len()).collect();
        if self.params.combine != Combine::Route {
            return if n_wrong(&all) < LEAST_WRONG { Vec::new() } else { vec![(None, all)] };
        }
        let mut tasks: Vec<(Option<usize>, Vec<usize>)> = (0..self.n_classes)
            .map(|class| (Some(class), all.iter().copied().filter(|row| said[*row] == Some(class)).collect()))
            .collect();
        tasks.retain(|(_, rows): &(_, Vec<usize>)| self.params.needs_machine(rows.len(), n_wrong(rows)));
        // The largest first: others take its kernel.
        tasks.sort_by_key(|(class, rows)| (std::cmp::Reverse(rows.len()), *class));
        tasks
    }

    /// Answers of a machine to rows that it has not seen: those by which it was judged itself, if parts of the rows were left out for that; otherwise
    /// machines with the same kernel learn most of the rows and answer the others. Of few rows, the answers that the machine itself would give without a row's own label must do.
    fn unseen(&self, data: &Dataset, fitted: &FittedIvm, training: &Training<'_>) -> Result<HeldOut> {
        if fitted.held_out.are_apart || data.n_rows() < LEAST_CUT {
            return Ok(fitted.held_out.clone());
        }
        let folds = Folds::new(data.n_rows(), FOLDS, Rng::new(self.params.seed, Purpose::Sample, 8));
        let (mut rows, mut tables) = (Vec::new(), Vec::new());
        for fold in 0..folds.n_with(ENOUGH_JUDGES) {
            let [kept, left] = folds.cut(fold);
            let kept = data.select(&kept);
            if kept.check_trainable().is_err() {
                continue;
            }
            let judge = fitted.classifier.fit_again(&kept, training)?;
            let x = data.features.select(&left).to_array(0..left.len());
            tables.push(judge.predict_proba(x.view(), training.par)?);
            rows.extend(left);
        }
        let views: Vec<_> = tables.iter().map(|table| table.view()).collect();
        match ndarray::concatenate(Axis(0), &views) {
            Ok(proba) => Ok(HeldOut { rows, proba, are_apart: true }),
            Err(_) => Ok(fitted.held_out.clone()),
        }
    }

    /// Parameters of the next machine: the kernel that another has found serves all.
    fn machine_params(&self) -> IvmParams {
        let params = self.params.ivm_params();
        match self.machines.first().and_then(|machine| machine.ivm.kernel()) {
            Some([length_scale, signal_variance]) => IvmParams { length_scale, signal_variance, ..params },
            None => params,
        }
    }

    /// A model that knows nothing yet, and learns what it is given.
    pub fn new(schema: &Schema, params: &Checked<ForestIvmParams>) -> Result<Self> {
        let params = params.get().clone();
        let forest = OnlineForest::new(schema, &params.forest_params().check()?)?;
        let mut model = Self {
            n_classes: schema.n_classes(),
            part: Part::Learning(Box::new(forest)),
            machines: Vec::new(),
            margin: 0.0,
            account: Account::default(),
            course: Some(Course::new()),
            params,
        };
        model.account.grow(model.n_classes);
        if model.params.combine != Combine::Route {
            let ivm = IvmClassifier::new(schema, &model.params.ivm_params().check()?)?;
            model.machines.push(Machine { class: None, ivm, verdict: Verdict::default() });
        }
        Ok(model)
    }

    /// How it was trained.
    pub fn params(&self) -> &ForestIvmParams {
        &self.params
    }

    /// The forest, and whether it goes on learning.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// What machines have changed, on rows that nobody had seen when they were answered.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Machines there are, and those that are asked at all.
    pub fn n_machines(&self) -> [usize; 2] {
        [self.machines.len(), self.machines.iter().filter(|machine| machine.verdict.helps_any()).count()]
    }

    /// Active rows of all machines.
    pub fn n_active(&self) -> usize {
        self.machines.iter().map(|machine| machine.ivm.n_active()).sum()
    }

    /// Length scale and variance of the first machine's kernel.
    pub fn kernel(&self) -> Option<[f64; 2]> {
        self.machines.first().and_then(|machine| machine.ivm.kernel())
    }

    /// How far forest and machine are trusted, where there is one machine for all.
    pub fn blend(&self) -> Option<Blend> {
        self.machines.first().filter(|machine| machine.class.is_none()).map(|machine| machine.verdict.blend)
    }

    /// Two best classes farther apart than this are no matter for a machine; 1 unless there is a gate.
    pub fn margin(&self) -> f64 {
        if self.params.combine == Combine::Gate { self.margin } else { 1.0 }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_forest = match &self.part {
            Part::Alone(forest) => forest.bytes(),
            Part::Learning(online) => online.bytes(),
        };
        let of_machines: usize = self.machines.iter().map(|machine| machine.ivm.bytes()).sum();
        of_forest + of_machines + self.course.as_ref().map_or(0, Course::bytes)
    }

    /// The same without what learning more needs.
    #[must_use]
    pub fn frozen(self) -> Self {
        let part = match self.part {
            Part::Learning(mut online) => {
                online.put_in_order();
                Part::Alone(Box::new(online.into_forest()))
            }
            alone @ Part::Alone(_) => alone,
        };
        let machines = self
            .machines
            .into_iter()
            .map(|machine| Machine { ivm: machine.ivm.frozen(), ..machine })
            .collect();
        Self { part, machines, course: None, ..self }
    }

    /// The machine that hears an answer of the forest, if it helps.
    fn machine_for(&self, forest: &[f64]) -> Option<usize> {
        let said = largest(forest)?;
        let machine = match self.params.combine {
            Combine::Pool => 0,
            Combine::Gate if heard::margin(forest) < self.margin => 0,
            Combine::Gate => return None,
            Combine::Route => self.machines.iter().position(|machine| machine.class == Some(said))?,
        };
        self.machines.get(machine).filter(|machine| machine.verdict.helps(said)).map(|_| machine)
    }

    /// Both answers as one; the machine's is empty if none was asked. Says whether a machine had a say.
    fn combine(&self, forest: &[f64], machine: &[f64], out: &mut [f64]) -> bool {
        if let Some(number) = self.machine_for(forest).filter(|_| !machine.is_empty()) {
            self.machines[number].verdict.blend.apply(forest, machine, out);
            return true;
        }
        out.copy_from_slice(forest);
        false
    }

    fn note(&mut self, heard: &Heard) {
        let mut all = vec![0.0; heard.forest.len()];
        let is_heard = self.combine(&heard.forest, &heard.machine, &mut all);
        self.account.add(heard.class.index(), &heard.forest, &all, is_heard);
    }

    /// What the forest alone answers.
    pub fn forest_answers(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        let mut out = Array2::zeros((x.nrows(), self.n_classes));
        let forest = self.part.forest();
        if forest.n_features() != x.ncols() {
            return Err(Error::Shape {
                what: "feature columns",
                expected: forest.n_features(),
                got: x.ncols(),
            });
        }
        self.forest_into(x, par, out.view_mut());
        Ok(out)
    }

    fn forest_into(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>) {
        self.part.forest().predict_proba_impl(x, par, out);
    }
}

impl Classifier for ForestIvm {
    fn n_features(&self) -> usize {
        self.part.forest().n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        self.forest_into(x, par, out.view_mut());
        for (number, machine) in self.machines.iter().enumerate() {
            let rows: Vec<usize> = (0..x.nrows())
                .filter(|&row| self.machine_for(&out.row(row).to_vec()) == Some(number))
                .collect();
            if rows.is_empty() {
                continue;
            }
            let mut answers = Array2::zeros((rows.len(), machine.ivm.n_classes()));
            machine.ivm.predict_proba_impl(x.select(Axis(0), &rows).view(), par, answers.view_mut());
            for (&row, answer) in rows.iter().zip(answers.rows()) {
                let forest = out.row(row).to_vec();
                let mut all = vec![0.0; forest.len()];
                machine.verdict.blend.apply(&forest, &answer.to_vec(), &mut all);
                out.row_mut(row).iter_mut().zip(all).for_each(|(to, p)| *to = p);
            }
        }
    }
}
