//! Threads as a value: the caller decides how many there are.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::budget::StopFlag;
use crate::error::{Error, Result};

/// How work is spread over threads. Results never depend on it: each job writes its own slot and sums run in job order.
#[derive(Debug, Clone, Default)]
pub struct Par {
    pool: Option<Arc<rayon::ThreadPool>>,
    stop: Option<StopFlag>,
}

impl Par {
    /// Everything on the calling thread.
    pub fn sequential() -> Self {
        Self::default()
    }

    /// One pool for the whole program, with a thread for each core.
    pub fn shared() -> Self {
        static SHARED: OnceLock<Par> = OnceLock::new();
        SHARED.get_or_init(|| Self::new(0).unwrap_or_default()).clone()
    }

    /// A pool of `threads` threads; 0 means one for each core.
    pub fn new(threads: usize) -> Result<Self> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        if threads == 1 {
            return Ok(Self::default());
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("hedgerow-{i}"))
            .build()
            .map_err(|e| Error::Threads { threads, reason: e.to_string() })?;
        Ok(Self { pool: Some(Arc::new(pool)), stop: None })
    }

    /// The same threads for work that can be cancelled by a stop flag: once it is set [`Self::for_chunks`] leaves everything
    /// as it is. The caller must check the flag afterwards and discard the result.
    #[must_use]
    pub fn until(&self, stop: &StopFlag) -> Self {
        Self { pool: self.pool.clone(), stop: Some(stop.clone()) }
    }

    /// One thread, with the same switch.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { pool: None, stop: self.stop.clone() }
    }

    /// Whether the switch was thrown, if there is one: long loops look.
    pub fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(StopFlag::is_stopped)
    }

    /// Fails if the switch was thrown.
    pub fn check(&self) -> Result<()> {
        if self.is_stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Runs a job on one of the threads: from there, handing out many small pieces of work costs less than from outside.
    pub fn within<T: Send>(&self, job: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(job),
            None => job(),
        }
    }

    /// Runs `job` for `0..n` and returns the results in that order.
    pub fn map<T: Send>(&self, n: usize, job: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
        match &self.pool {
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
        let job = |(i, chunk): (usize, &mut [T])| {
            if !self.is_stopped() {
                job(i, chunk);
            }
        };
        match &self.pool {
            Some(pool) if out.len() > size => {
                pool.install(|| out.par_chunks_mut(size).enumerate().for_each(job));
            }
            _ => out.chunks_mut(size).enumerate().for_each(job),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_nobody_wants_is_left_undone() {
        for par in [Par::sequential(), Par::new(2).unwrap()] {
            let stop = StopFlag::default();
            let until = par.until(&stop);
            let mut values = [0; 100];
            until.for_chunks(&mut values, 10, |i, chunk| chunk.fill(i));
            assert_eq!(values[99], 9);
            stop.stop();
            until.for_chunks(&mut values, 10, |_, chunk| chunk.fill(77));
            assert_eq!(values[99], 9);
            par.for_chunks(&mut values, 10, |_, chunk| chunk.fill(77));
            assert_eq!(values[99], 77, "others go on");
        }
    }
}
