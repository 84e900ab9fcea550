//! The process over a forest (`forest-kernel`): it learns when the forest has changed enough. Until it has, the forest answers.

use std::sync::Arc;

use hedgerow_core::Par;
use hedgerow_hybrid::ForestKernelParams;
use hedgerow_hybrid::forest_kernel::sliced::{Judges, ProcessWork};
use hedgerow_trainer::{Look, State};

use super::host::EngineHost;
use super::rows::Stock;
use super::view::{Product, View};
use crate::params::ModelParams;

/// Where trees have no end, a process begins when there are this many times as many as last time.
const MORE_TREES: f64 = 1.6;

/// The parameters, if a process learns with the kernel of the forest.
pub(super) fn kernel_params(params: &ModelParams) -> Option<&ForestKernelParams> {
    if let ModelParams::ForestKernel(params) = params { Some(params) } else { None }
}

/// How the process under way stands, or else the last one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Processing {
    /// Trees of its forest.
    pub(super) n_trees: usize,
    pub(super) bytes: usize,
    /// Noises done, and all.
    pub(super) progress: [usize; 2],
    pub(super) is_under_way: bool,
}

/// Begins a process with the forest as it is now, takes some steps, or finishes it.
pub(super) fn train_process(
    view: &View,
    stock: &Stock,
    own: &mut Option<Box<(u64, ProcessWork)>>,
) -> Product {
    let par = Par::sequential();
    let (Some(params), Some(nursery), Some(grove)) =
        (kernel_params(&view.params), &stock.nursery, &view.grove)
    else {
        return Product::Nothing;
    };
    let told = |how, made| Product::Process { version: stock.version, how, made };
    let Some((_, mut work)) = own.take().map(|own| *own).filter(|(version, _)| *version == stock.version)
    else {
        let n_trees = grove.n_trees();
        let (forest, _) = nursery.forest(grove);
        return match ProcessWork::new(forest, &stock.data, &stock.is_judge, params, &par) {
            Ok(work) => {
                let (bytes, progress) = (work.bytes(), work.progress());
                *own = Some(Box::new((stock.version, work)));
                told(Processing { n_trees, bytes, progress, is_under_way: true }, Ok(None))
            }
            Err(error) => told(Processing::default(), Err(error)),
        };
    };
    let is_done = work.slice(&par);
    let how = Processing {
        n_trees: work.n_trees(),
        bytes: work.bytes(),
        progress: work.progress(),
        is_under_way: !is_done,
    };
    if !is_done {
        *own = Some(Box::new((stock.version, work)));
        return told(how, Ok(None));
    }
    let of_forest = work.forest_answers(stock.judges.view(), &par);
    let made = of_forest.and_then(|of_forest| {
        let judges = Judges { x: stock.judges.view(), forest: of_forest.view(), labels: &stock.labels };
        work.finish(params, &judges, &par)
    });
    told(Processing { bytes: 0, ..how }, made.map(|made| made.map(Arc::new)))
}

impl EngineHost {
    /// How the process stands.
    pub(super) fn look_at_process(&self) -> Look {
        let base = Look { kind: "process", state: State::Waiting, ..Look::default() };
        let view = &self.view;
        let (Some(stock), Some(params), true) =
            (&view.stock, kernel_params(&view.params), self.is_forest_there())
        else {
            return base;
        };
        let Processing { n_trees: before, bytes, progress, is_under_way } = self.processing;
        let n_trees = view.grove.as_ref().map_or(0, |grove| grove.n_trees());
        let is_time = before == 0
            || if self.has_endless_trees() {
                n_trees as f64 >= MORE_TREES * before as f64
            } else {
                n_trees != before
            };
        let of_made = view.process.as_ref().map_or(0, |made| made.bytes());
        let (n_features, n_classes) = (stock.data.schema.n_features(), stock.data.schema.n_classes());
        let needed = ProcessWork::bytes_on(params, stock.data.n_rows(), n_features, n_classes);
        Look {
            state: if is_under_way || is_time { State::Ready } else { State::Done },
            accuracy: view.process.as_ref().and(self.process_accuracy),
            points: progress[0],
            goal: progress[1],
            bytes: (bytes + of_made) as u64,
            next_bytes: if is_under_way { 0 } else { needed as u64 },
            ..base
        }
    }
}
