//! The training run of a forest with IVMs: the runs of its parts, and how their models become one.
//!
//! One IVM for all rows trains beside the forest. With `combine=route` IVMs are assigned once the out-of-bag predictions of the forest show which of its
//! predictions are wrong too often; the first of them searches for a kernel, which the others share.

use hedgerow_core::blend::Pair;
use hedgerow_core::traits::largest;
use hedgerow_core::{
    Candidate, Checked, ClassId, Dataset, Effort, JobState, JobStatus, ModelTask, OutOfSample, Params as _,
    Result, Source, Step, StopReason, Task, Training, TrainingRun,
};
use hedgerow_forest::{Fitted, ForestModel, ForestRun};
use hedgerow_gp::ivm::IvmRun;
use hedgerow_gp::{IvmClassifier, IvmParams};
use ndarray::{Array2, ArrayView1};

use super::online::OnlineState;
use super::validation::IvmBlend;
use super::{AssignedIvm, BlendReport, Combine, ForestIvm, ForestIvmParams};

/// Wrong predictions of the forest that an IVM is trained for at least.
pub(super) const LEAST_WRONG: usize = 10;
/// Trees after which IVMs are assigned to predictions of a forest that grows without end.
const ENOUGH_TREES: usize = 100;

/// A forest with IVMs in training.
pub struct ForestIvmRun {
    data: Dataset,
    params: ForestIvmParams,
    lanes: usize,
    forest: ForestRun,
    is_assigned: bool,
    /// IVMs that wait for the kernel of the first.
    waiting: Vec<Assignment>,
    ivms: Vec<(Assignment, IvmRun)>,
    is_over: bool,
}

/// The rows that an IVM learns.
#[derive(Debug, Clone)]
struct Assignment {
    /// The prediction of the forest that it is asked about; none if it is asked about all.
    class: Option<usize>,
    /// Its rows; none if they are all.
    rows: Option<Vec<usize>>,
}

impl ForestIvmRun {
    /// Makes rows ready for both parts. `lanes` trees, or kernels, may be worked on side by side.
    pub fn new(
        data: &Dataset,
        params: &Checked<ForestIvmParams>,
        lanes: usize,
        training: &Training<'_>,
    ) -> Result<Self> {
        let params = params.get().clone();
        let forest = ForestRun::new(data, &params.forest_params().check()?, lanes, training)?;
        let mut run = Self {
            data: data.clone(),
            lanes,
            forest,
            is_assigned: params.combine != Combine::Route,
            waiting: Vec::new(),
            ivms: Vec::new(),
            is_over: false,
            params,
        };
        if run.is_assigned {
            let all = Assignment { class: None, rows: None };
            let ivm = ivm_run(data, &all, run.params.ivm_params(), lanes, training)?;
            run.ivms.extend(ivm.map(|ivm| (all, ivm)));
        }
        Ok(run)
    }

    fn is_forest_done(&self) -> bool {
        self.forest.jobs().iter().all(|job| job.state == JobState::Done)
    }

    /// The out-of-bag predictions of the forest so far; none for rows that every tree has seen.
    fn predicted(&self) -> Vec<Option<usize>> {
        let none = || vec![None; self.data.n_rows()];
        self.forest.out_of_bag().map_or_else(none, hedgerow_forest::OutOfBag::predicted)
    }

    /// Whether the forest is wrong often enough for one IVM for all rows to be of use.
    fn is_forest_weak(&self) -> bool {
        let predicted = self.predicted();
        let is_wrong = |(predicted, label): &(&Option<usize>, &ClassId)| {
            predicted.is_some_and(|predicted| predicted != label.index())
        };
        predicted.iter().zip(self.data.labels()).filter(is_wrong).count() >= LEAST_WRONG
    }

    /// Predictions of the forest that get an IVM, with the rows that were predicted so. The largest first: others take its kernel.
    fn assignments(&self) -> Vec<Assignment> {
        let predicted = self.predicted();
        let n_classes = self.data.schema.n_classes();
        let of_class = |class: usize| -> Vec<usize> {
            (0..predicted.len()).filter(|row| predicted[*row] == Some(class)).collect()
        };
        let n_wrong = |class: usize, rows: &[usize]| {
            rows.iter().filter(|row| self.data.labels()[**row].index() != class).count()
        };
        let mut found: Vec<(usize, Vec<usize>)> =
            (0..n_classes).map(|class| (class, of_class(class))).collect();
        found.retain(|(class, rows)| self.params.needs_ivm(rows.len(), n_wrong(*class, rows)));
        found.sort_by_key(|(class, rows)| (std::cmp::Reverse(rows.len()), *class));
        found.into_iter().map(|(class, rows)| Assignment { class: Some(class), rows: Some(rows) }).collect()
    }

    /// Whether IVMs are to be assigned now, or those that wait for a kernel can begin.
    fn can_assign(&self) -> bool {
        if !self.is_assigned {
            return self.is_forest_done() || self.forest.n_trees() >= ENOUGH_TREES;
        }
        !self.waiting.is_empty() && self.ivms.first().is_none_or(|(_, ivm)| ivm.kernel().is_some())
    }

    fn begin_assignment(&mut self) -> Step {
        let mut next = if self.is_assigned { std::mem::take(&mut self.waiting) } else { self.assignments() };
        let params = match self.ivms.first().and_then(|(_, ivm)| ivm.kernel()) {
            Some([length_scale, signal_variance]) => {
                IvmParams { length_scale, signal_variance, ..self.params.ivm_params() }
            }
            None => self.params.ivm_params(),
        };
        let is_open = params.length_scale == 0.0 || params.signal_variance == 0.0;
        let waiting = if is_open && !next.is_empty() { next.split_off(1) } else { Vec::new() };
        let (data, lanes) = (self.data.clone(), self.lanes);
        Step::new(move |training: &Training<'_>| {
            let made: Result<Vec<(Assignment, Option<IvmRun>)>> = next
                .into_iter()
                .map(|one| ivm_run(&data, &one, params.clone(), lanes, training).map(|run| (one, run)))
                .collect();
            move |run: &mut Self| {
                (run.is_assigned, run.waiting) = (true, waiting);
                let made = made?.into_iter().filter_map(|(one, ivm)| Some((one, ivm?)));
                run.ivms.extend(made);
                Ok(())
            }
        })
    }

    /// The IVM that a job belongs to, and the place of its first job; none for jobs of the forest and the assignment.
    fn ivm_of(&self, job: usize) -> Option<(usize, usize)> {
        let mut first = self.lanes + 1;
        for (number, (_, ivm)) in self.ivms.iter().enumerate() {
            let jobs = first..first + ivm.jobs().len();
            if jobs.contains(&job) {
                return Some((number, first));
            }
            first = jobs.end;
        }
        None
    }
}

/// The run of an IVM; none if its rows are of one class.
fn ivm_run(
    data: &Dataset,
    assignment: &Assignment,
    params: IvmParams,
    lanes: usize,
    training: &Training<'_>,
) -> Result<Option<IvmRun>> {
    let own = assignment.rows.as_ref().map(|rows| data.select(rows));
    let data = own.as_ref().unwrap_or(data);
    if data.check_trainable(Task::Classification).is_err() {
        return Ok(None);
    }
    IvmRun::new(data, &params.check()?, None, lanes, training).map(|run| Some(run.with_folds()))
}

impl TrainingRun for ForestIvmRun {
    type Model = ForestIvm;

    fn jobs(&self) -> Vec<JobStatus> {
        let mut jobs = self.forest.jobs();
        let is_weak = || self.params.combine == Combine::Route || self.is_forest_weak();
        let needs_ivms = !self.is_over && (!self.is_forest_done() || is_weak());
        let is_assigned = self.is_assigned && self.waiting.is_empty();
        jobs.push(JobStatus {
            kind: "assignment",
            state: JobState::new(is_assigned || self.is_over, self.can_assign()),
            points: self.ivms.len(),
            goal: self.ivms.len() + self.waiting.len(),
            ..JobStatus::default()
        });
        for (assignment, ivm) in &self.ivms {
            for mut job in ivm.jobs() {
                if let Some(class) = assignment.class {
                    let of = self.data.schema.labels.name(ClassId(class as u32));
                    job.name = format!("{of}: {}", job.name);
                }
                if !needs_ivms && job.state != JobState::Waiting {
                    job.state = JobState::Done;
                }
                jobs.push(job);
            }
        }
        jobs
    }

    fn begin(&mut self, jobs: &[usize], effort: Effort) -> Step {
        let Some(&first_job) = jobs.first() else { return Step::nothing::<Self>() };
        if first_job < self.lanes {
            return self.forest.begin(jobs, effort).within(|run: &mut Self| Some(&mut run.forest));
        }
        let Some((number, first)) = self.ivm_of(first_job) else { return self.begin_assignment() };
        let (_, ivm) = &mut self.ivms[number];
        let own = first..first + ivm.jobs().len();
        let own: Vec<usize> = jobs.iter().filter(|job| own.contains(job)).map(|job| job - first).collect();
        let step = ivm.begin(&own, effort);
        step.within(move |run: &mut Self| run.ivms.get_mut(number).map(|(_, ivm)| ivm))
    }

    fn drop_job(&mut self, job: usize) {
        if job < self.lanes {
            self.forest.drop_job(job);
        } else if let Some((number, first)) = self.ivm_of(job) {
            self.ivms[number].1.drop_job(job - first);
        } else {
            (self.is_assigned, self.waiting) = (true, Vec::new());
        }
    }

    fn has_model(&self) -> bool {
        self.forest.has_model()
    }

    fn model(&self) -> Option<ModelTask<ForestIvm>> {
        if !self.has_model() {
            return None;
        }
        let (forest, data, params) = (self.forest.forest(), self.data.clone(), self.params.clone());
        let is_weak = params.combine == Combine::Route || self.is_forest_weak();
        let ivms = self.ivms.iter().filter(|_| is_weak);
        let ivms = ivms.filter_map(|(assignment, ivm)| Some((assignment.clone(), ivm.model()?)));
        let ivms: Vec<(Assignment, ModelTask<IvmClassifier>)> = ivms.collect();
        Some(ModelTask::new(move |training| {
            let train = |(assignment, task): (Assignment, ModelTask<IvmClassifier>)| {
                task.run(training).map(|made| (assignment, made))
            };
            let trained: Result<Vec<_>> = ivms.into_iter().map(train).collect();
            Ok(combine(&data, params, forest(training), trained?))
        }))
    }

    fn stop(&self) -> StopReason {
        self.forest.stop()
    }

    fn hurry(&mut self, reason: StopReason) {
        self.forest.hurry(reason);
        // An IVM made in haste is no help, and finding that out would take longer still.
        let is_useful = reason != StopReason::Interrupted && self.ivms.iter().all(|(_, ivm)| ivm.has_model());
        if is_useful {
            self.ivms.iter_mut().for_each(|(_, ivm)| ivm.hurry(reason));
        } else {
            self.is_over = true;
        }
        self.is_assigned = true;
        self.waiting.clear();
    }
}

/// A forest and IVMs become one model, by predictions for rows that neither had learnt.
fn combine(
    data: &Dataset,
    params: ForestIvmParams,
    fitted: Fitted,
    trained: Vec<(Assignment, Candidate<IvmClassifier>)>,
) -> Candidate<ForestIvm> {
    let n_classes = data.schema.n_classes();
    let of_forest = fitted.oob.as_ref().map_or_else(
        || Array2::from_elem((data.n_rows(), n_classes), f64::NAN),
        |oob| oob.probabilities(&fitted.forest),
    );
    let is_known = |row: usize| of_forest.row(row).iter().all(|p| p.is_finite());
    let mut pairs: Vec<(usize, Pair)> = Vec::new();
    let mut ivms = Vec::new();
    for (assignment, Candidate { model: ivm, validation, .. }) in trained {
        for (&row, proba) in validation.iter().flat_map(|v| v.rows.iter().zip(v.values.rows())) {
            let row = assignment.rows.as_ref().map_or(row, |rows| rows[row]);
            if is_known(row) {
                let (forest, gp) = (of_forest.row(row).to_vec(), proba.to_vec());
                pairs.push((row, Pair { forest, gp, class: data.labels()[row] }));
            }
        }
        ivms.push(AssignedIvm { class: assignment.class, ivm, blend: IvmBlend::default() });
    }
    // Rows that no IVM is asked about are counted too.
    if params.combine == Combine::Route || ivms.is_empty() {
        let is_alone = |class: usize| ivms.iter().all(|assigned: &AssignedIvm| assigned.class != Some(class));
        for row in (0..data.n_rows()).filter(|row| is_known(*row)) {
            if largest(of_forest.row(row)).is_some_and(is_alone) {
                let forest = of_forest.row(row).to_vec();
                pairs.push((row, Pair { forest, gp: Vec::new(), class: data.labels()[row] }));
            }
        }
    }
    let (rows, predictions): (Vec<usize>, Vec<Pair>) = pairs.into_iter().unzip();
    let mut model = ForestIvm {
        params,
        n_classes,
        forest: ForestModel::fitted(fitted.forest, data.clone()),
        ivms,
        margin: 0.0,
        report: BlendReport::default(),
        online: None,
    };
    model.fit_blends(&predictions);
    model.report.grow(n_classes);
    let mut values = Array2::zeros((predictions.len(), n_classes));
    for (row, mut out) in predictions.iter().zip(values.rows_mut()) {
        out.assign(&ArrayView1::from(&model.account_for(row)));
    }
    model.online = Some(OnlineState::new(data.n_rows() as u64, predictions));
    let validation = OutOfSample::of_rows(Source::OutOfFold, rows, values, data.labels());
    Candidate::new(model, Some(validation))
}
