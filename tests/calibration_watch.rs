//! How often a watch settles on the wrong verdict: it looks at its data after every snapshot, and
//! each look is a chance to be wrong.
//!
//! Made-up processes of which the truth is known, thirty snapshots each. Seeded; `--nocapture`
//! prints the shares.

#[path = "support/profiles.rs"]
#[allow(dead_code)]
mod profiles;
#[path = "support/random.rs"]
#[allow(dead_code)]
mod random;

use heapdrift::diagnosis::{DiagnoseOptions, Settling, Verdict, diagnose};
use heapdrift::pattern::Catalogue;
use heapdrift::profile::{Limits, RawProfile, SymbolTable};
use heapdrift::snapshot::{LoadedFile, Series};
use profiles::Pprof;
use random::Random;

const REPLICATES: u64 = 120;
const SNAPSHOTS: usize = 30;
/// Seconds between two snapshots.
const INTERVAL: i64 = 30;
/// Sites of a process, of 4 KiB objects.
const SITES: usize = 10;
/// Sampled objects in use at a site, on average.
const ALIVE: usize = 30;
/// Mean number of snapshots that an object outlives.
const LIFETIME: f64 = 2.5;
/// The profiles of a process that renews all it holds, but for one site that keeps so many sampled
/// objects (512 KiB each) of every interval, on average.
fn process(seed: u64, kept: f64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    let steps = SNAPSHOTS + 20;
    // Deaths per snapshot of every sampled object, by site: each lives for an exponential time.
    let mut alive = vec![vec![0i64; steps]; SITES];
    let mut allocated = vec![vec![0i64; steps]; SITES];
    for site in 0..SITES {
        let per_step = ALIVE as f64 / LIFETIME;
        for born in 0..steps {
            let births = poisson(&mut random, per_step);
            for counts in &mut allocated[site][born..] {
                *counts += births;
            }
            for _ in 0..births {
                let life = -LIFETIME * random.uniform().ln();
                let end = (born + 1 + life as usize).min(steps);
                for counts in &mut alive[site][born..end] {
                    *counts += 1;
                }
            }
        }
    }
    let mut held = vec![0; steps];
    for born in 0..steps {
        let births = poisson(&mut random, kept);
        for counts in &mut held[born..] {
            *counts += births;
        }
    }
    // The first twenty steps fill the process: the watch begins when it is steady.
    let snapshot = |number: usize| {
        let mut heap = Pprof::heap(number as i64 * INTERVAL);
        for site in 0..SITES {
            let stack = format!("main.site{site} < main.serve < main.main");
            let step = 20 + number;
            heap = heap.sampled(&stack, 4096, allocated[site][step], alive[site][step]);
        }
        if kept > 0.0 {
            let held = held[20 + number];
            heap = heap.sampled("main.keep < main.serve < main.main", 4096, held, held);
        }
        heap.gzip()
    };
    (0..SNAPSHOTS).map(snapshot).collect()
}

fn poisson(random: &mut Random, mean: f64) -> i64 {
    let limit = (-mean).exp();
    let (mut product, mut count) = (random.uniform(), 0);
    while product > limit {
        product *= random.uniform();
        count += 1;
    }
    count
}

/// What a watch settles on, and after how many snapshots; `None`: on nothing within its time.
fn watch(profiles: &[Vec<u8>], smallest: Option<f64>) -> Option<(Verdict, usize)> {
    let catalogue = Catalogue::builtin();
    let mut settling = Settling::new(smallest);
    for taken in 1..=profiles.len() {
        let mut symbols = SymbolTable::default();
        let files = profiles[..taken].iter().enumerate().map(|(number, bytes)| {
            let raw = RawProfile::open(bytes.clone(), &Limits::default()).unwrap();
            LoadedFile {
                source: format!("{number:02}"),
                moment: format!("{number:02}"),
                content: Ok(raw.decode(&mut symbols).unwrap()),
            }
        });
        let files: Vec<LoadedFile> = files.collect();
        let series = Series::assemble(symbols, files, false);
        let diagnosis = diagnose(&series, &catalogue, &DiagnoseOptions::default()).unwrap();
        settling.look([&diagnosis].into_iter());
        if settling.is_settled() {
            return Some((diagnosis.verdict, taken));
        }
    }
    None
}

fn settled_on(kept: f64, smallest: Option<f64>) -> Vec<Option<(Verdict, usize)>> {
    use std::thread;
    let worker = |part: u64| {
        let seeds = (0..REPLICATES).filter(move |seed| seed % 2 == part);
        let run = move |seed| watch(&process(1_000 + seed, kept), smallest);
        thread::spawn(move || seeds.map(run).collect::<Vec<_>>())
    };
    let workers = [worker(0), worker(1)];
    workers
        .into_iter()
        .flat_map(|worker| worker.join().unwrap())
        .collect()
}

fn share(outcomes: &[Option<(Verdict, usize)>], verdict: Verdict) -> f64 {
    let number = outcomes
        .iter()
        .filter(|outcome| outcome.is_some_and(|(settled, _)| settled == verdict))
        .count();
    number as f64 / outcomes.len() as f64
}

fn print(what: &str, outcomes: &[Option<(Verdict, usize)>]) {
    let mut times: Vec<usize> = outcomes.iter().flatten().map(|(_, taken)| *taken).collect();
    times.sort_unstable();
    println!(
        "{what}: {:.1} % leak, {:.1} % steady, {:.1} % open, median {:?} snapshots",
        100.0 * share(outcomes, Verdict::Leak),
        100.0 * share(outcomes, Verdict::Steady),
        100.0 * (1.0 - times.len() as f64 / outcomes.len() as f64),
        times.get(times.len() / 2)
    );
}

#[test]
fn a_steady_process_is_hardly_ever_called_a_leak() {
    // However long it is looked at: with this limit no watch ends before its time.
    for smallest in [None, Some(1.0)] {
        let outcomes = settled_on(0.0, smallest);
        print("steady process", &outcomes);
        assert!(share(&outcomes, Verdict::Leak) <= 0.05);
        if smallest.is_none() {
            assert!(share(&outcomes, Verdict::Steady) >= 0.8);
        }
    }
}

#[test]
fn a_leaking_one_is_nearly_always_found() {
    // 2 MiB in each interval: by the time a watch may end, 22 MiB, twice what half of all
    // captures show.
    let outcomes = settled_on(4.0, None);
    print("leaking process", &outcomes);
    assert!(share(&outcomes, Verdict::Leak) >= 0.8);
    assert!(share(&outcomes, Verdict::Steady) <= 0.02);
}

#[test]
fn a_slow_leak_is_found_by_those_who_wait_for_it() {
    // 90 MiB/h, and a watch that must not miss half of it.
    let outcomes = settled_on(1.5, Some(45.0 * 1_048_576.0));
    print("slow leak, awaited", &outcomes);
    assert!(share(&outcomes, Verdict::Leak) >= 0.75);
    assert!(share(&outcomes, Verdict::Steady) <= 0.02);
}

#[test]
fn a_leak_too_slow_for_the_window_is_not_ruled_out() {
    // 30 MiB/h leave 7 MiB in the whole time, less than half of all captures would show. A watch
    // that was told to look for half of that does not end as if there were none.
    let told = settled_on(0.5, Some(15.0 * 1_048_576.0));
    print("very slow leak, awaited", &told);
    assert!(share(&told, Verdict::Steady) <= 0.02);
    let untold = settled_on(0.5, None);
    print("very slow leak", &untold);
    assert!(share(&untold, Verdict::Steady) >= 0.2);
}
