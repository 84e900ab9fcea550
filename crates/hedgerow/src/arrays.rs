//! Arrays in, arrays out: fitting, learning and predicting without a schema, threads or a budget made by hand.

use std::fmt::Display;
use std::time::Duration;

use hedgerow_core::error::check_shapes;
use hedgerow_core::{
    Budget, ClassId, Column, Dataset, Features, LabelTable, Normals, Observer, Par, Result, Rows, Schema,
    Silent, TargetSlice, Targets, Training, Update,
};
use ndarray::{Array2, ArrayView2};

use crate::kinds::ModelParams;
use crate::model::{Fitted, Model};

/// Fits a forest with the default parameters to rows and their labels (texts, whole numbers, truth values, class numbers), on all cores. The model can go on learning.
///
/// ```
/// use ndarray::array;
///
/// let x = array![[0.1_f32, 1.0], [0.2, 0.9], [0.9, 0.1], [1.0, 0.2]];
/// let mut model = hedgerow::fit(x.view(), &["cat", "cat", "dog", "dog"])?;
/// assert_eq!(model.predict(x.view())?, ["cat", "cat", "dog", "dog"]);
/// model.learn(array![[5.0, 5.0]].view(), &["fox"])?;
/// assert_eq!(model.classes(), ["cat", "dog", "fox"]);
/// # Ok::<(), hedgerow::core::Error>(())
/// ```
pub fn fit<L: Display + Eq>(x: ArrayView2<'_, f32>, labels: &[L]) -> Result<Model> {
    Ok(Fit::default().fit(x, labels)?.model)
}

/// How a model is fitted to arrays: its parameters, and what may be limited. Everything has a default.
///
/// ```
/// use hedgerow::gp::IvmParams;
/// use hedgerow::Fit;
/// # let data = hedgerow::core::testing::blobs(200, 3, 2, 1);
/// # let (x, y) = (data.features.to_array(0..200), data.labels());
///
/// let fitted = Fit::new(IvmParams { n_active: 30, ..Default::default() }).threads(2).max_seconds(60.0).fit(x.view(), y)?;
/// println!("out-of-fold log-loss {:.3}", fitted.validation.unwrap().quality().log_loss());
/// # Ok::<(), hedgerow::core::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Fit<'a> {
    params: ModelParams,
    threads: Option<usize>,
    budget: Budget,
    observer: &'a dyn Observer,
    weights: Option<&'a [f32]>,
    columns: Option<Vec<Column>>,
}

impl Default for Fit<'_> {
    fn default() -> Self {
        Self::new(ModelParams::default())
    }
}

impl<'a> Fit<'a> {
    /// A fit with these parameters, on all cores, without limits.
    pub fn new(params: impl Into<ModelParams>) -> Self {
        Self {
            params: params.into(),
            threads: None,
            budget: Budget::open(),
            observer: &Silent,
            weights: None,
            columns: None,
        }
    }

    /// Works with so many threads.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// Ends after so many seconds with the best model there is.
    pub fn max_seconds(self, seconds: f64) -> Self {
        let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
        Self { budget: self.budget.with_time(time), ..self }
    }

    /// Keeps model and training within so many bytes.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.budget.bytes = Some(bytes);
        self
    }

    /// Works within a budget: limits of all sorts, and a flag that stops it.
    pub fn budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Tells how far the work has come.
    pub fn observer(self, observer: &'a dyn Observer) -> Self {
        Self { observer, ..self }
    }

    /// Gives each row a weight.
    pub fn weights(self, weights: &'a [f32]) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// Names the columns and says which of them hold categories, as their place in the list of categories.
    pub fn columns(self, columns: Vec<Column>) -> Self {
        Self { columns: Some(columns), ..self }
    }

    /// Fits a model to rows and their labels.
    pub fn fit<L: Display + Eq>(&self, x: ArrayView2<'_, f32>, labels: &[L]) -> Result<Fitted> {
        let mut schema = self.schema(x)?;
        let mut labels = class_ids(labels, &mut schema.labels)?;
        let new_of_old = schema.labels.sort();
        labels.iter_mut().for_each(|class| *class = new_of_old[class.index()]);
        self.fit_targets(x, schema, labels.into())
    }

    /// Fits a regression model to rows and their numbers; fails for kinds that predict classes only.
    ///
    /// ```
    /// use hedgerow::{Fit, gp::GpParams};
    /// use ndarray::Array2;
    ///
    /// let x = Array2::from_shape_fn((60, 1), |(i, _)| i as f32 / 10.0);
    /// let y: Vec<f64> = x.iter().map(|v| f64::from(v.sin())).collect();
    /// let model = Fit::new(GpParams::default()).fit_values(x.view(), &y)?.model;
    /// let predicted = model.predict_values(x.view())?;
    /// assert!((predicted.mean[20] - 2.0_f64.sin()).abs() < 0.01 && predicted.variance[20] < 0.01);
    /// # Ok::<(), hedgerow::core::Error>(())
    /// ```
    pub fn fit_values(&self, x: ArrayView2<'_, f32>, values: &[f64]) -> Result<Fitted> {
        self.fit_targets(x, self.schema(x)?, values.to_vec().into())
    }

    fn schema(&self, x: ArrayView2<'_, f32>) -> Result<Schema> {
        let mut schema = Schema::unnamed(x.ncols());
        if let Some(columns) = &self.columns {
            check_shapes([("columns", x.ncols(), columns.len())])?;
            (schema.columns, schema.named) = (columns.clone(), true);
        }
        Ok(schema)
    }

    fn fit_targets(&self, x: ArrayView2<'_, f32>, schema: Schema, targets: Targets) -> Result<Fitted> {
        let weights = self.weights.map(<[f32]>::to_vec);
        let data = Dataset::new(schema, Features::from_view(x), targets, weights)?;
        let par = self.threads.map_or_else(|| Ok(Par::shared()), Par::new)?;
        let training = Training { par: &par, budget: &self.budget, observer: self.observer };
        Model::fit(&data, &self.params, &training)
    }
}

impl Model {
    /// The names of the classes, in the order of the columns of [`Self::predict_proba`].
    pub fn classes(&self) -> &[String] {
        self.schema.labels.names()
    }

    /// A probability for every class of every row, on all cores.
    pub fn predict_proba(&self, x: ArrayView2<'_, f32>) -> Result<Array2<f64>> {
        self.predict_proba_par(x, &Par::shared())
    }

    /// The most probable class of every row, on all cores.
    pub fn predict(&self, x: ArrayView2<'_, f32>) -> Result<Vec<&str>> {
        let classes = self.predict_classes(x, &Par::shared())?;
        Ok(classes.into_iter().map(|class| self.schema.labels.name(class)).collect())
    }

    /// A number and its variance for every row, on all cores; fails for a classifier.
    pub fn predict_values(&self, x: ArrayView2<'_, f32>) -> Result<Normals> {
        self.predict_values_par(x, &Par::shared())
    }

    /// A probability for every class of every row; fails for a regression model.
    pub fn predict_proba_par(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        self.classifier()?.predict_proba(x, par)
    }

    /// The number of the most probable class of every row; fails for a regression model.
    pub fn predict_classes(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<ClassId>> {
        self.classifier()?.predict(x, par)
    }

    /// A number and its variance for every row; fails for a classifier.
    pub fn predict_values_par(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Normals> {
        self.regressor()?.predict_values(x, par)
    }

    /// The predictions of rows as a table: a column for each class, or the mean and the variance.
    pub fn predict_table(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        if let Ok(classifier) = self.classifier() {
            return classifier.predict_proba(x, par);
        }
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        Ok(self.learner.get().predictor().predict(x, par))
    }

    /// Predicts rows and learns them, one after the other, on all cores: how they are cut into calls changes nothing. Labels that are new become
    /// classes, and numbers of categories that are new become categories. The result holds the predictions, each made before its row was learnt.
    pub fn learn<L: Display + Eq>(&mut self, x: ArrayView2<'_, f32>, labels: &[L]) -> Result<Update> {
        let mut schema = self.schema.clone();
        let labels = class_ids(labels, &mut schema.labels)?;
        self.learn_targets(schema, x, labels.as_slice().into())
    }

    /// The same for a regression model.
    pub fn learn_values(&mut self, x: ArrayView2<'_, f32>, values: &[f64]) -> Result<Update> {
        self.learn_targets(self.schema.clone(), x, values.into())
    }

    fn learn_targets(
        &mut self,
        mut schema: Schema,
        x: ArrayView2<'_, f32>,
        targets: TargetSlice<'_>,
    ) -> Result<Update> {
        schema.add_categories(x)?;
        let (par, budget) = (Par::shared(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        self.learn_rows(&schema, Rows::new(x, targets, None), &training)
    }
}

fn class_ids<L: Display + Eq>(labels: &[L], known: &mut LabelTable) -> Result<Vec<ClassId>> {
    labels.iter().map(|label| known.get_or_add(&label.to_string())).collect()
}
