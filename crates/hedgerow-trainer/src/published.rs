//! The newest result, for any number of readers.

use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value that readers take whole and that is replaced whole. The lock is held for as long as it takes to copy a pointer, so readers never wait for the work that makes
/// values, and no reader ever sees half of one.
#[derive(Debug)]
pub struct Published<T> {
    current: Mutex<(u64, Arc<T>)>,
}

impl<T> Published<T> {
    /// Begins with a value.
    pub fn new(value: T) -> Self {
        Self { current: Mutex::new((0, Arc::new(value))) }
    }

    /// The newest value. It stays as it is, however long it is kept.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.lock().1)
    }

    /// The newest value, and how many came before it.
    pub fn numbered(&self) -> (u64, Arc<T>) {
        let current = self.lock();
        (current.0, Arc::clone(&current.1))
    }

    /// Replaces the value and returns its number.
    pub fn set(&self, value: T) -> u64 {
        let value = Arc::new(value);
        let mut current = self.lock();
        let number = current.0 + 1;
        let old = std::mem::replace(&mut *current, (number, value));
        drop(current);
        // If no reader has it, freeing it takes its time: not under the lock.
        drop(old);
        number
    }

    fn lock(&self) -> MutexGuard<'_, (u64, Arc<T>)> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Default> Default for Published<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}
