//! Measuring: CPU time, memory, medians of interleaved pairs.
//!
//! Two shared cores make wall time useless for small work; the CPU time of the process stays close to the unloaded
//! latency of a single-threaded event loop on a busy machine. The two sides take turns in short batches and each
//! pair gives a ratio, so that a machine which slows down slows both sides of a pair.

use std::{
    future::Future,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        resource::{UsageWho, getrusage},
        time::{TimeVal, TimeValLike},
    },
    time::{ClockId, clock_gettime},
};
use tokio::runtime::{Builder, Runtime};

use crate::{Failure, Result};

/// A runtime that a bench runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Everything on the calling thread.
    CurrentThread,
    /// Two worker threads.
    TwoWorkers,
}

impl Flavour {
    /// Both.
    pub const ALL: [Self; 2] = [Self::CurrentThread, Self::TwoWorkers];

    /// The word used in reports and arguments.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CurrentThread => "current_thread",
            Self::TwoWorkers => "two_workers",
        }
    }
}

/// A runtime with a way of running work on its workers.
pub struct Desk {
    runtime: Runtime,
    flavour: Flavour,
}

impl Desk {
    /// Starts a runtime.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn new(flavour: Flavour) -> Result<Self> {
        let mut builder = match flavour {
            Flavour::CurrentThread => Builder::new_current_thread(),
            Flavour::TwoWorkers => Builder::new_multi_thread(),
        };
        if flavour == Flavour::TwoWorkers {
            builder.worker_threads(2);
        }
        Ok(Self { runtime: builder.enable_time().build()?, flavour })
    }

    /// Runs work to its end: on the calling thread, or on the workers.
    ///
    /// # Errors
    /// Those of the work.
    pub fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        match self.flavour {
            Flavour::CurrentThread => self.runtime.block_on(work),
            Flavour::TwoWorkers => self.runtime.block_on(async {
                let task = tokio::spawn(work).await;
                task.map_err(|error| Failure::Wrong(format!("a task of the bench failed: {error}")))?
            }),
        }
    }

    /// Makes something inside the runtime.
    pub fn enter<T>(&self, make: impl FnOnce() -> T) -> T {
        let _inside = self.runtime.enter();
        make()
    }
}

/// The CPU time of the process, all its threads together.
///
/// # Errors
/// When the system does not say.
pub fn cpu_time() -> Result<Duration> {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map(Duration::from).map_err(system)
}

/// The resident memory of the process, in KiB.
///
/// # Errors
/// When `/proc/self/statm` cannot be read.
pub fn resident_kib() -> Result<f64> {
    const PAGE_KIB: f64 = 4.0;
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u32>().ok());
    pages
        .map(|pages| f64::from(pages) * PAGE_KIB)
        .ok_or_else(|| Failure::Wrong("/proc/self/statm is not as expected".to_owned()))
}

/// The most resident memory of the process while `work` runs, above what it was before; in KiB.
///
/// # Errors
/// Those of the work.
pub fn peak_kib(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let before = resident_kib()?;
    let (peak, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let watch = thread::spawn({
        let (peak, over) = (peak.clone(), over.clone());
        move || {
            while !over.load(Relaxed) {
                if let Ok(now) = resident_kib() {
                    // Whole KiB, and never negative.
                    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                    peak.fetch_max(now as u64, Relaxed);
                }
                thread::park_timeout(Duration::from_millis(5));
            }
        }
    });
    let outcome = work();
    over.store(true, Relaxed);
    watch.thread().unpark();
    watch.join().map_err(|_| Failure::Wrong("the watch over memory failed".to_owned()))?;
    outcome?;
    #[allow(clippy::cast_precision_loss)]
    Ok(peak.load(Relaxed) as f64 - before)
}

/// What comparing two sides gave.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// The floor's CPU time per operation, in µs; the median of all batches.
    pub floor_us: f64,
    /// Ours.
    pub ours_us: f64,
    /// The median of the ratios of each pair.
    pub ratio: f64,
}

/// One side of a comparison: runs that many operations.
pub type Side<'a> = &'a dyn Fn(u64) -> Result<()>;

/// Compares the CPU time of two sides in `pairs` interleaved pairs of batches of about `batch`.
///
/// # Errors
/// Those of the sides.
pub fn compare(pairs: usize, batch: Duration, floor: Side<'_>, ours: Side<'_>) -> Result<Compared> {
    let counts = (calibrate(batch, floor)?, calibrate(batch, ours)?);
    compare_counts(pairs, (counts.0, floor), (counts.1, ours))
}

/// Compares as [`compare`] does, with batches of these numbers of operations.
///
/// # Errors
/// Those of the sides.
pub fn compare_counts(pairs: usize, floor: (u64, Side<'_>), ours: (u64, Side<'_>)) -> Result<Compared> {
    let ((floor_count, floor), (ours_count, ours)) = (floor, ours);
    let (mut floors, mut all_ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..pairs {
        let (floor_us, ours_us) = if pair % 2 == 0 {
            let floor_us = cost_us(floor, floor_count)?;
            (floor_us, cost_us(ours, ours_count)?)
        } else {
            let ours_us = cost_us(ours, ours_count)?;
            (cost_us(floor, floor_count)?, ours_us)
        };
        floors.push(floor_us);
        all_ours.push(ours_us);
        ratios.push(ours_us / floor_us);
    }
    Ok(Compared { floor_us: median(floors), ours_us: median(all_ours), ratio: median(ratios) })
}

/// How many operations take about `batch`, after a warm-up.
fn calibrate(batch: Duration, side: Side<'_>) -> Result<u64> {
    let mut count = 64;
    loop {
        let began = Instant::now();
        side(count)?;
        let took = began.elapsed();
        if took >= batch || count >= 1 << 20 {
            return Ok(count);
        }
        count *= 2;
    }
}

#[allow(clippy::cast_precision_loss)]
fn cost_us(side: Side<'_>, count: u64) -> Result<f64> {
    let before = cpu_time()?;
    side(count)?;
    Ok((cpu_time()? - before).as_secs_f64() * 1e6 / count as f64)
}

/// The middle value; zero of none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// How long work takes on the wall.
///
/// # Errors
/// Those of the work.
pub fn wall(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed())
}

/// A program to be started, with its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// What starting a program costs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    /// CPU time of the process from its start to its end.
    pub cpu: Duration,
    /// The same on the wall.
    pub wall: Duration,
}

/// Starts two programs in turns, `pairs` times each after a warm-up, and gives the median of each.
///
/// # Errors
/// When a program cannot be started or fails.
pub fn cold_starts(pairs: usize, floor: &Program, ours: &Program) -> Result<(Start, Start)> {
    let (mut floors, mut all_ours) = (Vec::new(), Vec::new());
    for pair in 0..=pairs {
        let (floor, ours) = (cold_start(floor)?, cold_start(ours)?);
        if pair > 0 {
            floors.push(floor);
            all_ours.push(ours);
        }
    }
    Ok((middle(&floors), middle(&all_ours)))
}

fn middle(starts: &[Start]) -> Start {
    let middle_of = |of: fn(&Start) -> Duration| {
        Duration::from_secs_f64(median(starts.iter().map(|start| of(start).as_secs_f64()).collect()))
    };
    Start { cpu: middle_of(|start| start.cpu), wall: middle_of(|start| start.wall) }
}

/// Starts a program and waits for it. No other child may end meanwhile: the CPU time is what all ended children
/// together took, after less before.
fn cold_start(program: &Program) -> Result<Start> {
    let (before, began) = (children_cpu()?, Instant::now());
    let status = Command::new(&program.path)
        .args(&program.arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let wall = began.elapsed();
    if !status.success() {
        return Err(Failure::Wrong(format!("`{}` ended with {status}", program.path.display())));
    }
    Ok(Start { cpu: children_cpu()?.saturating_sub(before), wall })
}

fn children_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(system)?;
    let micros = |time: TimeVal| Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0));
    Ok(micros(usage.user_time()) + micros(usage.system_time()))
}

fn system(error: nix::errno::Errno) -> Failure {
    Failure::Io(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!(median(Vec::new()).abs() < f64::EPSILON);
    }

    #[test]
    fn a_side_that_works_twice_as_much_costs_about_twice_as_much() {
        let spin = |count: u64| {
            let mut sum = 0_u64;
            for at in 0..count * 1000 {
                sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(at));
            }
            Ok(())
        };
        let twice = |count: u64| spin(count * 2);
        let compared = compare(9, Duration::from_millis(5), &spin, &twice).unwrap();
        assert!((1.5..3.0).contains(&compared.ratio), "{compared:?}");
    }

    #[test]
    fn memory_that_is_touched_counts() {
        let peak = peak_kib(|| {
            let block = std::hint::black_box(vec![1_u8; 32 << 20]);
            thread::park_timeout(Duration::from_millis(30));
            drop(block);
            Ok(())
        });
        assert!(peak.unwrap() > 16.0 * 1024.0);
    }
}
