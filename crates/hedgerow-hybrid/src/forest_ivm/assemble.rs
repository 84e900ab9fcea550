//! A forest and a machine that were trained apart become one model.

use hedgerow_core::{Checked, ClassId, Classifier as _, Dataset, Error, Result};
use hedgerow_forest::{Forest, OnlineForest};
use hedgerow_gp::IvmClassifier;
use ndarray::{Array2, ArrayView2};

use super::heard::{self, Verdict};
use super::online::Course;
use super::{Account, Combine, ForestIvm, ForestIvmParams, Machine, Part};

/// Answers of both to rows that neither had learnt.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
    /// What the forest says.
    pub forest: ArrayView2<'a, f64>,
    /// What the machine says; none if there is no machine.
    pub machine: Option<ArrayView2<'a, f64>>,
    /// The classes of the rows.
    pub labels: &'a [ClassId],
}

impl Heard<'_> {
    fn heard(&self) -> Vec<heard::Heard> {
        let of = |row: usize| heard::Heard {
            forest: self.forest.row(row).to_vec(),
            machine: self.machine.map_or_else(Vec::new, |machine| machine.row(row).to_vec()),
            class: self.labels[row],
        };
        (0..self.labels.len()).map(of).collect()
    }
}

impl ForestIvm {
    /// A forest and one machine for all rows, trusted as far as rows that neither had learnt say; without a machine, the forest alone. Returns also what
    /// both together say about those rows. It learns no more, until [`Self::remembering`].
    pub fn assemble(
        params: &Checked<ForestIvmParams>,
        forest: Forest,
        ivm: Option<IvmClassifier>,
        judges: &Heard<'_>,
    ) -> Result<(Self, Array2<f64>)> {
        let params = params.get().clone();
        if params.combine == Combine::Route {
            return Err(Error::param("combine", "pool or gate: one machine for all rows", "route"));
        }
        let n_classes = forest.n_classes();
        let mut model = Self {
            params,
            n_classes,
            part: Part::Alone(Box::new(forest)),
            machines: Vec::new(),
            margin: 0.0,
            account: Account::default(),
            course: None,
        };
        model.machines.extend(ivm.map(|ivm| Machine { class: None, ivm, verdict: Verdict::default() }));
        let heard = judges.heard();
        model.judge(&heard);
        model.account.grow(n_classes);
        let mut proba = Array2::zeros((heard.len(), n_classes));
        for (heard, mut out) in heard.iter().zip(proba.rows_mut()) {
            model.note(heard);
            if let Some(out) = out.as_slice_mut() {
                model.combine(&heard.forest, &heard.machine, out);
            }
        }
        Ok((model, proba))
    }

    /// The same with all rows that there were, so that it can go on learning; `ratings` are the active rows of the machine and what each is worth, `judges` what it
    /// was judged by.
    #[must_use]
    pub fn remembering(mut self, data: Dataset, ratings: &[(usize, f64)], judges: &Heard<'_>) -> Self {
        let machines = std::mem::take(&mut self.machines).into_iter();
        self.machines = machines
            .map(|machine| Machine { ivm: machine.ivm.remembering(&data, ratings), ..machine })
            .collect();
        self.course = Some(Course::of_fitted(data.n_rows() as u64, judges.heard()));
        if let Part::Alone(forest) = self.part {
            self.part = Part::Learning(Box::new(OnlineForest::from_fitted(*forest, data)));
        }
        self
    }
}
