//! Which job is next.

use std::fmt;
use std::str::FromStr;

use hedgerow_core::{Error, JobStatus};
use serde::Serialize;

/// How the next job is chosen among those of the highest priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The lowest attraction first: jobs that are often wrong and have little to go by.
    Weakest,
    /// The largest gain a second first, if errors fall like a power of points and a point costs as much as there are points.
    #[default]
    Gain,
    /// Each in its turn.
    RoundRobin,
}

/// The attraction of a job that is right in a share `c` of its predictions and has `p` points, where the jobs that it competes with have between `least` and `most`:
/// `(p − least)/(most − least) + c`. The lowest is trained next.
pub fn attraction(c: f64, p: usize, least: usize, most: usize) -> f64 {
    if most > least { (p as f64 - least as f64) / (most - least) as f64 + c } else { c }
}

/// What a job that is right in a share `c` of its predictions and has `p` points would gain in a second, but for a factor that all jobs have in common. Where errors
/// `1 − c` fall like a power of `p`, one point more takes off `(1 − c)/p` of them, and it costs as much as there are points: every row is compared with each.
pub fn gain(c: f64, p: usize) -> f64 {
    (1.0 - c) / ((p + 1) as f64 * (p + 1) as f64)
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Weakest, Self::Gain, Self::RoundRobin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Weakest => "weakest",
            Self::Gain => "gain",
            Self::RoundRobin => "round-robin",
        }
    }

    /// The place of the job that is next; of equals the one with fewer turns, then the first. `turns` are those that a job has had, if it could have
    /// the next one: ready, not at work, not paused. None if no job could.
    pub(crate) fn choose(self, jobs: &[JobStatus], turns: impl Fn(usize) -> Option<u64>) -> Option<usize> {
        let mut free: Vec<(usize, u64)> =
            (0..jobs.len()).filter_map(|job| Some((job, turns(job)?))).collect();
        let first = free.iter().map(|(job, _)| jobs[*job].priority).max()?;
        free.retain(|(job, _)| jobs[*job].priority == first);
        let key = |job: usize| match self {
            Self::Weakest => attraction_among(jobs, job),
            Self::Gain => -gain(jobs[job].accuracy.unwrap_or(0.0), jobs[job].points),
            Self::RoundRobin => 0.0,
        };
        let next = free.iter().min_by(|a, b| key(a.0).total_cmp(&key(b.0)).then(a.1.cmp(&b.1)));
        next.map(|(job, _)| *job)
    }
}

/// The attraction of a job among those of its kind and priority. Points of different kinds (trees, active rows) cannot be compared. A job that was never evaluated
/// counts as always wrong, so that it soon will be.
pub(crate) fn attraction_among(jobs: &[JobStatus], place: usize) -> f64 {
    let own = &jobs[place];
    let rivals = jobs.iter().filter(|job| job.kind == own.kind && job.priority == own.priority);
    let (mut least, mut most) = (own.points, own.points);
    for rival in rivals {
        (least, most) = (least.min(rival.points), most.max(rival.points));
    }
    attraction(own.accuracy.unwrap_or(0.0), own.points, least, most)
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Policy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|policy| policy.name() == name);
        found.ok_or_else(|| Error::param("policy", "one of weakest, gain, round-robin", name))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn attractions_by_hand() {
        assert!((attraction(0.9, 1000, 100, 2000) - 1.373_684).abs() < 1e-6);
        assert_eq!(attraction(0.9, 1000, 1000, 1000), 0.9, "one job, or all with as many points");
        assert!(attraction(0.5, 100, 100, 2000) < attraction(0.9, 100, 100, 2000), "often wrong: sooner");
        assert!(attraction(0.9, 100, 100, 2000) < attraction(0.9, 200, 100, 2000), "few points: sooner");
    }

    /// The next job, written down as the rule is told: drop what is not free, keep the highest priority, keep the lowest attraction, keep the fewest turns.
    fn naive(policy: Policy, jobs: &[(JobStatus, bool, u64)]) -> Option<usize> {
        let mut left: Vec<usize> = (0..jobs.len()).filter(|&i| jobs[i].1).collect();
        let top = left.iter().map(|&i| jobs[i].0.priority).max()?;
        left.retain(|&i| jobs[i].0.priority == top);
        if policy == Policy::Weakest {
            let attraction = |i: usize| {
                let own = &jobs[i].0;
                let points: Vec<usize> = jobs
                    .iter()
                    .filter(|(look, ..)| look.kind == own.kind && look.priority == own.priority)
                    .map(|(look, ..)| look.points)
                    .collect();
                let (least, most) =
                    (*points.iter().min().unwrap() as f64, *points.iter().max().unwrap() as f64);
                let c = own.accuracy.unwrap_or(0.0);
                if most > least { (own.points as f64 - least) / (most - least) + c } else { c }
            };
            let lowest = left.iter().map(|&i| attraction(i)).fold(f64::INFINITY, f64::min);
            left.retain(|&i| attraction(i) == lowest);
        }
        if policy == Policy::Gain {
            let gain = |i: usize| {
                let points = jobs[i].0.points as f64 + 1.0;
                (1.0 - jobs[i].0.accuracy.unwrap_or(0.0)) / (points * points)
            };
            let most = left.iter().map(|&i| gain(i)).fold(f64::NEG_INFINITY, f64::max);
            left.retain(|&i| gain(i) == most);
        }
        let fewest = left.iter().map(|&i| jobs[i].2).min()?;
        left.into_iter().find(|&i| jobs[i].2 == fewest)
    }

    fn any_job() -> impl Strategy<Value = (JobStatus, bool, u64)> {
        let parts = (0..3_u8, prop::option::of(0..5_u8), 0..4_usize, 0..2_usize, any::<bool>(), 0..3_u64);
        parts.prop_map(|(priority, accuracy, points, kind, is_free, turns)| {
            let accuracy = accuracy.map(|c| f64::from(c) / 4.0);
            (
                JobStatus { kind: ["a", "b"][kind], priority, accuracy, points, ..JobStatus::default() },
                is_free,
                turns,
            )
        })
    }

    proptest! {
        #[test]
        fn the_choice_is_that_of_the_rule(jobs in prop::collection::vec(any_job(), 0..8)) {
            for policy in Policy::ALL {
                let statuses: Vec<JobStatus> = jobs.iter().map(|job| job.0.clone()).collect();
                let turns = |job: usize| jobs[job].1.then_some(jobs[job].2);
                prop_assert_eq!(policy.choose(&statuses, turns), naive(policy, &jobs));
            }
        }
    }

    #[test]
    fn names_lead_to_policies_and_back() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse::<Policy>().ok(), Some(policy));
        }
        assert!("best".parse::<Policy>().unwrap_err().to_string().contains("round-robin"));
    }
}
