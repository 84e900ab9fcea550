//! Models of what there is.

use std::sync::Arc;
use std::time::Duration;

use hedgerow_core::{Classifier as _, Par, Params as _, Result};
use hedgerow_gp::IvmParams;
use hedgerow_gp::ivm::sliced::{Assembled, Fit, Ground, Part, Scores, assemble};
use hedgerow_hybrid::forest_ivm::{JudgeAnswers, MachineRows, Trained};
use hedgerow_hybrid::leaf_gp::sliced::assemble as leaves;
use hedgerow_hybrid::{Combine, ForestIvm, ForestIvmParams, ForestKernelClassifier, ForestKernelParams};
use ndarray::Array2;

use super::route::routed;
use super::rows::{Stock, ivm_params};
use super::snapshot::{Evidence, Kept, Snapshot};
use super::view::View;
use crate::model::{Learner, Model};
use crate::params::ModelParams;

/// By how much the loss of a model may differ from what it was when it was made: its answers are summed in another order then.
const SAME_LOSS: f64 = 1e-4;

/// The best model that can be made of what there is; none if there is nothing yet, or if the rows that judge think more of the one that is published.
pub(super) fn combine(
    view: &View,
    stock: &Stock,
    published: &Snapshot,
    elapsed: Duration,
) -> Result<Option<Snapshot>> {
    let mut kept = Kept { version: stock.version, labels: stock.labels.clone(), ..Kept::default() };
    let forest = match (&stock.nursery, &view.grove) {
        (Some(nursery), Some(grove)) if grove.n_trees() > 0 => Some(nursery.forest(grove)),
        _ => None,
    };
    let (learner, proba) = match (&*view.params, forest) {
        (ModelParams::Ivm(_), _) => {
            let Some(machine) = best_machine(view, stock)? else { return Ok(None) };
            kept.machines = vec![MachineRows { rows: None, ratings: machine.ratings }];
            (Learner::Ivm(Box::new(machine.classifier)), machine.proba)
        }
        (ModelParams::ForestIvm(params), Some((forest, of_forest))) => {
            let helpers = if params.combine == Combine::Route {
                routed(view, stock, of_forest.view())?
            } else {
                Helpers::one(best_machine(view, stock)?)
            };
            let judges = JudgeAnswers {
                forest: of_forest.view(),
                machine: helpers.answers.as_ref().map(|answers| answers.view()),
                labels: &stock.labels,
            };
            let checked = ForestIvmParams::clone(params).check()?;
            let (model, proba) = ForestIvm::assemble(&checked, forest, helpers.machines, &judges)?;
            (kept.machine, kept.machines) = (helpers.answers, helpers.rows);
            kept.forest = Some(of_forest);
            (Learner::ForestIvm(Box::new(model)), proba)
        }
        (ModelParams::LeafGp(_), _) => {
            let stems = view.stems.iter().flatten().map(|stem| &**stem);
            let made = stock.plot.as_ref().and_then(|plot| leaves(plot, stems, view.leaf_kernel()));
            let Some(made) = made else { return Ok(None) };
            kept.rows = Some((stock.n_dropped, Arc::clone(&stock.data)));
            (Learner::LeafGp(Box::new(made.model)), made.proba)
        }
        (ModelParams::ForestKernel(params), Some((forest, proba))) => {
            let checked = ForestKernelParams::clone(params).check()?;
            let loss = |proba: &Array2<f64>| Evidence::new(proba, &stock.labels).loss;
            let of_process = view.process.as_ref().filter(|process| loss(&process.proba) <= loss(&proba));
            let (model, proba) = match of_process {
                Some(process) => {
                    (ForestKernelClassifier::of_process(&checked, process), process.proba.clone())
                }
                None => (ForestKernelClassifier::of_forest(&checked, forest), proba),
            };
            (Learner::ForestKernel(Box::new(model)), proba)
        }
        (ModelParams::Forest(_), Some((forest, proba))) => (Learner::Forest(forest), proba),
        _ => return Ok(None),
    };
    let evidence = Evidence::new(&proba, &stock.labels);
    if let Some(rival) = evidence_now(published, stock)?
        && rival.loss < evidence.loss
    {
        return Ok(None);
    }
    let model = Model { schema: stock.data.schema.clone(), learner };
    Ok(Some(Snapshot { model, evidence: Some(evidence), slices: view.slices, elapsed, kept }))
}

/// Machines that help a forest.
#[derive(Default)]
pub(super) struct Helpers {
    pub(super) machines: Vec<Trained>,
    /// What each was made of.
    pub(super) rows: Vec<MachineRows>,
    /// What they say about the rows that judge; `NaN` where nobody is asked.
    pub(super) answers: Option<Array2<f64>>,
}

impl Helpers {
    /// One for all rows, if there is one.
    fn one(machine: Option<Assembled>) -> Self {
        machine.map_or_else(Self::default, |Assembled { classifier, proba, ratings }| Self {
            machines: vec![Trained { class: None, ivm: classifier }],
            rows: vec![MachineRows { rows: None, ratings }],
            answers: Some(proba),
        })
    }
}

/// The machines as they answer themselves, or with scores fitted to all rows, whichever the rows that judge prefer.
fn best_machine(view: &View, stock: &Stock) -> Result<Option<Assembled>> {
    let (Some(ground), Some(kernel), Some(params)) =
        (&stock.ground, view.machine_kernel(), ivm_params(&view.params))
    else {
        return Ok(None);
    };
    best_of(ground, &params, kernel, &view.parts, view.fit.as_deref())
}

/// The machines of one ground as they answer themselves, or with scores fitted to all of its rows, whichever its judges prefer; none if they are not ready.
pub(super) fn best_of(
    ground: &Ground,
    params: &IvmParams,
    kernel: [f64; 2],
    parts: &[Option<Arc<Part>>],
    fit: Option<&Fit>,
) -> Result<Option<Assembled>> {
    let labels = ground.judge_labels();
    let mut found: Option<(f64, Assembled)> = None;
    // A machine that has not met the newest rows yet cannot say what it thinks of them.
    let is_whole = parts
        .iter()
        .zip(ground.has_machine())
        .all(|(part, has)| !has || part.as_ref().is_some_and(|part| part.scores.len() == labels.len()));
    let mut ways = Vec::new();
    if is_whole && parts.iter().any(Option::is_some) {
        ways.push(Scores::Machines);
    }
    ways.extend(fit.map(Scores::Fit));
    for scores in ways {
        let made = assemble(ground, params, kernel, parts, scores)?;
        let loss = Evidence::new(&made.proba, &labels).loss;
        if found.as_ref().is_none_or(|(least, _)| loss < *least) {
            found = Some((loss, made));
        }
    }
    Ok(found.map(|(_, made)| made))
}

/// How good a published model is on the rows that judge now.
fn evidence_now(published: &Snapshot, stock: &Stock) -> Result<Option<Evidence>> {
    let Some(evidence) = &published.evidence else { return Ok(None) };
    if published.kept.version == stock.version {
        return Ok(Some(evidence.clone()));
    }
    let proba: Array2<f64> = published.model.predict_proba(stock.judges.view(), &Par::sequential())?;
    let now = Evidence::new(&proba, &stock.labels);
    // A model that an earlier engine left, asked about the rows that judged it then: the same up to the last digits, and a run that is done again must compare by the same numbers.
    let is_same = now.rows == evidence.rows && (now.loss - evidence.loss).abs() <= SAME_LOSS;
    Ok(Some(if published.kept.is_whole && is_same { evidence.clone() } else { now }))
}
