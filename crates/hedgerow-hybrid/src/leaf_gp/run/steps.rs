//! The steps of a run, stage by stage, and the status of its jobs.

use std::sync::Arc;
use std::time::Instant;

use hedgerow_core::{Budget, Effort, Error, JobState, JobStatus, Progress, Step, Training, TrainingRun as _};
use hedgerow_forest::tree::Tree;

use super::super::kernel::LeafKernel;
use super::super::leaf::Leaf;
use super::super::leaf_training::{LeafTraining, Outcome};
use super::super::placement::PlacedTree;
use super::super::search::Trials;
use super::LeafGpRun;
use super::tree::{Slot, TreeState};

/// Leaves of one tree that a step trains.
struct PlacedLeaves {
    tree: usize,
    placed: Arc<PlacedTree>,
    /// The number of its first leaf among the leaves of all trees.
    first: usize,
    leaves: Vec<u32>,
}

impl PlacedLeaves {
    /// The leaves, with their numbers among the leaves of all trees.
    fn leaves(&self) -> impl Iterator<Item = (&Leaf, usize)> {
        let own = self.leaves.iter().map(|&leaf| leaf as usize);
        own.map(|leaf| (&self.placed.leaves[leaf], self.first + leaf))
    }
}

impl LeafGpRun {
    /// A slice grows a tree for each lane. The others are left open when the switch is thrown.
    pub(super) fn begin_trees(&mut self, lanes: &[usize], effort: Effort) -> Step {
        let n = if effort == Effort::Whole { usize::MAX } else { lanes.len() };
        let is_open = |number: &usize| matches!(self.trees[*number], Slot::Open);
        let numbers: Vec<usize> = (0..self.trees.len()).filter(is_open).take(n).collect();
        numbers.iter().for_each(|&number| self.trees[number] = Slot::Growing(lanes[0]));
        let (rows, builder, is_hurried) = (Arc::clone(&self.rows), self.builder.clone(), self.is_hurried);
        Step::new(move |training: &Training<'_>| {
            let start = Instant::now();
            let grown = training.par.map(numbers.len(), |i| {
                if training.budget.stop.is_stopped() && !is_hurried {
                    return None;
                }
                let tree = builder.as_ref().map_or_else(Tree::default, |builder| builder.tree(numbers[i]));
                let (features, labels) = (&rows.data.features, rows.data.labels());
                let placed = PlacedTree::new(tree, 0..labels.len() as u32, features, labels);
                Some(TreeState::new(placed, &rows))
            });
            let took = start.elapsed();
            move |run: &mut Self| {
                run.took += took;
                let is_current = Arc::ptr_eq(&rows, &run.rows);
                for (number, state) in numbers.into_iter().zip(grown) {
                    let mut state = state.filter(|_| is_current).map(Box::new);
                    if run.is_hurried {
                        state.iter_mut().for_each(|state| state.open.clear());
                    }
                    run.trees[number] = state.map_or(Slot::Open, Slot::Grown);
                }
                run.settle();
                Ok(())
            }
        })
    }

    /// A slice tries a kernel for each lane. The first step chooses the leaves that kernels are tried on.
    pub(super) fn begin_search(&mut self, lane: usize, n_lanes: usize, effort: Effort) -> Step {
        let Some(trials) = self.search.trials.clone() else { return self.begin_trials(lane) };
        let n = if effort == Effort::Whole { usize::MAX } else { n_lanes };
        let chosen: Vec<usize> = self.open_trials().into_iter().take(n).collect();
        let all = trials.kernels(&self.search.tried);
        let kernels: Vec<LeafKernel> = chosen.iter().map(|&at| all[at]).collect();
        let n_before = self.search.tried.iter().flatten().count();
        self.search.trying.insert(lane, chosen.clone());
        Step::new(move |training: &Training<'_>| {
            let start = Instant::now();
            let mut values = Vec::with_capacity(kernels.len());
            for kernel in &kernels {
                if training.budget.spent().is_some() {
                    break;
                }
                values.push(trials.value(kernel, training.par));
                let done = n_before + values.len();
                training.observer.progress(Progress { done, total: None, accuracy: None });
            }
            let took = start.elapsed();
            move |run: &mut Self| {
                run.took += took;
                run.search.trying.remove(&lane);
                if run.search.is_over {
                    return Ok(());
                }
                for (at, value) in chosen.into_iter().zip(values) {
                    let n = run.search.tried.len().max(at + 1);
                    run.search.tried.resize(n, None);
                    run.search.tried[at] = Some(value);
                }
                run.settle();
                Ok(())
            }
        })
    }

    fn begin_trials(&mut self, lane: usize) -> Step {
        let Some(placed) = self.first_tree().map(|tree| Arc::clone(&tree.placed)) else {
            return Step::nothing::<Self>();
        };
        let rows = Arc::clone(&self.rows);
        self.search.trying.insert(lane, Vec::new());
        Step::new(move |_: &Training<'_>| {
            let trials = Trials::new(rows, &placed.leaves);
            move |run: &mut Self| {
                run.search.trying.remove(&lane);
                if !run.search.is_over {
                    run.search.trials = Some(Arc::new(trials));
                    run.settle();
                }
                Ok(())
            }
        })
    }

    /// A slice trains some leaves of each tree.
    pub(super) fn begin_leaves(&mut self, jobs: &[usize], effort: Effort) -> Step {
        let Some(kernel) = self.kernel else { return Step::nothing::<Self>() };
        let (first_job, n_columns) = (2 * self.lanes, self.rows.x.ncols());
        let (mut parts, mut first, mut largest, mut n_trees) = (Vec::new(), 0, 0, 0);
        for (number, tree) in self.trees.iter_mut().enumerate() {
            let Some(tree) = tree.grown_mut() else { continue };
            let placed = Arc::clone(&tree.placed);
            largest = placed.leaves.iter().map(|leaf| leaf.rows.len()).max().unwrap_or(0).max(largest);
            n_trees += 1;
            let n_leaves = placed.leaves.len();
            if jobs.contains(&(first_job + number)) {
                let leaves = tree.take_open(effort == Effort::Slice, n_columns);
                parts.push(PlacedLeaves { tree: number, placed, first, leaves });
            }
            first += n_leaves;
        }
        let rows = Arc::clone(&self.rows);
        Step::new(move |training: &Training<'_>| {
            let start = Instant::now();
            let with = LeafTraining {
                params: &rows.params,
                kernel,
                x: rows.x.view(),
                labels: rows.data.labels(),
                n_classes: rows.n_classes(),
                n_trees,
                largest,
            };
            let leaves: Vec<(&Leaf, usize)> = parts.iter().flat_map(PlacedLeaves::leaves).collect();
            let outcomes = with.train(&leaves, training);
            let took = start.elapsed();
            move |run: &mut Self| {
                run.took += took;
                for part in &parts {
                    let tree = run.trees[part.tree].grown_mut();
                    tree.into_iter().for_each(|tree| tree.n_in_training -= part.leaves.len());
                }
                let mut outcomes = outcomes?.into_iter();
                for PlacedLeaves { tree, leaves, .. } in parts {
                    let Some(tree) = run.trees[tree].grown_mut() else { continue };
                    for (leaf, outcome) in leaves.into_iter().zip(outcomes.by_ref()) {
                        match outcome {
                            Outcome::Trained(trained) => tree.add(leaf, trained),
                            Outcome::NoGp => {}
                            Outcome::Untried => tree.open.push(leaf),
                        }
                    }
                }
                Ok(())
            }
        })
    }

    /// A slice does one fold. It ends early, and is not counted, when the budget is spent.
    pub(super) fn begin_folds(&self, effort: Effort) -> Step {
        let (Some(state), Some(kernel)) = (&self.folds, self.kernel) else { return Step::nothing::<Self>() };
        let (folds, first) = (Arc::clone(&state.folds), state.next);
        let end = if effort == Effort::Whole { folds.len() } else { first + 1 };
        let (rows, bytes, took) = (Arc::clone(&self.rows), self.bytes() as u64, self.took);
        Step::new(move |training: &Training<'_>| {
            let left = training.budget.bytes.map(|limit| limit.saturating_sub(bytes));
            let budget = Budget { bytes: left, ..training.budget.clone() };
            let within = Training { budget: &budget, ..*training };
            let (mut found, mut is_over, mut outcome) = (Vec::new(), false, Ok(()));
            for fold in first..end {
                is_over = budget.deadline.is_some_and(|end| end < Instant::now() + took);
                if is_over {
                    break;
                }
                match folds.validate(fold, &rows.data, &rows.params, kernel, &within) {
                    // There is no memory for another.
                    Err(Error::BudgetTooSmall { .. }) => is_over = true,
                    Err(error) => outcome = Err(error),
                    Ok(None) if budget.spent().is_some() => {}
                    Ok(rows) => {
                        found.push(rows.map(Arc::new));
                        continue;
                    }
                }
                break;
            }
            move |run: &mut Self| {
                let Some(state) = &mut run.folds else { return Ok(()) };
                state.next += found.len();
                state.found.extend(found.into_iter().flatten());
                state.is_over |= is_over;
                outcome
            }
        })
    }

    pub(super) fn trees_status(&self, lane: usize) -> JobStatus {
        let is_open = self.trees.iter().any(|slot| matches!(slot, Slot::Open));
        let grown = self.trees.iter().filter_map(Slot::grown);
        JobStatus {
            kind: "trees",
            name: format!("{}", lane + 1),
            state: JobState::new(!is_open, true),
            priority: 1,
            points: grown.clone().count(),
            goal: self.trees.len(),
            bytes: if lane == 0 { self.rows.bytes() as u64 } else { 0 },
            ..JobStatus::default()
        }
    }

    pub(super) fn search_status(&self, lane: usize, n_open: usize) -> JobStatus {
        let search = &self.search;
        let is_first = self.is_dropped[self.lanes..].iter().position(|is| !is) == Some(lane);
        let can_begin = || is_first && search.trying.is_empty() && self.first_tree().is_some();
        let is_ready = if search.trials.is_some() { n_open > 0 } else { can_begin() };
        JobStatus {
            kind: "kernel search",
            name: format!("{}", lane + 1),
            state: JobState::new(search.is_over, is_ready),
            priority: 1,
            points: search.tried.iter().flatten().count(),
            goal: search.trials.as_ref().map_or(0, |trials| trials.kernels(&search.tried).len()),
            bytes: search.trials.as_ref().filter(|_| lane == 0).map_or(0, |trials| trials.bytes() as u64),
            ..JobStatus::default()
        }
    }

    pub(super) fn leaves_status(&self, number: usize) -> JobStatus {
        let tree = self.trees[number].grown();
        let are_trees_done = self.are_trees_done();
        let is_done = !self.needs_leaves() || tree.map_or(are_trees_done, TreeState::is_done);
        let has_open = tree.is_some_and(|tree| !tree.open.is_empty());
        JobStatus {
            kind: "leaves",
            name: format!("{}", number + 1),
            state: JobState::new(is_done, self.kernel.is_some() && are_trees_done && has_open),
            accuracy: tree.map(TreeState::accuracy),
            points: tree.map_or(0, TreeState::n_done),
            goal: tree.map_or(0, |tree| tree.n_mixed),
            bytes: tree.map_or(0, |tree| tree.bytes as u64),
            ..JobStatus::default()
        }
    }

    pub(super) fn folds_status(&self) -> JobStatus {
        let Some(folds) = &self.folds else { return JobStatus::default() };
        let is_ready = self.kernel.is_some() && self.are_trees_done() && self.are_leaves_done();
        JobStatus {
            kind: "folds",
            state: JobState::new(folds.is_done() || !self.needs_leaves(), is_ready && self.has_model()),
            points: folds.next,
            goal: folds.folds.len(),
            ..JobStatus::default()
        }
    }
}
