//! Arguments of `demo`.

use std::path::PathBuf;

use clap::Args;

use super::RunArgs;

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/demo.txt").trim_end())]
pub(crate) struct DemoArgs {
    /// Folder for the data, the model and the report; it is made if it is not there
    #[arg(long, value_name = "FOLDER", default_value = "out")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
