//! A classifier as facts and tables, and back. Factors of matrices are not saved: they follow from the rest.

use hedgerow_core::calibration::Platt;
use hedgerow_core::{Error, ModelProblem, Par, Params, Result};
use ndarray::{Array2, Axis, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use super::rule::{Reading, Rule};
use super::{GpClassifier, GpMethod, GpParams};
use crate::binary::{BinaryPosterior, factor_of_one_and};
use crate::dsgq::{Draws, Dsgq};
use crate::kernel::Kernel;
use crate::likelihood::Likelihood;
use crate::prepare::Preparation;
use crate::saved::Saved;
use crate::softmax::SoftmaxLaplace;

/// What a model file holds of a [`GpClassifier`] beside its tables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GpFacts {
    params: GpParams,
    n_classes: usize,
    preparation: Preparation,
    kernel: Kernel,
    /// From scores to probabilities, where that takes curves.
    curves: Vec<Platt>,
    /// Classes that have a posterior, or tasks that have draws.
    columns: Vec<usize>,
}

impl Saved for GpClassifier {
    type Facts = GpFacts;

    fn facts(&self) -> GpFacts {
        let curves = match &self.rule {
            Rule::Linear { reading: Reading::Curves(curves), .. } => curves.clone(),
            _ => Vec::new(),
        };
        let columns = match &self.rule {
            Rule::Latent { posteriors, .. } => {
                posteriors.iter().enumerate().filter(|(_, m)| m.is_some()).map(|(class, _)| class).collect()
            }
            Rule::Dsgq(model) => (0..model.draws().len()).collect(),
            _ => Vec::new(),
        };
        let (params, preparation, kernel) =
            (self.params.clone(), self.preparation.clone(), self.kernel.clone());
        GpFacts { params, n_classes: self.n_classes, preparation, kernel, curves, columns }
    }

    fn tables(&self) -> Vec<(String, CowArray<'_, f64, Ix2>)> {
        let mut tables = vec![("rows".to_string(), CowArray::from(self.rows()))];
        match &self.rule {
            Rule::Linear { weights, offsets, .. } => {
                tables.push(("weights".into(), CowArray::from(weights.view())));
                tables.push(("offsets".into(), CowArray::from(offsets.view().insert_axis(Axis(0)))));
            }
            Rule::Latent { posteriors, .. } => {
                for (class, posterior) in posteriors.iter().enumerate() {
                    let Some(posterior) = posterior else { continue };
                    let row = |v| CowArray::from(ndarray::ArrayView1::insert_axis(v, Axis(0)));
                    tables.push((format!("alpha.{class}"), row(posterior.alpha.view())));
                    tables.push((format!("root.{class}"), row(posterior.root.view())));
                }
            }
            Rule::Softmax(model) => tables.push(("gradient".into(), CowArray::from(model.gradient().view()))),
            Rule::Dsgq(model) => {
                for (column, draws) in model.draws().iter().enumerate() {
                    let weights = draws.weights.view().insert_axis(Axis(0));
                    tables.push((format!("draws.{column}"), CowArray::from(draws.solved.view())));
                    tables.push((format!("draw_weights.{column}"), CowArray::from(weights)));
                }
            }
        }
        tables
    }

    fn restore(facts: GpFacts, table: &mut dyn FnMut(&str) -> Result<Array2<f64>>) -> Result<Self> {
        let GpFacts { params, n_classes, preparation, kernel, curves, columns } = facts;
        params.rules()?;
        if n_classes < 2 {
            return Err(wrong(format!("a classifier of {n_classes} classes")));
        }
        let mut x = finite(table, "rows")?;
        if x.ncols() != preparation.width() || x.nrows() == 0 {
            let (n, width) = (x.ncols(), preparation.width());
            return Err(wrong(format!("{} rows of {n} columns, where columns become {width}", x.nrows())));
        }
        kernel.check_rows(x.view())?;
        let n = x.nrows();
        let n_columns = if n_classes == 2 { 1 } else { n_classes };
        let par = Par::sequential();
        let rule = match params.method {
            GpMethod::Labels | GpMethod::Cik | GpMethod::Sik => {
                let expected = if params.method == GpMethod::Labels { n_columns } else { n_classes };
                let weights = sized(table, "weights", (n, expected))?;
                let offsets = sized(table, "offsets", (1, expected))?.row(0).to_owned();
                let reading = match params.method {
                    GpMethod::Cik => Reading::Shares,
                    GpMethod::Sik => Reading::Simplex,
                    _ => Reading::Curves(checked_curves(curves, expected)?),
                };
                Rule::Linear { weights, offsets, reading }
            }
            GpMethod::Laplace | GpMethod::Ep => {
                let is_laplace = params.method == GpMethod::Laplace;
                let likelihood = if is_laplace { params.likelihood } else { Likelihood::Probit };
                let k = kernel.lower(x.view(), &par);
                let mut posteriors = vec![None; n_classes];
                for class in columns {
                    let Some(place) = posteriors.get_mut(class) else {
                        return Err(wrong(format!("class {class} of {n_classes}")));
                    };
                    let alpha = sized(table, &format!("alpha.{class}"), (1, n))?.row(0).to_owned();
                    let root = sized(table, &format!("root.{class}"), (1, n))?.row(0).to_owned();
                    let factor = factor_of_one_and(&k, &root, &par)?;
                    *place = Some(BinaryPosterior { alpha, root, factor, log_evidence: f64::NAN });
                }
                Rule::Latent { posteriors, likelihood }
            }
            GpMethod::Softmax => {
                let gradient = sized(table, "gradient", (n, n_classes))?;
                let rows = std::mem::replace(&mut x, Array2::zeros((0, 0)));
                Rule::Softmax(SoftmaxLaplace::from_gradient(
                    kernel.clone(),
                    rows,
                    gradient,
                    params.seed,
                    &par,
                )?)
            }
            GpMethod::Dsgq => {
                if columns.len() != n_columns {
                    return Err(wrong(format!("{} tasks, where {n_columns} are wanted", columns.len())));
                }
                let mut each = Vec::with_capacity(n_columns);
                for column in 0..n_columns {
                    let solved = finite(table, &format!("draws.{column}"))?;
                    let weights = sized(table, &format!("draw_weights.{column}"), (1, solved.nrows()))?;
                    if solved.ncols() != n {
                        return Err(wrong(format!("draws of {} numbers for {n} rows", solved.ncols())));
                    }
                    let draws = Draws::from_parts(solved, weights.row(0).to_owned());
                    each.push(draws.ok_or_else(|| wrong(format!("the weights of draws {column}")))?);
                }
                let rows = std::mem::replace(&mut x, Array2::zeros((0, 0)));
                Rule::Dsgq(Dsgq::from_draws(kernel.clone(), 1.0, rows, each, &par)?)
            }
        };
        Ok(Self { params, n_classes, preparation, kernel, x, rule })
    }
}

fn wrong(detail: String) -> Error {
    Error::model(ModelProblem::Inconsistent { detail })
}

fn checked_curves(curves: Vec<Platt>, expected: usize) -> Result<Vec<Platt>> {
    if curves.len() != expected || curves.iter().any(|c| !(c.slope.is_finite() && c.offset.is_finite())) {
        return Err(wrong(format!("{} curves, where {expected} finite ones are wanted", curves.len())));
    }
    Ok(curves)
}

fn finite(table: &mut dyn FnMut(&str) -> Result<Array2<f64>>, name: &str) -> Result<Array2<f64>> {
    let found = table(name)?.as_standard_layout().into_owned();
    if found.iter().all(|v| v.is_finite()) {
        return Ok(found);
    }
    Err(Error::model(ModelProblem::Part { part: name.into(), detail: "numbers that are not finite".into() }))
}

fn sized(
    table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
    name: &str,
    expected: (usize, usize),
) -> Result<Array2<f64>> {
    let found = finite(table, name)?;
    if found.dim() == expected {
        return Ok(found);
    }
    let detail = format!(
        "expected {} × {} numbers, got {} × {}",
        expected.0,
        expected.1,
        found.nrows(),
        found.ncols()
    );
    Err(Error::model(ModelProblem::Part { part: name.into(), detail }))
}
