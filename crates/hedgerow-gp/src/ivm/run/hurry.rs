//! A model at once, when the time is up or the run is interrupted.

use std::sync::Arc;

use hedgerow_core::{Par, TrainingRun as _};

use super::super::IvmParams;
use super::super::rows::TrainingRows;
use super::IvmRun;
use super::scores::Last;

/// Rows of a model that must be made at once, when the time is up and when it is interrupted; and active rows of a class in it.
const ROWS_IN_HURRY: [usize; 2] = [2000, 400];
const ACTIVE_IN_HURRY: usize = 50;

impl IvmRun {
    /// Leaves out what is not needed for a model. If there is none yet, a few rows and active rows must do.
    pub(super) fn finish_soon(&mut self, is_interrupted: bool) {
        self.is_hurried = true;
        self.is_dropped[..self.lanes].fill(true);
        self.has_class_kernels = true;
        self.settle_kernel();
        if self.has_model() {
            // Active sets stay as they are. If there is time for nothing else, the posterior predicts.
            self.is_set_done.fill(true);
            let is_begun = matches!(&self.last, Last::Regression(Some(_)) | Last::Folds(_));
            if is_interrupted || is_begun {
                self.last = match std::mem::replace(&mut self.last, Last::Done(None)) {
                    Last::Regression(search) | Last::Done(search) => Last::Done(search),
                    Last::Folds(_) => Last::Done(None),
                };
            }
            return;
        }
        let n = self.rows.n_rows();
        let rows: Vec<usize> =
            (0..n).step_by(n.div_ceil(ROWS_IN_HURRY[usize::from(is_interrupted)]).max(1)).collect();
        let most = ACTIVE_IN_HURRY.min(rows.len() / (2 * self.rows.n_classes.max(1))).max(1);
        let options = IvmParams { n_active: self.rows.params.n_active.min(most), ..self.rows.params.clone() };
        // Rows may not have been prepared to the end.
        let x = self.preparation.map_all_narrow(&self.data.features.select(&rows), &Par::sequential());
        self.rows = Arc::new(TrainingRows { x, ..self.rows.select(&rows, options) });
        self.origin = Some(rows);
        self.known.class_kernels.clear();
        self.begin_anew();
        self.make_sets();
    }
}
