//! How each job stands, and whether a slice of it is worth doing.

use hedgerow_gp::ivm::sliced::Machine;
use hedgerow_trainer::{Look, State};

use super::host::{EngineHost, Role};
use super::rows::{News, forest_params, ivm_params};

/// Rows are taken up when this share of those before has come.
const ENOUGH_NEW: usize = 4;

/// Who goes first: rows and models before everything, since all others build on them or nobody would see what they made; what others wait for before what they
/// would do with it. The thesis has forests before machines too.
mod priority {
    pub(super) const ROWS: u8 = 9;
    pub(super) const COMBINE: u8 = 8;
    pub(super) const SEARCH: u8 = 6;
    pub(super) const TREES: u8 = 5;
    pub(super) const REGRESSION: u8 = 5;
    pub(super) const MACHINE: u8 = 4;
    pub(super) const LEAVES: u8 = 4;
}

impl EngineHost {
    pub(super) fn look_at(&self, job: usize) -> Look {
        let role = self.roles[job];
        let mut look = match role {
            Role::Rows => self.look_at_rows(),
            Role::Combine => Look {
                kind: "model",
                state: ready_if(self.wants_model(self.is_rest_done())),
                priority: priority::COMBINE,
                ..self.published_look()
            },
            Role::Search(lane) => self.look_at_search(lane),
            Role::Trees(lane) => self.look_at_trees(lane),
            Role::Machine(class) => self.look_at_machine(class),
            Role::Regression => self.look_at_regression(),
            Role::Route(class) => Look { priority: priority::MACHINE, ..self.look_at_route(class) },
            Role::Process => Look { priority: priority::MACHINE, ..self.look_at_process() },
            Role::Leaves(group) => Look { priority: priority::LEAVES, ..self.look_at_leaves(group) },
        };
        // Nobody does again what went wrong; rows are another matter, as more of them may help.
        if let Some(problem) = &self.problems[job] {
            look.problem = Some(problem.clone());
            if role != Role::Rows {
                look.state = State::Done;
            }
        }
        look
    }

    /// How good the published model is.
    fn published_look(&self) -> Look {
        let snapshot = self.published.get();
        let accuracy = snapshot.evidence.as_ref().map(|evidence| evidence.macro_accuracy);
        Look {
            accuracy,
            points: snapshot.slices as usize,
            bytes: snapshot.model.bytes() as u64,
            ..Look::default()
        }
    }

    fn look_at_rows(&self) -> Look {
        let n_waiting: usize = self.view.waiting.iter().map(News::len).sum();
        let n_known = self.view.stock.as_ref().map_or(0, |stock| stock.data.n_rows());
        // What was tried in vain is tried again when more rows are there.
        let tried = format!("({})", self.view.waiting.len());
        let in_vain = self.problems[0].as_ref().is_some_and(|problem| problem.ends_with(&tried));
        let is_time = n_waiting > 0 && (ENOUGH_NEW * n_waiting >= n_known || self.is_rest_done());
        Look {
            kind: "rows",
            state: ready_if(is_time && !in_vain),
            priority: priority::ROWS,
            points: n_known,
            goal: n_known + n_waiting,
            bytes: self.view.stock.as_ref().map_or(0, |stock| stock.bytes()) as u64,
            ..Look::default()
        }
    }

    fn look_at_search(&self, lane: usize) -> Look {
        let view = &self.view;
        let own = |n: usize| n.saturating_sub(lane).div_ceil(view.lanes);
        let state = match &view.trials {
            None => State::Waiting,
            Some(_) => ready_if(view.next_trial(lane).is_some()),
        };
        let done =
            view.tried.iter().enumerate().filter(|(at, value)| at % view.lanes == lane && value.is_some());
        Look {
            kind: "search",
            name: format!("{}", lane + 1),
            state,
            priority: priority::SEARCH,
            points: done.count(),
            goal: own(view.n_kernels()),
            bytes: view.trials.as_ref().filter(|_| lane == 0).map_or(0, |trials| trials.bytes() as u64),
            ..Look::default()
        }
    }

    fn look_at_trees(&self, lane: usize) -> Look {
        let most = forest_params(&self.view.params).map_or(0, |params| params.n_trees);
        // Trees of all lanes together: those of each are about as many.
        let own = |n: usize| (n + self.view.lanes - 1).saturating_sub(lane) / self.view.lanes;
        let goal = if most == 0 { usize::MAX } else { own(most) };
        let state = match &self.view.stock {
            None => State::Waiting,
            Some(_) => ready_if(self.n_grown[lane] < goal),
        };
        let of_first = |bytes: usize| if lane == 0 { bytes as u64 } else { 0 };
        Look {
            kind: "trees",
            name: format!("{}", lane + 1),
            state,
            // Without end they must not keep machines waiting for ever.
            priority: if most == 0 { priority::MACHINE } else { priority::TREES },
            accuracy: self.trees_accuracy,
            points: self.n_grown[lane],
            goal,
            bytes: of_first(self.tree_bytes[0]),
            next_bytes: self.tree_bytes[1] as u64,
            ..Look::default()
        }
    }

    /// Whether trees are grown as long as there is time.
    pub(super) fn has_endless_trees(&self) -> bool {
        forest_params(&self.view.params).is_some_and(|params| params.n_trees == 0)
    }

    fn look_at_machine(&self, class: usize) -> Look {
        let view = &self.view;
        let n_active = ivm_params(&view.params).map_or(0, |params| params.n_active);
        let name = self.schema().labels.names().get(class).cloned().unwrap_or_default();
        let base =
            Look { kind: "machine", name, priority: priority::MACHINE, goal: n_active, ..Look::default() };
        let Some((stock, ground)) =
            view.stock.as_ref().and_then(|stock| Some((stock, stock.ground.as_ref()?)))
        else {
            return Look { state: State::Waiting, ..base };
        };
        let has_machine = ground.has_machine().get(class).copied().unwrap_or(false);
        let Some(part) = view.parts.get(class).and_then(Option::as_ref) else {
            let state = if !has_machine {
                State::Done
            } else if view.kernel.is_some() {
                State::Ready
            } else {
                State::Waiting
            };
            return Look {
                state,
                next_bytes: Machine::bytes_on(stock.data.n_rows(), n_active) as u64,
                ..base
            };
        };
        let is_fresh = part.scores.len() == stock.labels.len();
        Look {
            state: ready_if(!part.is_done),
            accuracy: is_fresh.then_some(part.accuracy),
            points: part.active.len(),
            bytes: part.bytes as u64,
            ..base
        }
    }

    fn look_at_regression(&self) -> Look {
        let [n_active, bytes] = self.regression;
        let is_time = self.view.kernel.is_some() && (self.is_regressing || self.wants_regression());
        Look {
            kind: "regression",
            state: if self.view.kernel.is_none() { State::Waiting } else { ready_if(is_time) },
            priority: priority::REGRESSION,
            points: n_active,
            goal: n_active,
            bytes: bytes as u64,
            next_bytes: if self.is_regressing { 0 } else { 24 * (self.view.n_active() as u64).pow(2) },
            ..Look::default()
        }
    }

    /// Whether nothing is left to do but to make a model or to take up rows.
    fn is_rest_done(&self) -> bool {
        (0..self.roles.len())
            .filter(|job| !matches!(self.roles[*job], Role::Rows | Role::Combine))
            .all(|job| self.look_at(job).state != State::Ready)
    }
}

fn ready_if(is_ready: bool) -> State {
    if is_ready { State::Ready } else { State::Done }
}
