//! The one way into the engine: without the interpreter's lock, with Ctrl-C and progress.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hedgerow::core::{Observer, Progress, StopFlag};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often signals are looked at and progress is told.
const PAUSE: Duration = Duration::from_millis(50);

/// What came of a piece of work, and what was raised while it ran (by Ctrl-C, say): work that is stopped has a result too.
pub(crate) struct Outcome<T> {
    pub(crate) value: T,
    pub(crate) raised: Option<PyErr>,
}

/// Keeps the newest progress of the engine.
#[derive(Default)]
struct Meter(Mutex<Option<Progress>>);

impl Meter {
    fn take(&self) -> Option<Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Observer for Meter {
    fn progress(&self, progress: Progress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }
}

/// Runs long work on a thread of its own, while this one waits for it, hears signals and calls `watch` with rounds done, rounds
/// to do and accuracy so far. Whatever a signal handler or `watch` raises throws the switch `stop`; the work then returns what it
/// has.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    stop: &StopFlag,
    watch: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Observer) -> T + Send,
) -> PyResult<Outcome<T>> {
    let meter = Meter::default();
    let (sender, receiver) = sync_channel(1);
    let mut raised = None;
    let result = thread::scope(|scope| {
        let meter = &meter;
        let job = move || {
            // The receiver waits until it has a result.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(|| work(meter))));
        };
        thread::Builder::new().name("hedgerow".into()).spawn_scoped(scope, job)?;
        let receiver = Mutex::new(receiver);
        loop {
            let result =
                py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PAUSE));
            match result {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(bug("its thread ended")),
            }
            if raised.is_none() {
                match look(py, watch, meter) {
                    Ok(false) => {}
                    Ok(true) => stop.stop(),
                    Err(error) => {
                        raised = Some(error);
                        stop.stop();
                    }
                }
            }
        }
    })?;
    if raised.is_none() {
        raised = look(py, watch, &meter).err();
    }
    match result {
        Ok(value) => Ok(Outcome { value, raised }),
        Err(panic) => Err(panicked(&*panic)),
    }
}

/// Runs work that takes a moment on the calling thread.
pub(crate) fn at_once<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| panicked(&*panic))
}

/// Looks for signals from within work that runs without the interpreter's lock.
#[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself has too narrow a lifetime")]
pub(crate) fn check_signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}

/// Looks for signals and reports progress; true if who watches wants the work to end.
fn look(py: Python<'_>, watch: Option<&Bound<'_, PyAny>>, meter: &Meter) -> PyResult<bool> {
    py.check_signals()?;
    match (watch, meter.take()) {
        (Some(watch), Some(progress)) => {
            watch.call1((progress.done, progress.total, progress.accuracy))?.is_truthy()
        }
        _ => Ok(false),
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    bug(text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked"))
}

fn bug(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("a mistake in hedgerow, please report it: {what}"))
}
