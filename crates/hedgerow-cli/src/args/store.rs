//! Arguments of the commands about a store.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Show the content of a store
    Info(StoreInfoArgs),
    /// Set labels of rows: late ones, and corrections
    Label(StoreLabelArgs),
    /// Write the rows with their current labels as CSV
    Export(StoreExportArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Others may write to the store meanwhile. The rows can be queried too: sqlite3 DIR/store.db"
)]
pub(crate) struct StoreInfoArgs {
    /// Folder of the store
    pub(crate) dir: PathBuf,
    /// Check every byte of the database for damage, which takes a while
    #[arg(long)]
    pub(crate) check: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/store-label.txt").trim_end())]
pub(crate) struct StoreLabelArgs {
    /// Folder of the store
    pub(crate) dir: PathBuf,
    /// CSV file of row and label; - is standard input
    pub(crate) labels: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StoreExportArgs {
    /// Folder of the store
    pub(crate) dir: PathBuf,
    /// Where to write; without it, to standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Leave out rows that have no label
    #[arg(long)]
    pub(crate) labelled: bool,
}
