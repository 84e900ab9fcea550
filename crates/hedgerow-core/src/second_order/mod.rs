//! Second-order predictions: a distribution over the probabilities of the classes, for every row.
//!
//! A probability says which class is likely; a distribution over probabilities also says how sure that is. Two very different things are told
//! this way, and [`About`] keeps them apart: how much evidence there is near a row, and where the true class probability lies. The distributions are
//! Dirichlet distributions (beta distributions for two classes), normal distributions of log odds, or samples; [`SecondOrder`] is all of them.

mod dirichlet;
mod even;
mod logit_normal;
mod nearby;
mod odds;
mod parts;
mod reach;
mod samples;

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, ArrayView3, Axis};

pub use even::labels_like;
pub use nearby::{NearbyRows, Supported};
pub use odds::{log_odds, shared_prior};
pub use parts::Parts;

use crate::error::{Error, Result, check_shapes};
use crate::par::Par;
use crate::params::require;
use crate::rng::{Purpose, Rng};
use crate::traits::Classifier;
use dirichlet::Dirichlet;
use logit_normal::LogitNormal;
use samples::Samples;

/// What second-order distributions are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum About {
    /// How many labels near a row support its prediction. With more evidence a distribution is narrower, far from all rows it is the prior. This
    /// compares rows with each other and claims no coverage: labels alone cannot show whether such a spread is right (Bengs, Hüllermeier and
    /// Waegeman, 2022, Pitfalls of epistemic uncertainty quantification through loss minimisation).
    RelativeEvidence,
    /// Where the true probability of a class lies, over training sets that might have been drawn. An interval at a level claims to cover
    /// the true probability that often.
    TrueProbability,
}

impl About {
    /// Its name, for results.
    pub fn name(self) -> &'static str {
        match self {
            Self::RelativeEvidence => "relative evidence",
            Self::TrueProbability => "true probability",
        }
    }
}

/// A distribution over class probabilities for each of some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondOrder {
    about: About,
    form: Form,
}

#[derive(Debug, Clone, PartialEq)]
enum Form {
    Dirichlet(Dirichlet),
    LogitNormal(LogitNormal),
    Samples(Samples),
}

macro_rules! either {
    ($of:expr, $distributions:ident => $work:expr) => {
        match &$of.form {
            Form::Dirichlet($distributions) => $work,
            Form::LogitNormal($distributions) => $work,
            Form::Samples($distributions) => $work,
        }
    };
}

impl SecondOrder {
    /// A Dirichlet distribution for each row of `concentrations`, which has a column for each class. `prior` is the part of every
    /// concentration that does not come from labels. Fails unless concentrations are above 0 and not below the prior.
    pub fn dirichlet(about: About, concentrations: Array2<f64>, prior: f64) -> Result<Self> {
        let is_good = |v: &f64| *v > 0.0 && v.is_finite() && *v >= prior;
        if let Some(wrong) = concentrations.iter().find(|v| !is_good(v)) {
            return Err(Error::param("concentrations", "numbers above 0, and the prior at least", wrong));
        }
        require("prior", prior, prior >= 0.0, "0 or more")?;
        Ok(Self { about, form: Form::Dirichlet(Dirichlet { concentrations, prior }) })
    }

    /// Samples of probability vectors: sample, row, class. Fails without samples, and unless each vector is a distribution.
    pub fn samples(about: About, samples: Array3<f64>) -> Result<Self> {
        require("samples", samples.dim().0, samples.dim().0 > 0, "one or more")?;
        for vector in samples.lanes(Axis(2)) {
            let is_distribution = vector.iter().all(|p| (0.0..=1.0 + 1e-9).contains(p))
                && (vector.is_empty() || (vector.sum() - 1.0).abs() < 1e-6);
            require("samples", vector, is_distribution, "probabilities that sum to 1")?;
        }
        Ok(Self { about, form: Form::Samples(Samples(samples)) })
    }

    /// Normal distributions of the log odds ln q/(1 − q) of each class's probability: their means and deviations, a row each and a column for each
    /// class. A deviation of 0 stands for a probability that is known. Quantiles below the median that are smaller than `resolution` are 0, those above it
    /// that are as near 1 are 1: so small a probability cannot be told from none. Fails unless the tables are of one size and finite, deviations not
    /// below 0, and the resolution is below a half.
    pub fn logit_normal(
        about: About,
        location: Array2<f64>,
        deviation: Array2<f64>,
        resolution: f64,
    ) -> Result<Self> {
        check_shapes([
            ("rows of deviations", location.nrows(), deviation.nrows()),
            ("columns of deviations", location.ncols(), deviation.ncols()),
        ])?;
        if let Some(wrong) = location.iter().find(|v| !v.is_finite()) {
            return Err(Error::param("location", "finite numbers", wrong));
        }
        if let Some(wrong) = deviation.iter().find(|v| !(v.is_finite() && **v >= 0.0)) {
            return Err(Error::param("deviation", "finite numbers of 0 or more", wrong));
        }
        require("resolution", resolution, (0.0..0.5).contains(&resolution), "a number from 0 to 0.5")?;
        Ok(Self { about, form: Form::LogitNormal(LogitNormal { location, deviation, resolution }) })
    }

    /// What the distributions are about.
    pub fn about(&self) -> About {
        self.about
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        either!(self, distributions => distributions.dim().0)
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> usize {
        either!(self, distributions => distributions.dim().1)
    }

    /// The concentrations, where the distributions are Dirichlet distributions.
    pub fn concentrations(&self) -> Option<ArrayView2<'_, f64>> {
        match &self.form {
            Form::Dirichlet(dirichlet) => Some(dirichlet.concentrations.view()),
            Form::LogitNormal(_) | Form::Samples(_) => None,
        }
    }

    /// The mean of each class's probability: a row each, a column for each class.
    pub fn mean(&self) -> Array2<f64> {
        either!(self, distributions => distributions.mean())
    }

    /// The variance of each class's probability.
    pub fn variance(&self) -> Array2<f64> {
        either!(self, distributions => distributions.variance())
    }

    /// The quantile of each class's probability at a level from 0 to 1.
    pub fn quantile(&self, level: f64) -> Result<Array2<f64>> {
        require("level", level, (0.0..=1.0).contains(&level), "a number from 0 to 1")?;
        Ok(self.quantile_at(level))
    }

    /// Equal-tailed intervals that hold so much of each class's distribution: the lower ends, and the upper ones. What such an interval claims
    /// depends on what the distributions are [about](Self::about).
    pub fn interval(&self, level: f64) -> Result<[Array2<f64>; 2]> {
        require("level", level, level > 0.0 && level < 1.0, "a number between 0 and 1")?;
        let tail = 0.5 * (1.0 - level);
        Ok([tail, 1.0 - tail].map(|at| self.quantile_at(at)))
    }

    fn quantile_at(&self, level: f64) -> Array2<f64> {
        let of = |(row, class): (usize, usize)| either!(self, distributions => distributions.quantile(row, class, level));
        Array2::from_shape_fn((self.n_rows(), self.n_classes()), of)
    }

    /// The density of a class's probability at some points: a row each, a column for each point. Samples are smoothed by a normal kernel
    /// of the normal-reference bandwidth, reflected at 0 and 1.
    pub fn density(&self, class: usize, points: &[f64]) -> Result<Array2<f64>> {
        let n_classes = self.n_classes();
        require("class", class, class < n_classes, &format!("a class below {n_classes}"))?;
        let mut out = Array2::zeros((self.n_rows(), points.len()));
        for (row, mut densities) in out.rows_mut().into_iter().enumerate() {
            let found = either!(self, distributions => distributions.density(row, class, points));
            densities.assign(&ArrayView1::from(&found));
        }
        Ok(out)
    }

    /// How uncertain each prediction is, in nats: the entropy of the mean, of which the expected entropy is aleatoric and the rest, the mutual
    /// information of class and probabilities, epistemic (Depeweg et al., 2018, Decomposition of uncertainty).
    pub fn entropies(&self) -> Parts {
        either!(self, distributions => distributions.entropies())
    }

    /// The same by variances, summed over classes: m(1 − m) in total, of which the variance of the probability is epistemic and the rest
    /// aleatoric (Sale et al., 2024, Label-wise aleatoric and epistemic uncertainty quantification).
    pub fn variances(&self) -> Parts {
        let (mean, variance) = (self.mean(), self.variance());
        let total = mean.map_axis(Axis(1), |m| m.iter().map(|m| m * (1.0 - m)).sum::<f64>());
        let epistemic = variance.map_axis(Axis(1), |v| v.sum());
        Parts::new(total.to_vec(), epistemic.to_vec())
    }

    /// Counts of labels that stand for the evidence: the concentrations without the prior. Of other distributions, those of the Dirichlet distribution
    /// that has their mean and their summed variance, without a prior.
    #[doc(alias = "predict_freq")]
    pub fn counts(&self) -> Array2<f64> {
        either!(self, distributions => distributions.counts())
    }

    /// Draws probability vectors: sample, row, class. The draws of a row depend on the seed and on its place alone.
    #[doc(alias = "sample_proba")]
    pub fn sample(&self, n_samples: usize, seed: u64) -> Array3<f64> {
        let (n_rows, n_classes) = (self.n_rows(), self.n_classes());
        let mut out = Array3::zeros((n_samples, n_rows, n_classes));
        for (row, mut draws) in out.axis_iter_mut(Axis(1)).enumerate() {
            let mut rng = Rng::new(seed, Purpose::SecondOrder, row as u64);
            for mut draw in draws.rows_mut() {
                let drawn = either!(self, distributions => distributions.draw(row, &mut rng));
                draw.assign(&ArrayView1::from(&drawn));
            }
        }
        out
    }

    /// The samples, where the distributions are samples.
    pub fn as_samples(&self) -> Option<ArrayView3<'_, f64>> {
        match &self.form {
            Form::Dirichlet(_) | Form::LogitNormal(_) => None,
            Form::Samples(samples) => Some(samples.0.view()),
        }
    }
}

/// A classifier that tells how much evidence there is for its predictions: [`About::RelativeEvidence`].
///
/// The mean of a distribution is the model's estimate before calibration: probabilities that are to be used as such come from
/// [`Classifier`]. Its spread tells how many labels there are nearby, and is that of the prior where there are none. It compares rows; an interval of
/// it claims no coverage of the true probability, and must not be shown as if it did.
pub trait RelativeEvidence: Classifier {
    /// The distributions of rows of the right width. Implementers may rely on that, and return [`About::RelativeEvidence`] with a row for each and a
    /// column for each class.
    fn predict_evidence_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder>;

    /// A distribution over the class probabilities for every row.
    fn predict_evidence(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder> {
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        self.predict_evidence_impl(x, par)
    }
}

/// A classifier that tells where the true class probabilities lie: [`About::TrueProbability`].
///
/// The distributions are over training sets that might have been drawn: an interval at a level claims to cover the true probability of a class
/// that often, on average over rows. What checks that claim are generators whose class probabilities are known.
pub trait TrueProbability: Classifier {
    /// The distributions of rows of the right width. Implementers may rely on that, and return [`About::TrueProbability`] with a row for each and a
    /// column for each class.
    fn predict_true_probability_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder>;

    /// A distribution of the true probability of every class of every row.
    fn predict_true_probability(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder> {
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        self.predict_true_probability_impl(x, par)
    }
}

#[cfg(test)]
mod tests;
