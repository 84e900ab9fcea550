//! A set of predictions with the truth, from which most of a page can be filled.

use hedgerow_core::error::check_shapes;
use hedgerow_core::metrics::{self, Running};
use hedgerow_core::{ClassId, Features, Result, Schema};
use ndarray::{ArrayView1, ArrayView2};

use super::class_table::ClassRow;
use super::confusion::Confusion;
use super::number::rows;
use super::page::Page;
use super::picture::{Picture, range};
use super::reliability::Reliability;
use super::scores::Scores;
use super::uncertain::{LeastSure, UncertainRow};

/// Predictions for rows whose labels are known.
#[derive(Debug, Clone)]
pub struct Predictions<'a> {
    /// A probability for every class of every row.
    pub proba: ArrayView2<'a, f64>,
    /// The label of every row.
    pub truth: &'a [ClassId],
    /// What classes and columns are called, and whether rows are images.
    pub schema: &'a Schema,
    /// The rows themselves, to show those with the most uncertain predictions; none shows no rows.
    pub features: Option<&'a Features>,
    /// Weights of the rows, as in [`metrics::Report::new`].
    pub weights: Option<&'a [f32]>,
    /// Which rows these are, in a few words.
    pub measured_on: String,
    /// The numbers of the rows in the eyes of the reader; none counts from 1.
    pub row_numbers: Option<&'a [u64]>,
}

impl<'a> Predictions<'a> {
    /// Predictions without features, weights or row numbers.
    pub fn new(proba: ArrayView2<'a, f64>, truth: &'a [ClassId], schema: &'a Schema) -> Self {
        let measured_on = rows(truth.len() as u64);
        Self { proba, truth, schema, features: None, weights: None, measured_on, row_numbers: None }
    }

    /// The rows whose predictions have the largest entropy, the largest first.
    fn least_sure(&self, features: &Features) -> Result<Vec<UncertainRow>> {
        let n_rows = self.truth.len();
        check_shapes([
            ("row numbers", n_rows, self.row_numbers.map_or(n_rows, <[u64]>::len)),
            ("rows of features", n_rows, features.n_rows()),
            ("feature columns", self.schema.n_features(), features.n_features()),
        ])?;
        let mut least = LeastSure::default();
        let mut values = vec![0.0; features.n_features()];
        for (i, prediction) in self.proba.rows().into_iter().enumerate() {
            features.copy_rows(i..i + 1, &mut values);
            let row = self.row_numbers.map_or(i as u64 + 1, |numbers| numbers[i]);
            least.add(row, prediction, Some(self.truth[i]), ArrayView1::from(&values));
        }
        Ok(least.finish(self.schema))
    }
}

impl Page {
    /// Fills in everything that follows from a set of predictions: scores, confusion, reliability, classes and, where the
    /// rows are given, those with the most uncertain predictions.
    pub fn evaluate(&mut self, predictions: &Predictions<'_>) -> Result<()> {
        let Predictions { proba, truth, schema, .. } = predictions;
        check_shapes([("weights", truth.len(), predictions.weights.map_or(truth.len(), <[f32]>::len))])?;
        let metrics = metrics::Report::new(*proba, truth, predictions.weights)?;
        let uncertain = predictions.features.map(|f| predictions.least_sure(f)).transpose()?;
        let mut running = Running::default();
        for (prediction, class) in proba.rows().into_iter().zip(*truth) {
            running.add(prediction, *class, 1.0);
        }
        self.evaluate_running(&running, schema, &*predictions.measured_on);
        self.uncertain = uncertain.unwrap_or_default();
        self.scores = Some(Scores { measured_on: predictions.measured_on.clone(), metrics });
        Ok(())
    }

    /// The same for predictions that were evaluated one after the other: scores, confusion, reliability and classes.
    pub fn evaluate_running(&mut self, running: &Running, schema: &Schema, measured_on: impl Into<String>) {
        let metrics = running.report();
        self.confusion = Some(Confusion::new(&metrics, schema.labels.names()).sorted());
        self.reliability = Some(Reliability { bins: running.reliability(), ece: Some(metrics.ece) });
        self.classes = ClassRow::of_tallies(running.classes(), &schema.labels);
        self.scores = Some(Scores { measured_on: measured_on.into(), metrics });
    }
}

impl Picture {
    /// The chosen rows of image data as pictures with one range for all; none where rows are not images.
    pub fn of_rows(schema: &Schema, features: &Features, rows: &[usize]) -> Option<Vec<Self>> {
        let size = schema.image.filter(|[h, w]| h.checked_mul(*w) == Some(features.n_features()))?;
        let values = features.select(rows).to_array(0..rows.len());
        let range = range(values.iter().copied());
        let picture = |row: ArrayView1<'_, f32>| Self { size, values: row.to_vec(), range };
        Some(values.rows().into_iter().map(picture).collect())
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{Column, ColumnKind, LabelTable};
    use ndarray::array;

    use super::super::Look;
    use super::*;

    fn schema() -> Schema {
        let flag = ColumnKind::Boolean { no: "no".into(), yes: "yes".into() };
        let kind = ColumnKind::Categorical { categories: vec!["red".into(), "blue".into()] };
        Schema {
            columns: vec![
                Column::numeric("x"),
                Column { name: "flag".into(), kind: flag },
                Column { name: "color".into(), kind },
            ],
            labels: LabelTable::from(vec!["a".to_string(), "b".to_string()]),
            ..Schema::default()
        }
    }

    #[test]
    fn the_least_sure_row_comes_first_with_its_values_in_words() {
        let schema = schema();
        let proba = array![[0.9, 0.1], [0.45, 0.55]];
        let truth = [ClassId(0), ClassId(0)];
        let features = Features::from_view(array![[0.5_f32, 0.0, 1.0], [f32::NAN, 1.0, 0.0]].view());
        let mut page = Page::default();
        let predictions =
            Predictions { features: Some(&features), ..Predictions::new(proba.view(), &truth, &schema) };
        page.evaluate(&predictions).unwrap();
        let first = &page.uncertain[0];
        assert_eq!((first.row, first.truth.as_deref(), first.prediction[0].0.as_str()), (2, Some("a"), "b"));
        let Look::Values(values) = &first.look else { panic!("not an image") };
        let texts: Vec<&str> = values.iter().map(|v| v.1.as_str()).collect();
        assert_eq!(texts, ["missing", "yes", "red"]);
        assert_eq!(page.scores.unwrap().metrics.accuracy, 0.5);
    }

    #[test]
    fn evaluating_one_by_one_fills_the_same_page() {
        let schema = schema();
        let proba = array![[0.9, 0.1], [0.45, 0.55], [0.2, 0.8]];
        let truth = [ClassId(0), ClassId(0), ClassId(1)];
        let (mut page, mut other) = (Page::default(), Page::default());
        page.evaluate(&Predictions::new(proba.view(), &truth, &schema)).unwrap();
        let mut running = Running::default();
        for (prediction, class) in proba.rows().into_iter().zip(truth) {
            running.add(prediction, class, 1.0);
        }
        other.evaluate_running(&running, &schema, "3 rows");
        assert_eq!(page.to_html(), other.to_html());
    }

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        let schema = schema();
        let proba = array![[0.9, 0.1]];
        let truth = [ClassId(0)];
        let few = Features::new(3);
        let mut page = Page::default();
        assert!(page.evaluate(&Predictions::new(proba.view(), &[], &schema)).is_err());
        assert!(page.evaluate(&Predictions::new(proba.view(), &[ClassId(2)], &schema)).is_err());
        let predictions =
            Predictions { weights: Some(&[]), ..Predictions::new(proba.view(), &truth, &schema) };
        assert!(page.evaluate(&predictions).is_err());
        let predictions =
            Predictions { features: Some(&few), ..Predictions::new(proba.view(), &truth, &schema) };
        assert!(page.evaluate(&predictions).is_err());
        assert!(page.scores.is_none());
    }
}
