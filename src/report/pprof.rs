//! Stacks as a pprof profile that `go tool pprof` opens; growth as its values.
//!
//! Names are verbatim: this is data, and whoever shows it escapes it. The comments, which are
//! printed above every report of pprof, are sanitised. Field numbers are those of google/pprof's
//! `profile.proto`.

use super::sanitize::sanitize;
use super::units::{change, size};
use crate::diagnosis::{StackSide, Stacks};
use flate2::{Compression, GzBuilder};
use hashbrown::HashMap;
use prost::Message;
use std::io::Write;

/// Snapshots that the comments list.
const MAX_LISTED: usize = 100;

/// The profile as protobuf. Sample types are those of a heap profile in use; of two heaps the
/// values are after less before, and may be negative.
pub fn pprof(stacks: &Stacks) -> Vec<u8> {
    let mut strings = Strings::default();
    let value_type = |kind: &str, unit: &str, strings: &mut Strings| ValueType {
        kind: strings.index(kind),
        unit: strings.index(unit),
    };
    let mut functions: Vec<Function> = Vec::new();
    let mut function_ids: HashMap<(&str, Option<&str>), u64> = HashMap::new();
    let mut locations = Vec::with_capacity(stacks.frames.len());
    for (index, frame) in stacks.frames.iter().enumerate() {
        let next = functions.len() as u64 + 1;
        let key = (frame.function.as_str(), frame.file.as_deref());
        let function_id = *function_ids.entry(key).or_insert_with(|| {
            functions.push(Function {
                id: next,
                name: strings.index(&frame.function),
                system_name: strings.index(&frame.function),
                filename: strings.index(frame.file.as_deref().unwrap_or("")),
            });
            next
        });
        locations.push(Location {
            id: index as u64 + 1,
            mapping_id: 1,
            line: vec![Line {
                function_id,
                line: frame.line.map_or(0, i64::from),
            }],
        });
    }
    let bytes = strings.index("bytes");
    let samples = stacks.rows.iter().filter(|row| row.change() != [0, 0]);
    let sample = samples
        .map(|row| Sample {
            // Leaf first.
            location_id: row.frames.iter().rev().map(|f| u64::from(*f) + 1).collect(),
            value: vec![row.change()[1], row.change()[0]],
            label: (row.object_size > 0)
                .then(|| Label {
                    key: bytes,
                    num: i64::try_from(row.object_size).unwrap_or(i64::MAX),
                    num_unit: bytes,
                })
                .into_iter()
                .collect(),
        })
        .collect();
    let comment = comments(stacks)
        .iter()
        .map(|line| strings.index(line))
        .collect();
    let taken_at = |side: &StackSide| side.taken_at.unwrap_or(0);
    let began = stacks.before.as_ref().map_or(0, taken_at);
    let profile = Profile {
        sample_type: vec![
            value_type("inuse_objects", "count", &mut strings),
            value_type("inuse_space", "bytes", &mut strings),
        ],
        sample,
        // pprof asks for no symbols where a mapping has them.
        mapping: vec![Mapping {
            id: 1,
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
        }],
        location: locations,
        function: functions,
        time_nanos: taken_at(&stacks.after),
        duration_nanos: match (began, taken_at(&stacks.after)) {
            (0, _) | (_, 0) => 0,
            (began, ended) => ended.saturating_sub(began).max(0),
        },
        period_type: Some(value_type("space", "bytes", &mut strings)),
        period: stacks.period,
        comment,
        default_sample_type: strings.index("inuse_space"),
        string_table: strings.table,
    };
    profile.encode_to_vec()
}

/// The same compressed, as Go writes profiles.
pub fn pprof_gz(stacks: &Stacks) -> Vec<u8> {
    // Without a time in its header: the same input gives the same bytes.
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::default());
    // A vector takes all.
    let _ = encoder.write_all(&pprof(stacks));
    encoder.finish().unwrap_or_default()
}

/// What the values are, and the series that they come from.
fn comments(stacks: &Stacks) -> Vec<String> {
    let mut lines = vec![match &stacks.before {
        Some(before) => format!(
            "heapdrift: growth of the heap in use from {} to {}, {}",
            sanitize(&before.source),
            sanitize(&stacks.after.source),
            change(stacks.after.bytes.saturating_sub(before.bytes) as f64, None),
        ),
        None => format!(
            "heapdrift: heap in use in {}",
            sanitize(&stacks.after.source)
        ),
    }];
    let listed = stacks.series.iter().take(MAX_LISTED).enumerate();
    lines.extend(listed.map(|(number, side)| {
        let source = sanitize(&side.source);
        format!(
            "snapshot {}: {source}, {} in use",
            number + 1,
            size(side.bytes as f64)
        )
    }));
    let more = stacks.series.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        lines.push(format!("{more} more snapshots"));
    }
    lines
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
            ids: HashMap::from_iter([(String::new(), 0)]),
        }
    }
}

impl Strings {
    fn index(&mut self, text: &str) -> i64 {
        let next = self.table.len() as i64;
        match self.ids.get(text) {
            Some(id) => *id,
            None => {
                self.table.push(text.to_owned());
                self.ids.insert(text.to_owned(), next);
                next
            }
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "3")]
    num: i64,
    #[prost(int64, tag = "4")]
    num_unit: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
    #[prost(bool, tag = "8")]
    has_filenames: bool,
    #[prost(bool, tag = "9")]
    has_line_numbers: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}
