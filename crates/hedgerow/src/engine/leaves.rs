//! Trees with processes in their leaves: which leaves learn next, and how they stand.

use std::sync::Arc;

use hedgerow_core::Par;
use hedgerow_hybrid::leaf_gp::sliced::Stem;
use hedgerow_trainer::{Look, State};

use super::host::EngineHost;
use super::rows::Stock;
use super::search::{Kernel, Trials};
use super::view::{Product, View};

/// Jobs that leaves are shared out among, at most: a tree each, if there are no more.
const MOST_GROUPS: usize = 64;

impl View {
    /// How many jobs leaves are shared out among.
    pub(super) fn n_groups(&self) -> usize {
        self.stems.len().min(MOST_GROUPS)
    }

    /// The trees of a group that were grown.
    fn stems_of(&self, group: usize) -> impl Iterator<Item = &Arc<Stem>> {
        self.stems.iter().skip(group).step_by(self.n_groups().max(1)).flatten()
    }

    /// The next tree of a lane that is not grown yet.
    fn next_stem(&self, lane: usize) -> Option<usize> {
        (lane..self.stems.len()).step_by(self.lanes).find(|number| self.stems[*number].is_none())
    }
}

/// Grows the next tree of a lane and puts all rows into its leaves.
pub(super) fn grow_stem(view: &View, stock: &Stock, lane: usize) -> Product {
    let (Some(plot), Some(nursery), Some(number)) = (&stock.plot, &stock.nursery, view.next_stem(lane))
    else {
        return Product::Nothing;
    };
    let stem = Stem::new(plot, nursery.grow(number).into_tree(), number);
    // The first tree brings the kernels to be tried, or the last of another lane if that of the first is gone.
    let is_late = number + view.lanes >= view.stems.len() && view.stems.iter().any(Option::is_some);
    let is_wanted = view.trials.is_none() && (number == 0 || is_late);
    let trials = is_wanted.then(|| Trials::Leaves(Arc::new(stem.trials(plot))));
    Product::Stem { generation: stock.generation, lane, stem: Arc::new(stem), trials }
}

/// Lets some leaves learn of the first tree of a group that has any left, the weakest tree first.
pub(super) fn train_leaves(view: &View, stock: &Stock, group: usize) -> Product {
    let (Some(plot), Some(kernel)) = (&stock.plot, view.leaf_kernel()) else { return Product::Nothing };
    let open = view.stems_of(group).filter(|stem| !stem.is_done(plot));
    let Some(weakest) = open.min_by(|a, b| a.accuracy().total_cmp(&b.accuracy())) else {
        return Product::Nothing;
    };
    let stem = weakest.slice(plot, &kernel, &Par::sequential()).map(Arc::new);
    Product::Leaves { generation: stock.generation, kernel: Kernel::Leaves(kernel), stem }
}

impl EngineHost {
    /// How the leaves of a group of trees stand.
    pub(super) fn look_at_leaves(&self, group: usize) -> Look {
        let view = &self.view;
        let n_groups = view.n_groups();
        let name = if view.stems.len() > n_groups {
            format!("{}, {}, …", group + 1, group + 1 + n_groups)
        } else {
            format!("{}", group + 1)
        };
        let base = Look { kind: "leaves", name, state: State::Waiting, ..Look::default() };
        let Some(plot) = view.stock.as_ref().and_then(|stock| stock.plot.as_ref()) else { return base };
        let (mut n, mut accuracy, mut points, mut goal, mut bytes) = (0_u32, 0.0, 0, 0, 0);
        let (mut is_done, mut next_bytes) = (true, 0);
        for stem in view.stems_of(group) {
            let [learnt, all] = stem.progress();
            (n, accuracy) = (n + 1, accuracy + stem.accuracy());
            (points, goal, bytes) = (points + learnt, goal + all, bytes + stem.bytes() as u64);
            if !stem.is_done(plot) {
                is_done = false;
                next_bytes = next_bytes.max(stem.next_bytes(plot));
            }
        }
        let state = match (n, view.leaf_kernel()) {
            (0, _) | (_, None) => State::Waiting,
            _ if is_done => State::Done,
            _ => State::Ready,
        };
        let accuracy = (n > 0).then(|| accuracy / f64::from(n));
        Look { state, accuracy, points, goal, bytes, next_bytes, ..base }
    }

    /// How good trees are whose leaves learn, on the whole.
    pub(super) fn stems_accuracy(&self) -> Option<f64> {
        let found: Vec<f64> = self.view.stems.iter().flatten().map(|stem| stem.accuracy()).collect();
        (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
    }
}
