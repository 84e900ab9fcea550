//! What a classifier has learnt from its rows, and how it predicts with it.

use hedgerow_core::saved::{array, require};
use hedgerow_core::{Calibration, Latent, OutOfSample, Par, Result, Training};
use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::Ivm;
use super::one_vs_rest::OneVsRest;
use super::rows::{TrainingRows, union};
use crate::kernel::Kernel;
use crate::prepare::Preparation;
use crate::refit::{Refit, Refitted};
use crate::regression::Normal;

/// One class against the rest: its active rows, as numbers of the training rows or of the union, and their sites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sites {
    #[serde(with = "array")]
    pub(super) active: Vec<usize>,
    #[serde(with = "array")]
    pub(super) means: Vec<f64>,
    #[serde(with = "array")]
    pub(super) precisions: Vec<f64>,
    pub(super) bias: f64,
}

/// What was learnt from rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Learnt {
    /// Length scale and variance of the kernel.
    pub(super) kernel: [f64; 2],
    /// Those of each class, where classes have their own; otherwise none.
    pub(super) class_kernels: Vec<[f64; 2]>,
    /// The rows that are active for any class and those that the regression chose, prepared.
    #[serde(with = "array")]
    pub(super) rows: Array2<f32>,
    /// The sites of each class; none for a class without rows, and for the first of two classes.
    pub(super) sites: Vec<Option<Sites>>,
    /// The binary classifiers; none where scores come from the regression.
    #[serde(skip)]
    pub(super) posteriors: Vec<Option<Ivm>>,
    pub(super) refit: Option<Refit>,
    pub(super) calibration: Calibration,
}

/// Where the scores of a classifier come from.
pub(super) enum Scores {
    /// From the posterior of each class; these scores calibrate it.
    Posterior(OutOfSample),
    /// From a regression on basis rows, of which the active rows come first.
    Regression(Box<Refitted>),
}

/// What was learnt, what each training row is worth, and calibrated out-of-sample probabilities.
pub(super) struct Outcome {
    pub(super) learnt: Learnt,
    /// The information gain of each active row when it joined; 0 for the others.
    pub(super) gains: Vec<f64>,
    /// The rating of each row: the largest of any class.
    pub(super) ratings: Vec<f64>,
    pub(super) validation: OutOfSample,
}

impl Sites {
    /// Whether they are sites of so many rows.
    fn fits(&self, n_rows: usize) -> bool {
        let n = self.active.len();
        [self.means.len(), self.precisions.len()] == [n, n]
            && self.active.iter().all(|row| *row < n_rows)
            && self.means.iter().chain(&self.precisions).all(|v| v.is_finite() && v.abs() < 1e30)
            && self.precisions.iter().all(|v| *v > 0.0)
            && self.bias.is_finite()
    }
}

impl Learnt {
    /// Checks what was read, and builds what was not written.
    pub(super) fn complete(&mut self, preparation: &Preparation, noise: f64, n_classes: usize) -> Result<()> {
        let (n_rows, n_known) = (self.rows.nrows(), self.sites.len());
        let mut kernels = self.kernel.iter().chain(self.class_kernels.iter().flatten());
        let fits = kernels.all(|v| *v > 0.0 && v.is_finite())
            && self.class_kernels.len() <= n_known
            && n_known <= n_classes
            && self.calibration.is_valid()
            && self.calibration.curves.len() == n_known
            && self.rows.ncols() == preparation.width()
            && self.rows.iter().all(|v| v.is_finite() && v.abs() < 1e30);
        require(fits, || "kernel, calibration, classes and rows do not fit together")?;
        let are_sites = self.sites.iter().flatten().all(|sites| sites.fits(n_rows));
        require(are_sites, || "expected rows, means and precisions above 0 as sites")?;
        self.refit.as_ref().map_or(Ok(()), |refit| refit.check(n_rows, n_known))?;
        self.build_posteriors(noise, &Par::sequential())
    }

    /// Puts together what was found for each class.
    pub(super) fn assemble(
        rows: &TrainingRows,
        kernel: [f64; 2],
        class_kernels: &[[f64; 2]],
        found: &[impl AsRef<OneVsRest>],
        scores: Scores,
        training: &Training<'_>,
    ) -> Result<Outcome> {
        let union = union(found);
        let place = |row: &usize| union.binary_search(row).unwrap_or(0);
        let mut sites: Vec<Option<Sites>> = vec![None; rows.n_classes];
        let (mut gains, mut ratings) = (vec![0.0_f64; rows.n_rows()], vec![0.0_f64; rows.n_rows()]);
        for one in found.iter().map(AsRef::as_ref) {
            let active = one.sites.active.iter().map(place).collect();
            sites[one.class] = Some(Sites { active, ..one.sites.clone() });
            let pairs = one.sites.active.iter().zip(&one.gains);
            pairs.for_each(|(&row, gain)| gains[row] = gains[row].max(*gain));
            let own = one.ratings(&rows.labels);
            ratings.iter_mut().zip(own).for_each(|(most, rating)| *most = most.max(rating));
        }
        let (chosen, refit, mut validation) = match scores {
            Scores::Posterior(scores) => (union, None, scores),
            Scores::Regression(fit) => {
                // The regression may have chosen more rows than are active; they come after those.
                fit.chosen[union.len()..].iter().for_each(|&row| gains[row] = f64::MIN_POSITIVE);
                (fit.chosen, Some(fit.refit), fit.scores)
            }
        };
        let calibration = validation.calibration(training.par);
        validation.calibrate(&calibration, training.par);
        let mut learnt = Self {
            kernel,
            class_kernels: class_kernels.to_vec(),
            rows: rows.x.select(Axis(0), &chosen),
            sites,
            posteriors: Vec::new(),
            refit,
            calibration,
        };
        learnt.build_posteriors(rows.params.noise_variance, training.par)?;
        Ok(Outcome { learnt, gains, ratings, validation })
    }

    /// Builds the binary classifiers where predictions come from them.
    pub(super) fn build_posteriors(&mut self, noise: f64, par: &Par) -> Result<()> {
        if self.refit.is_none() {
            let all = par.map(self.sites.len(), |class| self.posterior(class, noise, &Par::sequential()));
            self.posteriors = all.into_iter().collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// The binary classifier of a class against the rest.
    pub(super) fn posterior(&self, class: usize, noise: f64, par: &Par) -> Result<Option<Ivm>> {
        let Some(Some(sites)) = self.sites.get(class) else { return Ok(None) };
        let [length, variance] = self.class_kernels.get(class).copied().unwrap_or(self.kernel);
        let kernel = Kernel::rbf(length).scaled(variance) + Kernel::white(noise);
        let rows = self.rows.select(Axis(0), &sites.active).mapv(f64::from);
        Ivm::new(kernel, sites, rows, par).map(Some)
    }

    /// Means, with the bias, and variances of the latent values of prepared rows: a column for each class that has a posterior.
    pub(super) fn latent(&self, x: ArrayView2<'_, f64>, noise: f64, par: &Par) -> Result<Latent> {
        let (mut means, mut variances) = (Vec::new(), Vec::new());
        for class in 0..self.sites.len() {
            let built = self.posteriors.get(class).and_then(Option::as_ref);
            let found = match built {
                Some(ivm) => Some((ivm.latent(x, par)?, ivm.bias())),
                None => match self.posterior(class, noise, par)? {
                    Some(ivm) => Some((ivm.latent(x, par)?, ivm.bias())),
                    None => None,
                },
            };
            if let Some((Normal { mean, variance }, bias)) = found {
                means.extend(mean.iter().map(|m| m + bias));
                variances.extend(variance);
            }
        }
        let n_columns = means.len() / x.nrows().max(1);
        let table = |values: Vec<f64>| {
            Array2::from_shape_fn((x.nrows(), n_columns), |(row, column)| values[column * x.nrows() + row])
        };
        Ok(Latent { mean: table(means), variance: table(variances) })
    }

    pub(super) fn bytes(&self) -> usize {
        let of_sites: usize = self.sites.iter().flatten().map(|s| 24 * s.active.len()).sum();
        let of_posteriors: usize = self.posteriors.iter().flatten().map(Ivm::bytes).sum();
        let of_refit = self.refit.as_ref().map_or(0, Refit::bytes);
        4 * self.rows.len() + of_sites + of_posteriors + of_refit
    }

    /// The probabilities of prepared rows.
    pub(super) fn predict(&self, x: ArrayView2<'_, f64>, n_classes: usize) -> Array2<f64> {
        let par = Par::sequential();
        if let Some(refit) = &self.refit {
            let rows = self.rows.mapv(f64::from);
            let covariances = Kernel::rbf(refit.length).cross(x, rows.view(), &par);
            let is_known = |class: usize| self.sites[class].is_some() || self.sites.len() == 2;
            return refit.predict(&covariances, &self.calibration, n_classes, is_known);
        }
        let mut scores = Array2::from_elem((x.nrows(), n_classes), f64::NEG_INFINITY);
        for (posterior, mut column) in self.posteriors.iter().zip(scores.columns_mut()) {
            if let Some(values) = posterior.as_ref().and_then(|posterior| posterior.scores(x, &par).ok()) {
                column.assign(&values);
            }
        }
        for mut row in scores.rows_mut() {
            row.as_slice_mut().into_iter().for_each(|row| self.calibration.apply(row));
        }
        scores
    }
}
