//! The runs of one strategy and one model together.

use serde::Serialize;

use super::run::Run;

/// Points that an accuracy is smoothed over before it counts as reached.
const SMOOTHED: usize = 5;

/// A number of every run, with its mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean over runs.
    pub mean: f64,
    /// Its standard error; 0 of a single run.
    pub standard_error: f64,
    /// One number a run, in the order of seeds.
    pub runs: Vec<f64>,
}

impl Estimate {
    pub(super) fn new(runs: Vec<f64>) -> Self {
        let n = runs.len().max(1) as f64;
        let mean = runs.iter().sum::<f64>() / n;
        let variance = runs.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0).max(1.0);
        Self { mean, standard_error: (variance / n).sqrt(), runs }
    }
}

/// A point of a learning curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Labels.
    pub labels: usize,
    /// Mean accuracy on the test rows.
    pub accuracy: f64,
    /// Its standard error over runs.
    pub standard_error: f64,
    /// Mean area under the ROC curve.
    pub auc: f64,
}

/// How a strategy did with a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The strategy.
    pub strategy: String,
    /// The model.
    pub model: String,
    /// Mean accuracy over the learning curve: the area under it.
    pub area: Estimate,
    /// Accuracy at the end.
    pub final_accuracy: Estimate,
    /// The mean area under the ROC curve over the learning curve: what counts where classes are uneven.
    pub auc: Estimate,
    /// Accuracy of a model of all labels of the pool; none where it was not wanted.
    pub full_accuracy: Option<Estimate>,
    /// Of each run, the labels from which on accuracy, smoothed over five points, is the wanted share of that with all labels; none if it never is.
    pub labels_needed: Vec<Option<usize>>,
    /// The learning curve.
    pub curve: Vec<CurvePoint>,
    /// Rows of the table in the order in which they were labelled, in the first run.
    pub order: Vec<usize>,
}

impl Outcome {
    pub(super) fn new(strategy: &str, model: &str, runs: &[Run], full: Option<&[f64]>, share: f64) -> Self {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let each = |of: &dyn Fn(&Run) -> f64| Estimate::new(runs.iter().map(of).collect());
        let n_points = runs.iter().map(|run| run.labels.len()).min().unwrap_or(0);
        let point = |i: usize| {
            let accuracy = Estimate::new(runs.iter().map(|run| run.accuracy[i]).collect());
            let auc = mean(&runs.iter().map(|run| run.auc[i]).collect::<Vec<_>>());
            let (labels, standard_error) = (runs[0].labels[i], accuracy.standard_error);
            CurvePoint { labels, accuracy: accuracy.mean, standard_error, auc }
        };
        let needed = |(run, full): (&Run, &f64)| reached(run, share * full);
        Self {
            strategy: strategy.into(),
            model: model.into(),
            area: each(&|run| mean(&run.accuracy)),
            final_accuracy: each(&|run| run.accuracy.last().copied().unwrap_or(f64::NAN)),
            auc: each(&|run| mean(&run.auc)),
            full_accuracy: full.map(|full| Estimate::new(full.to_vec())),
            labels_needed: full.map_or(Vec::new(), |full| runs.iter().zip(full).map(needed).collect()),
            curve: (0..n_points).map(point).collect(),
            order: runs.first().map_or(Vec::new(), |run| run.order.clone()),
        }
    }

    /// The median of the labels needed, where half of the runs get there.
    pub fn median_labels_needed(&self) -> Option<usize> {
        let mut needed: Vec<usize> =
            self.labels_needed.iter().map(|labels| labels.unwrap_or(usize::MAX)).collect();
        needed.sort_unstable();
        needed.get(needed.len().saturating_sub(1) / 2).copied().filter(|labels| *labels < usize::MAX)
    }
}

/// The labels from which on accuracy, smoothed over points around, is at least this.
fn reached(run: &Run, wanted: f64) -> Option<usize> {
    let smooth = |i: usize| {
        let near = i.saturating_sub(SMOOTHED / 2)..(i + SMOOTHED / 2 + 1).min(run.accuracy.len());
        let n = near.len() as f64;
        run.accuracy[near].iter().sum::<f64>() / n
    };
    (0..run.accuracy.len()).find(|&i| smooth(i) >= wanted).map(|i| run.labels[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(accuracy: &[f64]) -> Run {
        let labels = (1..=accuracy.len()).collect();
        Run { labels, accuracy: accuracy.to_vec(), auc: vec![0.5; accuracy.len()], order: vec![7, 3] }
    }

    #[test]
    fn means_errors_and_labels_needed() {
        let runs = [run(&[0.2, 0.4, 0.6, 0.6]), run(&[0.4, 0.4, 0.4, 0.4])];
        let outcome = Outcome::new("margin", "forest", &runs, Some(&[0.5, 0.5]), 0.9);
        assert!((outcome.area.mean - 0.425).abs() < 1e-12 && (outcome.area.runs[0] - 0.45).abs() < 1e-12);
        assert!((outcome.area.standard_error - 0.025).abs() < 1e-12, "{:?}", outcome.area);
        assert_eq!((outcome.curve[2].labels, outcome.order.clone()), (3, vec![7, 3]));
        assert!((outcome.curve[2].accuracy - 0.5).abs() < 1e-12);
        assert!((outcome.curve[2].standard_error - 0.1).abs() < 1e-12);
        // Smoothed: 0.4, 0.45, … of the first run; the second never gets to 0.45.
        assert_eq!(outcome.labels_needed, [Some(2), None]);
        assert_eq!(outcome.median_labels_needed(), Some(2));
        assert_eq!(Estimate::new(vec![0.3]).standard_error, 0.0);
    }
}
