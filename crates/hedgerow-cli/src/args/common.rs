//! What all commands that train a model take.

use std::path::PathBuf;

use clap::Args;
use hedgerow::io::ReadOptions;

use super::run::LimitArgs;
use super::{DataArgs, RunArgs};

#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Labelled data to evaluate the model on
    #[arg(long, value_name = "DATA")]
    pub(crate) test: Option<PathBuf>,
    /// Labels of the --test data, for data that come as a bare array
    #[arg(long, value_name = "FILE")]
    pub(crate) test_labels: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

impl CommonArgs {
    /// How test data are read: as the others, with labels of their own.
    pub(crate) fn test_options(&self) -> ReadOptions {
        ReadOptions { labels: self.test_labels.clone(), ..self.data.options() }
    }
}
