//! Synthetic profiles of a given size, and medians of repeated runs.

use flate2::{Compression, write::GzEncoder};
use pprof::protos::{
    Function, Label, Line, Location, Mapping, Message, Profile, Sample, ValueType,
};
use std::io::Write;
use std::time::{Duration, Instant};

/// A deterministic stream of numbers (SplitMix64, Steele, Lea & Flood 2014).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Shape of a synthetic heap profile.
pub struct Synthetic {
    pub samples: usize,
    pub depth: usize,
    pub functions: usize,
}

impl Synthetic {
    /// The large pair: about 260,000 samples, depth about 25, 15 MB raw.
    pub const LARGE: Self = Self {
        samples: 260_000,
        depth: 25,
        functions: 6_000,
    };
    /// About 100 kB compressed.
    pub const SMALL: Self = Self {
        samples: 5_000,
        depth: 20,
        functions: 2_000,
    };

    /// The raw protobuf at time `step`: what is in use grows a little from step to step, and
    /// locations are numbered anew, as in two files of a real process.
    pub fn raw(&self, step: u64) -> Vec<u8> {
        let mut strings = vec![String::new()];
        let mut intern = |text: &str| {
            strings.push(text.to_owned());
            (strings.len() - 1) as i64
        };
        let kinds = [
            "alloc_objects",
            "alloc_space",
            "inuse_objects",
            "inuse_space",
        ];
        let (count, bytes) = (intern("count"), intern("bytes"));
        let sample_type = kinds
            .map(|kind| ValueType {
                ty: intern(kind),
                unit: if kind.ends_with("objects") {
                    count
                } else {
                    bytes
                },
            })
            .to_vec();
        let space = intern("space");
        let names: Vec<(i64, i64)> = (0..self.functions)
            .map(|i| {
                let package = i / 40;
                let name = intern(&format!(
                    "example.com/service/pkg{package}.(*Type{}).Method{i}",
                    i % 7
                ));
                (
                    name,
                    intern(&format!(
                        "example.com/service/pkg{package}/file{}.go",
                        i % 5
                    )),
                )
            })
            .collect();
        // Two call sites in each function; each calls one of three others, one of them
        // most of the time: stacks are paths of a call graph, as a program's are.
        let ids = self.functions as u64 * 2;
        let shift = step * 7919;
        let location_id = |location: u64| (location + shift) % ids + 1;
        let callee = |location: u64, choice: u64| {
            let function = Numbers(location * 4 + choice.saturating_sub(5)).next();
            function % self.functions as u64 * 2
        };
        let location = (0..ids)
            .map(|location| Location {
                id: location_id(location),
                mapping_id: 1,
                address: 0x40_0000 + location * 16,
                line: vec![Line {
                    function_id: location / 2 + 1,
                    line: 10 + location as i64 % 90,
                }],
                is_folded: false,
            })
            .collect();
        let function = names
            .iter()
            .zip(1..)
            .map(|(&(name, filename), id)| Function {
                id,
                name,
                system_name: name,
                filename,
                start_line: 1,
            })
            .collect();
        let mut numbers = Numbers(1);
        let mut sample = Vec::with_capacity(self.samples);
        for index in 0..self.samples {
            let depth = self.depth as u64 - 5 + numbers.below(11);
            let mut path = vec![numbers.below(8)];
            while (path.len() as u64) < depth {
                let caller = path[path.len() - 1];
                let site = u64::from(numbers.below(4) == 0);
                path.push(callee(caller, numbers.below(8)) + site);
            }
            let location_id = path
                .iter()
                .rev()
                .map(|&location| location_id(location))
                .collect();
            let size = 16 << numbers.below(9);
            let (objects, kept) = (1 + numbers.below(40) as i64, numbers.below(10) as i64);
            let allocated = objects * 300 + step as i64 * (index as i64 % 3) * 100;
            let inuse = (kept + step as i64 * i64::from(index % 50 == 0)) * 300;
            sample.push(Sample {
                location_id,
                value: vec![
                    allocated + inuse,
                    (allocated + inuse) * size,
                    inuse,
                    inuse * size,
                ],
                label: vec![Label {
                    key: bytes,
                    str: 0,
                    num: size,
                    num_unit: 0,
                }],
            });
        }
        let profile = Profile {
            sample_type,
            sample,
            mapping: vec![Mapping {
                id: 1,
                ..Mapping::default()
            }],
            location,
            function,
            string_table: strings,
            time_nanos: 1_700_000_000_000_000_000 + step as i64 * 60_000_000_000,
            period_type: Some(ValueType {
                ty: space,
                unit: bytes,
            }),
            period: 524_288,
            ..Profile::default()
        };
        profile.encode_to_vec()
    }
}

/// gzip as Go's runtime writes it (best speed).
pub fn gzip(raw: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(raw).unwrap();
    encoder.finish().unwrap()
}

/// Median time of `runs` runs.
pub fn median(runs: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}

/// A `goroutine?debug=2` text of many goroutines on few stacks: their numbers, arguments and
/// waiting times differ, as they do in a real dump.
pub fn goroutine_dump(goroutines: u64) -> Vec<u8> {
    const STACKS: u64 = 300;
    const STATES: [&str; 5] = [
        "chan receive",
        "select",
        "chan send",
        "IO wait",
        "sync.Mutex.Lock",
    ];
    let mut numbers = Numbers(7);
    let mut text = Vec::with_capacity(goroutines as usize * 600);
    for id in 1..=goroutines {
        // A few stacks hold most goroutines.
        let stack = numbers
            .below(STACKS)
            .min(numbers.below(STACKS))
            .min(numbers.below(STACKS));
        let state = STATES[(stack % 5) as usize];
        let _ = match numbers.below(400) {
            0 => writeln!(text, "goroutine {id} [{state}]:"),
            minutes => writeln!(text, "goroutine {id} [{state}, {minutes} minutes]:"),
        };
        for depth in 0..2 + stack % 3 {
            let method = Numbers(stack * 16 + depth).next() % 2000;
            let (a, b) = (
                0xc000_0000_0000 + numbers.below(1 << 32),
                numbers.below(1 << 16),
            );
            let _ = writeln!(
                text,
                "example.com/service/pkg{}.(*Worker).method{method}({a:#x}, {{{b:#x}, {a:#x}}})\n\t/build/service/pkg{}/worker.go:{} +{:#x}",
                method % 40,
                method % 40,
                20 + method,
                0x1d + method % 512,
            );
        }
        let _ = writeln!(
            text,
            "created by example.com/service/pkg{}.(*Pool).Start in goroutine {}\n\t/build/service/pkg{}/pool.go:{} +0x9d\n",
            stack % 40,
            numbers.below(50),
            stack % 40,
            30 + stack,
        );
    }
    text
}
