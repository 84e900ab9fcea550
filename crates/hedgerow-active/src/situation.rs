//! What a strategy sees when it is asked.

use std::sync::{Arc, OnceLock};

use hedgerow_core::{ClassId, Par, Result};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use crate::model::QueryModel;
use crate::pool::Pool;
use crate::space::Targets;
use crate::strategy::margin;

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
    target_proba: OnceLock<Array2<f64>>,
    /// The candidates and the targets by their ranks, once a strategy asks for them.
    placed: OnceLock<Targets>,
    placed_targets: Arc<OnceLock<Targets>>,
    /// What it costs to take a row of each class for another one; 1 where none is given.
    losses: Vec<f64>,
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
        let (target_proba, placed) = (OnceLock::new(), OnceLock::new());
        let placed_targets = Arc::default();
        Ok(Self {
            pool,
            model,
            candidates,
            targets,
            seed,
            par,
            x,
            proba,
            target_proba,
            placed,
            placed_targets,
            losses: Vec::new(),
        })
    }

    /// The same where it costs so much to take a row of each class for another one.
    #[must_use]
    pub fn with_losses(self, losses: Vec<f64>) -> Self {
        Self { losses, ..self }
    }

    /// The same with targets that may have been placed before.
    pub(crate) fn with_placed_targets(self, placed_targets: Arc<OnceLock<Targets>>) -> Self {
        Self { placed_targets, ..self }
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

    /// A probability for every class of every target; none without a model. Predicted when first asked for.
    pub fn target_proba(&self) -> Result<Option<ArrayView2<'_, f64>>> {
        let Some(model) = self.model else { return Ok(None) };
        if self.target_proba.get().is_none() {
            let proba = model.predict_proba(self.pool.rows(self.targets).view(), self.par)?;
            // Only this thread sets it: a situation is used by one strategy.
            let _ = self.target_proba.set(proba);
        }
        Ok(self.target_proba.get().map(|proba| proba.view()))
    }

    /// What it costs to take a row of each of so many classes for another one: 1 unless told otherwise.
    pub fn losses(&self, n_classes: usize) -> Vec<f64> {
        (0..n_classes).map(|class| self.losses.get(class).copied().unwrap_or(1.0)).collect()
    }

    /// By how much the best decision about a row is expected to be better than the next best one, over the largest loss: p₁ − p₂, where all losses are 1.
    pub fn margin(&self, proba: ArrayView1<'_, f64>) -> f64 {
        if self.losses.is_empty() {
            return margin(proba);
        }
        // Deciding for a class saves its loss, so the best two are those of the largest products.
        let losses = self.losses(proba.len());
        let most = losses.iter().copied().fold(0.0, f64::max);
        let saved: Array1<f64> = proba.iter().zip(&losses).map(|(p, loss)| p * loss / most).collect();
        margin(saved.view())
    }

    /// What the best decision about a row is expected to cost, over the largest loss: 1 − p₁, where all losses are 1.
    pub fn expected_loss(&self, proba: ArrayView1<'_, f64>) -> f64 {
        let losses = self.losses(proba.len());
        let most = losses.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let saved = proba.iter().zip(&losses).map(|(p, loss)| p * loss / most);
        (saved.clone().sum::<f64>() - saved.fold(0.0, f64::max)).max(0.0)
    }

    /// The candidates by the ranks of their columns.
    pub fn placed_candidates(&self) -> &Targets {
        self.placed.get_or_init(|| self.place(&self.candidates))
    }

    /// The targets by the ranks of their columns.
    pub fn placed_targets(&self) -> &Targets {
        self.placed_targets.get_or_init(|| self.place(self.targets))
    }

    /// The rows with labels by the ranks of their columns, in the order in which their labels came.
    pub fn placed_labelled(&self) -> Targets {
        self.place(self.pool.labelled())
    }

    fn place(&self, rows: &[usize]) -> Targets {
        self.pool.space().place(self.pool.features(), rows, self.par)
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
