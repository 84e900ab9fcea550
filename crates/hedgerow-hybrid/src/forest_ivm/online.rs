//! Online learning: forest and IVMs predict a row, then learn it, and the blends are fitted to these prequential predictions.

use hedgerow_core::traits::largest;
use hedgerow_core::{ClassId, Dataset, Error, Params as _, Result, Rows, Schema, Training, Update};
use hedgerow_gp::IvmClassifier;
use ndarray::{Array2, Axis, s};

use super::validation::{ForestAndIvm, IvmBlend};
use super::{AssignedIvm, Combine, ForestIvm, Part};

/// Rows between two fits of the blends: a share of the rows seen, at least and at most so many.
const PAUSE_SHARE: u64 = 16;
const PAUSE: [u64; 2] = [32, 1024];
/// Newest rows that the blends are fitted to.
pub(super) const MOST_ROWS: usize = 2000;

/// What online learning needs beside forest and IVMs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OnlineState {
    /// Rows learnt so far.
    pub(super) n_seen: u64,
    /// The number of rows learnt at which the blends are fitted next.
    pub(super) next_at: u64,
    /// The newest rows with their prequential predictions, the oldest first.
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

    fn retain(&mut self, row: ForestAndIvm) {
        self.validation.push(row);
    }

    fn forget(&mut self) {
        let excess = self.validation.len().saturating_sub(MOST_ROWS);
        self.validation.drain(..excess);
    }

    pub(super) fn bytes(&self) -> usize {
        self.validation.iter().map(|row| 8 * (row.forest.len() + row.gp.len()) + 56).sum()
    }
}

impl ForestIvm {
    /// Whether it can learn more.
    pub fn can_learn(&self) -> bool {
        self.online.is_some()
    }

    /// Rows learnt so far; 0 where that is not kept.
    pub fn n_seen(&self) -> u64 {
        self.online.as_ref().map_or(0, |online| online.n_seen)
    }

    /// Retained rows of the forest.
    pub fn n_remembered(&self) -> usize {
        if let Part::Learning(online) = &self.part { online.n_remembered() } else { 0 }
    }

    /// The retained rows of the forest; none if they were left out.
    pub fn remembered(&self, schema: &Schema) -> Result<Option<Dataset>> {
        if let Part::Learning(online) = &self.part { online.remembered(schema).map(Some) } else { Ok(None) }
    }

    /// Predicts rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is that of earlier calls,
    /// grown by the classes and categories that have come since.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Update> {
        let n = rows.labels().len();
        if self.online.is_none() {
            return Err(Error::NoRows);
        }
        if rows.x.nrows() != n {
            return Err(Error::Shape { what: "labels", expected: rows.x.nrows(), got: n });
        }
        hedgerow_core::data::check_rows(schema, rows.x, rows.targets, rows.weights)?;
        let mut update = Update { predictions: Array2::zeros((n, schema.n_classes())), ..Update::default() };
        while update.n_learnt < n || n == 0 {
            let Some(online) = &self.online else { return Err(Error::NoRows) };
            let room =
                usize::try_from(online.next_at.saturating_sub(online.n_seen)).unwrap_or(usize::MAX).max(1);
            let range = update.n_learnt..n.min(update.n_learnt.saturating_add(room));
            let n_learnt = self.learn_part(schema, rows, range.clone(), training, &mut update)?;
            update.n_learnt += n_learnt;
            let Some(online) = &mut self.online else { return Err(Error::NoRows) };
            online.n_seen += n_learnt as u64;
            if online.n_seen >= online.next_at {
                self.maintain(schema)?;
            }
            if n == 0 || n_learnt < range.len() || training.budget.stop.is_stopped() {
                break;
            }
        }
        Ok(update)
    }

    /// Predicts and learns some rows between two fits of the blends. Returns how many were learnt.
    fn learn_part(
        &mut self,
        schema: &Schema,
        rows: Rows<'_>,
        range: std::ops::Range<usize>,
        training: &Training<'_>,
        update: &mut Update,
    ) -> Result<usize> {
        let part = Rows::new(
            rows.x.slice(s![range.clone(), ..]),
            &rows.labels()[range.clone()],
            rows.weights.map(|weights| &weights[range.clone()]),
        );
        let Part::Learning(online) = &mut self.part else { return Err(Error::NoRows) };
        let of_forest = online.learn(schema, part, training)?;
        self.n_classes = schema.n_classes();
        self.report.grow(self.n_classes);
        let n = of_forest.n_learnt;
        let mut of_ivms: Vec<Vec<f64>> = vec![Vec::new(); n];
        let routes = self.params.combine == Combine::Route;
        for assigned in &mut self.ivms {
            let is_own = |row: &usize| !routes || largest(of_forest.predictions.row(*row)) == assigned.class;
            let own: Vec<usize> = (0..n).filter(is_own).collect();
            let x = part.x.select(Axis(0), &own);
            let labels: Vec<ClassId> = own.iter().map(|&row| part.labels()[row]).collect();
            let learnt =
                assigned.ivm.learn(schema, Rows::new(x.view(), labels.as_slice(), None), training)?;
            update.n_tried += learnt.n_tried;
            update.n_replaced += learnt.n_replaced;
            for (&row, proba) in own.iter().zip(learnt.predictions.rows()).take(learnt.n_learnt) {
                of_ivms[row] = proba.to_vec();
            }
        }
        for (number, gp) in of_ivms.into_iter().enumerate() {
            let forest = of_forest.predictions.row(number).to_vec();
            let row = ForestAndIvm { forest, gp, class: part.labels()[number] };
            let mut all = vec![0.0; row.forest.len()];
            let is_blended = self.combine(&row.forest, &row.gp, &mut all);
            self.report.add(row.class.index(), &row.forest, &all, is_blended);
            let mut prediction = update.predictions.row_mut(range.start + number);
            prediction.iter_mut().zip(all).for_each(|(to, p)| *to = p);
            if let Some(online) = &mut self.online {
                online.retain(row);
            }
        }
        update.n_forgotten += of_forest.n_forgotten;
        update.drifts.extend(of_forest.drifts);
        Ok(n)
    }

    /// Maintenance: fits the blends, and begins IVMs for classes that the forest predicts wrong too often.
    fn maintain(&mut self, schema: &Schema) -> Result<()> {
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
