//! How good lengths are for classes.

use hedgerow_core::{Budget, ClassId, Par};
use ndarray::{Array2, Axis};

use super::machines::{ClassTask, Machines};
use super::shared::Grown;
use crate::basis::Basis;
use crate::design::Design;
use crate::options::Options;
use crate::params::{MultiClass, RvmParams};
use crate::search::Judge;

/// Relevant rows of a shared regression that only judges, at most, unless it has many rows: fewer tell lengths apart as well.
const MOST_RELEVANT: usize = 100;

/// Judges lengths for classes.
pub(super) struct ClassJudge<'a> {
    pub(super) x: &'a Array2<f64>,
    pub(super) labels: &'a [ClassId],
    pub(super) n_classes: usize,
    pub(super) params: &'a RvmParams,
    pub(super) options: &'a Options,
    pub(super) budget: &'a Budget,
    /// One thread.
    pub(super) par: &'a Par,
}

/// What was fitted to some rows.
enum Fitted {
    Shared(Box<Grown>),
    Machines(Machines),
}

impl ClassJudge<'_> {
    /// Fits what will be fitted, or what is like it, to some rows as the kernel sees them.
    fn fit(&self, basis: &Basis, x: &Array2<f64>, rows: &[usize]) -> Option<Fitted> {
        let labels: Vec<ClassId> = rows.iter().map(|&row| self.labels[row]).collect();
        // With many classes, machines against the rest stand for all other machines.
        let is_shared = self.params.multi_class == MultiClass::Shared;
        let multi_class = if is_shared { MultiClass::Shared } else { MultiClass::Rest };
        let params = RvmParams { multi_class, reinsert: false, ..self.params.clone() };
        let task = ClassTask {
            x: x.view(),
            labels: &labels,
            n_classes: self.n_classes,
            basis,
            params: &params,
            options: self.options,
            budget: self.budget,
        };
        let combination = task.combination();
        if combination.how == MultiClass::Shared {
            let most = params.most_relevant(rows.len(), combination.known.len());
            let most = most.min((rows.len() / 4).max(MOST_RELEVANT));
            return task
                .grower(basis, most, self.par)
                .grow()
                .ok()
                .map(|grown| Fitted::Shared(Box::new(grown)));
        }
        task.train(self.par).ok().map(Fitted::Machines)
    }

    fn rows(&self, basis: &Basis, rows: &[usize]) -> Array2<f64> {
        basis.map(self.x.select(Axis(0), rows))
    }
}

impl Judge for ClassJudge<'_> {
    fn left_out(&self, lengths: &[f64], train: &[usize], test: &[usize]) -> Option<f64> {
        let basis = Basis::new(self.params.kernel, lengths.to_vec());
        let (x, asked) = (self.rows(&basis, train), self.rows(&basis, test));
        let proba = match self.fit(&basis, &x, train)? {
            Fitted::Shared(grown) => {
                let Grown { shared, relevant, .. } = *grown;
                let known: Vec<usize> = (0..self.n_classes).collect();
                let relevant = x.select(Axis(0), &relevant);
                shared.answers(asked.view(), relevant.view(), &basis, self.n_classes, &known)
            }
            Fitted::Machines(Machines { trained, combination }) => {
                let design = Design { x: x.view(), kernel: &basis.kernel };
                let mut scores = Array2::zeros((test.len(), trained.len()));
                for (trained, mut column) in trained.iter().zip(scores.columns_mut()) {
                    let centers = design.centers(&trained.model.columns);
                    let phi = centers.values(&basis.kernel, asked.view(), self.par);
                    column.assign(&phi.dot(&trained.model.mean));
                }
                combination.probabilities(&scores, self.n_classes)
            }
        };
        let score: f64 = test
            .iter()
            .zip(proba.rows())
            .map(|(&row, p)| libm::log(p[self.labels[row].index()].max(1e-15)))
            .sum();
        Some(score).filter(|score| score.is_finite())
    }

    fn evidence(&self, lengths: &[f64], rows: &[usize]) -> Option<f64> {
        let basis = Basis::new(self.params.kernel, lengths.to_vec());
        let evidence = match self.fit(&basis, &self.rows(&basis, rows), rows)? {
            Fitted::Shared(grown) => grown.log_evidence,
            Fitted::Machines(Machines { trained, .. }) => trained.iter().map(|t| t.model.log_evidence).sum(),
        };
        Some(evidence).filter(|score| score.is_finite())
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups = vec![Vec::new(); self.n_classes];
        self.labels.iter().enumerate().for_each(|(row, label)| groups[label.index()].push(row));
        groups.retain(|group| !group.is_empty());
        groups
    }
}
