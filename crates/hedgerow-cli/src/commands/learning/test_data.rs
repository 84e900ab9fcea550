//! Rows that a model is evaluated on again and again while it learns.

use std::path::Path;

use hedgerow::Model;
use hedgerow::core::metrics::Report;
use hedgerow::core::{ClassId, Dataset, Features, Par, Result, Schema};
use hedgerow::io::{ReadOptions, RowReader};
use hedgerow::report::LeastSure;
use ndarray::{Array2, s};

use super::Feed;
use crate::commands::batch_rows;
use crate::commands::evaluation::least_sure;

/// Test data in memory.
#[derive(Debug)]
pub(crate) struct TestData {
    features: Features,
    pub(crate) labels: Vec<ClassId>,
    weights: Option<Vec<f32>>,
    numbers: Vec<u64>,
    pub(crate) without_label: u64,
}

impl TestData {
    /// Reads the data and returns them with the schema grown by their classes and categories: so classes that the model has
    /// not met yet have their place and count as wrong.
    pub(crate) fn read(path: &Path, options: &ReadOptions, schema: &Schema) -> Result<(Self, Schema)> {
        let mut feed = Feed::new(RowReader::open_growing(path, options, schema)?, path);
        let mut test = Self {
            features: Features::new(schema.n_features()),
            labels: Vec::new(),
            weights: None,
            numbers: Vec::new(),
            without_label: 0,
        };
        while let Some(chunk) = feed.next(batch_rows(schema.n_features()))? {
            test.features.extend(chunk.x.view());
            test.labels.extend(chunk.labels);
            test.numbers.extend(chunk.numbers);
            if let Some(weights) = chunk.weights {
                test.weights.get_or_insert_default().extend(weights);
            }
        }
        test.without_label = feed.without_label;
        let mut grown = feed.schema().clone();
        if schema.n_classes() == 0 {
            let new_of_old = grown.labels.sort();
            test.labels.iter_mut().for_each(|class| *class = new_of_old[class.index()]);
        }
        Ok((test, grown))
    }

    /// Rows in memory, with their numbers in the file they come from.
    pub(crate) fn of_dataset(data: Dataset, numbers: Vec<u64>) -> Self {
        let labels = data.labels().to_vec();
        let Dataset { features, weights, .. } = data;
        Self { features, labels, weights, numbers, without_label: 0 }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// All rows.
    pub(crate) fn rows(&self) -> Array2<f32> {
        self.features.to_array(0..self.n_rows())
    }

    /// The model's predictions for all rows.
    pub(crate) fn predictions(&self, model: &Model, par: &Par) -> Result<Array2<f64>> {
        let mut proba = Array2::zeros((self.n_rows(), model.n_classes()));
        let step = batch_rows(model.n_features());
        for start in (0..self.n_rows()).step_by(step) {
            let rows = start..(start + step).min(self.n_rows());
            let x = self.features.to_array(rows.clone());
            model.classifier()?.predict_proba_into(x.view(), par, proba.slice_mut(s![rows, ..]))?;
        }
        Ok(proba)
    }

    /// How good the predictions are.
    pub(crate) fn evaluate(&self, proba: &Array2<f64>) -> Result<Report> {
        Report::new(proba.view(), &self.labels, self.weights.as_deref())
    }

    /// The rows with the most uncertain predictions.
    pub(crate) fn least_sure(&self, proba: &Array2<f64>) -> LeastSure {
        least_sure(proba, &self.labels, &self.features, &self.numbers)
    }

    /// Bytes that evaluating takes beside the rows.
    pub(crate) fn evaluation_bytes(&self, n_classes: usize) -> u64 {
        let n_features = self.features.n_features();
        let rows = batch_rows(n_features).min(self.n_rows());
        (self.n_rows() * n_classes * size_of::<f64>() + rows * n_features * size_of::<f32>()) as u64
    }
}
