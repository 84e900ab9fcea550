//! Every order in which threads can meet at the board and at what is published: loom tries them all (with at most two or three preemptions).
//!
//! The sources are those of the crate itself; only the locks are loom's.

mod sync {
    pub(crate) use std::sync::PoisonError;

    pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
}

#[allow(dead_code, unreachable_pub, reason = "public in the crate, where all of it is used")]
#[path = "../src/policy.rs"]
mod policy;

#[allow(dead_code, unreachable_pub, reason = "public in the crate, where all of it is used")]
#[path = "../src/board.rs"]
mod board;
#[allow(dead_code, unreachable_pub, reason = "public in the crate, where all of it is used")]
#[path = "../src/published.rs"]
mod published;

use std::time::Duration;

use board::{Board, Host, Rounds, Rules, Task};
use hedgerow_core::{JobState, JobStatus, StopReason};
use loom::sync::Arc;
use loom::thread;
use policy::Policy;
use published::Published;

/// Notes who did what, in the order in which it was merged.
struct Notes {
    /// Slices that each job has left.
    left: Vec<usize>,
    merged: Vec<(usize, usize)>,
}

/// A job, and how much had been merged when its task began.
struct Slice(usize, usize);

impl Task for Slice {
    type Delta = usize;

    fn run(self) -> usize {
        10 * self.0 + self.1
    }
}

impl Host for Notes {
    type Task = Slice;

    fn jobs(&self) -> Vec<JobStatus> {
        let status = |left: &usize| {
            let state = if *left > 0 { JobState::Ready } else { JobState::Done };
            JobStatus { state, points: 10 - left, ..JobStatus::default() }
        };
        self.left.iter().map(status).collect()
    }

    fn begin(&mut self, job: usize) -> Slice {
        Slice(job, self.merged.len())
    }

    fn merge(&mut self, job: usize, delta: usize) {
        self.left[job] = self.left[job].saturating_sub(1);
        self.merged.push((job, delta));
    }

    fn drop_job(&mut self, _: usize) {}
}

fn board(left: &[usize], rounds: Option<Rounds>) -> Arc<Board<Notes>> {
    let host = Notes { left: left.to_vec(), merged: Vec::new() };
    Arc::new(Board::new(host, Rules { policy: Policy::Weakest, rounds }))
}

/// What the threads of the trainer do, with one task a turn.
fn work(board: &Board<Notes>) {
    while let Some((id, task)) = board.take() {
        let _ = board.report(id, task.run(), Duration::ZERO, false);
    }
}

fn workers(board: &Arc<Board<Notes>>, n: usize) -> Vec<thread::JoinHandle<()>> {
    let worker = |_| {
        let board = Arc::clone(board);
        thread::spawn(move || work(&board))
    };
    (0..n).map(worker).collect()
}

fn explore(switches: usize, check: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.max_branches = 20_000;
    builder.check(check);
}

#[test]
fn readers_see_whole_values_that_only_get_newer() {
    explore(3, || {
        let published = Arc::new(Published::new([0_usize; 2]));
        let writer = Arc::clone(&published);
        let writer = thread::spawn(move || {
            writer.set([1; 2]);
            writer.set([2; 2]);
        });
        let (a, b) = (published.get(), published.get());
        assert!(b[0] >= a[0] && a[0] == a[1] && b[0] == b[1]);
        writer.join().unwrap();
        assert_eq!(*published.get(), [2; 2]);
    });
}

#[test]
fn all_work_is_done_and_merged_whoever_does_it() {
    explore(2, || {
        let board = board(&[1, 2], None);
        let workers = workers(&board, 2);
        assert_eq!(board.wait(), StopReason::Done);
        board.end(StopReason::Interrupted);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let notes = Arc::try_unwrap(board).ok().unwrap().into_host();
        assert_eq!(notes.left, [0, 0]);
        assert_eq!(notes.merged.len(), 3);
    });
}

#[test]
fn rounds_give_the_same_in_every_order() {
    explore(2, || {
        let board = board(&[2, 1], Some(Rounds { most: 2, lanes: 2 }));
        let workers = workers(&board, 2);
        assert_eq!(board.wait(), StopReason::Done);
        board.end(StopReason::Interrupted);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let notes = Arc::try_unwrap(board).ok().unwrap().into_host();
        assert_eq!(notes.merged, [(0, 0), (1, 10), (0, 2)], "both from the first view, then the rest");
    });
}

#[test]
fn pausing_and_resuming_loses_nothing() {
    explore(2, || {
        let board = board(&[2], None);
        let workers = workers(&board, 1);
        board.pause();
        board.resume();
        assert_eq!(board.wait(), StopReason::Done);
        board.end(StopReason::Interrupted);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(Arc::try_unwrap(board).ok().unwrap().into_host().merged.len(), 2);
    });
}

#[test]
fn new_work_wakes_threads_that_had_none() {
    explore(2, || {
        let board = board(&[0, 0], None);
        let workers = workers(&board, 2);
        board.with(|notes| notes.left = vec![1, 1]);
        assert_eq!(board.wait(), StopReason::Done);
        board.end(StopReason::Interrupted);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(Arc::try_unwrap(board).ok().unwrap().into_host().merged.len(), 2);
    });
}

#[test]
fn a_job_can_be_cancelled_at_any_moment() {
    for in_rounds in [false, true] {
        explore(2, move || {
            let rounds = in_rounds.then_some(Rounds { most: 3, lanes: 2 });
            let board = board(&[2, 1], rounds);
            let workers = workers(&board, 1);
            assert!(board.cancel(0) && !board.cancel(7));
            assert_eq!(board.wait(), StopReason::Done);
            board.end(StopReason::Interrupted);
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            let notes = Arc::try_unwrap(board).ok().unwrap().into_host();
            assert_eq!(notes.left[1], 0, "others go on");
        });
    }
}

#[test]
fn the_end_reaches_everybody() {
    explore(2, || {
        let board = board(&[9], None);
        let workers = workers(&board, 2);
        board.end(StopReason::Time);
        assert_eq!(board.wait(), StopReason::Time);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}
