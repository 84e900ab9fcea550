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

use hedgerow_core::traits::largest;
use hedgerow_core::{
    Checked, Classifier, Dataset, Error, Par, Params as _, Result, Schema, StopReason, Training,
    TrainingRun as _, drive,
};
use hedgerow_forest::{Forest, ForestRun, OnlineForest};
use hedgerow_gp::IvmClassifier;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use serde::{Deserialize, Serialize};

pub use crate::blend::Blend;
pub use crate::blend_report::{BlendReport, ClassBlendReport};
use online::OnlineState;
pub use params::{Combine, ForestIvmParams};
pub use run::ForestIvmRun;
use run::LEAST_WRONG;
use validation::{ForestAndIvm, IvmBlend};

/// A forest, as far as it goes on learning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It only predicts.
    Alone(Box<Forest>),
    /// With its retained rows.
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

/// A forest blended with IVMs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForestIvm {
    params: ForestIvmParams,
    n_classes: usize,
    part: Part,
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

/// A fitted model and why fitting ended.
#[derive(Debug, Clone)]
pub struct FittedForestIvm {
    /// The model.
    pub model: ForestIvm,
    /// Why fitting ended.
    pub stop: StopReason,
}

impl ForestIvm {
    /// Fits a forest, and IVMs where it is wrong too often. IVMs ignore row weights.
    pub fn fit(
        data: &Dataset,
        params: &Checked<ForestIvmParams>,
        training: &Training<'_>,
    ) -> Result<FittedForestIvm> {
        ForestRun::check_ends(&params.get().forest, training.budget)?;
        let mut run = ForestIvmRun::new(data, params, training.par.threads(), training)?;
        let stop = drive(&mut run, training)?;
        let make = run.model().ok_or(Error::Interrupted)?;
        drop(run);
        Ok(FittedForestIvm { model: make.run(training)?.model, stop })
    }

    /// A model without training rows, to be updated with [`Self::learn`].
    pub fn new(schema: &Schema, params: &Checked<ForestIvmParams>) -> Result<Self> {
        let params = params.get().clone();
        let forest = OnlineForest::new(schema, &params.forest_params().check()?)?;
        let mut model = Self {
            n_classes: schema.n_classes(),
            part: Part::Learning(Box::new(forest)),
            ivms: Vec::new(),
            margin: 0.0,
            report: BlendReport::default(),
            online: Some(OnlineState::new()),
            params,
        };
        model.report.grow(model.n_classes);
        if model.params.combine != Combine::Route {
            let ivm = IvmClassifier::new(schema, &model.params.ivm_params().check()?)?;
            model.ivms.push(AssignedIvm { class: None, ivm, blend: IvmBlend::default() });
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

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_forest = match &self.part {
            Part::Alone(forest) => forest.bytes(),
            Part::Learning(online) => online.bytes(),
        };
        let of_ivms: usize = self.ivms.iter().map(|assigned| assigned.ivm.bytes()).sum();
        of_forest + of_ivms + self.online.as_ref().map_or(0, OnlineState::bytes)
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
        let ivms = self
            .ivms
            .into_iter()
            .map(|assigned| AssignedIvm { ivm: assigned.ivm.frozen(), ..assigned })
            .collect();
        Self { part, ivms, online: None, ..self }
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

    /// Blends two predictions; that of the IVM is empty if there is none. Returns whether the prediction was blended.
    fn combine(&self, forest: &[f64], ivm: &[f64], out: &mut [f64]) -> bool {
        if let Some(number) = self.ivm_for(forest).filter(|_| !ivm.is_empty()) {
            self.ivms[number].blend.exponents.apply(forest, ivm, out);
            return true;
        }
        out.copy_from_slice(forest);
        false
    }

    fn count(&mut self, row: &ForestAndIvm) {
        let mut all = vec![0.0; row.forest.len()];
        let is_blended = self.combine(&row.forest, &row.gp, &mut all);
        self.report.add(row.class.index(), &row.forest, &all, is_blended);
    }

    /// The predictions of the forest alone.
    pub fn forest_proba(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
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
