//! Wall time of a plain turn, a delegation and a fan-out of ten, each next to its floor.

use std::{hint::black_box, sync::Arc, time::Duration};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mas_benches::{
    Result, floor,
    floor::Floor,
    measure::{Desk, Flavour},
    team,
    team::Bench,
    work::{self, Models},
};

/// How many sessions the benched team keeps.
const SESSIONS: usize = 1_000;
const FAN_OUT_TEN: &str = "delegate:10";

fn beside_the_floor(criterion: &mut Criterion) {
    if let Err(failure) = bench(criterion) {
        eprint_failure(&failure);
    }
}

fn bench(criterion: &mut Criterion) -> Result<()> {
    for flavour in Flavour::ALL {
        let desk = Desk::new(flavour)?;
        let floor = desk.enter(|| Floor::start(Models::thinking(Duration::ZERO)));
        let ours = Bench::start(Models::thinking(Duration::ZERO), SESSIONS)?;
        for (name, text) in
            [("plain", work::PLAIN), ("delegation", work::DELEGATE), ("fan_out_10", FAN_OUT_TEN)]
        {
            let mut group = criterion.benchmark_group(format!("{}/{name}", flavour.as_str()));
            let floor: &Arc<Floor> = &floor;
            let ours: &Arc<Bench> = &ours;
            group.bench_function(BenchmarkId::from_parameter("floor"), |bencher| {
                bencher.iter_custom(|count| timed(|| desk.run(floor::turns(floor.clone(), text, count))));
            });
            group.bench_function(BenchmarkId::from_parameter("mas"), |bencher| {
                bencher.iter_custom(|count| timed(|| desk.run(team::turns(ours.clone(), text, count))));
            });
            group.finish();
        }
    }
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Duration {
    let began = std::time::Instant::now();
    if let Err(failure) = black_box(work()) {
        eprint_failure(&failure);
    }
    began.elapsed()
}

#[allow(clippy::print_stderr)]
fn eprint_failure(failure: &mas_benches::Failure) {
    eprintln!("the bench went wrong: {failure}");
}

criterion_group! {
    name = turns;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20);
    targets = beside_the_floor
}
criterion_main!(turns);
