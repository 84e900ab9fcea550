//! A GP with the kernel of a forest as facts and tables, and back. The forest itself is saved as forests are.

use hedgerow_core::{
    ClassId, Classifier as _, Error, Features, ModelProblem, OnlineModel as _, Params as _, Result,
};
use hedgerow_forest::ForestModel;
use ndarray::{Array2, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use super::ForestKernelClassifier;
use super::online::{MOST_SCORES, OnlineState};
use super::params::ForestKernelParams;
use super::scores::LeafScores;
use super::validation::KernelChoice;

/// The facts of a [`ForestKernelClassifier`] beside its forest and tables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForestKernelFacts {
    params: ForestKernelParams,
    n_classes: usize,
    #[serde(rename = "verdict")]
    choice: Option<KernelChoice>,
    /// Classes that the scores of leaves are of, and rows that they come from; none if the forest predicts alone.
    scores: Option<[usize; 2]>,
    #[serde(rename = "course")]
    online: Option<OnlineFacts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OnlineFacts {
    n_seen: u64,
    #[serde(rename = "look_at")]
    maintain_at: u64,
    #[serde(rename = "tuned_at")]
    validated_at: u64,
    /// Classes that the scores of the newest rows are of.
    score_widths: Vec<usize>,
}

/// The leaves of each tree, and their scores.
pub type LeafLists<'a> = (&'a [Vec<u32>], &'a [Vec<f32>]);

/// The scores of leaves as arrays: for each tree its leaves, and for each leaf a score a class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeafTables {
    /// Leaves, tree by tree, as keys that rise.
    pub keys: Vec<Vec<u32>>,
    /// Scores, tree by tree and leaf by leaf.
    pub values: Vec<Vec<f32>>,
}

impl ForestKernelClassifier {
    /// What is not a table.
    pub fn facts(&self) -> ForestKernelFacts {
        let online = self.online.as_ref().map(|online| OnlineFacts {
            n_seen: online.n_seen,
            maintain_at: online.maintain_at,
            validated_at: online.validated_at,
            score_widths: online.scores.iter().map(Vec::len).collect(),
        });
        ForestKernelFacts {
            params: self.params.clone(),
            n_classes: self.n_classes,
            choice: self.choice.clone(),
            scores: self.scores.as_ref().map(|scores| [scores.n_classes, scores.n_rows]),
            online,
        }
    }

    /// The scores of leaves: keys and scores of each tree; none if the forest predicts alone.
    pub fn leaf_tables(&self) -> Option<LeafLists<'_>> {
        self.scores.as_ref().map(|scores| (&scores.keys[..], &scores.values[..]))
    }

    /// The other tables, each with its name.
    pub fn tables(&self) -> Vec<(String, CowArray<'_, f64, Ix2>)> {
        let Some(online) = &self.online else { return Vec::new() };
        let n = online.labels.len();
        let rows = Array2::from_shape_fn((2, n), |(part, row)| {
            [f64::from(online.labels[row].0), f64::from(online.weights[row])][part]
        });
        let width = online.scores.iter().map(Vec::len).max().unwrap_or(0);
        let score = |(row, class): (usize, usize)| online.scores[row].get(class).copied().unwrap_or(0.0);
        let classes =
            Array2::from_shape_fn((1, online.classes.len()), |(_, row)| f64::from(online.classes[row].0));
        [
            ("waiting.features", online.features.to_array(0..n).mapv(f64::from)),
            ("waiting.rows", rows),
            ("newest.scores", Array2::from_shape_fn((online.scores.len(), width), score)),
            ("newest.classes", classes),
        ]
        .map(|(name, table)| (name.to_string(), CowArray::from(table)))
        .into()
    }

    /// The model again, with its forest. `leaves` are asked for if the facts speak of them, `table` finds another table by its name. Nothing is
    /// trusted: what does not fit together is an error.
    pub fn restore(
        facts: ForestKernelFacts,
        forest: ForestModel,
        leaves: impl FnOnce(usize) -> Result<LeafTables>,
        table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
    ) -> Result<Self> {
        let ForestKernelFacts { params, n_classes, choice, scores, online } = facts;
        params.rules().map_err(|error| wrong(error.to_string()))?;
        let is_learning = forest.can_learn();
        if forest.n_classes() != n_classes || is_learning != online.is_some() {
            let got = forest.n_classes();
            return Err(wrong(format!("a forest of {got} classes, expected {n_classes}")));
        }
        let is_fitting =
            |choice: &KernelChoice| choice.is_valid() && choice.calibration.curves.len() <= n_classes;
        if !choice.as_ref().is_none_or(is_fitting) || (scores.is_some() && choice.is_none()) {
            return Err(wrong("noise variance and calibration do not fit".into()));
        }
        let scores = match scores {
            Some([width, n_rows]) if (1..=n_classes).contains(&width) => {
                let LeafTables { keys, values } = leaves(width)?;
                let found = LeafScores::from_parts(forest.forest(), width, n_rows, keys, values);
                Some(found.ok_or_else(|| wrong("the scores of leaves do not fit the forest".into()))?)
            }
            Some(_) => return Err(wrong("the scores of leaves are of classes that are not there".into())),
            None => None,
        };
        let online =
            online.map(|facts| read_online(facts, forest.n_features(), n_classes, table)).transpose()?;
        Ok(Self { params, n_classes, forest, choice, scores, online })
    }
}

fn read_online(
    facts: OnlineFacts,
    n_features: usize,
    n_classes: usize,
    table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
) -> Result<OnlineState> {
    let OnlineFacts { n_seen, maintain_at, validated_at, score_widths } = facts;
    let (features, rows) = (table("waiting.features")?, table("waiting.rows")?);
    let (scores, classes) = (table("newest.scores")?, table("newest.classes")?);
    let is_class = |v: &f64| *v >= 0.0 && v.fract() == 0.0 && *v < n_classes as f64;
    let n = features.nrows();
    let n_scores = score_widths.len();
    let fits = features.ncols() == n_features
        && n <= OnlineState::MOST_WAITING
        && rows.dim() == (2, n)
        && rows.row(0).iter().all(is_class)
        && rows.row(1).iter().all(|weight| *weight >= 0.0 && weight.is_finite())
        && features.iter().all(|v| !v.is_infinite())
        && n_scores <= 2 * MOST_SCORES + OnlineState::MOST_WAITING
        && scores.nrows() == n_scores
        && classes.dim() == (1, n_scores)
        && classes.iter().all(is_class)
        && scores.iter().all(|v| v.is_finite())
        && score_widths.iter().all(|width| *width <= scores.ncols().min(n_classes))
        && maintain_at > n_seen
        && maintain_at - n_seen <= 1 << 20
        && n_seen < 1 << 60
        && validated_at <= n_seen;
    if !fits {
        return Err(wrong("rows that wait and the newest scores do not fit the rest".into()));
    }
    let mut waiting = Features::new(n_features);
    waiting.extend(features.mapv(|v| v as f32).view());
    let list = |table: &Array2<f64>, row: usize| -> Vec<ClassId> {
        table.row(row).iter().map(|class| ClassId(*class as u32)).collect()
    };
    let scores =
        score_widths.iter().zip(scores.rows()).map(|(width, row)| row.iter().take(*width).copied().collect());
    Ok(OnlineState {
        n_seen,
        maintain_at,
        validated_at,
        features: waiting,
        labels: list(&rows, 0),
        weights: rows.row(1).iter().map(|weight| *weight as f32).collect(),
        scores: scores.collect(),
        classes: list(&classes, 0),
    })
}

fn wrong(detail: String) -> Error {
    Error::model(ModelProblem::Inconsistent { detail })
}
