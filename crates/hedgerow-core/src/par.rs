//! Threads as a value: whoever calls decides how many there are.

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, Result};

/// How work is spread over threads. Results never depend on it: each job writes its own slot and sums run in job order.
#[derive(Debug, Clone, Default)]
pub struct Par(Option<Arc<rayon::ThreadPool>>);

impl Par {
    /// Everything on the calling thread.
    pub fn sequential() -> Self {
        Self(None)
    }

    /// A pool of `threads` threads; 0 means one for each core.
    pub fn new(threads: usize) -> Result<Self> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        if threads == 1 {
            return Ok(Self(None));
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("hedgerow-{i}"))
            .build()
            .map_err(|e| Error::Threads { threads, reason: e.to_string() })?;
        Ok(Self(Some(Arc::new(pool))))
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Runs a job on one of the threads: from there, handing out many small pieces of work costs less than from outside.
    pub fn within<T: Send>(&self, job: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(job),
            None => job(),
        }
    }

    /// Runs `job` for `0..n` and returns the results in that order.
    pub fn map<T: Send>(&self, n: usize, job: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
        match &self.0 {
            Some(pool) if n > 1 => pool.install(|| (0..n).into_par_iter().with_max_len(1).map(job).collect()),
            _ => (0..n).map(job).collect(),
        }
    }

    /// Cuts `out` into pieces of `size` and runs `job` on each with its number.
    pub fn for_chunks<T: Send>(
        &self,
        out: &mut [T],
        size: usize,
        job: impl Fn(usize, &mut [T]) + Send + Sync,
    ) {
        let size = size.max(1);
        match &self.0 {
            Some(pool) if out.len() > size => pool.install(|| {
                out.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| job(i, chunk));
            }),
            _ => out.chunks_mut(size).enumerate().for_each(|(i, chunk)| job(i, chunk)),
        }
    }
}
