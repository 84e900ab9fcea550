//! A process with the kernel of a forest as facts and tables, and back. The forest itself is saved as forests are.

use hedgerow_core::{ClassId, Classifier as _, Error, Features, ModelProblem, Params as _, Result};
use ndarray::{Array2, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use super::ForestKernelClassifier;
use super::online::{Course, MOST_SCORES};
use super::params::ForestKernelParams;
use super::scores::LeafScores;
use super::train::Verdict;
use crate::forest_ivm::Part;

/// What a model file says of a [`ForestKernelClassifier`] beside its forest and tables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForestKernelFacts {
    params: ForestKernelParams,
    n_classes: usize,
    verdict: Option<Verdict>,
    /// Classes that the scores of leaves are of, and rows that they come from; none if the forest answers.
    scores: Option<[usize; 2]>,
    course: Option<CourseFacts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CourseFacts {
    n_seen: u64,
    look_at: u64,
    tuned_at: u64,
    /// Classes that the scores of the newest rows are of.
    score_widths: Vec<usize>,
}

/// The leaves of each tree, and the numbers that they say.
pub type LeafLists<'a> = (&'a [Vec<u32>], &'a [Vec<f32>]);

/// What the leaves say, as arrays: for each tree its leaves, and for each leaf a number a class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeafTables {
    /// Leaves, tree by tree, as keys that rise.
    pub keys: Vec<Vec<u32>>,
    /// Numbers, tree by tree and leaf by leaf.
    pub values: Vec<Vec<f32>>,
}

impl ForestKernelClassifier {
    /// What is not a table.
    pub fn facts(&self) -> ForestKernelFacts {
        let course = self.course.as_ref().map(|course| CourseFacts {
            n_seen: course.n_seen,
            look_at: course.look_at,
            tuned_at: course.tuned_at,
            score_widths: course.scores.iter().map(Vec::len).collect(),
        });
        ForestKernelFacts {
            params: self.params.clone(),
            n_classes: self.n_classes,
            verdict: self.verdict.clone(),
            scores: self.scores.as_ref().map(|scores| [scores.n_classes, scores.n_rows]),
            course,
        }
    }

    /// What the leaves say: keys and numbers of each tree; none if the forest answers.
    pub fn leaf_tables(&self) -> Option<LeafLists<'_>> {
        self.scores.as_ref().map(|scores| (&scores.keys[..], &scores.values[..]))
    }

    /// The other tables, each with its name.
    pub fn tables(&self) -> Vec<(String, CowArray<'_, f64, Ix2>)> {
        let Some(course) = &self.course else { return Vec::new() };
        let n = course.labels.len();
        let rows = Array2::from_shape_fn((2, n), |(part, row)| {
            [f64::from(course.labels[row].0), f64::from(course.weights[row])][part]
        });
        let width = course.scores.iter().map(Vec::len).max().unwrap_or(0);
        let score = |(row, class): (usize, usize)| course.scores[row].get(class).copied().unwrap_or(0.0);
        let classes =
            Array2::from_shape_fn((1, course.classes.len()), |(_, row)| f64::from(course.classes[row].0));
        [
            ("waiting.features", course.features.to_array(0..n).mapv(f64::from)),
            ("waiting.rows", rows),
            ("newest.scores", Array2::from_shape_fn((course.scores.len(), width), score)),
            ("newest.classes", classes),
        ]
        .map(|(name, table)| (name.to_string(), CowArray::from(table)))
        .into()
    }

    /// The model again, with its forest. `leaves` are asked for if the facts speak of them, `table` finds another table by its name. Nothing is
    /// trusted: what does not fit together is an error.
    pub fn restore(
        facts: ForestKernelFacts,
        part: Part,
        leaves: impl FnOnce(usize) -> Result<LeafTables>,
        table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
    ) -> Result<Self> {
        let ForestKernelFacts { params, n_classes, verdict, scores, course } = facts;
        params.rules().map_err(|error| wrong(error.to_string()))?;
        let forest = part.forest();
        let is_learning = matches!(part, Part::Learning(_));
        if forest.n_classes() != n_classes || is_learning != course.is_some() {
            let got = forest.n_classes();
            return Err(wrong(format!("a forest of {got} classes, where {n_classes} are wanted")));
        }
        let is_fitting =
            |verdict: &Verdict| verdict.is_valid() && verdict.calibration.curves.len() <= n_classes;
        if !verdict.as_ref().is_none_or(is_fitting) || (scores.is_some() && verdict.is_none()) {
            return Err(wrong("noise and calibration do not fit".into()));
        }
        let scores = match scores {
            Some([width, n_rows]) if (1..=n_classes).contains(&width) => {
                let LeafTables { keys, values } = leaves(width)?;
                let found = LeafScores::from_parts(forest, width, n_rows, keys, values);
                Some(found.ok_or_else(|| wrong("what the leaves say does not fit the forest".into()))?)
            }
            Some(_) => return Err(wrong("what the leaves say is of classes that are not there".into())),
            None => None,
        };
        let course =
            course.map(|facts| read_course(facts, forest.n_features(), n_classes, table)).transpose()?;
        Ok(Self { params, n_classes, part, verdict, scores, course })
    }
}

fn read_course(
    facts: CourseFacts,
    n_features: usize,
    n_classes: usize,
    table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
) -> Result<Course> {
    let CourseFacts { n_seen, look_at, tuned_at, score_widths } = facts;
    let (features, rows) = (table("waiting.features")?, table("waiting.rows")?);
    let (scores, classes) = (table("newest.scores")?, table("newest.classes")?);
    let is_class = |v: &f64| *v >= 0.0 && v.fract() == 0.0 && *v < n_classes as f64;
    let n = features.nrows();
    let n_scores = score_widths.len();
    let fits = features.ncols() == n_features
        && n <= Course::MOST_WAITING
        && rows.dim() == (2, n)
        && rows.row(0).iter().all(is_class)
        && rows.row(1).iter().all(|weight| *weight >= 0.0 && weight.is_finite())
        && features.iter().all(|v| !v.is_infinite())
        && n_scores <= 2 * MOST_SCORES + Course::MOST_WAITING
        && scores.nrows() == n_scores
        && classes.dim() == (1, n_scores)
        && classes.iter().all(is_class)
        && scores.iter().all(|v| v.is_finite())
        && score_widths.iter().all(|width| *width <= scores.ncols().min(n_classes))
        && look_at > n_seen
        && look_at - n_seen <= 1 << 20
        && n_seen < 1 << 60
        && tuned_at <= n_seen;
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
    Ok(Course {
        n_seen,
        look_at,
        tuned_at,
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
