//! The threads.

use std::num::NonZeroUsize;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hedgerow_core::{Budget, Error, Result};

use crate::board::{Board, Host, Rounds, Rules, Task as _};
use crate::policy::Policy;
use crate::priority;
use crate::sync::Arc;

/// How jobs are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Threads; 0 means one for each core.
    pub threads: usize,
    /// Which job is next.
    pub policy: Policy,
    /// How long a job keeps its thread before another may have it, as long as it has something to do. Not looked at with a budget in rounds.
    pub min_slice: Duration,
    /// With a budget in rounds: how many jobs get a slice in each. The result depends on it, but not on the number of threads.
    pub lanes: usize,
    /// Limits over all jobs: time, bytes, rounds, and a switch.
    pub budget: Budget,
    /// Whether threads give way to everything else that wants the core.
    pub gives_way: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 0,
            policy: Policy::default(),
            min_slice: Duration::from_millis(200),
            lanes: 4,
            budget: Budget::open(),
            gives_way: true,
        }
    }
}

/// Jobs at work on a fixed number of threads, under the control of a [`Board`].
///
/// Dropping it ends the work and waits for the slices under way.
pub struct Trainer<H: Host> {
    board: Arc<Board<H>>,
    workers: Vec<JoinHandle<()>>,
}

impl<H: Host + 'static> Trainer<H>
where
    H::Task: 'static,
{
    /// Starts to work on the jobs of a host.
    pub fn start(host: H, options: &Options) -> Result<Self> {
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            n => n,
        };
        let rounds = options.budget.rounds.map(|most| Rounds { most, lanes: options.lanes.max(1) });
        let rules = Rules { policy: options.policy, rounds };
        let board = Arc::new(Board::new(host, rules));
        let mut trainer = Self { board, workers: Vec::with_capacity(threads) };
        for number in 0..threads {
            let worker = Worker { board: Arc::clone(&trainer.board), options: options.clone() };
            let thread = std::thread::Builder::new().name(format!("trainer-{number}"));
            let started = thread.spawn(move || worker.run());
            let failed = |e: std::io::Error| Error::Threads { threads, reason: e.to_string() };
            trainer.workers.push(started.map_err(failed)?);
        }
        Ok(trainer)
    }

    /// A way to the host for other threads, which ends with the trainer.
    pub fn access(&self) -> Access<H> {
        Access { board: Arc::downgrade(&self.board) }
    }

    /// Ends the work and returns the host; none if another handle still holds on to the jobs.
    pub fn finish(mut self) -> Option<H> {
        self.join();
        let board = Arc::clone(&self.board);
        drop(self);
        Arc::into_inner(board).map(Board::into_host)
    }
}

impl<H: Host> Trainer<H> {
    fn join(&mut self) {
        self.board.stop();
        for worker in self.workers.drain(..) {
            // A worker does not panic: jobs that do are caught.
            let _ = worker.join();
        }
    }
}

impl<H: Host> Deref for Trainer<H> {
    type Target = Board<H>;

    fn deref(&self) -> &Board<H> {
        &self.board
    }
}

impl<H: Host> Drop for Trainer<H> {
    fn drop(&mut self) {
        self.join();
    }
}

/// A way to the host of a trainer. It does not keep the trainer alive, but it must not be in use while the trainer is finished.
pub struct Access<H: Host> {
    board: Weak<Board<H>>,
}

impl<H: Host> Access<H> {
    /// Changes what the host has, like [`Board::with`]; none if the trainer is gone.
    pub fn with<T>(&self, change: impl FnOnce(&mut H) -> T) -> Option<T> {
        Some(self.board.upgrade()?.with(change))
    }
}

struct Worker<H: Host> {
    board: Arc<Board<H>>,
    options: Options,
}

impl<H: Host> Worker<H> {
    fn run(self) {
        if self.options.gives_way {
            priority::lower();
        }
        while let Some((id, task)) = self.board.take() {
            self.turn(id, task);
            if let Some(reason) = self.options.budget.spent() {
                self.board.end(reason);
            }
        }
    }

    /// A job's turn: one slice in rounds, otherwise slices for the shortest time that a job may count on.
    fn turn(&self, id: usize, mut task: H::Task) {
        let start = Instant::now();
        loop {
            let before = Instant::now();
            let delta = match catch_unwind(AssertUnwindSafe(|| task.run())) {
                Ok(delta) => delta,
                Err(panic) => {
                    let words = panic.downcast_ref::<&str>().map(ToString::to_string);
                    let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
                    return self.board.lose(id, words.unwrap_or_else(|| "it failed".into()));
                }
            };
            let Options { min_slice, budget, .. } = &self.options;
            let may_go_on = start.elapsed() < *min_slice && budget.spent().is_none();
            match self.board.report(id, delta, before.elapsed(), may_go_on) {
                Some(next) => task = next,
                None => return,
            }
        }
    }
}
