//! A forest whose predictions are blended with those of Informative Vector Machines (IVMs).
//!
//! Which predictions get an IVM, and the exponents of the blend, come from out-of-sample predictions: out-of-bag predictions of the forest and
//! out-of-fold predictions of the IVMs when a model is fitted, prequential predictions afterwards. Predictions for rows that a forest was fitted to
//! would show no need of an IVM: it predicts nearly all of them right.
//!
//! `validation` holds those rows and fits the blends to them, [`Blend`] combines two predictions, [`BlendReport`] counts what the blend changed,
//! `online` goes on learning.

mod online;
mod params;
mod run;
mod saved;
#[cfg(test)]
mod tests;
mod validation;

use hedgerow_core::blend::Pair;
use hedgerow_core::traits::largest;
use hedgerow_core::{
    BlendReport, BoxedRun, Checked, Classifier, KindInfo, ModelKind, Par, Params as _, Result, RunStart,
    Schema,
};
use hedgerow_forest::{Forest, ForestModel, ForestParams};
use hedgerow_gp::IvmClassifier;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use serde::{Deserialize, Serialize};

pub use hedgerow_core::Blend;
use online::OnlineState;
pub use params::{Combine, ForestIvmParams};
pub use run::ForestIvmRun;
use run::LEAST_WRONG;
use validation::IvmBlend;

/// A forest blended with IVMs, which ignore row weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForestIvm {
    params: ForestIvmParams,
    n_classes: usize,
    forest: ForestModel,
    ivms: Vec<AssignedIvm>,
    /// Predictions of the forest with at least this margin between the two most probable classes are not blended.
    margin: f64,
    report: BlendReport,
    /// What learning more needs; none if it was left out.
    online: Option<OnlineState>,
}

/// An IVM, and the predictions of the forest that it is blended with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AssignedIvm {
    /// The class predicted by the forest that it is assigned to; none if it is assigned to all rows.
    class: Option<usize>,
    ivm: IvmClassifier,
    blend: IvmBlend,
}

impl AssignedIvm {
    /// An IVM that knows nothing yet.
    fn new(class: Option<usize>, schema: &Schema, params: &ForestIvmParams) -> Result<Self> {
        let ivm = IvmClassifier::new(schema, &params.ivm_params().check()?)?;
        Ok(Self { class, ivm, blend: IvmBlend::default() })
    }
}

impl ForestIvm {
    /// The forest.
    pub fn forest(&self) -> &Forest {
        self.forest.forest()
    }

    /// What the blend changed, on out-of-sample predictions.
    pub fn blend_report(&self) -> &BlendReport {
        &self.report
    }

    /// IVMs, and those of them whose blend is used.
    pub fn n_ivms(&self) -> [usize; 2] {
        [self.ivms.len(), self.ivms.iter().filter(|assigned| assigned.blend.helps_any()).count()]
    }

    /// Rows in the active sets of all IVMs.
    pub fn n_active(&self) -> usize {
        self.ivms.iter().map(|assigned| assigned.ivm.n_active()).sum()
    }

    /// Length scale and signal variance of the first IVM's kernel.
    pub fn kernel(&self) -> Option<[f64; 2]> {
        self.ivms.first().and_then(|assigned| assigned.ivm.kernel())
    }

    /// The exponents of the blend, where there is one IVM for all rows.
    pub fn blend(&self) -> Option<Blend> {
        self.ivms.first().filter(|assigned| assigned.class.is_none()).map(|assigned| assigned.blend.exponents)
    }

    /// Predictions of the forest with at least this margin are not blended; 1 unless `combine=gate`.
    pub fn margin(&self) -> f64 {
        if self.params.combine == Combine::Gate { self.margin } else { 1.0 }
    }

    /// The IVM that a prediction of the forest is blended with, if any.
    fn ivm_for(&self, forest: &[f64]) -> Option<usize> {
        let predicted = largest(forest)?;
        let number = match self.params.combine {
            Combine::Pool => 0,
            Combine::Gate if validation::margin(forest) < self.margin => 0,
            Combine::Gate => return None,
            Combine::Route => self.ivms.iter().position(|assigned| assigned.class == Some(predicted))?,
        };
        self.ivms.get(number).filter(|assigned| assigned.blend.helps(predicted)).map(|_| number)
    }

    /// The blended prediction of a row, which is counted in the report.
    fn account_for(&mut self, row: &Pair) -> Vec<f64> {
        let mut all = row.forest.clone();
        let number = self.ivm_for(&row.forest).filter(|_| !row.gp.is_empty());
        if let Some(number) = number {
            self.ivms[number].blend.exponents.apply(&row.forest, &row.gp, &mut all);
        }
        self.report.add(row.class.index(), &row.forest, &all, number.is_some());
        all
    }
}

impl Classifier for ForestIvm {
    fn n_features(&self) -> usize {
        self.forest.forest().n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        self.forest().predict_proba_impl(x, par, out.view_mut());
        for (number, assigned) in self.ivms.iter().enumerate() {
            let rows: Vec<usize> =
                (0..x.nrows()).filter(|&row| self.ivm_for(&out.row(row).to_vec()) == Some(number)).collect();
            if rows.is_empty() {
                continue;
            }
            let mut predictions = Array2::zeros((rows.len(), assigned.ivm.n_classes()));
            assigned.ivm.predict_proba_impl(x.select(Axis(0), &rows).view(), par, predictions.view_mut());
            for (&row, prediction) in rows.iter().zip(predictions.rows()) {
                let forest = out.row(row).to_vec();
                let mut all = vec![0.0; forest.len()];
                assigned.blend.exponents.apply(&forest, &prediction.to_vec(), &mut all);
                out.row_mut(row).iter_mut().zip(all).for_each(|(to, p)| *to = p);
            }
        }
    }
}

impl ModelKind for ForestIvmParams {
    type Model = ForestIvm;

    const INFO: KindInfo = KindInfo {
        name: "forest-ivm",
        about: "A forest blended with Informative Vector Machines",
        noun: "a forest with Informative Vector Machines",
        work: "growing trees, then a kernel",
        params: "ForestIvmParams",
        ..KindInfo::LEARNER
    };

    fn new_model(schema: &Schema, params: &Checked<Self>) -> Result<ForestIvm> {
        let params = params.get().clone();
        let mut model = ForestIvm {
            n_classes: schema.n_classes(),
            forest: ForestParams::new_model(schema, &params.forest_params().check()?)?,
            ivms: Vec::new(),
            margin: 0.0,
            report: BlendReport::default(),
            online: Some(OnlineState::new(0, Vec::new())),
            params,
        };
        model.report.grow(model.n_classes);
        if model.params.combine != Combine::Route {
            model.ivms.push(AssignedIvm::new(None, schema, &model.params)?);
        }
        Ok(model)
    }

    fn start_run(start: &RunStart<'_, Self>) -> Result<BoxedRun<ForestIvm>> {
        Ok(Box::new(ForestIvmRun::new(start.data, start.params, start.lanes, start.training)?))
    }

    as_its_forest!();
}
