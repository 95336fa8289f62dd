//! Locations of a profile, each expanded once into the encoded ids of its frames.

use super::super::proto::Envelope;
use super::super::symbols::encode_frame;
use super::super::{FunctionId, FunctionSet, SymbolTable};
use hashbrown::HashMap;

/// The encoded frames of each location.
#[derive(Debug)]
pub(super) struct Locations {
    /// By location id, for ids that are dense (as Go and pprof write them).
    dense: Vec<Encoded>,
    /// The others.
    sparse: HashMap<u64, Encoded>,
    /// Encoded frames that do not fit an [`Encoded`], one after the other.
    long: Vec<u8>,
    /// Where each of those ends.
    long_ends: Vec<usize>,
}

/// One location's encoded frames, in eight bytes. Nearly all locations have one frame, which
/// fits into four; copying four bytes always is faster than copying as many as there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoded {
    /// The encoded frames; of a long one, its number in [`Locations::long_ends`].
    word: u32,
    /// How many of the bytes count, [`MISSING`] or [`LONG`].
    len: u8,
}

/// Not defined by the file.
const MISSING: u8 = 0;
/// Longer than a word.
const LONG: u8 = u8::MAX;

impl Encoded {
    const NONE: Self = Self {
        word: 0,
        len: MISSING,
    };

    /// The bytes of a short one, and how many of them count.
    #[inline(always)]
    pub(super) fn short(self) -> Option<([u8; 4], usize)> {
        (self.len.wrapping_sub(1) < 4).then(|| (self.word.to_le_bytes(), usize::from(self.len)))
    }
}

impl Locations {
    /// Interns the frames of all locations, and notes which functions the file names.
    pub(super) fn intern(
        envelope: &Envelope,
        symbols: &mut SymbolTable,
        named: &mut FunctionSet,
    ) -> Self {
        let functions: HashMap<u64, FunctionId> = envelope
            .function
            .iter()
            .map(|function| {
                let name = symbols.intern_bytes(envelope.bytes_at(function.name));
                let file = symbols.intern_bytes(envelope.bytes_at(function.filename));
                let start_line = u32::try_from(function.start_line).unwrap_or(0);
                let id = symbols.intern_function(name, file);
                named.insert(id, start_line);
                (function.id, id)
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
            long_ends: Vec::new(),
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
                let function = symbols.intern_function(name, file);
                encode_frame(symbols.intern_frame(function, 0), &mut frames);
            }
            let encoded = table.encode(&frames);
            if location.id < dense_ids {
                let id = location.id as usize;
                if table.dense.len() <= id {
                    table.dense.resize(id + 1, Encoded::NONE);
                }
                table.dense[id] = encoded;
            } else {
                table.sparse.insert(location.id, encoded);
            }
        }
        table
    }

    fn encode(&mut self, frames: &[u8]) -> Encoded {
        let mut word = [0; 4];
        match word.get_mut(..frames.len()) {
            Some(short) => {
                short.copy_from_slice(frames);
                Encoded {
                    word: u32::from_le_bytes(word),
                    len: frames.len() as u8,
                }
            }
            None => {
                self.long.extend_from_slice(frames);
                self.long_ends.push(self.long.len());
                Encoded {
                    word: (self.long_ends.len() - 1) as u32,
                    len: LONG,
                }
            }
        }
    }

    /// The encoded frames of a location.
    #[inline(always)]
    pub(super) fn get(&self, id: u64) -> Encoded {
        match self.dense.get(id as usize) {
            Some(encoded) => *encoded,
            None => self.sparse.get(&id).copied().unwrap_or(Encoded::NONE),
        }
    }

    /// The bytes of one that is not short; None when the file does not define the location.
    pub(super) fn long(&self, encoded: Encoded) -> Option<&[u8]> {
        if encoded.len != LONG {
            return None;
        }
        let number = encoded.word as usize;
        let start = number
            .checked_sub(1)
            .map_or(0, |before| self.long_ends[before]);
        Some(&self.long[start..self.long_ends[number]])
    }
}
