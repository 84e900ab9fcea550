//! A kind of model that does either task.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::committee::Committee;
use crate::data::{Dataset, Schema};
use crate::error::Result;
use crate::latent::LatentProcess;
use crate::learn::{Learning, Rows};
use crate::online::{OnlineModel, OnlineStatus, Predictor};
use crate::par::Par;
use crate::saved::{Saved, require};
use crate::second_order::{NearbyRows, RelativeEvidence};
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

impl<C: Saved + OnlineModel, R: Saved + OnlineModel> Saved for TaskModel<C, R> {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        let task = self.predictor().task();
        require(task == schema.task(), || {
            format!("the schema is for {}, the model for {task}", schema.task())
        })?;
        either!(self, model => model.complete(schema))
    }
}

impl<C: OnlineModel, R: OnlineModel> OnlineModel for TaskModel<C, R> {
    fn predictor(&self) -> Predictor<'_> {
        either!(self, model => model.predictor())
    }

    fn online_status(&self) -> Option<OnlineStatus> {
        either!(self, model => model.online_status())
    }

    fn know_classes(&mut self, n_classes: usize) {
        either!(self, model => model.know_classes(n_classes));
    }

    fn ingest(&mut self, rows: Rows<'_>, learning: &mut Learning<'_>) -> Result<Array2<f64>> {
        either!(self, model => model.ingest(rows, learning))
    }

    fn maintain(&mut self, learning: &mut Learning<'_>) -> Result<()> {
        either!(self, model => model.maintain(learning))
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

    fn relative_evidence(&self) -> Option<&dyn RelativeEvidence> {
        either!(self, model => model.relative_evidence())
    }

    fn nearby_rows(&self, schema: &Schema, par: &Par) -> Result<Option<NearbyRows>> {
        either!(self, model => model.nearby_rows(schema, par))
    }

    fn committee(&self) -> Option<&dyn Committee> {
        either!(self, model => model.committee())
    }

    fn latent_process(&self) -> Option<&dyn LatentProcess> {
        either!(self, model => model.latent_process())
    }

    fn active_rows(&self) -> Option<Array2<f32>> {
        either!(self, model => model.active_rows())
    }

    fn inner(&self) -> Option<&dyn OnlineModel> {
        either!(self, model => Some(model))
    }
}
