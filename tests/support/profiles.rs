//! Writes profiles for tests: a second writer of the format, with the messages of the `pprof`
//! crate, so that no mistake of our reader can hide in our own writer.

use flate2::{Compression, write::GzEncoder};
use pprof::protos::{Function, Label, Line, Location, Mapping, Message, Profile, ValueType};
use std::collections::HashMap;
use std::io::Write;

/// Go's default `MemProfileRate`.
pub const RATE: i64 = 512 << 10;
/// When the first snapshot of a series is taken, seconds since the Unix epoch.
pub const START: i64 = 1_790_000_000;

/// The sample types of Go's heap profile.
pub const HEAP_TYPES: [(&str, &str); 4] = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
];

/// One row of a profile.
#[derive(Debug, Clone)]
pub struct Row {
    /// Function names, leaf first; `name@line` or `name@line/start` where the lines of the
    /// frame and of the function's beginning matter, `a + b` where `a` is inlined in `b`.
    pub stack: Vec<String>,
    /// The label `bytes`; `None` = there is no such label.
    pub size: Option<i64>,
    /// One value per sample type.
    pub values: Vec<i64>,
    /// String labels.
    pub labels: Vec<(String, String)>,
}

/// A pprof profile in the making. Its fields may be changed before it is written.
#[derive(Debug, Clone)]
pub struct Pprof {
    pub sample_types: Vec<(String, String)>,
    pub period_type: (String, String),
    pub period: i64,
    pub time_nanos: i64,
    pub duration_nanos: i64,
    pub drop_frames: String,
    pub build_id: String,
    /// The main binary's path.
    pub binary: String,
    pub rows: Vec<Row>,
}

impl Pprof {
    /// A profile of any kind without rows.
    pub fn of_types(types: &[(&str, &str)], period_type: (&str, &str), period: i64) -> Self {
        let pair = |(kind, unit): (&str, &str)| (kind.to_owned(), unit.to_owned());
        Self {
            sample_types: types.iter().copied().map(pair).collect(),
            period_type: pair(period_type),
            period,
            time_nanos: START * 1_000_000_000,
            duration_nanos: 0,
            drop_frames: String::new(),
            build_id: String::new(),
            binary: "/app/server".to_owned(),
            rows: Vec::new(),
        }
    }

    /// A Go heap profile without rows, taken so many seconds after [`START`].
    pub fn heap(seconds: i64) -> Self {
        Self {
            time_nanos: (START + seconds) * 1_000_000_000,
            ..Self::of_types(&HEAP_TYPES, ("space", "bytes"), RATE)
        }
    }

    /// Adds a row as it stands. `stack` is leaf first: `"main.leak < main.main"`.
    pub fn row(mut self, stack: &str, size: Option<i64>, values: &[i64]) -> Self {
        self.rows.push(Row {
            stack: stack
                .split(" < ")
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            size,
            values: values.to_vec(),
            labels: Vec::new(),
        });
        self
    }

    /// Adds a row as Go's runtime would: sampled objects, scaled up by their odds.
    pub fn sampled(self, stack: &str, size: i64, allocated: i64, in_use: i64) -> Self {
        let odds = match self.period {
            0 | 1 => 1.0,
            period => -(-(size as f64) / period as f64).exp_m1(),
        };
        let scaled = |count: i64| {
            [
                (count as f64 / odds) as i64,
                ((count * size) as f64 / odds) as i64,
            ]
        };
        let values = [scaled(allocated), scaled(in_use)].concat();
        // The runtime gives no size to a row whose objects were never sampled.
        self.row(stack, (values != [0; 4]).then_some(size), &values)
    }

    /// Gives the row added last a string label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        let row = self.rows.last_mut().expect("a row to label");
        row.labels.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Changes what no method is there for.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// As a message, for tests that damage it.
    pub fn message(&self) -> Profile {
        let mut strings = Strings::default();
        let value_type = |(kind, unit): &(String, String), strings: &mut Strings| ValueType {
            ty: strings.index(kind),
            unit: strings.index(unit),
        };
        let mut profile = Profile {
            sample_type: self
                .sample_types
                .iter()
                .map(|t| value_type(t, &mut strings))
                .collect(),
            period_type: Some(value_type(&self.period_type, &mut strings)),
            period: self.period,
            time_nanos: self.time_nanos,
            duration_nanos: self.duration_nanos,
            drop_frames: strings.index(&self.drop_frames),
            mapping: vec![Mapping {
                id: 1,
                filename: strings.index(&self.binary),
                build_id: strings.index(&self.build_id),
                has_functions: true,
                ..Mapping::default()
            }],
            ..Profile::default()
        };
        // One location and one function a name.
        let mut ids: HashMap<&str, u64> = HashMap::new();
        for row in &self.rows {
            let mut sample = pprof::protos::Sample {
                value: row.values.clone(),
                ..Default::default()
            };
            for place in &row.stack {
                let next = ids.len() as u64 + 1;
                let id = *ids.entry(place).or_insert(next);
                if id == next {
                    let mut line = Vec::new();
                    for frame in place.split(" + ") {
                        let (name, lines) = frame.split_once('@').unwrap_or((frame, ""));
                        let (number, start) = lines.split_once('/').unwrap_or((lines, "0"));
                        let function_id = profile.function.len() as u64 + 1;
                        profile.function.push(Function {
                            id: function_id,
                            name: strings.index(name),
                            filename: strings.index("/app/main.go"),
                            start_line: start.parse().expect("a line"),
                            ..Function::default()
                        });
                        line.push(Line {
                            function_id,
                            line: number.parse().unwrap_or(10 + id as i64),
                        });
                    }
                    profile.location.push(Location {
                        id,
                        mapping_id: 1,
                        address: 0x40_0000 + id * 16,
                        line,
                        ..Location::default()
                    });
                }
                sample.location_id.push(id);
            }
            for (key, value) in &row.labels {
                sample.label.push(Label {
                    key: strings.index(key),
                    str: strings.index(value),
                    ..Label::default()
                });
            }
            if let Some(size) = row.size {
                sample.label.push(Label {
                    key: strings.index("bytes"),
                    num: size,
                    num_unit: strings.index("bytes"),
                    ..Label::default()
                });
            }
            profile.sample.push(sample);
        }
        profile.string_table = strings.table;
        profile
    }

    /// The bare protobuf.
    pub fn raw(&self) -> Vec<u8> {
        self.message().encode_to_vec()
    }

    /// As Go writes it.
    pub fn gzip(&self) -> Vec<u8> {
        gzip(&self.raw())
    }
}

/// A string table; index 0 is the empty string.
struct Strings {
    table: Vec<String>,
    ids: HashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        Self {
            table: vec![String::new()],
            ids: HashMap::from([(String::new(), 0)]),
        }
    }
}

impl Strings {
    fn index(&mut self, text: &str) -> i64 {
        let next = self.table.len() as i64;
        let id = *self.ids.entry(text.to_owned()).or_insert(next);
        if id == next {
            self.table.push(text.to_owned());
        }
        id
    }
}

/// A process that leaks 4 kB objects: `count` heap profiles, five minutes apart, the first
/// `from` seconds after [`START`].
pub fn leaking_process(from: i64, count: i64) -> Vec<Pprof> {
    let snapshot = |index: i64| {
        Pprof::heap(from + index * 300)
            .sampled(
                "main.keep < main.handle < main.main",
                4096,
                40 + 40 * index,
                40 + 40 * index,
            )
            .sampled("main.table < main.main", 65_536, 20, 20)
            .sampled(
                "main.scratch < main.handle < main.main",
                1024,
                500 + 300 * index,
                7,
            )
            .sampled("main.gone < main.main", 512, 3, 0)
            .row("main.never < main.main", None, &[0; 4])
    };
    (0..count).map(snapshot).collect()
}

/// `goroutine?debug=2` of goroutines that all wait in `function`.
pub fn goroutine_dump(function: &str, count: usize) -> String {
    let main = "goroutine 1 [select]:\nmain.main()\n\t/app/main.go:9 +0x1d\n".to_owned();
    (0..count).fold(main, |dump, number| {
        dump + &format!(
            "\ngoroutine {} [chan send, 5 minutes]:\n{function}(0xc000010000)\n\t/app/main.go:31 +0x2a\n\
             created by main.main in goroutine 1\n\t/app/main.go:12 +0x4f\n",
            number + 2
        )
    })
}

/// `heap?debug=1` of one site with its MemStats, as of `seconds` after [`START`]: `objects` were
/// sampled of those in use, twice as many were allocated.
pub fn heap_text(seconds: i64, objects: i64) -> String {
    let (bytes, allocated) = (objects * 4096, objects * 2);
    let allocated_bytes = allocated * 4096;
    format!(
        "heap profile: {objects}: {bytes} [{allocated}: {allocated_bytes}] @ heap/1048576\n\
         {objects}: {bytes} [{allocated}: {allocated_bytes}] @ 0x401010 0x402020\n\
         #\t0x40100f\tmain.keep+0x1f\t/app/main.go:20\n\
         #\t0x40201f\tmain.main+0x2f\t/app/main.go:9\n\n{}",
        memory_text(seconds, bytes)
    )
}

/// The runtime's memory figures alone.
pub fn memory_text(seconds: i64, heap: i64) -> String {
    let nanos = (START + seconds) * 1_000_000_000;
    let idle = heap / 4;
    let system = heap * 2;
    format!(
        "# runtime.MemStats\n# Alloc = {heap}\n# TotalAlloc = {system}\n# Sys = {system}\n\
         # HeapAlloc = {heap}\n# HeapSys = {system}\n# HeapIdle = {idle}\n# HeapInuse = {heap}\n\
         # HeapReleased = {idle}\n# HeapObjects = 100\n# Stack = 65536 / 65536\n# NextGC = {system}\n\
         # LastGC = {nanos}\n# NumGC = {}\n# NumForcedGC = 1\n# MaxRSS = {system}\n",
        10 + seconds / 60
    )
}

/// Compressed as Go does it.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

/// What gzip holds.
pub fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut expanded = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(bytes);
    std::io::Read::read_to_end(&mut decoder, &mut expanded).expect("whole gzip");
    expanded
}

/// Compressed as stores do it.
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Protobuf by hand, for what no writer would write.
pub mod wire {
    /// A variable-length integer.
    pub fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    /// An integer field.
    pub fn integer(field: u64, value: u64) -> Vec<u8> {
        [varint(field << 3), varint(value)].concat()
    }

    /// A field of bytes: a string, a message or packed integers.
    pub fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
        claim(field, content.len() as u64, content)
    }

    /// A field of bytes that claims another length than it has.
    pub fn claim(field: u64, length: u64, content: &[u8]) -> Vec<u8> {
        [&varint(field << 3 | 2), &varint(length), content].concat()
    }
}
