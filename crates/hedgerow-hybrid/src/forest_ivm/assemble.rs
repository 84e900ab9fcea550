//! A forest and machines that were trained apart become one model.

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
    /// What the machine says that hears such a row, `NaN` where none does; none if there is no machine.
    pub machine: Option<ArrayView2<'a, f64>>,
    /// The classes of the rows.
    pub labels: &'a [ClassId],
}

/// A machine that was trained.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The answer of the forest that it hears; none if it hears all.
    pub class: Option<usize>,
    /// The machine.
    pub ivm: IvmClassifier,
}

/// What a machine was made of, for it to go on learning.
#[derive(Debug, Clone, Default)]
pub struct MachineRows {
    /// Its rows, by their places among all, in order; none if it has learnt all.
    pub rows: Option<Vec<usize>>,
    /// Its active rows, by their places among all, and what each is worth.
    pub ratings: Vec<(usize, f64)>,
}

impl Heard<'_> {
    fn heard(&self) -> Vec<heard::Heard> {
        let machine = |row: usize| {
            let answer = self.machine.map_or_else(Vec::new, |machine| machine.row(row).to_vec());
            if answer.iter().any(|p| p.is_nan()) { Vec::new() } else { answer }
        };
        let of = |row: usize| heard::Heard {
            forest: self.forest.row(row).to_vec(),
            machine: machine(row),
            class: self.labels[row],
        };
        (0..self.labels.len()).map(of).collect()
    }
}

impl ForestIvm {
    /// A forest and machines (with `combine=route` for some of its answers, otherwise one for all), trusted as far as rows that neither had learnt say; without a
    /// machine, the forest alone. Returns also what all together say about those rows. It learns no more, until [`Self::remembering`].
    pub fn assemble(
        params: &Checked<ForestIvmParams>,
        forest: Forest,
        machines: Vec<Trained>,
        judges: &Heard<'_>,
    ) -> Result<(Self, Array2<f64>)> {
        let params = params.get().clone();
        let routes = params.combine == Combine::Route;
        if machines.iter().any(|machine| machine.class.is_some() != routes) || (!routes && machines.len() > 1)
        {
            let expected = "route for machines that hear one answer each, otherwise one machine";
            return Err(Error::param("combine", expected, format!("{:?}", params.combine)));
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
        let machine = |Trained { class, ivm }| Machine { class, ivm, verdict: Verdict::default() };
        model.machines = machines.into_iter().map(machine).collect();
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

    /// The same with all rows that there were, so that it can go on learning; `learnt` is what each machine was made of, in the order in which they were given, `judges` what
    /// they were judged by.
    #[must_use]
    pub fn remembering(mut self, data: Dataset, learnt: &[MachineRows], judges: &Heard<'_>) -> Self {
        let nothing = MachineRows::default();
        let machines = std::mem::take(&mut self.machines).into_iter().enumerate();
        let remembering = |(number, machine): (usize, Machine)| {
            let MachineRows { rows, ratings } = learnt.get(number).unwrap_or(&nothing);
            let ivm = match rows {
                None => machine.ivm.remembering(&data, ratings),
                Some(rows) => {
                    let place = |(row, rating): &(usize, f64)| Some((rows.binary_search(row).ok()?, *rating));
                    let own: Vec<(usize, f64)> = ratings.iter().filter_map(place).collect();
                    machine.ivm.remembering(&data.select(rows), &own)
                }
            };
            Machine { ivm, ..machine }
        };
        self.machines = machines.map(remembering).collect();
        self.course = Some(Course::of_fitted(data.n_rows() as u64, judges.heard()));
        if let Part::Alone(forest) = self.part {
            self.part = Part::Learning(Box::new(OnlineForest::from_fitted(*forest, data)));
        }
        self
    }
}
