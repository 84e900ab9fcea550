//! The protocol between the threads that work and what controls them: one lock, one condition, and no waiting while either is held.
//!
//! A worker takes a task off the board, works without the lock, and reports what came of it; the host merges that under the lock, which is quick by contract. Control
//! only changes what is on the board: workers see it when they come back.

use std::collections::VecDeque;
use std::time::Duration;

use hedgerow_core::{JobState, JobStatus, StopReason};
use serde::Serialize;

use crate::policy::{Policy, attraction_among};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A piece of work that owns all it needs.
pub trait Task: Send {
    /// What comes of it.
    type Delta: Send;

    /// Does the work.
    fn run(self) -> Self::Delta;
}

/// What comes of a task of a host.
pub(crate) type DeltaOf<H> = <<H as Host>::Task as Task>::Delta;

/// The owner of the jobs, which merges what comes of them.
pub trait Host: Send {
    /// Pieces of its work.
    type Task: Task;

    /// How all jobs stand, each at its place. The list may grow.
    fn jobs(&self) -> Vec<JobStatus>;

    /// Takes out what the next piece of work on a job needs.
    fn begin(&mut self, job: usize) -> Self::Task;

    /// Takes in what came of a task. Quick: all other threads may be waiting.
    fn merge(&mut self, job: usize, delta: DeltaOf<Self>);

    /// A job was cancelled, or its task failed: nothing more will come of it, not even of a task under way.
    fn drop_job(&mut self, job: usize);

    /// Why nothing is left to do, when that is so.
    fn stop(&self) -> StopReason {
        StopReason::Done
    }
}

/// A job as a monitor sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobReport {
    /// How it stands.
    #[serde(flatten)]
    pub status: JobStatus,
    /// Its attraction among jobs of its kind; the lowest is next.
    pub attraction: f64,
    /// Whether a thread is at it now.
    pub is_running: bool,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Whether it was cancelled.
    pub is_cancelled: bool,
    /// Turns that it has had.
    pub turns: u64,
    /// Tasks done.
    pub slices: u64,
    /// Seconds that threads have worked on it.
    pub worked_seconds: f64,
}

/// How jobs are handed out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) policy: Policy,
    /// With a number of rounds: how many, and how many jobs get a slice in each.
    pub(crate) rounds: Option<Rounds>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) most: usize,
    pub(crate) lanes: usize,
}

/// All jobs, and who may do what.
pub struct Board<H: Host> {
    inner: Mutex<Inner<H>>,
    changed: Condvar,
}

struct Inner<H: Host> {
    host: H,
    rules: Rules,
    seats: Vec<Seat>,
    jobs: Vec<JobStatus>,
    is_paused: bool,
    end: Option<StopReason>,
    /// Jobs that threads are at.
    n_out: usize,
    rounds_done: usize,
    round: Option<Round<H>>,
}

#[derive(Default)]
struct Seat {
    is_running: bool,
    is_paused: bool,
    is_cancelled: bool,
    problem: Option<String>,
    turns: u64,
    slices: u64,
    worked: Duration,
}

/// A round under way.
struct Round<H: Host> {
    /// Tasks that no worker has taken yet.
    waiting: VecDeque<(usize, H::Task)>,
    /// All jobs of the round, and what came of those that are done and not lost.
    lanes: Vec<(usize, Option<DeltaOf<H>>)>,
    /// Jobs that are not done.
    n_open: usize,
}

impl<H: Host> Board<H> {
    pub(crate) fn new(host: H, rules: Rules) -> Self {
        let mut inner = Inner {
            jobs: Vec::new(),
            host,
            rules,
            seats: Vec::new(),
            is_paused: false,
            end: None,
            n_out: 0,
            rounds_done: 0,
            round: None,
        };
        inner.look_again();
        Self { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// The next job for a worker and its task; waits for one. None when the work has ended.
    pub(crate) fn take(&self) -> Option<(usize, H::Task)> {
        let mut inner = self.lock();
        loop {
            if inner.end.is_some() {
                return None;
            }
            let before = inner.rounds_done;
            let taken = inner.next();
            if inner.rounds_done > before {
                // A round ended because its last job was cancelled: that may be waited for.
                self.changed.notify_all();
            }
            if taken.is_some() {
                return taken;
            }
            inner = self.wait_for_change(inner);
        }
    }

    /// Takes in what came of a task, in rounds once all of the round are done. Returns the next task of the job if the worker `may_go_on` with it and there is
    /// one, never in rounds; otherwise the turn is over.
    pub(crate) fn report(
        &self,
        id: usize,
        delta: DeltaOf<H>,
        worked: Duration,
        may_go_on: bool,
    ) -> Option<H::Task> {
        let mut inner = self.lock();
        let seat = &mut inner.seats[id];
        seat.slices += 1;
        seat.worked += worked;
        let mut delta = (!seat.is_cancelled).then_some(delta);
        let mut next = None;
        if inner.rules.rounds.is_none() {
            if let Some(delta) = delta.take() {
                inner.host.merge(id, delta);
            }
            inner.look_again();
            let goes_on = may_go_on && inner.end.is_none() && !inner.is_paused && inner.is_worth(id);
            next = goes_on.then(|| inner.host.begin(id));
        }
        if next.is_none() {
            inner.leave(id, delta);
        }
        self.changed.notify_all();
        next
    }

    /// A task failed: its job gets no more turns.
    pub(crate) fn lose(&self, id: usize, problem: String) {
        let mut inner = self.lock();
        let seat = &mut inner.seats[id];
        (seat.is_cancelled, seat.problem) = (true, Some(problem));
        inner.host.drop_job(id);
        inner.leave(id, None);
        self.changed.notify_all();
    }

    /// Changes what the host has (new rows, say), under the lock; jobs see it from their next slice on.
    pub fn with<T>(&self, change: impl FnOnce(&mut H) -> T) -> T {
        let mut inner = self.lock();
        let result = change(&mut inner.host);
        inner.look_again();
        self.changed.notify_all();
        result
    }

    /// No slice is begun until [`Self::resume`]; slices under way are finished.
    pub fn pause(&self) {
        self.lock().is_paused = true;
    }

    /// Goes on after [`Self::pause`].
    pub fn resume(&self) {
        self.lock().is_paused = false;
        self.changed.notify_all();
    }

    /// Pauses one job, or lets it go on. Says whether there is such a job.
    pub fn set_paused(&self, id: usize, is_paused: bool) -> bool {
        let mut inner = self.lock();
        let Some(seat) = inner.seats.get_mut(id) else { return false };
        seat.is_paused = is_paused;
        self.changed.notify_all();
        true
    }

    /// A job gets no more turns and is dropped. Says whether there is such a job.
    pub fn cancel(&self, id: usize) -> bool {
        let mut inner = self.lock();
        let Some(seat) = inner.seats.get_mut(id) else { return false };
        if !std::mem::replace(&mut seat.is_cancelled, true) {
            inner.host.drop_job(id);
        }
        inner.look_again();
        self.changed.notify_all();
        true
    }

    /// Asks all threads to end after the slices under way.
    pub fn stop(&self) {
        self.end(StopReason::Interrupted);
    }

    /// No more turns for any job. The first reason stays.
    pub(crate) fn end(&self, reason: StopReason) {
        self.lock().end.get_or_insert(reason);
        self.changed.notify_all();
    }

    /// Waits until the work has ended or nothing is left to do, and says why. With everything paused, it waits. New rows may set it going again.
    pub fn wait(&self) -> StopReason {
        let mut inner = self.lock();
        loop {
            if let Some(reason) = inner.rest() {
                return reason;
            }
            inner = self.wait_for_change(inner);
        }
    }

    /// Why nothing is being done; none while there is work.
    pub fn rest(&self) -> Option<StopReason> {
        self.lock().rest()
    }

    /// How all jobs stand.
    pub fn jobs(&self) -> Vec<JobReport> {
        let inner = self.lock();
        let of = |(id, seat): (usize, &Seat)| {
            let mut status = inner.jobs[id].clone();
            if seat.problem.is_some() {
                status.problem.clone_from(&seat.problem);
            }
            JobReport {
                status,
                attraction: attraction_among(&inner.jobs, id),
                is_running: seat.is_running,
                is_paused: seat.is_paused || inner.is_paused,
                is_cancelled: seat.is_cancelled,
                turns: seat.turns,
                slices: seat.slices,
                worked_seconds: seat.worked.as_secs_f64(),
            }
        };
        inner.seats.iter().enumerate().map(of).collect()
    }

    /// Rounds done, where the budget is in rounds.
    pub fn rounds_done(&self) -> usize {
        self.lock().rounds_done
    }

    /// The host, once no worker is left.
    pub(crate) fn into_host(self) -> H {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner).host
    }

    fn lock(&self) -> MutexGuard<'_, Inner<H>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_change<'a>(&self, inner: MutexGuard<'a, Inner<H>>) -> MutexGuard<'a, Inner<H>> {
        self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<H: Host> Inner<H> {
    fn look_again(&mut self) {
        self.jobs = self.host.jobs();
        let n = self.seats.len().max(self.jobs.len());
        self.seats.resize_with(n, Seat::default);
        // A job that the host no longer has is done.
        self.jobs.resize_with(n, || JobStatus { state: JobState::Done, ..JobStatus::default() });
    }

    /// A job has ended its turn, in a round with what came of it. The last one of a round has all of the round merged.
    fn leave(&mut self, id: usize, delta: Option<DeltaOf<H>>) {
        self.seats[id].is_running = false;
        self.n_out -= 1;
        if let Some(round) = &mut self.round {
            if let Some(own) = round.lanes.iter_mut().find(|own| own.0 == id) {
                own.1 = delta;
            }
            round.n_open -= 1;
        }
        if let Some(round) = self.round.take_if(|round| round.n_open == 0) {
            for (id, delta) in round.lanes {
                if let Some(delta) = delta
                    && !self.seats[id].is_cancelled
                {
                    self.host.merge(id, delta);
                }
            }
            self.rounds_done += 1;
        }
        self.look_again();
    }

    /// The next task to be handed out, if there is one.
    fn next(&mut self) -> Option<(usize, H::Task)> {
        if self.is_paused {
            return None;
        }
        let Some(rounds) = self.rules.rounds else {
            let id = self.choose(&[])?;
            let task = self.host.begin(id);
            return Some(self.hand_out(id, task));
        };
        if self.round.is_none() && self.rounds_done < rounds.most {
            let mut chosen = Vec::new();
            while chosen.len() < rounds.lanes
                && let Some(id) = self.choose(&chosen)
            {
                chosen.push(id);
            }
            if chosen.is_empty() {
                return None;
            }
            let (n_open, lanes) = (chosen.len(), chosen.iter().map(|&id| (id, None)).collect());
            let waiting = chosen.into_iter().map(|id| (id, self.host.begin(id))).collect();
            self.round = Some(Round { waiting, lanes, n_open });
        }
        let (id, task) = self.round.as_mut()?.waiting.pop_front()?;
        if self.seats[id].is_cancelled {
            // Since the round began.
            self.n_out += 1;
            self.leave(id, None);
            return self.next();
        }
        Some(self.hand_out(id, task))
    }

    fn hand_out(&mut self, id: usize, task: H::Task) -> (usize, H::Task) {
        let seat = &mut self.seats[id];
        seat.is_running = true;
        seat.turns += 1;
        self.n_out += 1;
        (id, task)
    }

    fn choose(&self, but: &[usize]) -> Option<usize> {
        let turns = |id: usize| {
            let is_free = !self.seats[id].is_running && self.is_worth(id) && !but.contains(&id);
            is_free.then_some(self.seats[id].turns)
        };
        self.rules.policy.choose(&self.jobs, turns)
    }

    /// Whether a task of a job is worth doing and allowed.
    fn is_worth(&self, id: usize) -> bool {
        let seat = &self.seats[id];
        self.jobs[id].state == JobState::Ready && !seat.is_paused && !seat.is_cancelled
    }

    /// Why no job is at work and none could be, if that is so.
    fn rest(&self) -> Option<StopReason> {
        let rounds_left = self.rules.rounds.is_none_or(|rounds| self.rounds_done < rounds.most);
        let is_idle = || self.round.is_none() && !(rounds_left && self.choose(&[]).is_some());
        let reason = || self.end.or_else(|| is_idle().then(|| self.host.stop()));
        if self.n_out == 0 { reason() } else { None }
    }
}
