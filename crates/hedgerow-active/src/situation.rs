//! What a strategy sees when it is asked.

use hedgerow_core::{ClassId, Par, Result};
use ndarray::{Array2, ArrayView1, ArrayView2};

use crate::model::QueryModel;
use crate::pool::Pool;

/// A pool with its labels, a model of them if there is one, and the rows in question.
pub struct Situation<'a> {
    pool: &'a Pool,
    model: Option<&'a dyn QueryModel>,
    candidates: Vec<usize>,
    targets: &'a [usize],
    seed: u64,
    par: &'a Par,
    x: Array2<f32>,
    proba: Option<Array2<f64>>,
}

impl<'a> Situation<'a> {
    /// Predicts the candidates, if there is a model. Targets are rows that stand for the whole pool.
    pub fn new(
        pool: &'a Pool,
        model: Option<&'a dyn QueryModel>,
        candidates: Vec<usize>,
        targets: &'a [usize],
        seed: u64,
        par: &'a Par,
    ) -> Result<Self> {
        let x = pool.rows(&candidates);
        let proba = model.map(|model| model.predict_proba(x.view(), par)).transpose()?;
        Ok(Self { pool, model, candidates, targets, seed, par, x, proba })
    }

    /// The rows with the labels there are.
    pub fn pool(&self) -> &'a Pool {
        self.pool
    }

    /// The model; none while there are not labels of two classes.
    pub fn model(&self) -> Option<&'a dyn QueryModel> {
        self.model
    }

    /// The rows to choose from, in random order.
    pub fn candidates(&self) -> &[usize] {
        &self.candidates
    }

    /// Rows that stand for the whole pool.
    pub fn targets(&self) -> &'a [usize] {
        self.targets
    }

    /// The seed of all random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Threads to work with.
    pub fn par(&self) -> &'a Par {
        self.par
    }

    /// The candidates as a matrix.
    pub fn x(&self) -> ArrayView2<'_, f32> {
        self.x.view()
    }

    /// A probability for every class of every candidate; none without a model.
    pub fn proba(&self) -> Option<ArrayView2<'_, f64>> {
        self.proba.as_ref().map(|proba| proba.view())
    }

    /// What each candidate is worth by its probabilities alone; without a model all are worth the same, which makes a random choice.
    pub fn by_probabilities(&self, utility: impl Fn(ArrayView1<'_, f64>) -> f64) -> Vec<f64> {
        match &self.proba {
            Some(proba) => proba.rows().into_iter().map(utility).collect(),
            None => vec![1.0; self.candidates.len()],
        }
    }

    /// The classes that the prediction of a candidate lies between, in words.
    pub fn between(&self, place: usize) -> String {
        let Some(proba) = &self.proba else {
            return match self.pool.labelled().len() {
                0 => "drawn at random: there are no labels yet".into(),
                _ => "drawn at random: all labels are of one class so far".into(),
            };
        };
        let row = proba.row(place);
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[b].total_cmp(&row[a]).then(a.cmp(&b)));
        let name = |class: usize| {
            format!("{} ({:.0} %)", self.pool.schema().labels.name(ClassId(class as u32)), 100.0 * row[class])
        };
        match order[..] {
            [first, second, ..] => format!("between {} and {}", name(first), name(second)),
            [only] => format!("predicted {}", name(only)),
            [] => "no class is known".into(),
        }
    }
}
