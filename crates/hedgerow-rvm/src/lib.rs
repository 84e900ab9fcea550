//! Relevance Vector Machines for values and classes, at any size.

mod design;
mod evidence;
mod machine;
mod options;
mod train;

pub use machine::Profile;
pub use options::{Heuristic, RowsUsed, Solver, Trainer, WaterMark};
pub use train::TracePoint;
