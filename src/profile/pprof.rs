//! `profile.proto` bytes into columns, in two walks over the same buffer.
//!
//! The first (prost) reads the tables; the second walks each sample's varints straight into
//! columns. A location is expanded once into the encoded ids of its frames, so a stack is
//! built by copying a few bytes per location and compared as bytes.

use super::goroutine;
use super::proto::{Envelope, SAMPLE_FIELD};
use super::symbols::encode_frame;
use super::{
    FunctionId, HeapColumns, HeapProfile, ProfileError, ProfileFile, ProfileWarning, SampleType,
    StackId, SymbolTable,
};
use bytes::{Buf, Bytes};
use hashbrown::HashMap;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};

/// Most sample types; real profiles have at most a handful.
const MAX_SAMPLE_TYPES: usize = 64;
/// Bytes of encoded stacks that a byte of the file may give, and what any file may have: one
/// location can stand for many frames and be named in every sample, and a small file must not
/// grow without bound. Real profiles stay below 3.
const MAX_STACK_RATIO: usize = 16;
const FREE_STACK_BYTES: usize = 16 << 20;

pub(super) fn decode(
    bytes: Vec<u8>,
    symbols: &mut SymbolTable,
) -> Result<ProfileFile, ProfileError> {
    let bytes = Bytes::from(bytes);
    let envelope = Envelope::decode(bytes.clone()).map_err(damaged)?;
    envelope.check()?;
    let sample_types: Vec<SampleType> = envelope
        .sample_type
        .iter()
        .map(|t| SampleType {
            kind: envelope.text(t.kind),
            unit: envelope.text(t.unit),
        })
        .collect();
    let position = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| sample_types.iter().position(|t| t.kind == *name))
    };
    let goroutines = position(&["goroutine", "goroutineleak"]);
    // Node's writer says `objects/count, space/bytes` for what is in use.
    let heap = [
        position(&["alloc_objects"]),
        position(&["alloc_space"]),
        position(&["inuse_objects", "objects"]),
        position(&["inuse_space", "space"]),
    ];
    let wanted = match (goroutines, heap) {
        (Some(index), _) => [None, None, Some(index), None],
        (None, [.., Some(_)] | [_, Some(_), ..] | [_, _, Some(_), _]) => heap,
        _ => {
            return Err(ProfileError::OtherKind {
                kind: kind_of(&sample_types),
            });
        }
    };

    let locations = Locations::intern(&envelope, symbols);
    let samples = Samples::walk(&bytes, &envelope, &locations, wanted, symbols)?;
    if goroutines.is_some() {
        let rows = samples.columns;
        let counts = (0..rows.len()).map(|row| (rows.stack[row], rows.inuse_objects[row]));
        let time = Some(envelope.time_nanos).filter(|t| *t != 0);
        return Ok(ProfileFile::Goroutines(goroutine::from_samples(counts, time)));
    }
    Ok(ProfileFile::Heap {
        heap: Box::new(samples.into_profile(&envelope, sample_types)),
        memory: None,
    })
}

fn damaged(error: prost::DecodeError) -> ProfileError {
    let words = error.to_string();
    let words = words.strip_prefix("failed to decode Protobuf message: ").unwrap_or(&words);
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
            strings if highest != 0 && highest >= strings as u64 => {
                Err(ProfileError::Protobuf(format!(
                    "it names string {highest}, but its string table ends after {strings}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// A string of the table; an index out of range is an empty string.
    fn bytes_at(&self, index: i64) -> &[u8] {
        usize::try_from(index)
            .ok()
            .and_then(|index| self.string_table.get(index))
            .map_or(&[], |text| text.as_ref())
    }

    fn text(&self, index: i64) -> String {
        String::from_utf8_lossy(self.bytes_at(index)).into_owned()
    }
}

/// The encoded frames of each location.
struct Locations {
    /// By location id, for ids that are dense (as Go and pprof write them).
    dense: Vec<Encoded>,
    /// The others.
    sparse: HashMap<u64, Encoded>,
    /// Encoded frames that do not fit an [`Encoded`].
    long: Vec<u8>,
}

/// One location's encoded frames. Nearly all locations have one frame, which fits into four
/// bytes; copying four bytes always is faster than copying as many as there are.
#[derive(Debug, Clone, Copy)]
enum Encoded {
    /// Not defined by the file.
    Missing,
    Short { bytes: [u8; 4], len: u8 },
    /// A range of [`Locations::long`].
    Long { start: u32, end: u32 },
}

impl Locations {
    fn intern(envelope: &Envelope, symbols: &mut SymbolTable) -> Self {
        let functions: HashMap<u64, FunctionId> = envelope
            .function
            .iter()
            .map(|function| {
                let name = symbols.intern_bytes(envelope.bytes_at(function.name));
                let file = symbols.intern_bytes(envelope.bytes_at(function.filename));
                let start_line = u32::try_from(function.start_line).unwrap_or(0);
                (
                    function.id,
                    symbols.intern_function(name, file, start_line),
                )
            })
            .collect();
        let files: HashMap<u64, i64> = envelope
            .mapping
            .iter()
            .map(|mapping| (mapping.id, mapping.filename))
            .collect();
        let dense_ids = (envelope.location.len() as u64).saturating_mul(4) + 64;
        let mut table = Self {
            dense: Vec::new(),
            sparse: HashMap::new(),
            long: Vec::new(),
        };
        let mut frames = Vec::new();
        for location in &envelope.location {
            frames.clear();
            for line in &location.line {
                if let Some(&function) = functions.get(&line.function_id) {
                    let number = u32::try_from(line.line).unwrap_or(0);
                    encode_frame(symbols.intern_frame(function, number), &mut frames);
                }
            }
            if frames.is_empty() {
                // No symbols: the address is the name, the mapping the file.
                let name = symbols.intern_str(&format!("0x{:x}", location.address));
                let file = files.get(&location.mapping_id).copied().unwrap_or(0);
                let file = symbols.intern_bytes(envelope.bytes_at(file));
                let function = symbols.intern_function(name, file, 0);
                encode_frame(symbols.intern_frame(function, 0), &mut frames);
            }
            let encoded = table.encode(&frames);
            if location.id < dense_ids {
                let id = location.id as usize;
                if table.dense.len() <= id {
                    table.dense.resize(id + 1, Encoded::Missing);
                }
                table.dense[id] = encoded;
            } else {
                table.sparse.insert(location.id, encoded);
            }
        }
        table
    }

    fn encode(&mut self, frames: &[u8]) -> Encoded {
        let mut bytes = [0; 4];
        match bytes.get_mut(..frames.len()) {
            Some(short) => {
                short.copy_from_slice(frames);
                Encoded::Short {
                    bytes,
                    len: frames.len() as u8,
                }
            }
            None => {
                let start = self.long.len() as u32;
                self.long.extend_from_slice(frames);
                Encoded::Long {
                    start,
                    end: self.long.len() as u32,
                }
            }
        }
    }

    /// Appends the encoded frames of a location; false when the file does not define it.
    #[inline]
    fn append(&self, id: u64, stack: &mut Vec<u8>) -> bool {
        let encoded = match self.dense.get(id as usize) {
            Some(encoded) => *encoded,
            None => self.sparse.get(&id).copied().unwrap_or(Encoded::Missing),
        };
        match encoded {
            Encoded::Short { bytes, len } => {
                stack.extend_from_slice(&bytes);
                stack.truncate(stack.len() - (bytes.len() - usize::from(len)));
                true
            }
            Encoded::Long { start, end } => {
                stack.extend_from_slice(&self.long[start as usize..end as usize]);
                true
            }
            Encoded::Missing => false,
        }
    }
}

/// What the walk over the samples gathers.
#[derive(Default)]
struct Samples {
    columns: HeapColumns,
    in_file: u64,
    dangling: u64,
    is_saved_diff: bool,
    lacks_object_size: bool,
}

impl Samples {
    fn walk(
        bytes: &[u8],
        envelope: &Envelope,
        locations: &Locations,
        wanted: [Option<usize>; 4],
        symbols: &mut SymbolTable,
    ) -> Result<Self, ProfileError> {
        let mut samples = Self::default();
        let mut scratch = Sample {
            stack_bytes_left: bytes.len().saturating_mul(MAX_STACK_RATIO) + FREE_STACK_BYTES,
            ..Sample::default()
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (field, wire_type) = decode_key(&mut rest).map_err(damaged)?;
            if field != SAMPLE_FIELD || wire_type != WireType::LengthDelimited {
                skip(wire_type, &mut rest)?;
                continue;
            }
            samples.in_file += 1;
            scratch.read(take_message(&mut rest)?, envelope, locations)?;
            let values = wanted.map(|index| index.map_or(0, |i| scratch.value(i)));
            samples.dangling += u64::from(scratch.dangling);
            samples.is_saved_diff |= scratch.is_saved_diff;
            if values == [0; 4] {
                // The runtime keeps buckets whose objects are all gone; they lack the `bytes` label.
                continue;
            }
            samples.lacks_object_size |= scratch.object_size == 0;
            let stack: StackId = symbols.intern_encoded_stack(&scratch.stack);
            samples.columns.push(stack, scratch.object_size, values);
        }
        samples.columns.normalise();
        Ok(samples)
    }

    fn into_profile(self, envelope: &Envelope, sample_types: Vec<SampleType>) -> HeapProfile {
        let main = envelope.mapping.first();
        let is_space = envelope
            .period_type
            .is_none_or(|t| envelope.bytes_at(t.unit) == b"bytes");
        let path = main.map_or_else(String::new, |m| envelope.text(m.filename));
        HeapProfile {
            sample_types,
            time_nanos: Some(envelope.time_nanos).filter(|t| *t != 0),
            duration_nanos: envelope.duration_nanos,
            period: if is_space { envelope.period.max(0) } else { 0 },
            build_id: main.map_or_else(String::new, |m| envelope.text(m.build_id)),
            binary: path.rsplit(['/', '\\']).next().unwrap_or("").to_owned(),
            samples_in_file: self.in_file,
            is_saved_diff: self.is_saved_diff,
            has_negative_inuse: self.columns.inuse_space.iter().any(|v| *v < 0)
                || self.columns.inuse_objects.iter().any(|v| *v < 0),
            has_object_sizes: !self.columns.is_empty() && !self.lacks_object_size,
            drop_frames: envelope.text(envelope.drop_frames),
            keep_frames: envelope.text(envelope.keep_frames),
            warnings: match self.dangling {
                0 => Vec::new(),
                count => vec![ProfileWarning::DanglingLocations { count }],
            },
            columns: self.columns,
        }
    }
}

/// One sample, its buffers reused from row to row.
#[derive(Default)]
struct Sample {
    stack: Vec<u8>,
    /// What the stacks may yet take of [`MAX_STACK_RATIO`].
    stack_bytes_left: usize,
    values: Vec<i64>,
    object_size: u64,
    is_saved_diff: bool,
    dangling: bool,
}

impl Sample {
    fn value(&self, index: usize) -> i64 {
        self.values.get(index).copied().unwrap_or(0)
    }

    /// Field numbers of `Sample`: 1 = `location_id`, 2 = `value`, 3 = `label`; the first two packed or not.
    fn read(
        &mut self,
        mut message: &[u8],
        envelope: &Envelope,
        locations: &Locations,
    ) -> Result<(), ProfileError> {
        self.stack.clear();
        self.values.clear();
        self.object_size = 0;
        self.is_saved_diff = false;
        self.dangling = false;
        while !message.is_empty() {
            match decode_key(&mut message).map_err(damaged)? {
                (1, WireType::LengthDelimited) => {
                    let mut ids = take_message(&mut message)?;
                    while !ids.is_empty() {
                        self.push_location(read_varint(&mut ids)?, locations)?;
                    }
                }
                (1, WireType::Varint) => {
                    self.push_location(read_varint(&mut message)?, locations)?;
                }
                (2, WireType::LengthDelimited) => {
                    let mut values = take_message(&mut message)?;
                    while !values.is_empty() {
                        self.values.push(read_varint(&mut values)? as i64);
                    }
                }
                (2, WireType::Varint) => self.values.push(read_varint(&mut message)? as i64),
                (3, WireType::LengthDelimited) => {
                    let label = take_message(&mut message)?;
                    self.read_label(label, envelope)?;
                }
                (_, wire_type) => skip(wire_type, &mut message)?,
            }
        }
        self.stack_bytes_left -= self.stack.len();
        Ok(())
    }

    #[inline]
    fn push_location(&mut self, id: u64, locations: &Locations) -> Result<(), ProfileError> {
        self.dangling |= !locations.append(id, &mut self.stack);
        if self.stack.len() > self.stack_bytes_left {
            return Err(ProfileError::Protobuf(
                "its stacks are far larger than the file".to_owned(),
            ));
        }
        Ok(())
    }

    /// Field numbers of `Label`: 1 = `key`, 3 = `num`.
    fn read_label(&mut self, mut label: &[u8], envelope: &Envelope) -> Result<(), ProfileError> {
        let (mut key, mut number) = (0, 0);
        while !label.is_empty() {
            match decode_key(&mut label).map_err(damaged)? {
                (1, WireType::Varint) => key = read_varint(&mut label)? as i64,
                (3, WireType::Varint) => number = read_varint(&mut label)? as i64,
                (_, wire_type) => skip(wire_type, &mut label)?,
            }
        }
        match envelope.bytes_at(key) {
            b"bytes" => self.object_size = u64::try_from(number).unwrap_or(0),
            b"pprof::base" => self.is_saved_diff = true,
            _ => {}
        }
        Ok(())
    }
}

#[inline]
fn read_varint(bytes: &mut &[u8]) -> Result<u64, ProfileError> {
    // Most ids of a stack fit one byte; the library's loop is for the rest.
    match bytes.first() {
        Some(&byte) if byte < 0x80 => {
            *bytes = &bytes[1..];
            Ok(u64::from(byte))
        }
        _ => decode_varint(bytes).map_err(damaged),
    }
}

/// Splits a length-delimited field off the front.
fn take_message<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], ProfileError> {
    let claimed = read_varint(bytes)?;
    match usize::try_from(claimed) {
        Ok(len) if len <= bytes.len() => {
            let (message, rest) = bytes.split_at(len);
            *bytes = rest;
            Ok(message)
        }
        _ => Err(ProfileError::Protobuf(format!(
            "a field claims {claimed} bytes where {} are left",
            bytes.len()
        ))),
    }
}

fn skip(wire_type: WireType, bytes: &mut &[u8]) -> Result<(), ProfileError> {
    let fixed = match wire_type {
        WireType::Varint => return read_varint(bytes).map(drop),
        WireType::LengthDelimited => return take_message(bytes).map(drop),
        WireType::ThirtyTwoBit => 4,
        WireType::SixtyFourBit => 8,
        WireType::StartGroup | WireType::EndGroup => {
            return Err(ProfileError::Protobuf("a group field".to_owned()));
        }
    };
    if bytes.len() < fixed {
        return Err(ProfileError::Protobuf("a fixed field is cut".to_owned()));
    }
    bytes.advance(fixed);
    Ok(())
}
