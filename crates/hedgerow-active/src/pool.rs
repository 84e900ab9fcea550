//! Rows to choose from.

use hedgerow_core::error::check_shapes;
use hedgerow_core::{ClassId, DataError, DataProblem, Dataset, Error, Features, LabelTable, Result, Schema};
use ndarray::Array2;

use crate::space::RankSpace;

/// Rows of a table, of which some have labels.
#[derive(Debug, Clone)]
pub struct Pool {
    schema: Schema,
    features: Features,
    labels: Vec<Option<ClassId>>,
    /// The rows with labels, in the order in which these came.
    labelled: Vec<usize>,
    space: RankSpace,
}

impl Pool {
    /// Rows with the labels there are. The schema holds the classes known so far; they may be none.
    pub fn new(schema: Schema, features: Features, labels: Vec<Option<ClassId>>) -> Result<Self> {
        check_shapes([
            ("feature columns", schema.n_features(), features.n_features()),
            ("labels", features.n_rows(), labels.len()),
        ])?;
        if features.n_features() == 0 {
            return Err(DataProblem::NoFeatures.into());
        }
        if features.has_infinite() {
            let infinite =
                |r: &usize| (0..features.n_features()).any(|c| features.value(*r, c).is_infinite());
            let row = (0..features.n_rows()).find(infinite).unwrap_or(0);
            let problem = DataProblem::Infinite { text: "an infinite value".into() };
            return Err(DataError::from(problem).at_row(row as u64 + 1).into());
        }
        let space = RankSpace::new(&schema, &features);
        let mut pool =
            Self { labels: vec![None; labels.len()], labelled: Vec::new(), schema, features, space };
        for (row, label) in labels.into_iter().enumerate() {
            if let Some(class) = label {
                pool.set_label(row, class)?;
            }
        }
        Ok(pool)
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// How many of them have no label.
    pub fn n_unlabelled(&self) -> usize {
        self.labels.len() - self.labelled.len()
    }

    /// Columns, and the classes known so far.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The rows with labels, in the order in which these came.
    pub fn labelled(&self) -> &[usize] {
        &self.labelled
    }

    /// The label of a row.
    pub fn label(&self, row: usize) -> Option<ClassId> {
        self.labels.get(row).copied().flatten()
    }

    /// How many labels each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.schema.n_classes()];
        self.labels.iter().flatten().for_each(|class| counts[class.index()] += 1);
        counts
    }

    /// Whether labels of two classes are known, without which there is no model.
    pub fn has_two_classes(&self) -> bool {
        self.class_counts().iter().filter(|count| **count > 0).count() > 1
    }

    /// Labels a row, or changes its label.
    pub fn set_label(&mut self, row: usize, class: ClassId) -> Result<()> {
        let (n_rows, n_classes) = (self.n_rows(), self.schema.n_classes());
        if row >= n_rows {
            return Err(Error::param("row", format!("a row below {n_rows}"), row));
        }
        if class.index() >= n_classes {
            let known = format!("classes 0 to {}", n_classes.saturating_sub(1));
            return Err(DataProblem::UnknownLabel { label: class.to_string(), known }.into());
        }
        if self.labels[row].replace(class).is_none() {
            self.labelled.push(row);
        }
        Ok(())
    }

    /// The class of this name, which is added to the schema if it is new.
    pub fn class(&mut self, label: &str) -> Result<ClassId> {
        self.schema.labels.get_or_add(label)
    }

    /// Names the classes anew, in their order; fails if there are labels of more classes.
    pub fn set_classes(&mut self, classes: LabelTable) -> Result<()> {
        let used = self.class_counts().iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        check_shapes([("classes with labels", used.min(classes.len()), used)])?;
        self.schema.labels = classes;
        Ok(())
    }

    /// Forgets the classes after the first ones, as far as no row has one of them: they were added for labels that were taken away.
    pub fn keep_classes(&mut self, n_classes: usize) {
        let used = self.class_counts().iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        let names = self.schema.labels.names();
        let kept = names[..names.len().min(n_classes.max(used))].to_vec();
        self.schema.labels = kept.into();
    }

    /// Takes the label of a row away; says whether there was one.
    pub fn take_label(&mut self, row: usize) -> bool {
        let had_one = self.labels.get_mut(row).is_some_and(|label| label.take().is_some());
        if had_one {
            self.labelled.retain(|&other| other != row);
        }
        had_one
    }

    /// Some rows as a matrix.
    pub fn rows(&self, rows: &[usize]) -> Array2<f32> {
        self.features.select(rows).to_array(0..rows.len())
    }

    /// All rows.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Where distances between rows are taken.
    pub fn space(&self) -> &RankSpace {
        &self.space
    }

    /// The rows with labels, in the order in which these came, as training rows.
    pub fn training_rows(&self) -> Result<Dataset> {
        let labels: Vec<ClassId> = self.labelled.iter().filter_map(|&row| self.label(row)).collect();
        Dataset::new(self.schema.clone(), self.features.select(&self.labelled), labels, None)
    }
}
