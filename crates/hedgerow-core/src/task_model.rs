//! A kind of model that does either task.

use std::any::Any;

use ndarray::{Array2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Schema, Task};
use crate::error::Result;
use crate::learn::{Rows, Training, Update};
use crate::online::{OnlineModel, Predictor};
use crate::saved::{Saved, require};
use crate::summary::Summary;

/// A classifier or a regressor of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskModel<C, R> {
    /// It predicts classes.
    Classifier(C),
    /// It predicts numbers.
    Regressor(R),
}

macro_rules! either {
    ($of:expr, $model:ident => $work:expr) => {
        match $of {
            TaskModel::Classifier($model) => $work,
            TaskModel::Regressor($model) => $work,
        }
    };
}

impl<C, R> TaskModel<C, R> {
    /// Makes the one or the other, as the task demands.
    pub fn of_task(
        task: Task,
        classifier: impl FnOnce() -> Result<C>,
        regressor: impl FnOnce() -> Result<R>,
    ) -> Result<Self> {
        match task {
            Task::Classification => classifier().map(Self::Classifier),
            Task::Regression => regressor().map(Self::Regressor),
        }
    }
}

impl<C: Saved + OnlineModel, R: Saved + OnlineModel> Saved for TaskModel<C, R> {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        let task = self.predictor().task();
        require(task == schema.task, || format!("the schema is for {}, the model for {task}", schema.task))?;
        either!(self, model => model.complete(schema))
    }
}

impl<C: OnlineModel, R: OnlineModel> OnlineModel for TaskModel<C, R> {
    fn predictor(&self) -> Predictor<'_> {
        either!(self, model => model.predictor())
    }

    fn can_learn(&self) -> bool {
        either!(self, model => model.can_learn())
    }

    fn know_classes(&mut self, n_classes: usize) {
        either!(self, model => model.know_classes(n_classes));
    }

    fn room(&self) -> usize {
        either!(self, model => model.room())
    }

    fn ingest(
        &mut self,
        schema: &Schema,
        rows: Rows<'_>,
        training: &Training<'_>,
        out: ArrayViewMut2<'_, f64>,
        update: &mut Update,
    ) -> Result<usize> {
        either!(self, model => model.ingest(schema, rows, training, out, update))
    }

    fn maintain(&mut self, schema: &Schema, training: &Training<'_>, update: &mut Update) -> Result<()> {
        either!(self, model => model.maintain(schema, training, update))
    }

    fn n_seen(&self) -> u64 {
        either!(self, model => model.n_seen())
    }

    fn n_retained(&self) -> usize {
        either!(self, model => model.n_retained())
    }

    fn retained_rows(&self, schema: &Schema) -> Result<Option<Dataset>> {
        either!(self, model => model.retained_rows(schema))
    }

    fn frozen(self) -> Self {
        match self {
            Self::Classifier(model) => Self::Classifier(model.frozen()),
            Self::Regressor(model) => Self::Regressor(model.frozen()),
        }
    }

    fn bytes(&self) -> usize {
        either!(self, model => model.bytes())
    }

    fn summary(&self, classes: &[String]) -> Summary {
        either!(self, model => model.summary(classes))
    }

    fn active_rows(&self) -> Option<Array2<f32>> {
        either!(self, model => model.active_rows())
    }

    fn itself(&self) -> &dyn Any {
        either!(self, model => model.itself())
    }
}
