//! A process over a forest in slices: a few steps of the solver now, others later.
//!
//! Some rows judge: neither the forest nor the process learns them. They choose the noise, calibrate the scores, and say how far the forest counts beside them, as rows that were
//! left out do in a fit. So no second forest is needed.

use std::sync::Arc;

use hedgerow_core::{Checked, ClassId, Classifier as _, Dataset, Par, Result};
use hedgerow_forest::{Forest, OnlineForest};
use hedgerow_gp::calibration::Calibration;
use ndarray::{Array2, ArrayView2};

use super::leaves::Leaves;
use super::online::Course;
use super::process::Solver;
use super::scores::LeafScores;
use super::train::{NOISES, Verdict, blend, bytes_needed, centered_signs, known};
use super::{ForestKernelClassifier, ForestKernelParams};
use crate::forest_ivm::Part;

/// Rows times trees times classes that a slice takes at most, if it can: a fraction of a second.
const WORK_A_SLICE: usize = 100_000_000;

/// A process on its way, with all rows.
pub struct ProcessWork {
    forest: Arc<Forest>,
    leaves: Leaves,
    labels: Vec<ClassId>,
    y: Array2<f64>,
    noises: Vec<f64>,
    solver: Option<Solver>,
    found: Vec<LeafScores>,
    bytes: usize,
}

/// A process that has learnt.
pub struct Process {
    forest: Arc<Forest>,
    scores: LeafScores,
    verdict: Verdict,
    /// What the model of both says about the rows that judge.
    pub proba: Array2<f64>,
}

/// Rows that neither a forest nor a process has learnt.
#[derive(Debug, Clone, Copy)]
pub struct Judges<'a> {
    /// The rows.
    pub x: ArrayView2<'a, f32>,
    /// What the forest says about them.
    pub forest: ArrayView2<'a, f64>,
    /// Their classes.
    pub labels: &'a [ClassId],
}

impl ProcessWork {
    /// Sees into which leaves rows fall that do not judge.
    pub fn new(
        forest: Forest,
        data: &Dataset,
        is_judge: &[bool],
        params: &ForestKernelParams,
        par: &Par,
    ) -> Result<Self> {
        let rows: Vec<usize> =
            (0..data.n_rows()).filter(|row| !is_judge.get(*row).copied().unwrap_or(false)).collect();
        let n_classes = data.schema.n_classes();
        let leaves = Leaves::new(&forest, &data.features.select(&rows), par)?;
        let labels: Vec<ClassId> = rows.iter().map(|&row| data.labels[row]).collect();
        let y = centered_signs(&labels, n_classes);
        let noises = if params.noise_variance > 0.0 { vec![params.noise_variance] } else { NOISES.to_vec() };
        let bytes = Self::bytes_on(params, rows.len(), data.schema.n_features(), n_classes);
        Ok(Self {
            forest: Arc::new(forest),
            leaves,
            labels,
            y,
            noises,
            solver: None,
            found: Vec::new(),
            bytes,
        })
    }

    /// Bytes that a process takes on so many rows.
    pub fn bytes_on(
        params: &ForestKernelParams,
        n_rows: usize,
        n_features: usize,
        n_classes: usize,
    ) -> usize {
        let [of_row, fixed] = bytes_needed(params, n_features, n_classes.max(2));
        (of_row * n_rows as u64 + fixed) as usize
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Trees of its forest.
    pub fn n_trees(&self) -> usize {
        self.forest.trees().len()
    }

    /// What its forest alone says.
    pub fn forest_answers(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        self.forest.predict_proba(x, par)
    }

    /// Variances of the noise that are done, and all.
    pub fn progress(&self) -> [usize; 2] {
        [self.found.len(), self.noises.len()]
    }

    /// Some steps for the next noise. Says whether all are done.
    pub fn slice(&mut self, par: &Par) -> bool {
        let work = self.y.len() * self.n_trees().max(1);
        self.steps((WORK_A_SLICE / work.max(1)).max(1), par)
    }

    /// So many steps at most.
    fn steps(&mut self, most: usize, par: &Par) -> bool {
        let Some(noise) = self.noises.get(self.found.len()).copied() else { return true };
        let begun = self.solver.take();
        let mut solver = begun.unwrap_or_else(|| Solver::new(&self.leaves, &self.y, noise, None, par));
        for _ in 0..most {
            if solver.is_done() || !solver.step(&self.leaves, par) {
                break;
            }
        }
        if solver.is_done() {
            let all: Vec<usize> = (0..self.labels.len()).collect();
            self.found.push(LeafScores::new(&self.forest, &self.leaves, &all, &solver.alpha, par));
            // What suits one noise is the first guess for the next.
            if let Some(noise) = self.noises.get(self.found.len()) {
                let guess = Some(solver.alpha);
                self.solver = Some(Solver::new(&self.leaves, &self.y, *noise, guess, par));
            }
        } else {
            self.solver = Some(solver);
        }
        self.found.len() == self.noises.len()
    }

    /// The process with the noise that the rows which judge prefer; none if it has not learnt yet.
    pub fn finish(
        self,
        params: &ForestKernelParams,
        judges: &Judges<'_>,
        par: &Par,
    ) -> Result<Option<Process>> {
        let mut best: Option<(f64, Array2<f64>, LeafScores, Verdict)> = None;
        for (noise, scores) in self.noises.into_iter().zip(self.found) {
            let table = known(scores.of(&self.forest, judges.x, par)?, &self.labels);
            let calibration = Calibration::fit(&table, judges.labels, par);
            let loss = calibration.loss(&table, judges.labels);
            if best.as_ref().is_none_or(|(least, ..)| loss < *least) {
                best = Some((loss, table, scores, Verdict { noise, calibration, blend: None }));
            }
        }
        let Some((_, mut proba, scores, mut verdict)) = best else { return Ok(None) };
        for mut row in proba.rows_mut() {
            row.as_slice_mut().into_iter().for_each(|row| verdict.calibration.apply(row));
        }
        if params.blend {
            let found = blend(&[judges.forest.to_owned()], &proba, judges.labels);
            let mut both = vec![0.0; proba.ncols()];
            for (mut row, forest) in proba.rows_mut().into_iter().zip(judges.forest.rows()) {
                found.apply(&forest.to_vec(), &row.to_vec(), &mut both);
                row.iter_mut().zip(&both).for_each(|(to, p)| *to = *p);
            }
            verdict.blend = Some(found);
        }
        Ok(Some(Process { forest: self.forest, scores, verdict, proba }))
    }
}

impl Process {
    /// Trees of its forest.
    pub fn n_trees(&self) -> usize {
        self.forest.trees().len()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.forest.bytes() + self.scores.bytes()
    }
}

impl ForestKernelClassifier {
    /// A forest that answers alone, until there is a process. It learns no more, until [`Self::remembering`].
    pub fn of_forest(params: &Checked<ForestKernelParams>, forest: Forest) -> Self {
        Self {
            n_classes: forest.n_classes(),
            params: params.get().clone(),
            part: Part::Alone(Box::new(forest)),
            verdict: None,
            scores: None,
            course: None,
        }
    }

    /// The model of a process and its own forest. It learns no more, until [`Self::remembering`].
    pub fn of_process(params: &Checked<ForestKernelParams>, process: &Process) -> Self {
        Self {
            verdict: Some(process.verdict.clone()),
            scores: Some(process.scores.clone()),
            ..Self::of_forest(params, Forest::clone(&process.forest))
        }
    }

    /// The same with all rows that there were, so that it can go on learning.
    #[must_use]
    pub fn remembering(self, data: Dataset) -> Self {
        let course = Some(Course::of_fitted(data.n_rows() as u64, data.schema.n_features()));
        let part = match self.part {
            Part::Alone(forest) => Part::Learning(Box::new(OnlineForest::from_fitted(*forest, data))),
            learning @ Part::Learning(_) => learning,
        };
        Self { part, course, ..self }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, Params as _, Silent, Training};

    use super::super::train::learn;
    use super::*;

    #[test]
    fn in_slices_a_process_learns_what_it_learns_in_one_go() {
        let data = blobs(400, 3, 3, 1);
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let params = ForestKernelParams { noise_variance: 0.0, ..Default::default() };
        let of_forest = hedgerow_forest::ForestParams { n_trees: 10, ..Default::default() }.check().unwrap();
        let forest = Forest::fit(&data, &of_forest, &training).unwrap().forest;
        let whole = learn(&forest, &data, &params, &NOISES, &training).unwrap();
        let mut work = ProcessWork::new(forest, &data, &[], &params, &par).unwrap();
        let mut n_slices = 0;
        while !work.steps(2, &par) {
            n_slices += 1;
            assert!(n_slices < 1000);
        }
        assert!(n_slices > 3 && work.found == whole && work.progress() == [3, 3], "{n_slices} slices");
        // Rows that judge are not learnt, and what is said of them is what the model says.
        let is_judge: Vec<bool> = (0..400).map(|row| row % 5 == 0).collect();
        let rows: Vec<usize> = (0..400).filter(|row| is_judge[*row]).collect();
        let judges = data.select(&rows);
        let others = data.select(&(0..400).filter(|row| !is_judge[*row]).collect::<Vec<_>>());
        let forest = Forest::fit(&others, &of_forest, &training).unwrap().forest;
        let x = judges.features.to_array(0..rows.len());
        let said = forest.predict_proba(x.view(), &par).unwrap();
        let mut work = ProcessWork::new(forest, &data, &is_judge, &params, &par).unwrap();
        while !work.slice(&par) {}
        let judged = Judges { x: x.view(), forest: said.view(), labels: &judges.labels };
        let process = work.finish(&params, &judged, &par).unwrap().unwrap();
        let model = ForestKernelClassifier::of_process(&params.check().unwrap(), &process);
        assert_eq!((model.n_active(), model.can_learn()), (320, false));
        let answers = model.predict_proba(x.view(), &par).unwrap();
        assert!(answers.iter().zip(&process.proba).all(|(a, b)| (a - b).abs() < 1e-12));
        let model = model.remembering(data.clone());
        assert!(model.can_learn() && model.n_seen() == 400);
    }
}
