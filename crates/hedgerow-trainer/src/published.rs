//! The newest result, for any number of readers.

use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value that readers take whole and that is replaced whole. The lock is held for as long as it takes to copy a pointer, so readers never wait for the work that makes
/// values, and no reader ever sees half of one.
#[derive(Debug)]
pub struct Published<T> {
    current: Mutex<Arc<T>>,
}

impl<T> Published<T> {
    /// Begins with a value.
    pub fn new(value: T) -> Self {
        Self { current: Mutex::new(Arc::new(value)) }
    }

    /// The newest value. It stays as it is, however long it is kept.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.lock())
    }

    /// Replaces the value.
    pub fn set(&self, value: T) {
        let value = Arc::new(value);
        let old = std::mem::replace(&mut *self.lock(), value);
        // If no reader has it, freeing it takes its time: not under the lock.
        drop(old);
    }

    fn lock(&self) -> MutexGuard<'_, Arc<T>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
