//! The work itself, a slice at a time.

use std::sync::Arc;

use hedgerow_core::Par;
use hedgerow_gp::ivm::sliced::{Machine, Regression};
use hedgerow_hybrid::forest_kernel::sliced::ProcessWork;
use hedgerow_trainer::{Job, Published};

use super::combine::combine;
use super::leaves::{grow_stem, train_leaves};
use super::process::train_process;
use super::route::{Route, train_route};
use super::rows::{Stock, ivm_params};
use super::search::Kernel;
use super::snapshot::Snapshot;
use super::view::{Product, View};

/// Rows that a machine chooses in a slice, at most.
pub(super) const ROWS_A_SLICE: usize = 32;

/// One of the jobs of an engine.
pub(super) enum EngineJob {
    /// Takes up rows.
    Rows,
    /// Tries kernels: those of its lane.
    Search { lane: usize },
    /// Grows trees: those of its lane.
    Trees { lane: usize, version: u64, n_grown: usize },
    /// Gathers active rows for the machine of a class.
    Machine { class: usize, generation: u64, machine: Option<Box<Machine>> },
    /// Trains the machine for one answer of the forest.
    Route { class: usize, route: Option<Box<Route>> },
    /// Lets a process learn with the kernel of the forest; the rows that it learns were taken up as so many.
    Process { work: Option<Box<(u64, ProcessWork)>> },
    /// Lets leaves of some trees learn.
    Leaves { group: usize },
    /// Fits scores to all rows.
    Regression { generation: u64, regression: Option<Box<Regression>> },
    /// Makes models of what there is.
    Combine { published: Arc<Published<Snapshot>>, start: std::time::Instant },
}

impl Job for EngineJob {
    type View = Arc<View>;
    type Product = Product;

    fn slice(&mut self, view: &Arc<View>) -> Product {
        let par = Par::sequential();
        if let Self::Rows = self {
            let stock = Stock::new(view);
            return Product::Stock(stock.map(Arc::new), view.waiting.len());
        }
        let Some(stock) = &view.stock else { return Product::Nothing };
        match self {
            Self::Rows => Product::Nothing,
            Self::Search { lane } => {
                let Some((at, value)) = view.try_next(*lane, &par) else { return Product::Nothing };
                Product::Trial { generation: stock.generation, at, value }
            }
            Self::Trees { lane, .. } if stock.plot.is_some() => grow_stem(view, stock, *lane),
            Self::Trees { lane, version, n_grown } => {
                let Some(nursery) = &stock.nursery else { return Product::Nothing };
                if *version != stock.version {
                    (*version, *n_grown) = (stock.version, 0);
                }
                let number = *n_grown * view.lanes + *lane;
                *n_grown += 1;
                Product::Tree { version: stock.version, lane: *lane, sapling: Box::new(nursery.grow(number)) }
            }
            Self::Machine { class, generation, machine } => {
                let (Some(ground), Some(kernel), Some(params)) =
                    (&stock.ground, view.machine_kernel(), ivm_params(&view.params))
                else {
                    return Product::Nothing;
                };
                if *generation != stock.generation || machine.as_ref().is_none_or(|m| m.kernel() != kernel) {
                    (*generation, *machine) =
                        (stock.generation, Some(Box::new(Machine::new(*class, kernel, &params))));
                }
                let Some(machine) = machine else { return Product::Nothing };
                let part = machine.slice(ground, ROWS_A_SLICE, &par).map(Arc::new);
                Product::Machine { generation: stock.generation, kernel: Kernel::Machines(kernel), part }
            }
            Self::Regression { generation, regression } => regress(view, stock, generation, regression),
            Self::Route { class, route } => train_route(view, stock, *class, route),
            Self::Process { work } => train_process(view, stock, work),
            Self::Leaves { group } => train_leaves(view, stock, *group),
            Self::Combine { published, start } => {
                let made = combine(view, stock, &published.get(), start.elapsed());
                Product::Combined(made.map(|made| made.map(Box::new)), view.slices)
            }
        }
    }
}

/// Begins a regression, takes in some rows, or finishes it.
fn regress(
    view: &View,
    stock: &Stock,
    generation: &mut u64,
    regression: &mut Option<Box<Regression>>,
) -> Product {
    let par = Par::sequential();
    let (Some(ground), Some(kernel)) = (&stock.ground, view.machine_kernel()) else {
        return Product::Nothing;
    };
    if *generation != stock.generation {
        (*generation, *regression) = (stock.generation, None);
    }
    let told =
        |n_active, bytes, fit| Product::Regression { generation: stock.generation, n_active, bytes, fit };
    let mut own = match regression.take() {
        Some(own) => own,
        None => match Regression::new(ground, view.parts.clone(), kernel[0], &par) {
            Ok(new) => Box::new(new),
            Err(error) => return told(0, 0, Err(error)),
        },
    };
    let (n_active, bytes) = (own.n_active(), own.bytes());
    let [done, all] = own.progress();
    if done == all {
        return told(n_active, 0, own.finish(ground, &par).map(|fit| Some(Arc::new(fit))));
    }
    own.slice(ground, &par);
    *regression = Some(own);
    told(n_active, bytes, Ok(None))
}
