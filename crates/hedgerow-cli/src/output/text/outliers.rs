//! Outliers as text.

use std::io::{self, Write};

use super::super::{Show, count, percent, seconds};
use super::made;
use crate::commands::outliers::OutlierResult;

impl Show for OutlierResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (rows, scored) = (count(self.rows as u64), count(self.rows_scored as u64));
        let (read, fitted) = (seconds(self.seconds.read), seconds(self.seconds.fit));
        let name = self.method.words().0;
        let ending = made::ending(self.stop);
        writeln!(out, "{name} fitted to {rows} rows of {} columns{ending}", self.features)?;
        writeln!(out, "  read in {read}, fitted in {fitted}")?;
        let share = percent(self.n_outliers as f64 / self.rows_scored.max(1) as f64);
        let (n, threshold) = (count(self.n_outliers as u64), self.threshold);
        writeln!(out, "{n} of {scored} rows ({share}) score above {threshold:.3}")?;
        if let Some(auc) = self.auc {
            writeln!(out, "AUROC {auc:.4} for the rows labelled 1")?;
        }
        if !self.strangest.is_empty() {
            writeln!(out, "strangest rows (rows count from 0):")?;
            writeln!(out, "{:>9}  outlier  reason", "row")?;
        }
        for strange in &self.strangest {
            writeln!(out, "{:>9}  {:>7.4}  {}", strange.row, strange.outlier, strange.reason)?;
        }
        match &self.out {
            Some(path) => writeln!(out, "scores of all rows: {}", path.display()),
            None => Ok(()),
        }
    }
}
