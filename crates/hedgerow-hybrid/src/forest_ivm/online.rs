//! Online learning: forest and IVMs predict a row, then learn it, and the blends are fitted to these prequential predictions.

use std::any::Any;

use hedgerow_core::summary::length_and_variance;
use hedgerow_core::text::count;
use hedgerow_core::traits::largest;
use hedgerow_core::{
    ClassId, Dataset, OnlineModel, Params as _, Predictor, Result, Rows, Schema, Summary, Training, Update,
};
use hedgerow_gp::IvmClassifier;
use ndarray::{ArrayViewMut2, Axis};
use serde::{Deserialize, Serialize};

use super::validation::{ForestAndIvm, IvmBlend};
use super::{AssignedIvm, Combine, ForestIvm};

/// Rows between two fits of the blends: a share of the rows seen, at least and at most so many.
const PAUSE_SHARE: u64 = 16;
const PAUSE: [u64; 2] = [32, 1024];
/// Newest rows that the blends are fitted to.
const MOST_ROWS: usize = 2000;

/// What online learning needs beside forest and IVMs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OnlineState {
    /// Rows learnt so far.
    pub(super) n_seen: u64,
    /// The number of rows learnt at which the blends are fitted next.
    pub(super) next_at: u64,
    /// The newest rows with their prequential predictions, the oldest first.
    #[serde(with = "hedgerow_core::saved::columns")]
    pub(super) validation: Vec<ForestAndIvm>,
}

impl OnlineState {
    pub(super) fn new() -> Self {
        Self::of_fitted(0, Vec::new())
    }

    /// After a fit to `n_seen` rows, with out-of-sample predictions of some of them.
    pub(super) fn of_fitted(n_seen: u64, validation: Vec<ForestAndIvm>) -> Self {
        let step = validation.len().div_ceil(MOST_ROWS).max(1);
        let validation = validation.into_iter().step_by(step).collect();
        let mut online = Self { n_seen, next_at: 0, validation };
        online.next_at = n_seen + online.pause();
        online
    }

    fn pause(&self) -> u64 {
        (self.n_seen / PAUSE_SHARE).clamp(PAUSE[0], PAUSE[1])
    }

    fn room(&self) -> usize {
        usize::try_from(self.next_at.saturating_sub(self.n_seen)).unwrap_or(usize::MAX)
    }

    fn forget(&mut self) {
        let excess = self.validation.len().saturating_sub(MOST_ROWS);
        self.validation.drain(..excess);
    }

    /// Whether what was read fits so many classes.
    pub(super) fn fits(&self, n_classes: usize) -> bool {
        let is_row = |row: &ForestAndIvm| {
            row.class.index() < n_classes
                && row.forest.len().max(row.gp.len()) <= n_classes
                && row.forest.iter().chain(&row.gp).all(|p| (0.0..=1.0 + 1e-6).contains(p))
        };
        self.validation.iter().all(is_row)
            && self.validation.len() <= MOST_ROWS + (1 << 11)
            && self.next_at <= self.n_seen.saturating_add(1 << 20)
    }

    pub(super) fn bytes(&self) -> usize {
        self.validation.iter().map(|row| 8 * (row.forest.len() + row.gp.len()) + 56).sum()
    }
}

impl OnlineModel for ForestIvm {
    fn predictor(&self) -> Predictor<'_> {
        Predictor::Classifier(self)
    }

    fn itself(&self) -> &dyn Any {
        self
    }

    fn can_learn(&self) -> bool {
        self.online.is_some()
    }

    fn n_seen(&self) -> u64 {
        self.online.as_ref().map_or(0, |online| online.n_seen)
    }

    fn n_retained(&self) -> usize {
        self.forest.n_retained()
    }

    fn retained_rows(&self, schema: &Schema) -> Result<Option<Dataset>> {
        self.forest.retained_rows(schema)
    }

    fn know_classes(&mut self, n_classes: usize) {
        self.n_classes = n_classes;
        self.report.grow(n_classes);
        self.forest.know_classes(n_classes);
        self.ivms.iter_mut().for_each(|assigned| assigned.ivm.know_classes(n_classes));
    }

    fn room(&self) -> usize {
        self.online.as_ref().map_or(0, OnlineState::room)
    }

    fn ingest(
        &mut self,
        schema: &Schema,
        rows: Rows<'_>,
        training: &Training<'_>,
        mut out: ArrayViewMut2<'_, f64>,
        update: &mut Update,
    ) -> Result<usize> {
        let of_forest = self.forest.learn(schema, rows, training)?;
        let n = of_forest.n_learnt;
        let mut of_ivms: Vec<Vec<f64>> = vec![Vec::new(); n];
        let routes = self.params.combine == Combine::Route;
        for assigned in &mut self.ivms {
            let is_own = |row: &usize| !routes || largest(of_forest.predictions.row(*row)) == assigned.class;
            let own: Vec<usize> = (0..n).filter(is_own).collect();
            let x = rows.x.select(Axis(0), &own);
            let labels: Vec<ClassId> = own.iter().map(|&row| rows.labels()[row]).collect();
            let learnt =
                assigned.ivm.learn(schema, Rows::new(x.view(), labels.as_slice(), None), training)?;
            update.n_tried += learnt.n_tried;
            update.n_replaced += learnt.n_replaced;
            for (&row, proba) in own.iter().zip(learnt.predictions.rows()).take(learnt.n_learnt) {
                of_ivms[row] = proba.to_vec();
            }
        }
        let Some(mut online) = self.online.take() else { return Ok(0) };
        for (number, gp) in of_ivms.into_iter().enumerate() {
            let forest = of_forest.predictions.row(number).to_vec();
            let row = ForestAndIvm { forest, gp, class: rows.labels()[number] };
            let mut all = vec![0.0; row.forest.len()];
            let is_blended = self.combine(&row.forest, &row.gp, &mut all);
            self.report.add(row.class.index(), &row.forest, &all, is_blended);
            out.row_mut(number).iter_mut().zip(all).for_each(|(to, p)| *to = p);
            online.validation.push(row);
        }
        online.n_seen += n as u64;
        self.online = Some(online);
        update.n_forgotten += of_forest.n_forgotten;
        update.drifts.extend(of_forest.drifts);
        Ok(n)
    }

    /// Fits the blends, and begins IVMs for classes that the forest predicts wrong too often.
    fn maintain(&mut self, schema: &Schema, _: &Training<'_>, _: &mut Update) -> Result<()> {
        let Some(online) = &mut self.online else { return Ok(()) };
        online.next_at = online.n_seen + online.pause();
        online.forget();
        let mut validation = std::mem::take(&mut online.validation);
        // Classes that came since had probability 0.
        for row in &mut validation {
            row.forest.resize(self.n_classes, 0.0);
            if !row.gp.is_empty() {
                row.gp.resize(self.n_classes, 0.0);
            }
        }
        if self.params.combine == Combine::Route {
            self.add_ivms(&validation, schema)?;
        }
        self.fit_blends(&validation);
        if let Some(online) = &mut self.online {
            online.validation = validation;
        }
        Ok(())
    }

    fn frozen(mut self) -> Self {
        self.ivms = self
            .ivms
            .into_iter()
            .map(|assigned| AssignedIvm { ivm: assigned.ivm.frozen(), ..assigned })
            .collect();
        Self { forest: self.forest.frozen(), online: None, ..self }
    }

    fn put_in_order(&mut self) {
        self.forest.put_in_order();
    }

    fn bytes(&self) -> usize {
        let of_ivms: usize = self.ivms.iter().map(|assigned| assigned.ivm.bytes()).sum();
        self.forest.bytes() + of_ivms + self.online.as_ref().map_or(0, OnlineState::bytes)
    }

    fn summary(&self, classes: &[String]) -> Summary {
        let forest = self.forest.forest();
        let (n_ivms, n_used) = (self.ivms.len(), self.n_ivms()[1]);
        let ivms = if n_ivms == 1 { "an IVM".into() } else { format!("{n_ivms} IVMs") };
        let partners = ["IVM", "IVMs"];
        let with = partners[usize::from(n_ivms != 1)];
        let [before, after] = self.report.accuracies().map(|share| format!("{:.2} %", 100.0 * share));
        Summary::new(format!("{} trees and {ivms}", count(forest.trees().len() as u64)))
            .count("trees", "Trees", forest.trees().len())
            .value("nodes", forest.n_nodes() as u64)
            .count("ivms", "IVMs", n_ivms)
            .value("ivms_used", n_used as u64)
            .count("active_rows", "Active rows", self.n_active())
            .value("margin", self.margin())
            .comparison(partners, &self.report, classes)
            .fact("Out-of-sample accuracy, forest", before)
            .fact("Out-of-sample accuracy, with IVMs", after)
            .details(format!(
                "{} active rows, IVMs used: {}, {}",
                count(self.n_active() as u64),
                count(n_used as u64),
                self.report.words(["forest", with])
            ))
            .blend(self.blend().map(|blend| [blend.forest, blend.gp]))
            .kernel(length_and_variance(self.kernel()))
    }
}

impl ForestIvm {
    /// Begins an IVM for each class that the forest predicts wrong too often. It learns the rows that come from now on.
    fn add_ivms(&mut self, validation: &[ForestAndIvm], schema: &Schema) -> Result<()> {
        for class in 0..self.n_classes {
            if self.ivms.iter().any(|assigned| assigned.class == Some(class)) {
                continue;
            }
            let own = validation.iter().filter(|row| largest(&row.forest) == Some(class));
            let (mut n, mut wrong) = (0, 0);
            for row in own {
                n += 1;
                wrong += usize::from(row.class.index() != class);
            }
            if self.params.needs_ivm(n, wrong) {
                let ivm = IvmClassifier::new(schema, &self.params.ivm_params().check()?)?;
                self.ivms.push(AssignedIvm { class: Some(class), ivm, blend: IvmBlend::default() });
            }
        }
        Ok(())
    }
}
