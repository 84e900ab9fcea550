//! Online learning: forest and IVMs predict a row, then learn it, and the blends are fitted to these prequential predictions.

use hedgerow_core::blend::Pair;
use hedgerow_core::summary::length_and_variance;
use hedgerow_core::text::count;
use hedgerow_core::traits::largest;
use hedgerow_core::{
    ClassId, Dataset, Learning, OnlineModel, OnlineStatus, Pause, Predictor, Prequential, Result, Rows,
    Schedule, Schema, Summary,
};
use ndarray::{Array2, ArrayView1, Axis, s};
use serde::{Deserialize, Serialize};

use super::{AssignedIvm, Combine, ForestIvm};

/// Rows between two fits of the blends.
const PAUSE: Pause = Pause { share: 16, least: 32, most: 1024 };

/// What online learning needs beside forest and IVMs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OnlineState {
    pub(super) schedule: Schedule,
    /// What forest and IVM have predicted for the newest rows.
    pub(super) prequential: Prequential,
}

impl OnlineState {
    /// After a fit to `n_seen` rows, with out-of-sample predictions of some of them.
    pub(super) fn new(n_seen: u64, validation: Vec<Pair>) -> Self {
        Self { schedule: Schedule::new(n_seen, PAUSE), prequential: Prequential::after(validation) }
    }
}

impl OnlineModel for ForestIvm {
    fn predictor(&self) -> Predictor<'_> {
        Predictor::Classifier(self)
    }

    fn online_status(&self) -> Option<OnlineStatus> {
        let online = self.online.as_ref()?;
        Some(OnlineStatus::new(&online.schedule, self.forest.n_retained()))
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

    fn ingest(&mut self, rows: Rows<'_>, learning: &mut Learning<'_>) -> Result<Array2<f64>> {
        let Learning { schema, training, update } = learning;
        let of_forest = self.forest.learn(schema, Rows { earlier: None, ..rows }, training)?;
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
        let mut predictions = of_forest.predictions.slice_move(s![..n, ..]);
        for ((gp, mut out), &class) in of_ivms.into_iter().zip(predictions.rows_mut()).zip(rows.labels()) {
            let row = Pair { forest: out.to_vec(), gp, class };
            out.assign(&ArrayView1::from(&self.account_for(&row)));
            if let Some(online) = &mut self.online {
                online.prequential.push(row);
                online.schedule.add(1);
            }
        }
        update.n_forgotten += of_forest.n_forgotten;
        update.drifts.extend(of_forest.drifts);
        Ok(predictions)
    }

    /// Fits the blends, and begins IVMs for classes that the forest predicts wrong too often.
    fn maintain(&mut self, learning: &mut Learning<'_>) -> Result<()> {
        let Some(online) = &mut self.online else { return Ok(()) };
        online.schedule.postpone(PAUSE);
        let newest = online.prequential.newest(self.n_classes, 0.0);
        if self.params.combine == Combine::Route {
            self.add_ivms(&newest, learning.schema)?;
        }
        self.fit_blends(&newest);
        Ok(())
    }

    fn frozen(self) -> Self {
        let frozen = |assigned: AssignedIvm| AssignedIvm { ivm: assigned.ivm.frozen(), ..assigned };
        let ivms = self.ivms.into_iter().map(frozen).collect();
        Self { forest: self.forest.frozen(), ivms, online: None, ..self }
    }

    fn put_in_order(&mut self) {
        self.forest.put_in_order();
    }

    fn bytes(&self) -> usize {
        let of_ivms: usize = self.ivms.iter().map(|assigned| assigned.ivm.bytes()).sum();
        self.forest.bytes() + of_ivms + self.online.as_ref().map_or(0, |online| online.prequential.bytes())
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
    fn add_ivms(&mut self, validation: &[Pair], schema: &Schema) -> Result<()> {
        for class in 0..self.n_classes {
            if self.ivms.iter().any(|assigned| assigned.class == Some(class)) {
                continue;
            }
            let own = || validation.iter().filter(|row| largest(&row.forest) == Some(class));
            let n_wrong = own().filter(|row| row.class.index() != class).count();
            if self.params.needs_ivm(own().count(), n_wrong) {
                self.ivms.push(AssignedIvm::new(Some(class), schema, &self.params)?);
            }
        }
        Ok(())
    }
}
