//! Trees one at a time: for whoever wants to grow some now and others later, on any thread, and to have a forest of those there are.
//!
//! Some rows judge instead of being learnt: every tree says what it thinks of them, and the forest is calibrated by that.

use std::sync::Arc;

use hedgerow_core::{Budget, Checked, ClassId, DataProblem, Dataset, Par, Result};
use ndarray::Array2;

use super::oob::Tally;
use super::stand::Stand;
use super::{OutOfBag, class_weights};
use crate::calibration::{Calibration, tilt};
use crate::codes::{Codes, Turned};
use crate::forest::Forest;
use crate::grow::Verdicts;
use crate::params::ForestParams;
use crate::say::Say;
use crate::tree::Tree;

/// Rows made ready for trees to grow on.
pub struct Nursery {
    data: Arc<Dataset>,
    params: ForestParams,
    /// Codes of the rows; none where the rows themselves serve as such.
    codes: Option<Codes<'static>>,
    turned: Turned,
    constant: Vec<u32>,
    by_class: Vec<u32>,
    classes: Vec<u16>,
    class_weights: Vec<f64>,
    judges: Vec<usize>,
    tells_left_out: bool,
}

/// A tree fresh from the nursery, with what it says about the rows that judge.
pub struct Sapling {
    tree: Arc<Tree>,
    gains: Vec<f64>,
    verdicts: Verdicts,
    /// What it says about rows that its bag left out, where that is wanted.
    left_out: Verdicts,
}

/// Trees that were grown in a nursery, and what they say together about the rows that judge. Cheap to clone.
#[derive(Clone)]
pub struct Grove {
    trees: Vec<Arc<Tree>>,
    gains: Vec<f64>,
    tally: Tally,
    left_out: Option<(Say, OutOfBag)>,
}

impl Nursery {
    /// Rows, and which of them judge instead of being learnt.
    pub fn new(
        data: Arc<Dataset>,
        is_judge: &[bool],
        params: &Checked<ForestParams>,
        par: &Par,
    ) -> Result<Self> {
        data.check_trainable()?;
        let params = params.get().clone();
        let class_weights = class_weights(&data, &params)?;
        let judges_at = |row: usize| is_judge.get(row).copied().unwrap_or(false);
        let counts = |&row: &u32| {
            let row = row as usize;
            !judges_at(row)
                && class_weights[data.labels[row].index()] > 0.0
                && data.weights.as_ref().is_none_or(|w| w[row] > 0.0)
        };
        let mut by_class: Vec<u32> = (0..data.n_rows() as u32).filter(counts).collect();
        by_class.sort_by_key(|&row| data.labels[row as usize]);
        let label = |row: Option<&u32>| row.map(|&row| data.labels[row as usize]);
        if label(by_class.first()) == label(by_class.last()) {
            return Err(DataProblem::NoWeight.into());
        }
        let codes = Codes::new(&data, par);
        let (constant, turned) = (codes.constant_columns(), codes.turned(par));
        Ok(Self {
            params,
            codes: codes.into_owned(),
            turned,
            constant,
            by_class,
            classes: data.labels.iter().map(|class| class.0 as u16).collect(),
            class_weights,
            judges: (0..data.n_rows()).filter(|row| judges_at(*row)).collect(),
            tells_left_out: false,
            data,
        })
    }

    /// The same, whose trees also tell what they think of rows that are learnt, but not by them ([`Grove::left_out`]).
    #[must_use]
    pub fn telling_left_out(self) -> Self {
        Self { tells_left_out: true, ..self }
    }

    /// Grows the tree of a number: same number, same tree.
    pub fn grow(&self, number: usize) -> Sapling {
        let in_place;
        let codes = if let Some(codes) = &self.codes {
            codes
        } else {
            in_place = Codes::new(&self.data, &Par::sequential());
            &in_place
        };
        let stand = Stand {
            data: &self.data,
            params: &self.params,
            codes,
            turned: &self.turned,
            constant: &self.constant,
            by_class: &self.by_class,
            classes: &self.classes,
            class_weights: &self.class_weights,
            budget: &Budget::open(),
            max_bytes: usize::MAX,
            judge: self.tells_left_out,
        };
        let grown = stand.grow(number);
        let mut verdicts = Verdicts::default();
        let mut row = vec![0.0; self.data.schema.n_features()];
        let mut weights = Vec::new();
        for (place, &judge) in self.judges.iter().enumerate() {
            self.data.features.copy_rows(judge..judge + 1, &mut row);
            weights.clear();
            grown.tree.visit_leaf(grown.tree.leaf(&row), |class, weight| {
                weights.push((class, f64::from(weight)));
            });
            verdicts.add(std::iter::once(place as u32), &weights, self.params.probabilities);
        }
        Sapling { tree: Arc::new(grown.tree), gains: grown.gains, verdicts, left_out: grown.verdicts }
    }

    /// No trees yet.
    pub fn empty(&self) -> Grove {
        let n_classes = self.data.schema.n_classes();
        Grove {
            trees: Vec::new(),
            gains: vec![0.0; self.data.schema.n_features()],
            tally: Tally::new(self.judges.len(), n_classes, &self.params),
            left_out: self
                .tells_left_out
                .then(|| (Say::unjudged(&self.params), OutOfBag::empty(self.data.n_rows(), n_classes))),
        }
    }

    /// A forest of the trees there are, and its answers to the rows that judge, by which it was calibrated. With no trees it says
    /// nothing.
    pub fn forest(&self, grove: &Grove) -> (Forest, Array2<f64>) {
        let par = Par::sequential();
        let labels = self.judge_labels();
        let row_weight = |place: usize| {
            self.data.weights.as_ref().map_or(1.0, |weights| f64::from(weights[self.judges[place]]))
        };
        let class_weight = |place: usize| self.class_weights[labels[place].index()];
        let weight = |place: usize| row_weight(place) * class_weight(place);
        let (say, answers) = grove.tally.clone().finish(&labels, weight, &par);
        let may = self.params.calibrate;
        let calibration = Some(&answers).filter(|_| may).and_then(|answers| {
            let weight = |place: usize| if class_weight(place) > 0.0 { row_weight(place) } else { 0.0 };
            Calibration::fit(answers, &labels, weight, None, self.params.seed, &par)
        });
        let tilt = if may {
            tilt::fit(&answers, &labels, row_weight, &self.class_weights, calibration.as_ref())
        } else {
            Vec::new()
        };
        let forest = Forest {
            params: self.params.clone(),
            n_features: self.data.schema.n_features(),
            n_classes: self.data.schema.n_classes(),
            trees: grove.trees.iter().map(|tree| Tree::clone(tree)).collect(),
            say,
            calibration,
            tilt,
            gains: grove.gains.clone(),
            parts: Vec::new(),
        };
        let proba = answers.probabilities(&forest);
        (forest, proba)
    }

    /// The classes of the rows that judge.
    pub fn judge_labels(&self) -> Vec<ClassId> {
        self.judges.iter().map(|&row| self.data.labels[row]).collect()
    }

    /// Bytes in memory beside the rows.
    pub fn bytes(&self) -> usize {
        let of_turned = match &self.turned {
            Turned::Bytes(values) => values.len(),
            Turned::Words(values) => 2 * values.len(),
        };
        let of_codes =
            if self.codes.is_some() { 2 * self.data.n_rows() * self.constant.capacity() } else { 0 };
        of_turned + of_codes + 6 * self.data.n_rows()
    }
}

impl Sapling {
    /// Bytes of the tree.
    pub fn bytes(&self) -> usize {
        self.tree.bytes()
    }

    /// The tree alone.
    pub fn into_tree(self) -> Tree {
        Arc::unwrap_or_clone(self.tree)
    }
}

impl Grove {
    /// Adds a tree.
    pub fn add(&mut self, sapling: Sapling) {
        self.gains.iter_mut().zip(&sapling.gains).for_each(|(sum, gain)| *sum += gain);
        self.tally.add(&sapling.verdicts);
        if let Some((say, table)) = &mut self.left_out {
            table.add(&sapling.left_out, say, 1);
        }
        self.trees.push(sapling.tree);
    }

    /// Trees.
    pub fn n_trees(&self) -> usize {
        self.trees.len()
    }

    /// What all trees said about the rows that judge, summed.
    pub fn answers(&self) -> &OutOfBag {
        self.tally.first()
    }

    /// What trees said about rows that they had not learnt, summed; nothing about rows that judge. None unless the nursery was to tell.
    pub fn left_out(&self) -> Option<&OutOfBag> {
        self.left_out.as_ref().map(|(_, table)| table)
    }

    /// Bytes of the trees.
    pub fn bytes(&self) -> usize {
        self.trees.iter().map(|tree| tree.bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Classifier as _, Params as _, Silent, Training};

    use super::*;

    #[test]
    fn trees_are_those_of_a_forest_and_judges_hear_what_it_says() {
        let data = Arc::new(blobs(600, 4, 3, 1));
        let params = ForestParams { n_trees: 12, ..ForestParams::default() }.check().unwrap();
        let par = Par::sequential();
        let budget = Budget::open();
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let whole = Forest::fit(&data, &params, &training).unwrap().forest;
        let nursery = Nursery::new(Arc::clone(&data), &[], &params, &par).unwrap();
        for number in [0, 3, 11] {
            assert_eq!(*nursery.grow(number).tree, whole.trees[number]);
        }
        let is_judge: Vec<bool> = (0..600).map(|row| row % 4 == 0).collect();
        let nursery = Nursery::new(Arc::clone(&data), &is_judge, &params, &par).unwrap();
        let mut grove = nursery.empty();
        for number in 0..12 {
            grove.add(nursery.grow(number));
        }
        let (forest, proba) = nursery.forest(&grove);
        let judges: Vec<usize> = (0..600).step_by(4).collect();
        let x = data.features.select(&judges).to_array(0..judges.len());
        let answers = forest.predict_proba(x.view(), &par).unwrap();
        assert_eq!(proba.dim(), answers.dim());
        assert!(proba.iter().zip(&answers).all(|(a, b)| (a - b).abs() < 1e-4));
        let right = forest.predict(x.view(), &par).unwrap();
        let right = right.iter().zip(nursery.judge_labels()).filter(|(a, b)| **a == *b).count();
        assert!(right > 130, "{right} of 150");
        // Rows that are learnt are answered by trees that have not seen them; nobody learns the judges, so they are not among these.
        assert!(grove.left_out().is_none());
        assert!(nursery.bytes() > 0);
        let telling = nursery.telling_left_out();
        let mut told = telling.empty();
        for number in 0..12 {
            let sapling = telling.grow(number);
            assert!(sapling.tree == grove.trees[number], "telling changes nothing");
            told.add(sapling);
        }
        let left_out = told.left_out().unwrap();
        let is_told = |row: usize| left_out.n_trees[row] > 0 && left_out.n_trees[row] < 12;
        assert!((0..600).all(|row| if is_judge[row] { left_out.n_trees[row] == 0 } else { true }));
        assert!((0..600).filter(|row| is_told(*row)).count() > 300);
        assert!(left_out.accuracy(&data).unwrap() > 0.85);
        assert!(grove.answers().n_trees.iter().all(|n| *n == 12) && grove.bytes() > 0);
    }
}
