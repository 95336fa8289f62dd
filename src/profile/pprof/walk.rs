//! The samples of a profile, from their varints straight into rows.

use super::super::proto::SAMPLE_FIELD;
use super::super::symbols::StackHasher;
use super::super::{HeapColumns, ProfileError, StackId, SymbolTable};
use super::locations::Locations;
use super::{Plan, damaged};
use bytes::Buf;
use prost::encoding::{WireType, decode_key, decode_varint};

/// Bytes of encoded stacks that a byte of the file may give, and what any file may have: one
/// location can stand for many frames and be named in every sample, and a small file must not
/// grow without bound. Real profiles stay below 3.
const MAX_STACK_RATIO: usize = 16;
const FREE_STACK_BYTES: usize = 16 << 20;
/// Most locations, functions, mappings and strings together. The largest profiles seen have
/// some hundred thousand.
const MAX_TABLE_ENTRIES: usize = 8 << 20;
/// Bytes that are copied at once; see [`super::locations::Encoded`].
const SHORT: usize = 4;

/// The samples with a value that is not 0, in the file's order.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Values and object sizes; the stacks have no ids yet.
    columns: HeapColumns,
    /// Encoded stacks, one after the other.
    stacks: Vec<u8>,
    /// Per row: where its stack ends in `stacks`.
    stack_ends: Vec<usize>,
    /// Per row: the hash of its stack.
    stack_hashes: Vec<u64>,
    /// All samples of the file.
    pub(super) in_file: u64,
    /// Samples that name a location which the file does not define.
    pub(super) dangling: u64,
    pub(super) is_saved_diff: bool,
    pub(super) lacks_object_size: bool,
}

/// Stands for the id of a stack that has none yet.
const NO_ID: StackId = StackId(u32::MAX);

impl Samples {
    pub(super) fn walk(
        bytes: &[u8],
        plan: &Plan,
        locations: &Locations,
        hasher: &StackHasher,
    ) -> Result<Self, ProfileError> {
        let mut samples = Self::default();
        samples.reserve(count_samples(bytes)?);
        let mut stacks = Stacks {
            // Room that is not used costs nothing; moving it again and again does.
            bytes: Vec::with_capacity(bytes.len()),
            len: 0,
            limit: bytes.len().saturating_mul(MAX_STACK_RATIO) + FREE_STACK_BYTES,
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (field, wire_type) = decode_key(&mut rest).map_err(damaged)?;
            if field != SAMPLE_FIELD || wire_type != WireType::LengthDelimited {
                skip(wire_type, &mut rest)?;
                continue;
            }
            samples.in_file += 1;
            samples.read_sample(
                take_message(&mut rest)?,
                plan,
                locations,
                hasher,
                &mut stacks,
            )?;
        }
        stacks.bytes.truncate(stacks.len);
        samples.stacks = stacks.bytes;
        Ok(samples)
    }

    fn reserve(&mut self, rows: usize) {
        self.columns.reserve(rows);
        self.stack_ends.reserve(rows);
        self.stack_hashes.reserve(rows);
    }

    /// The columns, once every stack has its id.
    pub(super) fn intern(self, symbols: &mut SymbolTable) -> HeapColumns {
        symbols.expect_stacks(self.stack_ends.len(), self.stacks.len());
        let mut columns = self.columns;
        let mut start = 0;
        for (row, stack) in columns.stack.iter_mut().enumerate() {
            let end = self.stack_ends[row];
            *stack = symbols.intern_hashed_stack(self.stack_hashes[row], &self.stacks[start..end]);
            start = end;
        }
        drop((self.stacks, self.stack_ends, self.stack_hashes));
        columns.normalise();
        columns
    }

    /// Field numbers of `Sample`: 1 = `location_id`, 2 = `value`, 3 = `label`; the first two
    /// packed or not. The runtime keeps buckets whose objects are all gone (they lack the label
    /// `bytes`): the stack is walked only once the values are known to matter.
    fn read_sample(
        &mut self,
        mut message: &[u8],
        plan: &Plan,
        locations: &Locations,
        hasher: &StackHasher,
        stacks: &mut Stacks,
    ) -> Result<(), ProfileError> {
        let whole = message;
        let mut packed_ids: &[u8] = &[];
        let mut has_scattered_ids = false;
        let mut values = [0i64; 4];
        let mut position = 0;
        let mut object_size = 0;
        let mut take_value = |value: u64| {
            for (slot, wanted) in values.iter_mut().zip(plan.wanted) {
                if wanted == Some(position) {
                    *slot = value as i64;
                }
            }
            position += 1;
        };
        while !message.is_empty() {
            match decode_key(&mut message).map_err(damaged)? {
                (1, WireType::LengthDelimited) => {
                    let ids = take_message(&mut message)?;
                    has_scattered_ids |= !packed_ids.is_empty();
                    packed_ids = ids;
                }
                (1, WireType::Varint) => {
                    read_varint(&mut message)?;
                    has_scattered_ids = true;
                }
                (2, WireType::LengthDelimited) => {
                    let mut packed = take_message(&mut message)?;
                    while !packed.is_empty() {
                        take_value(read_varint(&mut packed)?);
                    }
                }
                (2, WireType::Varint) => take_value(read_varint(&mut message)?),
                (3, WireType::LengthDelimited) => match read_label(take_message(&mut message)?)? {
                    (key, size) if plan.size_keys.contains(&key) => {
                        object_size = u64::try_from(size).unwrap_or(0);
                    }
                    (key, _) => self.is_saved_diff |= plan.base_keys.contains(&key),
                },
                (_, wire_type) => skip(wire_type, &mut message)?,
            }
        }
        if values == [0; 4] {
            return Ok(());
        }
        self.lacks_object_size |= object_size == 0;
        let start = stacks.len;
        let is_whole = if has_scattered_ids {
            stacks.push_scattered(whole, locations)?
        } else {
            stacks.push_packed(packed_ids, locations)?
        };
        self.dangling += u64::from(!is_whole);
        self.columns.push(NO_ID, object_size, values);
        self.stack_hashes
            .push(hasher.hash(&stacks.bytes[start..stacks.len]));
        self.stack_ends.push(stacks.len);
        Ok(())
    }
}

/// Encoded stacks under way: `bytes` runs ahead of `len`, so that short pieces are copied
/// without asking for room each time.
struct Stacks {
    bytes: Vec<u8>,
    len: usize,
    limit: usize,
}

impl Stacks {
    /// Appends the frames of packed location ids; false when some are not defined.
    fn push_packed(&mut self, mut ids: &[u8], locations: &Locations) -> Result<bool, ProfileError> {
        let mut is_whole = true;
        while !ids.is_empty() {
            // Each id takes at least one byte of the file.
            self.make_room(ids.len() * SHORT)?;
            let room = &mut self.bytes[self.len..];
            let mut len = 0;
            let mut odd = None;
            while !ids.is_empty() {
                let encoded = locations.get(read_varint(&mut ids)?);
                let Some((bytes, count)) = encoded.short() else {
                    odd = Some(encoded);
                    break;
                };
                room[len..len + SHORT].copy_from_slice(&bytes);
                len += count;
            }
            self.len += len;
            if let Some(encoded) = odd {
                is_whole &= self.push_long(locations.long(encoded))?;
            }
        }
        Ok(is_whole)
    }

    /// The same for ids that stand in several fields of a sample.
    fn push_scattered(
        &mut self,
        mut sample: &[u8],
        locations: &Locations,
    ) -> Result<bool, ProfileError> {
        let mut is_whole = true;
        while !sample.is_empty() {
            match decode_key(&mut sample).map_err(damaged)? {
                (1, WireType::LengthDelimited) => {
                    is_whole &= self.push_packed(take_message(&mut sample)?, locations)?;
                }
                (1, WireType::Varint) => {
                    let encoded = locations.get(read_varint(&mut sample)?);
                    is_whole &= match encoded.short() {
                        Some((bytes, count)) => self.push_long(Some(&bytes[..count]))?,
                        None => self.push_long(locations.long(encoded))?,
                    };
                }
                (_, wire_type) => skip(wire_type, &mut sample)?,
            }
        }
        Ok(is_whole)
    }

    /// Appends encoded frames of any length; false when there are none.
    fn push_long(&mut self, frames: Option<&[u8]>) -> Result<bool, ProfileError> {
        let Some(frames) = frames else {
            return Ok(false);
        };
        self.make_room(frames.len())?;
        self.bytes[self.len..self.len + frames.len()].copy_from_slice(frames);
        self.len += frames.len();
        Ok(true)
    }

    fn make_room(&mut self, bytes: usize) -> Result<(), ProfileError> {
        if self.len + bytes > self.limit {
            return Err(ProfileError::Protobuf(
                "its stacks are far larger than the file".to_owned(),
            ));
        }
        let needed = self.len + bytes + SHORT;
        if self.bytes.len() < needed {
            // By little: room that is filled is no longer free.
            self.bytes.resize(needed + 65_536, 0);
        }
        Ok(())
    }
}

/// Number of samples, from the fields' frames alone.
fn count_samples(bytes: &[u8]) -> Result<usize, ProfileError> {
    let mut rest = bytes;
    let mut count = 0;
    while !rest.is_empty() {
        let (field, wire_type) = decode_key(&mut rest).map_err(damaged)?;
        count += usize::from(field == SAMPLE_FIELD);
        skip(wire_type, &mut rest)?;
    }
    Ok(count)
}

/// Refuses tables that would take many times the file's size: an empty entry costs two bytes
/// of the file and up to a hundred of memory.
pub(super) fn check_entries(bytes: &[u8]) -> Result<(), ProfileError> {
    let mut rest = bytes;
    let mut entries = 0usize;
    while !rest.is_empty() {
        let (field, wire_type) = decode_key(&mut rest).map_err(damaged)?;
        entries += usize::from(field != SAMPLE_FIELD && wire_type == WireType::LengthDelimited);
        skip(wire_type, &mut rest)?;
    }
    match entries {
        entries if entries > MAX_TABLE_ENTRIES => Err(ProfileError::Protobuf(format!(
            "its tables hold {entries} entries"
        ))),
        _ => Ok(()),
    }
}

/// Key and number of a label. Field numbers of `Label`: 1 = `key`, 3 = `num`.
fn read_label(mut label: &[u8]) -> Result<(i64, i64), ProfileError> {
    let (mut key, mut number) = (0, 0);
    while !label.is_empty() {
        match decode_key(&mut label).map_err(damaged)? {
            (1, WireType::Varint) => key = read_varint(&mut label)? as i64,
            (3, WireType::Varint) => number = read_varint(&mut label)? as i64,
            (_, wire_type) => skip(wire_type, &mut label)?,
        }
    }
    Ok((key, number))
}

#[inline(always)]
fn read_varint(bytes: &mut &[u8]) -> Result<u64, ProfileError> {
    // Ids of a stack fit one or two bytes; the library's loop is for the rest.
    match **bytes {
        [byte, ref rest @ ..] if byte < 0x80 => {
            *bytes = rest;
            Ok(u64::from(byte))
        }
        [low, high, ref rest @ ..] if high < 0x80 => {
            *bytes = rest;
            Ok(u64::from(low & 0x7f) | u64::from(high) << 7)
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
