//! Rows on their way from whoever brings them to the jobs.
//!
//! Rows wait until there are enough of them (a quarter of those taken up before) or nothing else is to be done: taking them up lets trees begin anew, so it must not happen for
//! each. Some of them judge: nobody learns these, all are asked about them.

use std::sync::Arc;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Dataset, Par, Params as _, Result, Schema};
use hedgerow_forest::{ForestParams, Nursery};
use hedgerow_gp::IvmParams;
use hedgerow_gp::ivm::sliced::{Ground, Trials};
use hedgerow_hybrid::LeafGpParams;
use hedgerow_hybrid::leaf_gp::sliced::Plot;
use ndarray::Array2;

use super::route::route_params;
use super::view::View;
use crate::params::ModelParams;

/// Rows that judge, at most: more would not tell models apart better.
const MOST_JUDGES: usize = 2000;
/// The share of rows that judge, at most: of few rows, and of more.
const SHARES: [f64; 2] = [0.25, 0.1];
const FEW_ROWS: usize = 1000;
/// Rows of a class of which one may judge.
const LEAST_OF_CLASS: usize = 4;

/// Rows made ready for all jobs.
pub(super) struct Stock {
    /// How often rows were taken up.
    pub(super) version: u64,
    /// How often everything began anew: columns prepared, kernel searched for.
    pub(super) generation: u64,
    /// Rows when that happened last.
    n_begun: usize,
    pub(super) data: Arc<Dataset>,
    pub(super) is_judge: Vec<bool>,
    pub(super) nursery: Option<Nursery>,
    pub(super) ground: Option<Ground>,
    pub(super) plot: Option<Plot>,
    pub(super) trials: Option<Arc<Trials>>,
    /// Rows that came before all of these and were forgotten.
    pub(super) n_dropped: u64,
    /// The rows that judge, and their classes.
    pub(super) judges: Array2<f32>,
    pub(super) labels: Vec<ClassId>,
}

/// The parameters of the forest, if the model has one.
pub(super) fn forest_params(params: &ModelParams) -> Option<ForestParams> {
    match params {
        ModelParams::Forest(params) => Some(params.clone()),
        ModelParams::ForestIvm(params) => Some(params.forest_params()),
        ModelParams::LeafGp(params) => Some(params.forest_params()),
        ModelParams::ForestKernel(params) => Some(params.forest_params()),
        _ => None,
    }
}

/// The parameters of the machines, if the model has some.
pub(super) fn ivm_params(params: &ModelParams) -> Option<IvmParams> {
    match params {
        ModelParams::Ivm(params) => Some(params.clone()),
        ModelParams::ForestIvm(params) => Some(params.ivm_params()),
        _ => None,
    }
}

/// The parameters of leaves that learn, if the model has such.
pub(super) fn leaf_params(params: &ModelParams) -> Option<&LeafGpParams> {
    if let ModelParams::LeafGp(params) = params { Some(params) } else { None }
}

impl Stock {
    /// The rows before, if there were any, with those that were waiting. Fails where there is nothing to learn from yet.
    pub(super) fn new(view: &View) -> Result<Self> {
        let par = Par::sequential();
        let (before, params) = (view.stock.as_deref(), &*view.params);
        let n_dropped = before.map_or(0, |stock| stock.n_dropped);
        let Joined { mut data, is_corrected } =
            join(before.map(|stock| &*stock.data), n_dropped, &view.waiting);
        data.check_trainable()?;
        let version = before.map_or(1, |stock| stock.version + 1);
        let mut is_judge = before.map_or_else(Vec::new, |stock| stock.is_judge.clone());
        // Columns and kernel are looked at again when twice as many rows are there, or other classes and categories; everything after corrections, since what was
        // learnt from a wrong label cannot be taken back.
        let is_like = |stock: &&Self| data.n_rows() < 2 * stock.n_begun && stock.data.schema == data.schema;
        let mut goes_on = before.filter(|_| !is_corrected).filter(is_like);
        let n_old = excess(data.n_rows(), goes_on.is_some(), params);
        if n_old > 0 {
            goes_on = None;
            data = data.select(&(n_old..data.n_rows()).collect::<Vec<_>>());
            is_judge.drain(..n_old.min(is_judge.len()));
            data.check_trainable()?;
        }
        let n_dropped = n_dropped + n_old as u64;
        let settled = view.judges_before.get(n_dropped as usize..).unwrap_or_default();
        is_judge.extend(settled.iter().take(data.n_rows()).skip(is_judge.len()));
        let is_judge = choose_judges(&data, is_judge, params.seed(), version);
        let data = Arc::new(data);
        // Leaves take rows up as they are: once all trees are grown, nobody needs to grow any.
        let is_grown = goes_on.is_some() && !view.stems.is_empty() && view.stems.iter().all(Option::is_some);
        let routes = route_params(params).is_some();
        let nursery = forest_params(params)
            .filter(|_| !is_grown)
            .map(|params| Nursery::new(Arc::clone(&data), &is_judge, &params.check()?, &par))
            .transpose()?
            .map(|nursery| if routes { nursery.telling_left_out() } else { nursery });
        let ground = ivm_params(params).map(|_| match goes_on.and_then(|stock| stock.ground.as_ref()) {
            Some(ground) => ground.grown(&data, is_judge.clone()),
            None => Ground::new(&data, is_judge.clone()),
        });
        let plot = leaf_params(params).map(|params| match goes_on.and_then(|stock| stock.plot.as_ref()) {
            Some(plot) => plot.grown(&data, &is_judge),
            None => Plot::new(&data, &is_judge, params),
        });
        let trials = match (goes_on, ivm_params(params), &ground) {
            (Some(stock), ..) => stock.trials.clone(),
            (None, Some(params), Some(ground)) => Some(Arc::new(Trials::new(ground, &params, &par))),
            _ => None,
        };
        let judges: Vec<usize> = (0..data.n_rows()).filter(|row| is_judge[*row]).collect();
        Ok(Self {
            version,
            generation: match (before, goes_on) {
                (Some(before), None) => before.generation + 1,
                (before, _) => before.map_or(1, |stock| stock.generation),
            },
            n_begun: goes_on.map_or(data.n_rows(), |stock| stock.n_begun),
            nursery,
            ground,
            plot,
            trials,
            n_dropped,
            judges: data.features.select(&judges).to_array(0..judges.len()),
            labels: judges.iter().map(|&row| data.labels[row]).collect(),
            is_judge,
            data,
        })
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.data.bytes()
            + self.nursery.as_ref().map_or(0, Nursery::bytes)
            + self.ground.as_ref().map_or(0, Ground::bytes)
            + self.plot.as_ref().map_or(0, Plot::bytes)
            + 4 * self.judges.len()
    }
}

/// How many of the oldest rows are to be forgotten: models that remember so many only do not get more. Not for each row that is too many, since everything begins anew then.
fn excess(n: usize, goes_on: bool, params: &ModelParams) -> usize {
    let most = leaf_params(params).map_or(usize::MAX, LeafGpParams::most_rows);
    let bearable = if goes_on { most.saturating_add(most / 4) } else { most };
    if n > bearable { n - most } else { 0 }
}

/// What has come and waits to be taken up.
#[derive(Clone)]
pub(super) enum News {
    /// Rows.
    Rows(Arc<Dataset>),
    /// Other labels for rows, by their places in the order in which they came, under a schema.
    Labels(Arc<(Schema, Vec<(u64, ClassId)>)>),
}

impl News {
    /// How much there is to do.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Rows(data) => data.n_rows(),
            Self::Labels(labels) => labels.1.len(),
        }
    }
}

/// Rows with what came after them.
pub(super) struct Joined {
    pub(super) data: Dataset,
    /// Whether rows that were there before have other labels now.
    pub(super) is_corrected: bool,
}

/// Some rows, after so many that were forgotten, and what came after them, under the newest schema.
pub(super) fn join(before: Option<&Dataset>, n_dropped: u64, news: &[News]) -> Joined {
    let n_before = before.map_or(0, Dataset::n_rows);
    let mut all = before.cloned();
    let mut is_corrected = false;
    for news in news {
        match (news, &mut all) {
            (News::Rows(more), None) => all = Some(Dataset::clone(more)),
            (News::Rows(more), Some(all)) => {
                all.append(more);
                all.schema = more.schema.clone();
            }
            (News::Labels(labels), Some(all)) => {
                all.schema = labels.0.clone();
                for &(place, class) in &labels.1 {
                    // A row that was forgotten needs no label.
                    let row = place.checked_sub(n_dropped).map_or(usize::MAX, |row| row as usize);
                    if let Some(label) = all.labels.get_mut(row)
                        && *label != class
                    {
                        *label = class;
                        is_corrected |= row < n_before;
                    }
                }
            }
            (News::Labels(_), None) => {}
        }
    }
    let nothing = || Dataset {
        schema: Schema::unnamed(0),
        features: hedgerow_core::Features::new(0),
        labels: Vec::new(),
        weights: None,
    };
    Joined { data: all.unwrap_or_else(nothing), is_corrected }
}

/// Which rows judge: those that did before, and a share of the new ones of each class.
fn choose_judges(data: &Dataset, mut is_judge: Vec<bool>, seed: u64, version: u64) -> Vec<bool> {
    let (first, n) = (is_judge.len(), data.n_rows());
    let n_before = is_judge.iter().filter(|is| **is).count();
    is_judge.resize(n, false);
    let most = SHARES[usize::from(n >= FEW_ROWS)];
    let share = (MOST_JUDGES.saturating_sub(n_before) as f64 / (n - first).max(1) as f64).min(most);
    let mut by_class = vec![Vec::new(); data.schema.n_classes()];
    (first..n).for_each(|row| by_class[data.labels[row].index()].push(row));
    let mut rng = Rng::new(seed, Purpose::Judge, version);
    for rows in &mut by_class {
        rng.shuffle(rows);
        let wanted = (share * rows.len() as f64).round() as usize;
        let taken = if rows.len() < LEAST_OF_CLASS { 0 } else { wanted };
        rows.iter().take(taken).for_each(|&row| is_judge[row] = true);
    }
    is_judge
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;

    use super::*;

    #[test]
    fn judges_stay_and_come_from_every_class() {
        let data = blobs(900, 2, 3, 1);
        let first: Vec<usize> = (0..300).collect();
        let some = choose_judges(&data.select(&first), Vec::new(), 1, 1);
        let all = choose_judges(&data, some.clone(), 1, 2);
        assert_eq!(some, all[..300]);
        for class in 0..3 {
            let of_class = (0..900).filter(|row| data.labels[*row].0 == class);
            let (n, judges) = of_class.fold((0, 0), |(n, j), row| (n + 1, j + usize::from(all[row])));
            assert!(judges * 5 >= n && judges * 3 < n, "{judges} of {n}");
        }
        let many = blobs(30_000, 2, 3, 1);
        let n_judges = choose_judges(&many, Vec::new(), 1, 1).iter().filter(|is| **is).count();
        assert!(n_judges.abs_diff(MOST_JUDGES) <= 3, "{n_judges}");
    }
}
