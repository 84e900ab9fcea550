//! `store`, and `stream --store`: rows and labels that are kept.

mod export;
mod info;
mod label;
pub(crate) mod learner;
pub(crate) mod stream;

pub(crate) use info::StoreInfo;
pub(crate) use label::StoreLabelled;

use super::Outcome;
use crate::args::StoreCommand;

pub(crate) fn run(command: &StoreCommand) -> anyhow::Result<Outcome> {
    match command {
        StoreCommand::Info(args) => info::run(args),
        StoreCommand::Label(args) => label::run(args),
        StoreCommand::Export(args) => export::run(args),
    }
}
