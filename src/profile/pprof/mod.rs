//! `profile.proto` bytes into columns, in two walks over the same buffer.
//!
//! The first (prost, [`Opened::read`]) reads the tables, and [`Opened::intern_names`] interns
//! what they name. The second ([`Named::walk`]) walks each sample's varints straight into
//! columns; it needs nothing shared, so the files of a series are walked side by side. Then
//! [`Walked::intern`] gives ids to the stacks. A location is expanded once into the encoded
//! ids of its frames, so a stack is built by copying a few bytes per location and compared
//! as bytes.

mod locations;
mod walk;

use super::goroutine;
use super::proto::Envelope;
use super::symbols::StackHasher;
use super::{HeapProfile, ProfileError, ProfileFile, ProfileWarning, SampleType, SymbolTable};
use bytes::Bytes;
use locations::Locations;
use prost::Message;
use walk::Samples;

/// Most sample types; real profiles have at most a handful.
const MAX_SAMPLE_TYPES: usize = 64;

/// A profile whose tables are read.
#[derive(Debug)]
pub(super) struct Opened {
    bytes: Bytes,
    envelope: Envelope,
}

/// A profile whose names are interned.
#[derive(Debug)]
pub(super) struct Named {
    bytes: Bytes,
    /// Everything but the samples.
    header: HeapProfile,
    is_goroutines: bool,
    plan: Plan,
    locations: Locations,
    hasher: StackHasher,
}

/// What the walk looks for in each sample.
#[derive(Debug)]
struct Plan {
    /// Positions of `alloc_objects`, `alloc_space`, `inuse_objects`, `inuse_space` among the
    /// values; goroutines are counted as objects in use.
    wanted: [Option<usize>; 4],
    /// Indices of the string `bytes`: the key of the object size.
    size_keys: Vec<i64>,
    /// Indices of the string `pprof::base`: the key of a saved diff.
    base_keys: Vec<i64>,
}

/// A profile whose samples are read, but whose stacks have no ids yet.
#[derive(Debug)]
pub(super) struct Walked {
    header: HeapProfile,
    is_goroutines: bool,
    samples: Samples,
}

impl Opened {
    /// Reads the tables of a profile.
    pub(super) fn read(bytes: Vec<u8>) -> Result<Self, ProfileError> {
        let bytes = Bytes::from(bytes);
        walk::check_entries(&bytes)?;
        let envelope = Envelope::decode(bytes.clone()).map_err(damaged)?;
        envelope.check()?;
        Ok(Self { bytes, envelope })
    }

    /// Interns the functions and frames.
    pub(super) fn intern_names(self, symbols: &mut SymbolTable) -> Result<Named, ProfileError> {
        let Self { bytes, envelope } = self;
        let mut header = header_of(&envelope);
        let (is_goroutines, wanted) = wanted_of(&header.sample_types)?;
        Ok(Named {
            is_goroutines,
            plan: Plan {
                wanted,
                size_keys: envelope.indices_of(b"bytes"),
                base_keys: envelope.indices_of(b"pprof::base"),
            },
            locations: Locations::intern(&envelope, symbols, &mut header.functions),
            hasher: symbols.stack_hasher(),
            header,
            bytes,
        })
    }
}

impl Named {
    /// Walks the samples. The file's bytes are given up.
    pub(super) fn walk(self) -> Result<Walked, ProfileError> {
        let samples = Samples::walk(&self.bytes, &self.plan, &self.locations, &self.hasher)?;
        Ok(Walked {
            header: self.header,
            is_goroutines: self.is_goroutines,
            samples,
        })
    }
}

impl Walked {
    /// Interns the stacks.
    pub(super) fn intern(self, symbols: &mut SymbolTable) -> ProfileFile {
        let (in_file, dangling) = (self.samples.in_file, self.samples.dangling);
        let (is_saved_diff, lacks_object_size) =
            (self.samples.is_saved_diff, self.samples.lacks_object_size);
        let columns = self.samples.intern(symbols);
        if self.is_goroutines {
            let are_leaked = self.header.has_type("goroutineleak");
            let counts =
                (0..columns.len()).map(|row| (columns.stack[row], columns.inuse_objects[row]));
            let goroutines = goroutine::from_samples(counts, self.header.time_nanos, are_leaked);
            return ProfileFile::Goroutines(goroutines);
        }
        let warnings = match dangling {
            0 => Vec::new(),
            count => vec![ProfileWarning::DanglingLocations { count }],
        };
        let heap = HeapProfile {
            samples_in_file: in_file,
            is_saved_diff,
            has_negative_inuse: columns.inuse_space.iter().any(|v| *v < 0)
                || columns.inuse_objects.iter().any(|v| *v < 0),
            has_object_sizes: !columns.is_empty() && !lacks_object_size,
            warnings,
            columns,
            ..self.header
        };
        ProfileFile::Heap {
            heap: Box::new(heap),
            memory: None,
        }
    }
}

/// Which values are read; goroutine profiles have one.
fn wanted_of(sample_types: &[SampleType]) -> Result<(bool, [Option<usize>; 4]), ProfileError> {
    let position = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| sample_types.iter().position(|t| t.kind == *name))
    };
    // Node's writer says `objects/count, space/bytes` for what is in use.
    let heap = [
        position(&["alloc_objects"]),
        position(&["alloc_space"]),
        position(&["inuse_objects", "objects"]),
        position(&["inuse_space", "space"]),
    ];
    match (position(&["goroutine", "goroutineleak"]), heap) {
        (Some(index), _) => Ok((true, [None, None, Some(index), None])),
        (None, [.., Some(_)] | [_, Some(_), ..] | [_, _, Some(_), _]) => Ok((false, heap)),
        _ => Err(ProfileError::OtherKind {
            kind: kind_of(sample_types),
        }),
    }
}

/// What the envelope says of a heap profile.
fn header_of(envelope: &Envelope) -> HeapProfile {
    let main = envelope.mapping.first();
    let is_space = envelope
        .period_type
        .is_none_or(|t| envelope.bytes_at(t.unit) == b"bytes");
    let path = main.map_or_else(String::new, |m| envelope.text(m.filename));
    let sample_type = |t: &super::proto::ValueType| SampleType {
        kind: envelope.text(t.kind),
        unit: envelope.text(t.unit),
    };
    HeapProfile {
        sample_types: envelope.sample_type.iter().map(sample_type).collect(),
        time_nanos: Some(envelope.time_nanos).filter(|t| *t != 0),
        duration_nanos: envelope.duration_nanos,
        period: if is_space { envelope.period.max(0) } else { 0 },
        build_id: main.map_or_else(String::new, |m| envelope.text(m.build_id)),
        binary: path.rsplit(['/', '\\']).next().unwrap_or("").to_owned(),
        drop_frames: envelope.text(envelope.drop_frames),
        keep_frames: envelope.text(envelope.keep_frames),
        ..HeapProfile::default()
    }
}

fn damaged(error: prost::DecodeError) -> ProfileError {
    let words = error.to_string();
    let words = words
        .strip_prefix("failed to decode Protobuf message: ")
        .unwrap_or(&words);
    ProfileError::Protobuf(words.strip_prefix("Envelope.").unwrap_or(words).to_owned())
}

/// The field's word for a profile that is not about memory.
fn kind_of(sample_types: &[SampleType]) -> String {
    let has = |kind: &str| sample_types.iter().any(|t| t.kind == kind);
    if has("cpu") {
        "CPU".to_owned()
    } else if has("contentions") {
        "mutex or block".to_owned()
    } else if sample_types.is_empty() {
        "typeless (no sample types)".to_owned()
    } else {
        let kinds: Vec<_> = sample_types.iter().map(|t| t.kind.as_str()).collect();
        kinds.join(", ")
    }
}

impl Envelope {
    /// Refuses what no writer writes: the string table comes last, so that an index beyond its
    /// end is how a profile shows that it was cut between two fields.
    fn check(&self) -> Result<(), ProfileError> {
        if self.sample_type.len() > MAX_SAMPLE_TYPES {
            return Err(ProfileError::Protobuf(format!(
                "{} sample types",
                self.sample_type.len()
            )));
        }
        let types = self.sample_type.iter().chain(&self.period_type);
        let in_types = types.flat_map(|t| [t.kind, t.unit]);
        let in_functions = self.function.iter().flat_map(|f| [f.name, f.filename]);
        let in_mappings = self.mapping.iter().flat_map(|m| [m.filename, m.build_id]);
        let highest = in_types
            .chain(in_functions)
            .chain(in_mappings)
            .chain([self.drop_frames, self.keep_frames])
            .fold(0, |highest, index| highest.max(index as u64));
        match self.string_table.len() {
            // Index 0 is the empty string, whether the table says so or not.
            strings if highest != 0 && highest >= strings as u64 => Err(ProfileError::Protobuf(
                format!("it names string {highest}, but its string table ends after {strings}"),
            )),
            _ => Ok(()),
        }
    }

    /// Where a string stands in the table; a careless writer may have it twice.
    fn indices_of(&self, text: &[u8]) -> Vec<i64> {
        let is_it = |(_, known): &(i64, &Bytes)| known.as_ref() == text;
        (0..)
            .zip(&self.string_table)
            .filter(is_it)
            .map(|(index, _)| index)
            .collect()
    }

    /// A string of the table; an index out of range is an empty string.
    pub(super) fn bytes_at(&self, index: i64) -> &[u8] {
        usize::try_from(index)
            .ok()
            .and_then(|index| self.string_table.get(index))
            .map_or(&[], |text| text.as_ref())
    }

    pub(super) fn text(&self, index: i64) -> String {
        String::from_utf8_lossy(self.bytes_at(index)).into_owned()
    }
}
