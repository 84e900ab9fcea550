//! Training jobs in small slices on a fixed number of threads.
//!
//! Nothing here knows a model. A [`Host`] has the jobs; a [`Task`] is one piece of work that owns all it needs, and what comes of it is merged by the host.
//! The [`Trainer`] has the threads; [`Policy`] says which job is next (what gains most, or the weakest by its attraction), `board` is the protocol between threads and
//! control. Results go through [`Published`], from which readers take what is newest without waiting for any work.
//!
//! Everything is cooperative: jobs are paused, cancelled and inspected between slices, never inside one.
//!
//! With a budget in rounds ([`Options::budget`]) a run is repeatable: each round gives the same number of jobs ([`Options::lanes`]) a slice from the same view, and merges what
//! came of them in the order of the lanes. Neither the number of threads nor the clock can change what comes out.

mod board;
mod policy;
mod priority;
mod published;
mod sync;
mod trainer;

pub use board::{Board, Host, JobReport, Task};
pub use policy::{Policy, attraction, gain};
pub use published::Published;
pub use trainer::{Access, Options, Trainer};
