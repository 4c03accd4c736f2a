//! What a process has used, as the kernel counts it.

use std::time::Duration;

use anyhow::{Context as _, Result};

/// Its processor time: fields 14 and 15 of `/proc/PID/stat`, in ticks of 10 ms.
pub(crate) fn cpu(process: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, rest) = stat.rsplit_once(") ").context("a stat line")?;
    let ticks = rest.split(' ').skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}
