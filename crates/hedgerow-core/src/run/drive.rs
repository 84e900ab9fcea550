//! The driver of a fit: everything to its end, or to the end of the budget.

use super::{Effort, JobState, JobStatus, TrainingRun};
use crate::budget::StopReason;
use crate::error::Result;
use crate::learn::Training;

/// Works on a run until nothing is left to do; once the budget is spent, on no more than it takes to have a model. Says why it ended.
pub fn drive<R: TrainingRun + ?Sized>(run: &mut R, training: &Training<'_>) -> Result<StopReason> {
    let mut spent = None;
    loop {
        if spent.is_none() {
            spent = training.budget.spent();
            spent.into_iter().for_each(|reason| run.hurry(reason));
        }
        let ready = next_jobs(&run.jobs());
        if ready.is_empty() {
            return Ok(spent.unwrap_or_else(|| run.stop()));
        }
        let step = run.begin(&ready, Effort::Whole);
        run.merge(step.run(training))?;
    }
}

/// The jobs that go next together: of the highest priority among those that are ready, all of one kind.
fn next_jobs(jobs: &[JobStatus]) -> Vec<usize> {
    let ready = |job: &&JobStatus| job.state == JobState::Ready;
    let Some(top) = jobs.iter().filter(ready).max_by_key(|job| job.priority) else { return Vec::new() };
    let first = jobs.iter().find(|job| ready(job) && job.priority == top.priority).map(|job| job.kind);
    let is_next = |job: &JobStatus| ready(&job) && job.priority == top.priority && Some(job.kind) == first;
    (0..jobs.len()).filter(|&at| is_next(&jobs[at])).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Candidate, ModelTask, Step};
    use super::*;
    use crate::budget::Budget;
    use crate::par::Par;
    use crate::traits::Silent;

    /// Two counters; the second waits for the first.
    #[derive(Default)]
    struct Counters {
        done: [usize; 2],
        is_hurried: bool,
    }

    impl TrainingRun for Counters {
        type Model = [usize; 2];

        fn jobs(&self) -> Vec<JobStatus> {
            let goal = if self.is_hurried { 1 } else { 4 };
            let state = |at: usize| match (self.done[at] >= goal, at == 1 && self.done[0] < goal) {
                (true, _) => JobState::Done,
                (_, true) => JobState::Waiting,
                _ => JobState::Ready,
            };
            let names = ["first", "second"];
            (0..2).map(|at| JobStatus { kind: names[at], state: state(at), ..JobStatus::default() }).collect()
        }

        fn begin(&mut self, jobs: &[usize], effort: Effort) -> Step {
            let (at, n) = (jobs[0], if effort == Effort::Whole { 2 } else { 1 });
            Step::new(move |_: &Training<'_>| {
                move |run: &mut Self| {
                    run.done[at] += n;
                    Ok(())
                }
            })
        }

        fn drop_job(&mut self, _: usize) {}

        fn has_model(&self) -> bool {
            self.done[1] > 0
        }

        fn model(&self) -> Option<ModelTask<[usize; 2]>> {
            let model = self.done;
            self.has_model().then(|| ModelTask::new(move |_| Ok(Candidate::new(model, None))))
        }

        fn hurry(&mut self, _: StopReason) {
            self.is_hurried = true;
        }
    }

    /// A run with the counters as a part.
    struct Outer(Counters);

    #[test]
    fn jobs_run_to_their_end_in_order() {
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let mut run = Counters::default();
        assert_eq!(drive(&mut run, &training).unwrap(), StopReason::Done);
        assert_eq!(run.model().unwrap().run(&training).unwrap().model, [4, 4]);
        let step = run.begin(&[0], Effort::Slice).within(|outer: &mut Outer| Some(&mut outer.0));
        let mut outer = Outer(run);
        step.run(&training).apply(&mut outer).unwrap();
        assert_eq!(outer.0.done, [5, 4]);
    }

    #[test]
    fn a_spent_budget_ends_with_the_least_that_gives_a_model() {
        let par = Par::sequential();
        let budget = Budget::open().with_time(Duration::ZERO);
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let mut run = Counters::default();
        assert_eq!(drive(&mut run, &training).unwrap(), StopReason::Time);
        assert_eq!(run.done, [2, 2], "one step each");
    }
}
