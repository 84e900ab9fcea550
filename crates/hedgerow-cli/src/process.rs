//! The memory of this process.

/// The most memory this process has had in use, in bytes; none where the system does not tell.
pub(crate) fn peak_memory() -> Option<u64> {
    status("VmHWM:")
}

/// The memory in use now.
pub(crate) fn memory_now() -> Option<u64> {
    status("VmRSS:")
}

fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
