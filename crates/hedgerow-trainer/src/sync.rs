//! Locks, named in one place: the tests of the hand-over put others here that try every order in which threads can meet.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
