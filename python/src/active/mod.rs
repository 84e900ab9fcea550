//! Active learning as Python sees it: pools, and streams.

mod called;
mod pool;
mod stream;

pub(crate) use pool::ActivePool;
pub(crate) use stream::StreamQuerier;

/// The strategies by name, with what each is.
pub(crate) fn strategies() -> Vec<(&'static str, &'static str)> {
    hedgerow::active::StrategyName::ALL.iter().map(|strategy| strategy.words()).collect()
}
