//! The trainer with real threads: same result for any number of them, and it can be paused, resumed, cancelled, limited and watched.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hedgerow_core::{Budget, StopReason};
use hedgerow_trainer::{Host, Job, Look, Options, Policy, State, Trainer};

/// Jobs that count; what each makes of a slice depends on what everybody had done before.
#[derive(Default)]
struct Counters {
    points: Vec<usize>,
    goal: usize,
    log: Vec<(usize, usize)>,
    /// How fast each learns.
    rates: Vec<f64>,
}

struct Counter {
    id: usize,
    n: usize,
    nap: Duration,
    at_once: Arc<AtomicUsize>,
}

impl Job for Counter {
    type View = usize;
    type Product = usize;

    fn slice(&mut self, view: &usize) -> usize {
        self.at_once.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(self.nap);
        self.n += 1;
        assert!(!(self.id == 99 && self.n > 2), "this job is broken");
        self.at_once.fetch_sub(1, Ordering::Relaxed);
        1000 * view + self.n
    }
}

impl Host for Counters {
    type Job = Counter;

    fn look(&self, job: usize) -> Look {
        let points = self.points[job];
        let state = if points < self.goal { State::Ready } else { State::Done };
        let accuracy = (points > 0).then(|| 1.0 - 1.0 / (1.0 + self.rates[job] * points as f64));
        Look {
            kind: "counter",
            state,
            accuracy,
            points,
            bytes: points as u64,
            next_bytes: 1,
            ..Look::default()
        }
    }

    fn view(&self) -> usize {
        self.log.len()
    }

    fn merge(&mut self, job: usize, product: usize) {
        self.points[job] += 1;
        self.log.push((job, product));
    }
}

fn start(n_jobs: usize, goal: usize, nap: Duration, options: &Options) -> Trainer<Counters> {
    let at_once = Arc::new(AtomicUsize::new(0));
    let rates = (0..n_jobs).map(|job| 1.0 / (1.0 + job as f64)).collect();
    let host = Counters { points: vec![0; n_jobs], goal, rates, ..Counters::default() };
    let job = |id| Counter { id, n: 0, nap, at_once: Arc::clone(&at_once) };
    Trainer::start(host, (0..n_jobs).map(job).collect(), options).unwrap()
}

fn in_rounds(threads: usize, policy: Policy) -> Options {
    let budget = Budget { rounds: Some(25), ..Budget::open() };
    Options { threads, policy, lanes: 3, budget, ..Options::default() }
}

#[test]
fn rounds_give_the_same_for_any_number_of_threads() {
    for policy in Policy::ALL {
        let run = |threads| {
            let trainer = start(7, 20, Duration::from_micros(50), &in_rounds(threads, policy));
            assert_eq!(trainer.wait(), StopReason::Done);
            assert_eq!(trainer.rounds_done(), 25);
            trainer.finish().unwrap().log
        };
        let alone = run(1);
        assert_eq!(alone.len(), 75);
        for threads in [2, 3, 8] {
            assert_eq!(alone, run(threads), "{policy} with {threads} threads");
        }
    }
}

/// The whole schedule in rounds against one written down without threads.
#[test]
fn rounds_are_those_of_a_naive_scheduler() {
    let rates = (0..5).map(|job| 1.0 / (1.0 + f64::from(job))).collect();
    let mut host = Counters { points: vec![0; 5], goal: 6, rates, ..Counters::default() };
    let mut turns = [0_u64; 5];
    let mut slices = [0_usize; 5];
    for _ in 0..25 {
        let (view, mut chosen) = (host.view(), Vec::new());
        while chosen.len() < 3 {
            let looks: Vec<Look> = (0..5).map(|job| host.look(job)).collect();
            let (least, most) =
                looks.iter().fold((usize::MAX, 0), |(a, b), l| (a.min(l.points), b.max(l.points)));
            let key = |job: usize| {
                let (p, c) = (looks[job].points, looks[job].accuracy.unwrap_or(0.0));
                (hedgerow_trainer::attraction(c, p, least, most), turns[job], job)
            };
            let free = (0..5).filter(|job| looks[*job].state == State::Ready && !chosen.contains(job));
            let Some(job) = free.min_by(|a, b| key(*a).partial_cmp(&key(*b)).unwrap()) else { break };
            chosen.push(job);
        }
        for job in chosen {
            turns[job] += 1;
            slices[job] += 1;
            host.merge(job, 1000 * view + slices[job]);
        }
    }
    let trainer = start(5, 6, Duration::ZERO, &in_rounds(2, Policy::Weakest));
    trainer.wait();
    assert_eq!(host.log.len(), 30, "all goals are reached");
    assert_eq!(trainer.finish().unwrap().log, host.log);
}

#[test]
fn the_weakest_gets_most_of_the_turns() {
    let options =
        Options { threads: 1, min_slice: Duration::ZERO, policy: Policy::Weakest, ..Options::default() };
    let budget = Budget { rounds: Some(30), ..Budget::open() };
    let trainer = start(4, 1000, Duration::ZERO, &Options { lanes: 1, budget, ..options });
    trainer.wait();
    let jobs = trainer.jobs();
    let points: Vec<usize> = jobs.iter().map(|job| job.look.points).collect();
    assert!(points[3] >= points[0], "{points:?}: the last learns slowest");
    assert!(jobs.iter().all(|job| job.slices == job.look.points as u64 && !job.is_running));
}

#[test]
fn pause_resume_cancel_and_stop() {
    let options = Options { threads: 2, min_slice: Duration::from_millis(1), ..Options::default() };
    let trainer = start(3, usize::MAX, Duration::from_micros(100), &options);
    let total = |trainer: &Trainer<Counters>| trainer.jobs().iter().map(|job| job.slices).sum::<u64>();
    let until = |ok: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !ok() {
            assert!(start.elapsed() < Duration::from_secs(20), "waited in vain");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    until(&|| total(&trainer) > 20);
    trainer.pause();
    until(&|| trainer.jobs().iter().all(|job| !job.is_running));
    let (before, jobs) = (total(&trainer), trainer.jobs());
    assert!(jobs.iter().all(|job| job.is_paused && job.worked_seconds > 0.0));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(total(&trainer), before, "nobody works while all are paused");
    assert!(trainer.set_paused(1, true) && trainer.cancel(0) && !trainer.cancel(3));
    trainer.resume();
    until(&|| total(&trainer) > before + 20);
    let now = trainer.jobs();
    assert!(now[0].is_cancelled && now[0].slices == jobs[0].slices && now[1].slices == jobs[1].slices);
    trainer.set_paused(1, false);
    until(&|| trainer.jobs()[1].slices > jobs[1].slices);
    assert_eq!(trainer.rest(), None);
    trainer.stop();
    assert_eq!(trainer.wait(), StopReason::Interrupted);
    assert!(trainer.finish().is_some());
}

#[test]
fn budgets_hold_over_all_jobs() {
    let naps = Duration::from_millis(1);
    let timed = Options { budget: Budget::open().with_time(Duration::from_millis(80)), ..Options::default() };
    let start_time = Instant::now();
    assert_eq!(start(3, usize::MAX, naps, &timed).wait(), StopReason::Time);
    assert!(start_time.elapsed() < Duration::from_secs(5));
    let small = Options {
        threads: 1,
        min_slice: Duration::ZERO,
        budget: Budget::open().with_bytes(10),
        ..Options::default()
    };
    let trainer = start(3, usize::MAX, Duration::ZERO, &small);
    assert_eq!(trainer.wait(), StopReason::Memory);
    assert_eq!(trainer.jobs().iter().map(|job| job.look.bytes).sum::<u64>(), 10);
}

#[test]
fn a_broken_job_stops_nobody_and_new_goals_wake_everybody() {
    let options = Options { threads: 2, min_slice: Duration::ZERO, ..Options::default() };
    let at_once = Arc::new(AtomicUsize::new(0));
    let host = Counters { points: vec![0; 2], goal: 5, rates: vec![1.0; 2], ..Counters::default() };
    let job = |id| Counter { id, n: 0, nap: Duration::ZERO, at_once: Arc::clone(&at_once) };
    let trainer = Trainer::start(host, vec![job(0), job(99)], &options).unwrap();
    assert_eq!(trainer.wait(), StopReason::Done);
    let jobs = trainer.jobs();
    assert_eq!((jobs[0].look.points, jobs[1].look.points), (5, 2));
    assert!(jobs[1].look.problem.as_ref().is_some_and(|words| words.contains("broken")));
    trainer.with(|host| host.goal = 9);
    assert_eq!(trainer.wait(), StopReason::Done);
    assert_eq!(trainer.jobs()[0].look.points, 9);
}

#[test]
fn other_threads_reach_the_host_as_long_as_there_is_one() {
    let trainer = start(2, 0, Duration::ZERO, &Options { threads: 1, ..Options::default() });
    let access = trainer.access();
    let told = std::thread::spawn(move || {
        let goal = access.with(|host| std::mem::replace(&mut host.goal, 3));
        (access, goal)
    });
    let (access, goal) = told.join().unwrap();
    assert_eq!(goal, Some(0));
    assert_eq!(trainer.wait(), StopReason::Done);
    assert_eq!(trainer.finish().unwrap().points, [3, 3], "what it was told sets it going");
    assert_eq!(access.with(|host| host.goal), None);
}
