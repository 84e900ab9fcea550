//! The protocol between the threads that work and whoever controls them: one lock, one condition, and no waiting while either is held.
//!
//! A worker takes a job off the board, works without the lock, and reports what came of it; the host merges that under the lock, which is quick by contract. Whoever
//! controls the work only changes what is on the board: workers see it when they come back.

use std::collections::VecDeque;
use std::time::Duration;

use hedgerow_core::StopReason;
use serde::Serialize;

use crate::look::{Look, State};
use crate::policy::{Candidate, Policy, attraction_among};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Work that is done in slices.
pub trait Job: Send {
    /// What all jobs see: cheap to clone, and never changed once handed out.
    type View: Clone + Send;
    /// What comes of a slice.
    type Product: Send;

    /// Does one small piece of work and goes on from there next time.
    fn slice(&mut self, view: &Self::View) -> Self::Product;
}

/// What a job of a host sees.
pub(crate) type ViewOf<H> = <<H as Host>::Job as Job>::View;
/// What comes of a slice of a host's job.
pub(crate) type ProductOf<H> = <<H as Host>::Job as Job>::Product;

/// Who has the jobs, and merges what comes of them.
pub trait Host: Send {
    /// Its jobs.
    type Job: Job;

    /// How a job stands.
    fn look(&self, job: usize) -> Look;

    /// What jobs see from now on.
    fn view(&self) -> ViewOf<Self>;

    /// Takes in what came of a slice. Quick: all other threads may be waiting.
    fn merge(&mut self, job: usize, product: ProductOf<Self>);

    /// A job was cancelled, or failed: nothing more will come of it.
    fn gone(&mut self, _job: usize) {}

    /// Jobs that have become necessary since it was last asked; they get the next places.
    fn new_jobs(&mut self) -> Vec<Self::Job> {
        Vec::new()
    }
}

/// A job as those see it who watch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Seen {
    /// What the host says about it.
    #[serde(flatten)]
    pub look: Look,
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
    /// Slices done.
    pub slices: u64,
    /// Seconds that threads have worked on it.
    pub worked_seconds: f64,
}

/// How jobs are handed out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) policy: Policy,
    /// Bytes that all jobs may hold together.
    pub(crate) bytes: Option<u64>,
    /// With a number of rounds: how many, and how many jobs get a slice in each.
    pub(crate) rounds: Option<Rounds>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) most: usize,
    pub(crate) lanes: usize,
}

/// A job with what it needs for its turn.
pub(crate) struct Taken<H: Host> {
    pub(crate) id: usize,
    pub(crate) job: H::Job,
    pub(crate) view: ViewOf<H>,
}

/// All jobs, and who may do what.
pub(crate) struct Board<H: Host> {
    inner: Mutex<Inner<H>>,
    changed: Condvar,
}

struct Inner<H: Host> {
    host: H,
    rules: Rules,
    seats: Vec<Seat<H::Job>>,
    looks: Vec<Look>,
    is_paused: bool,
    end: Option<StopReason>,
    /// Jobs that threads are at.
    n_out: usize,
    rounds_done: usize,
    round: Option<Round<H>>,
}

struct Seat<J> {
    /// None while a thread has it, and once it was cancelled.
    job: Option<J>,
    is_running: bool,
    is_paused: bool,
    is_cancelled: bool,
    problem: Option<String>,
    turns: u64,
    slices: u64,
    worked: Duration,
}

impl<J> Seat<J> {
    fn new(job: J) -> Self {
        Self {
            job: Some(job),
            is_running: false,
            is_paused: false,
            is_cancelled: false,
            problem: None,
            turns: 0,
            slices: 0,
            worked: Duration::ZERO,
        }
    }
}

/// A round under way.
struct Round<H: Host> {
    view: ViewOf<H>,
    /// Jobs that nobody has taken yet.
    waiting: VecDeque<usize>,
    /// All jobs of the round, and what came of those that are done.
    lanes: Vec<(usize, Lane<ProductOf<H>>)>,
}

enum Lane<P> {
    Open,
    Made(P),
    Lost,
}

impl<H: Host> Board<H> {
    pub(crate) fn new(host: H, jobs: Vec<H::Job>, rules: Rules) -> Self {
        let seats: Vec<Seat<H::Job>> = jobs.into_iter().map(Seat::new).collect();
        let mut inner = Inner {
            looks: Vec::new(),
            host,
            rules,
            seats,
            is_paused: false,
            end: None,
            n_out: 0,
            rounds_done: 0,
            round: None,
        };
        inner.look_again();
        Self { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// The next job for a worker; waits for one. None when the work has ended.
    pub(crate) fn take(&self) -> Option<Taken<H>> {
        let mut inner = self.lock();
        loop {
            if inner.end.is_some() {
                return None;
            }
            let before = inner.rounds_done;
            let taken = inner.next();
            if inner.rounds_done > before {
                // A round ended because its last job was cancelled: somebody may be waiting for that.
                self.changed.notify_all();
            }
            if taken.is_some() {
                return taken;
            }
            inner = self.wait(inner);
        }
    }

    /// Takes in what came of a slice. Returns a fresh view if the worker may go on with the job.
    pub(crate) fn report(&self, id: usize, product: ProductOf<H>, worked: Duration) -> Option<ViewOf<H>> {
        let mut inner = self.lock();
        inner.count(id, worked);
        inner.host.merge(id, product);
        inner.look_again();
        self.changed.notify_all();
        (inner.end.is_none() && !inner.is_paused && inner.is_worth(id)).then(|| inner.host.view())
    }

    /// A job comes back after its turn; in rounds with what came of its slice.
    pub(crate) fn give_back(&self, id: usize, job: H::Job, made: Option<(ProductOf<H>, Duration)>) {
        let mut inner = self.lock();
        let lane = made.map_or(Lane::Lost, |(product, worked)| {
            inner.count(id, worked);
            Lane::Made(product)
        });
        let seat = &mut inner.seats[id];
        seat.job = (!seat.is_cancelled).then_some(job);
        inner.leave(id, lane);
        self.changed.notify_all();
    }

    /// A job will not come back: something in it went wrong.
    pub(crate) fn lose(&self, id: usize, problem: String) {
        let mut inner = self.lock();
        let seat = &mut inner.seats[id];
        (seat.is_cancelled, seat.problem) = (true, Some(problem));
        inner.host.gone(id);
        inner.leave(id, Lane::Lost);
        self.changed.notify_all();
    }

    /// Changes what the host has, under the lock; workers look again.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut H) -> T) -> T {
        let mut inner = self.lock();
        let result = change(&mut inner.host);
        inner.look_again();
        self.changed.notify_all();
        result
    }

    /// Nobody takes a job until [`Self::resume`]; slices under way are finished.
    pub(crate) fn pause(&self) {
        self.lock().is_paused = true;
    }

    pub(crate) fn resume(&self) {
        self.lock().is_paused = false;
        self.changed.notify_all();
    }

    /// The same for one job. Says whether there is such a job.
    pub(crate) fn set_paused(&self, id: usize, is_paused: bool) -> bool {
        let mut inner = self.lock();
        let Some(seat) = inner.seats.get_mut(id) else { return false };
        seat.is_paused = is_paused;
        self.changed.notify_all();
        true
    }

    /// A job gets no more turns and is dropped. Says whether there is such a job.
    pub(crate) fn cancel(&self, id: usize) -> bool {
        let mut inner = self.lock();
        let Some(seat) = inner.seats.get_mut(id) else { return false };
        seat.is_cancelled = true;
        let job = seat.job.take();
        inner.host.gone(id);
        inner.look_again();
        self.changed.notify_all();
        drop(inner);
        // Freeing it may take its time.
        drop(job);
        true
    }

    /// No more turns for anybody. The first reason stays.
    pub(crate) fn end(&self, reason: StopReason) {
        self.lock().end.get_or_insert(reason);
        self.changed.notify_all();
    }

    /// Waits until the work has ended or nothing is left to do, and says why. With everything paused, it waits.
    pub(crate) fn wait_until_idle(&self) -> StopReason {
        let mut inner = self.lock();
        loop {
            if inner.n_out == 0 {
                if let Some(reason) = inner.end {
                    return reason;
                }
                if inner.is_idle() {
                    return if inner.is_full() { StopReason::Memory } else { StopReason::Done };
                }
            }
            inner = self.wait(inner);
        }
    }

    /// Whether nothing is left to do for now, or the work has ended; and why.
    pub(crate) fn rest(&self) -> Option<StopReason> {
        let inner = self.lock();
        if inner.n_out > 0 {
            return None;
        }
        let full = || if inner.is_full() { StopReason::Memory } else { StopReason::Done };
        inner.end.or_else(|| inner.is_idle().then(full))
    }

    /// How all jobs stand.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let inner = self.lock();
        let looks: Vec<&Look> = inner.looks.iter().collect();
        let of = |(id, seat): (usize, &Seat<H::Job>)| {
            let mut look = inner.looks[id].clone();
            if seat.problem.is_some() {
                look.problem.clone_from(&seat.problem);
            }
            Seen {
                look,
                attraction: attraction_among(&looks, id),
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

    pub(crate) fn rounds_done(&self) -> usize {
        self.lock().rounds_done
    }

    /// The host, once nobody works any more.
    pub(crate) fn into_host(self) -> H {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner).host
    }

    fn lock(&self) -> MutexGuard<'_, Inner<H>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, inner: MutexGuard<'a, Inner<H>>) -> MutexGuard<'a, Inner<H>> {
        self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<H: Host> Inner<H> {
    fn look_again(&mut self) {
        let new = self.host.new_jobs();
        self.seats.extend(new.into_iter().map(Seat::new));
        self.looks = (0..self.seats.len()).map(|id| self.host.look(id)).collect();
    }

    fn count(&mut self, id: usize, worked: Duration) {
        self.seats[id].slices += 1;
        self.seats[id].worked += worked;
    }

    /// A job has ended its turn. The last one of a round has all of the round merged.
    fn leave(&mut self, id: usize, lane: Lane<ProductOf<H>>) {
        self.seats[id].is_running = false;
        self.n_out -= 1;
        if let Some(mut round) = self.round.take() {
            if let Some(own) = round.lanes.iter_mut().find(|own| own.0 == id) {
                own.1 = lane;
            }
            if round.lanes.iter().any(|(_, lane)| matches!(lane, Lane::Open)) {
                self.round = Some(round);
            } else {
                for (id, lane) in round.lanes {
                    if let Lane::Made(product) = lane {
                        self.host.merge(id, product);
                    }
                }
                self.rounds_done += 1;
            }
        }
        self.look_again();
    }

    /// The next job to be handed out, if there is one.
    fn next(&mut self) -> Option<Taken<H>> {
        if self.is_paused {
            return None;
        }
        let Some(rounds) = self.rules.rounds else {
            let id = self.choose(&[])?;
            let view = self.host.view();
            return self.hand_out(id, view);
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
            let lanes = chosen.iter().map(|&id| (id, Lane::Open)).collect();
            self.round = Some(Round { view: self.host.view(), waiting: chosen.into(), lanes });
        }
        let round = self.round.as_mut()?;
        let id = round.waiting.pop_front()?;
        let view = round.view.clone();
        let taken = self.hand_out(id, view);
        if taken.is_none() {
            // It was cancelled since the round began.
            self.n_out += 1;
            self.leave(id, Lane::Lost);
            return self.next();
        }
        taken
    }

    fn hand_out(&mut self, id: usize, view: ViewOf<H>) -> Option<Taken<H>> {
        let seat = &mut self.seats[id];
        let job = seat.job.take()?;
        seat.is_running = true;
        seat.turns += 1;
        self.n_out += 1;
        Some(Taken { id, job, view })
    }

    fn choose(&self, but: &[usize]) -> Option<usize> {
        let free = |id: usize| self.seats[id].job.is_some() && self.is_worth(id) && !but.contains(&id);
        let candidates: Vec<Candidate<'_>> = (0..self.seats.len())
            .map(|id| Candidate { look: &self.looks[id], is_free: free(id), turns: self.seats[id].turns })
            .collect();
        self.rules.policy.choose(&candidates)
    }

    /// Whether a slice of a job is worth doing and allowed.
    fn is_worth(&self, id: usize) -> bool {
        let seat = &self.seats[id];
        self.looks[id].state == State::Ready && !seat.is_paused && !seat.is_cancelled && self.fits(id)
    }

    fn fits(&self, id: usize) -> bool {
        let Some(limit) = self.rules.bytes else { return true };
        // Whoever adds nothing may set others free: rows that are taken up let trees begin anew, a model takes the place of another.
        if self.looks[id].next_bytes == 0 {
            return true;
        }
        let held: u64 = self.looks.iter().map(|look| look.bytes).sum();
        // What slices under way may add counts too.
        let others = (0..self.seats.len()).filter(|other| *other != id && self.seats[*other].is_running);
        let coming: u64 = others.chain([id]).map(|job| self.looks[job].next_bytes).sum();
        held.saturating_add(coming) <= limit
    }

    /// Whether no job is at work and none could be.
    fn is_idle(&self) -> bool {
        let rounds_left = self.rules.rounds.is_none_or(|rounds| self.rounds_done < rounds.most);
        self.n_out == 0 && self.round.is_none() && !(rounds_left && self.choose(&[]).is_some())
    }

    /// Whether only memory keeps jobs from working.
    fn is_full(&self) -> bool {
        (0..self.seats.len()).any(|id| self.looks[id].state == State::Ready && !self.fits(id))
    }
}
