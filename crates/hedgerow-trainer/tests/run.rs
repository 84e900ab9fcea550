//! The trainer with real threads: same result for any number of them, and it can be paused, resumed, cancelled, limited and watched.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use hedgerow_core::{Budget, JobState, JobStatus, StopReason};
use hedgerow_trainer::{Host, Options, Policy, Task, Trainer};

/// Jobs that count; what each makes of a task depends on what all had done before.
#[derive(Default)]
struct Counters {
    points: Vec<usize>,
    goal: usize,
    log: Vec<(usize, usize)>,
    /// How fast each learns.
    rates: Vec<f64>,
    nap: Duration,
    /// A job that fails after two tasks.
    broken: Option<usize>,
    is_dropped: Vec<bool>,
}

struct Count {
    value: usize,
    nap: Duration,
    is_broken: bool,
}

impl Task for Count {
    type Delta = usize;

    fn run(self) -> usize {
        std::thread::sleep(self.nap);
        assert!(!self.is_broken, "this job is broken");
        self.value
    }
}

impl Host for Counters {
    type Task = Count;

    fn jobs(&self) -> Vec<JobStatus> {
        let status = |job: usize| {
            let points = self.points[job];
            let state = if points < self.goal { JobState::Ready } else { JobState::Done };
            let accuracy = (points > 0).then(|| 1.0 - 1.0 / (1.0 + self.rates[job] * points as f64));
            JobStatus { kind: "counter", state, accuracy, points, ..JobStatus::default() }
        };
        (0..self.points.len()).map(status).collect()
    }

    fn begin(&mut self, job: usize) -> Count {
        let is_broken = self.broken == Some(job) && self.points[job] >= 2;
        Count { value: 1000 * self.log.len() + self.points[job] + 1, nap: self.nap, is_broken }
    }

    fn merge(&mut self, job: usize, delta: usize) {
        assert!(!self.is_dropped[job], "nothing comes of a job that was dropped");
        self.points[job] += 1;
        self.log.push((job, delta));
    }

    fn drop_job(&mut self, job: usize) {
        self.is_dropped[job] = true;
    }
}

fn counters(n_jobs: usize, goal: usize) -> Counters {
    let rates = (0..n_jobs).map(|job| 1.0 / (1.0 + job as f64)).collect();
    Counters { points: vec![0; n_jobs], goal, rates, is_dropped: vec![false; n_jobs], ..Counters::default() }
}

fn start(n_jobs: usize, goal: usize, nap: Duration, options: &Options) -> Trainer<Counters> {
    Trainer::start(Counters { nap, ..counters(n_jobs, goal) }, options).unwrap()
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
    let mut host = counters(5, 6);
    let mut turns = [0_u64; 5];
    for _ in 0..25 {
        let (looks, mut chosen) = (host.jobs(), Vec::new());
        while chosen.len() < 3 {
            let (least, most) =
                looks.iter().fold((usize::MAX, 0), |(a, b), l| (a.min(l.points), b.max(l.points)));
            let key = |job: usize| {
                let (p, c) = (looks[job].points, looks[job].accuracy.unwrap_or(0.0));
                (hedgerow_trainer::attraction(c, p, least, most), turns[job], job)
            };
            let free = (0..5).filter(|job| looks[*job].state == JobState::Ready && !chosen.contains(job));
            let Some(job) = free.min_by(|a, b| key(*a).partial_cmp(&key(*b)).unwrap()) else { break };
            chosen.push(job);
        }
        let made: Vec<(usize, usize)> = chosen.into_iter().map(|job| (job, host.begin(job).run())).collect();
        for (job, delta) in made {
            turns[job] += 1;
            host.merge(job, delta);
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
    let points: Vec<usize> = jobs.iter().map(|job| job.status.points).collect();
    assert!(points[3] >= points[0], "{points:?}: the last learns slowest");
    assert!(jobs.iter().all(|job| job.slices == job.status.points as u64 && !job.is_running));
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
    assert_eq!(total(&trainer), before, "no job is worked on while all are paused");
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
}

#[test]
fn a_broken_job_stops_nobody_and_new_goals_wake_everybody() {
    let options = Options { threads: 2, min_slice: Duration::ZERO, ..Options::default() };
    let host = Counters { broken: Some(1), rates: vec![1.0; 2], ..counters(2, 5) };
    let trainer = Trainer::start(host, &options).unwrap();
    assert_eq!(trainer.wait(), StopReason::Done);
    let jobs = trainer.jobs();
    assert_eq!((jobs[0].status.points, jobs[1].status.points), (5, 2));
    assert!(jobs[1].status.problem.as_ref().is_some_and(|words| words.contains("broken")));
    trainer.with(|host| host.goal = 9);
    assert_eq!(trainer.wait(), StopReason::Done);
    assert_eq!(trainer.jobs()[0].status.points, 9);
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
