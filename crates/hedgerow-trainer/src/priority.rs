//! Training threads give way to everybody else.

/// Lets the system run the calling thread only where nothing else wants the core, as far as that can be asked for. Predictions are then hardly slowed down by training.
pub(crate) fn lower() {
    #[cfg(target_os = "linux")]
    {
        // On Linux the nice value is that of a thread, named by its number. 19 is the lowest; anybody may go down.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn only_the_calling_thread_is_lowered() {
        let nice = || rustix::process::getpriority_process(Some(rustix::thread::gettid())).unwrap();
        let before = nice();
        let within = std::thread::spawn(move || {
            super::lower();
            nice()
        });
        assert_eq!(within.join().unwrap(), 19);
        assert_eq!(nice(), before);
    }
}
