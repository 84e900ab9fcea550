//! A forest as a model: frozen, fitted and ready to learn, or learning.

use std::collections::BTreeMap;

use hedgerow_core::saved::{Saved, are_alike, array, optional, require};
use hedgerow_core::text::count;
use hedgerow_core::{
    BoxedRun, Budget, Checked, ClassId, Closely, Committee, Dataset, DatasetParts, Error, Features, KindInfo,
    Learning, Mixed, ModelKind, OnlineModel, OnlineStatus, Par, Predictor, RelativeEvidence, Renewed, Result,
    Rows, RunStart, Schema, Summary, Training, WholeRun,
};
use ndarray::{Array2, ArrayView1, ArrayView2, s};
use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::confidence::ConfidenceForest;
use crate::forest::Forest;
use crate::horizons::MEMORIES;
use crate::online::OnlineForest;
use crate::params::{ForestParams, Keep};
use crate::train::ForestRun;
use crate::tree::Tree;

/// A forest, and what it needs to go on learning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForestModel {
    /// It only predicts.
    Frozen(Forest),
    /// Fitted, with the rows that it goes on learning from. They are shared with the data set it was fitted to until the first row is learnt.
    Fitted(Forest, Box<FittedRows>),
    /// It has learnt online, and has lists of its retained rows.
    Learning(Box<OnlineForest>),
    /// It tells how much evidence there is for what it predicts.
    Confidence(Box<ConfidenceForest>),
}

/// The rows that a forest was fitted to, as far as it may retain them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FittedRows {
    pub(crate) features: Features,
    #[serde(with = "array")]
    pub(crate) labels: Vec<ClassId>,
    #[serde(with = "optional")]
    pub(crate) weights: Option<Vec<f32>>,
    /// Rows that it was fitted to.
    pub(crate) n_seen: u64,
    #[serde(skip)]
    pub(crate) schema: Schema,
}

/// Missing values are alike.
impl PartialEq for FittedRows {
    fn eq(&self, other: &Self) -> bool {
        are_alike(self, other) && self.schema == other.schema
    }
}

impl FittedRows {
    /// All rows of a data set.
    pub fn new(data: Dataset) -> Self {
        let n_seen = data.n_rows() as u64;
        let labels = data.labels().to_vec();
        let DatasetParts { schema, features, weights, .. } = data.into_parts();
        Self { features, labels, weights, n_seen, schema }
    }

    fn dataset(&self) -> Result<Dataset> {
        let (features, labels) = (self.features.clone(), self.labels.clone());
        Dataset::new(self.schema.clone(), features, labels, self.weights.clone())
    }
}

impl ForestModel {
    /// A forest that can go on learning after it was fitted to these rows. If there are more rows than may be retained, the first ones are
    /// forgotten.
    pub fn fitted(forest: Forest, data: Dataset) -> Self {
        let (n, most) = (data.n_rows(), forest.params.most_pool_rows());
        let is_kept = |row: &usize| data.weights.as_ref().is_none_or(|weights| weights[*row] > 0.0);
        let rows: Vec<usize> = (0..n).filter(is_kept).collect();
        let kept = &rows[rows.len().saturating_sub(most)..];
        let data = if kept.len() == n { data } else { data.select(kept) };
        Self::Fitted(forest, Box::new(FittedRows { n_seen: n as u64, ..FittedRows::new(data) }))
    }

    /// The forest. That of a confidence forest has another first class, that of background rows.
    pub fn forest(&self) -> &Forest {
        match self {
            Self::Frozen(forest) | Self::Fitted(forest, _) => forest,
            Self::Learning(online) => online.forest(),
            Self::Confidence(confidence) => &confidence.forest,
        }
    }

    /// The forest alone.
    pub fn into_forest(mut self) -> Forest {
        self.put_in_order();
        match self {
            Self::Frozen(forest) | Self::Fitted(forest, _) => forest,
            Self::Learning(online) => online.forest,
            Self::Confidence(confidence) => confidence.forest,
        }
    }

    /// The confidence forest, if it is one.
    pub fn as_confidence(&self) -> Option<&ConfidenceForest> {
        if let Self::Confidence(confidence) = self { Some(confidence) } else { None }
    }

    /// The forest with lists of its retained rows, which are made if there are none yet; none if it is frozen or a
    /// confidence forest.
    pub fn online(&mut self) -> Option<&mut OnlineForest> {
        if let Self::Fitted(forest, rows) = self {
            // What stays behind for a moment is empty.
            let nothing = Forest::from_parts(forest.params.clone(), 0, Vec::new(), None, Vec::new());
            let forest = std::mem::replace(forest, nothing);
            *self = Self::Learning(Box::new(OnlineForest::from_fitted(forest, (**rows).clone())));
        }
        if let Self::Learning(online) = self { Some(online) } else { None }
    }
}

impl Saved for ForestModel {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        match self {
            Self::Frozen(forest) => forest.check(schema),
            Self::Fitted(forest, rows) => {
                require(!forest.trees.is_empty(), || "there are no trees")?;
                forest.check(schema)?;
                rows.schema = schema.clone();
                rows.dataset()?;
                require(rows.labels.len() as u64 <= rows.n_seen && rows.n_seen < 1 << 62, || {
                    format!("{} rows of {}", rows.labels.len(), rows.n_seen)
                })
            }
            Self::Learning(online) => online.complete(schema),
            Self::Confidence(confidence) => confidence.complete(schema),
        }
    }
}

impl OnlineModel for ForestModel {
    fn predictor(&self) -> Predictor<'_> {
        match self {
            Self::Confidence(confidence) => Predictor::Classifier(&**confidence),
            _ => Predictor::Classifier(self.forest()),
        }
    }

    fn relative_evidence(&self) -> Option<&dyn RelativeEvidence> {
        self.as_confidence().map(|confidence| confidence as &dyn RelativeEvidence)
    }

    fn online_status(&self) -> Option<OnlineStatus> {
        let (n_seen, n_retained) = match self {
            Self::Frozen(_) => return None,
            Self::Fitted(_, rows) => (rows.n_seen, rows.labels.len()),
            Self::Learning(online) => (online.seen, online.pool.n_rows),
            Self::Confidence(confidence) => {
                return confidence.retained().map(|(schedule, rows)| OnlineStatus::new(schedule, rows.len()));
            }
        };
        Some(OnlineStatus { n_seen, n_retained, room: usize::MAX })
    }

    fn is_calibrated_online(&self) -> bool {
        let params = &self.forest().params;
        (params.horizons && !params.confidence) || !params.calibrate
    }

    fn predict_mixed(&self, x: ArrayView2<'_, f32>, _par: &Par) -> Option<Vec<(Vec<f64>, Mixed)>> {
        let params = &self.forest().params;
        (params.horizons && !params.confidence).then(|| self.forest().predict_mixed(x))
    }

    fn committee(&self) -> Option<&dyn Committee> {
        (!self.forest().params.confidence).then(|| self.forest() as &dyn Committee)
    }

    fn know_classes(&mut self, n_classes: usize) {
        let forest = match self {
            Self::Frozen(forest) | Self::Fitted(forest, _) => forest,
            Self::Learning(online) => &mut online.forest,
            Self::Confidence(confidence) => return confidence.know_classes(n_classes),
        };
        forest.n_classes = forest.n_classes.max(n_classes);
    }

    fn ingest(&mut self, rows: Rows<'_>, learning: &mut Learning<'_>) -> Result<Array2<f64>> {
        if let Self::Confidence(confidence) = self {
            return Ok(confidence.ingest(rows, learning.training));
        }
        let forest = self.online().ok_or(Error::Frozen)?;
        let mut learnt = forest.learn(learning.schema, rows, learning.training)?;
        let predictions = std::mem::take(&mut learnt.predictions).slice_move(s![..learnt.n_learnt, ..]);
        learning.update.add_changes(learnt);
        Ok(predictions)
    }

    fn maintain(&mut self, learning: &mut Learning<'_>) -> Result<()> {
        if let Self::Confidence(confidence) = self { confidence.maintain(learning) } else { Ok(()) }
    }

    fn forget(&mut self, row: ArrayView1<'_, f32>, class: ClassId, par: &Par) -> bool {
        self.online().is_some_and(|online| online.forget(row, class, par))
    }

    fn retained_rows(&self, schema: &Schema) -> Result<Option<Dataset>> {
        match self {
            Self::Frozen(_) => Ok(None),
            Self::Fitted(_, rows) => rows.dataset()?.under(schema).map(Some),
            Self::Learning(online) => online.retained_rows(schema).map(Some),
            Self::Confidence(confidence) => {
                confidence.retained().map(|(_, rows)| rows.dataset(schema)).transpose()
            }
        }
    }

    fn frozen(self) -> Self {
        match self {
            Self::Confidence(confidence) => Self::Confidence(Box::new(confidence.frozen())),
            _ => Self::Frozen(self.into_forest()),
        }
    }

    fn memory_weights(&self) -> Vec<f64> {
        self.forest().memory_weights()
    }

    fn n_best_by_short_memory(&self) -> u64 {
        self.forest().n_best_by_short_memory()
    }

    fn put_in_order(&mut self) {
        if let Self::Learning(online) = self {
            online.put_in_order();
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Frozen(forest) => forest.bytes(),
            Self::Fitted(forest, rows) => forest.bytes() + rows.features.bytes() + 8 * rows.labels.len(),
            Self::Learning(online) => online.bytes(),
            Self::Confidence(confidence) => confidence.bytes(),
        }
    }

    fn summary(&self, _classes: &[String]) -> Summary {
        let forest = self.forest();
        if let Self::Confidence(confidence) = self {
            return Summary { closely: closely(forest), ..confidence.summary() };
        }
        let height = forest.trees().iter().map(Tree::height).max().unwrap_or(0);
        let online = forest.horizons.is_some() && forest.params.calibrate;
        let is_calibrated = online || forest.calibration().is_some();
        let calibrated = if is_calibrated { ", probabilities calibrated" } else { "" };
        let n_nodes = count(forest.n_nodes() as u64);
        let mut summary = Summary::new(format!("{} trees", count(forest.trees().len() as u64)))
            .count("trees", "Trees", forest.trees().len())
            .count("nodes", "Nodes", forest.n_nodes())
            .value("height", height as u64)
            .value("calibrated", is_calibrated)
            .details(format!("{n_nodes} nodes, up to {height} high{calibrated}"));
        let weights = forest.memory_weights();
        if let [all, short @ ..] = &weights[..] {
            let percent = |weight: &f64| format!("{:.0} %", 100.0 * weight);
            let each =
                MEMORIES.iter().zip(short).map(|(len, weight)| format!(", newest {len} {}", percent(weight)));
            let text = format!("all rows {}{}", percent(all), each.collect::<String>());
            summary = summary.fact("Weights of memories", text).value("memory_weights", weights);
        }
        summary.importances = Some(forest.impurity_importances());
        summary.closely = closely(forest);
        summary
    }
}

/// Heights of trees, and how they become predictions.
fn closely(forest: &Forest) -> Closely {
    let mut heights: BTreeMap<usize, usize> = BTreeMap::new();
    forest.trees().iter().for_each(|tree| *heights.entry(tree.height()).or_default() += 1);
    let (power, calibration) = (forest.leaf_power(), forest.calibration());
    let mut closely = Closely::default()
        .value("heights", &heights)
        .value("leaf_power", power)
        .value("calibration", calibration);
    if let (Some((low, _)), Some((high, _))) = (heights.first_key_value(), heights.last_key_value()) {
        closely = closely.line(format!("trees are {low} to {high} high"));
    }
    let calibrated = calibration.map_or_else(
        || "probabilities not calibrated".to_string(),
        |Calibration { sharpness, pseudo_votes }| {
            let values = format!("sharpness {sharpness:.3}, pseudo-votes {pseudo_votes:.3}");
            format!("probabilities calibrated out of bag: {values}")
        },
    );
    closely = closely.line(calibrated);
    if power != 0.0 {
        let which = if power < 0.0 { "small" } else { "large" };
        closely = closely.line(format!("{which} leaves count more: their size to the power of {power}"));
    }
    closely
}

impl ModelKind for ForestParams {
    type Model = ForestModel;

    const INFO: KindInfo = KindInfo {
        name: "forest",
        about: "A random forest of deep trees: fast, takes any table as it is",
        noun: "a forest",
        work: "growing trees",
        params: "ForestParams",
        renewed: Renewed::TREES,
        merges: true,
        has_oob: true,
        learns_at_once: true,
        ..KindInfo::LEARNER
    };

    fn new_model(schema: &Schema, params: &Checked<Self>) -> Result<ForestModel> {
        if params.get().confidence {
            return Ok(ForestModel::Confidence(Box::new(ConfidenceForest::new(schema, params)?)));
        }
        Ok(ForestModel::Learning(Box::new(OnlineForest::new(schema, params)?)))
    }

    fn start_run(start: &RunStart<'_, Self>) -> Result<BoxedRun<ForestModel>> {
        if start.params.get().confidence {
            let (data, params) = (start.data.clone(), start.params.clone());
            return Ok(Box::new(WholeRun::new("trees", move |training: &Training<'_>| {
                let (candidate, stop) = ConfidenceForest::fit(&data, &params, training)?;
                Ok((candidate.map(|forest| ForestModel::Confidence(Box::new(forest))), stop))
            })));
        }
        Ok(Box::new(ForestRun::new(start.data, start.params, start.lanes, start.training)?))
    }

    fn check_ends(&self, budget: &Budget) -> Result<()> {
        let is_limited = budget.deadline.is_some() || budget.bytes.is_some() || budget.rounds.is_some();
        if self.n_trees > 0 || self.patience > 0 || is_limited {
            return Ok(());
        }
        Err(Error::param("n_trees", "1 or more, unless time, memory or patience is limited", 0))
    }

    fn of_model(model: &ForestModel) -> &Self {
        model.forest().params()
    }

    fn seed(&mut self) -> &mut u64 {
        &mut self.seed
    }

    fn merge(models: &[(&Schema, &ForestModel)]) -> Result<(Schema, ForestModel)> {
        let forests: Vec<(&Schema, &Forest)> =
            models.iter().map(|(schema, model)| (*schema, model.forest())).collect();
        let (schema, forest) = crate::merge(&forests)?;
        let mut rows: Option<Dataset> = None;
        for (own, model) in models {
            let Some(own) = model.retained_rows(own)? else {
                return Ok((schema, ForestModel::Frozen(forest)));
            };
            let own = own.under(&schema)?;
            match &mut rows {
                None => rows = Some(own),
                Some(rows) => rows.append(&own)?,
            }
        }
        let merged = match rows {
            Some(rows) => ForestModel::fitted(forest, rows),
            None => ForestModel::Frozen(forest),
        };
        Ok((schema, merged))
    }

    fn check_retains_fairly(&self) -> Result<()> {
        if self.keep == Keep::All {
            return Ok(());
        }
        let got = format!("{:?}", self.keep).to_lowercase();
        Err(Error::param("keep", "all, for intervals: other rows are no fair sample", got))
    }

    fn max_retained(&self) -> usize {
        self.pool_rows
    }

    fn n_parts(&self, model: &ForestModel) -> (usize, &'static str) {
        (self.n_trees.max(model.forest().trees().len()), "trees")
    }

    fn with_a_prior(self) -> Self {
        Self { n_trees: self.n_trees.max(1), ..self }
    }
}
