//! A classifier that was read. Factors of matrices are not in files: they follow from the rest.

use hedgerow_core::calibration::Platt;
use hedgerow_core::saved::{Saved, require, require_rules, require_sizes};
use hedgerow_core::{Par, Result, Schema};

use super::rule::{Reading, Rule};
use super::{GpClassifier, GpMethod};
use crate::binary::{BinaryPosterior, factor_of_one_and};
use crate::likelihood::Likelihood;

impl Saved for GpClassifier {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        require_sizes(self, schema)?;
        require_rules(&self.params)?;
        self.preparation.check()?;
        let n_classes = self.n_classes;
        require(n_classes >= 2, || format!("a classifier of {n_classes} classes"))?;
        let ((n, width), expected) = (self.rows().dim(), self.preparation.width());
        let fits = n > 0 && width == expected && self.rows().iter().all(|v| v.is_finite());
        require(fits, || format!("{n} rows of {width} columns, where columns become {expected}"))?;
        self.kernel.check_rows(self.rows())?;
        let (par, method) = (Par::sequential(), self.params.method);
        let n_columns = if n_classes == 2 { 1 } else { n_classes };
        match (&mut self.rule, method) {
            (Rule::Linear { weights, offsets, reading }, _) => {
                let is_curve = |curve: &Platt| curve.slope.is_finite() && curve.offset.is_finite();
                let (expected, reads) = match (method, reading) {
                    (GpMethod::Labels, Reading::Curves(curves)) => {
                        (n_columns, curves.len() == n_columns && curves.iter().all(is_curve))
                    }
                    (GpMethod::Cik, Reading::Shares) | (GpMethod::Sik, Reading::Simplex) => (n_classes, true),
                    _ => (0, false),
                };
                let fits = weights.dim() == (n, expected)
                    && offsets.len() == expected
                    && weights.iter().chain(offsets.iter()).all(|v| v.is_finite());
                require(reads && fits, || format!("expected weights of {n} rows for {expected} scores"))
            }
            (Rule::Latent { posteriors, likelihood }, GpMethod::Laplace | GpMethod::Ep) => {
                let is_laplace = method == GpMethod::Laplace;
                let expected = if is_laplace { self.params.likelihood } else { Likelihood::Probit };
                let is_sound = |posterior: &BinaryPosterior| {
                    [posterior.alpha.len(), posterior.root.len()] == [n, n]
                        && posterior.alpha.iter().chain(&posterior.root).all(|v| v.is_finite())
                };
                let fits = *likelihood == expected
                    && posteriors.len() == n_classes
                    && posteriors.iter().flatten().all(is_sound)
                    && posteriors.iter().any(Option::is_some);
                require(fits, || format!("expected posteriors of {n} rows for {n_classes} classes"))?;
                let k = self.kernel.lower(self.x.view(), &par);
                for posterior in posteriors.iter_mut().flatten() {
                    posterior.factor = factor_of_one_and(&k, &posterior.root, &par)?;
                }
                Ok(())
            }
            (Rule::Softmax(model), GpMethod::Softmax) => {
                model.complete(&self.kernel, n_classes, self.params.seed, &par)
            }
            (Rule::Dsgq(model), GpMethod::Dsgq) => model.complete(&self.kernel, n_columns, &par),
            _ => require(false, || format!("what was learnt is not of the method {method:?}")),
        }
    }
}
