//! The names and stacks of one series, each stored once.
//!
//! Ids are dense and given in order of first appearance, so whatever is keyed by them
//! is a column of integers, and output never depends on a hash order.

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::hash::BuildHasher;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
        impl $name {
            /// The id as an index into a dense column.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
ids! {
    /// An interned string.
    StrId,
    /// An interned function: name and file.
    FunctionId,
    /// An interned frame: function and line.
    FrameId,
    /// An interned stack: frames, leaf first.
    StackId,
}

/// Byte strings, each stored once in one arena.
#[derive(Debug, Default, Clone)]
struct ByteInterner {
    arena: Vec<u8>,
    ends: Vec<usize>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl ByteInterner {
    fn get(&self, id: u32) -> &[u8] {
        slice_of(&self.arena, &self.ends, id)
    }

    fn intern(&mut self, bytes: &[u8]) -> u32 {
        self.intern_hashed(self.hasher.hash_one(bytes), bytes)
    }

    /// `hash` must be what `hasher` makes of `bytes`.
    fn intern_hashed(&mut self, hash: u64, bytes: &[u8]) -> u32 {
        let (arena, ends) = (&self.arena, &self.ends);
        if let Some(&id) = self
            .table
            .find(hash, |&id| slice_of(arena, ends, id) == bytes)
        {
            return id;
        }
        // Each takes more than nine bytes here: memory ends long before ids do.
        let id =
            u32::try_from(self.ends.len()).expect("fewer than 2^32 distinct strings or stacks");
        self.arena.extend_from_slice(bytes);
        self.ends.push(self.arena.len());
        let (arena, ends, hasher) = (&self.arena, &self.ends, &self.hasher);
        self.table
            .insert_unique(hash, id, |&id| hasher.hash_one(slice_of(arena, ends, id)));
        id
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn reserve(&mut self, count: usize, bytes: usize) {
        self.arena.reserve(bytes);
        self.ends.reserve(count);
        let (arena, ends, hasher) = (&self.arena, &self.ends, &self.hasher);
        self.table
            .reserve(count, |&id| hasher.hash_one(slice_of(arena, ends, id)));
    }
}

fn slice_of<'a>(arena: &'a [u8], ends: &[usize], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &arena[start..ends[id]]
}

/// A function as a profile names it (not canonicalised).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// The name verbatim; untrusted text.
    pub name: StrId,
    /// The source file verbatim; may be empty.
    pub file: StrId,
}

/// One inlined or physical line of a call stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// The function.
    pub function: FunctionId,
    /// The line in the function's file, 0 if unknown.
    pub line: u32,
}

/// All names and stacks of a series.
///
/// A stack is stored as the variable-length encoding of its frame ids, leaf first: about
/// two bytes a frame, and equality of stacks is equality of bytes.
#[derive(Debug, Default, Clone)]
pub struct SymbolTable {
    strings: ByteInterner,
    functions: Vec<Function>,
    function_ids: HashMap<(StrId, StrId), FunctionId>,
    frames: Vec<Frame>,
    frame_ids: HashMap<Frame, FrameId>,
    stacks: ByteInterner,
}

impl SymbolTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Interns `text`; bytes that are not UTF-8 are replaced by U+FFFD first.
    pub fn intern_bytes(&mut self, text: &[u8]) -> StrId {
        StrId(
            self.strings
                .intern(String::from_utf8_lossy(text).as_bytes()),
        )
    }

    /// Interns `text`.
    pub fn intern_str(&mut self, text: &str) -> StrId {
        StrId(self.strings.intern(text.as_bytes()))
    }

    /// The string behind an id.
    pub fn str(&self, id: StrId) -> &str {
        // Only valid UTF-8 is ever interned; a lossy fallback costs nothing to state.
        std::str::from_utf8(self.strings.get(id.0)).unwrap_or_default()
    }

    /// Interns a function. On which line it begins depends on the build: see
    /// [`super::FunctionSet`].
    pub fn intern_function(&mut self, name: StrId, file: StrId) -> FunctionId {
        *self.function_ids.entry((name, file)).or_insert_with(|| {
            self.functions.push(Function { name, file });
            FunctionId((self.functions.len() - 1) as u32)
        })
    }

    /// Interns a frame.
    pub fn intern_frame(&mut self, function: FunctionId, line: u32) -> FrameId {
        let frame = Frame { function, line };
        *self.frame_ids.entry(frame).or_insert_with(|| {
            self.frames.push(frame);
            FrameId((self.frames.len() - 1) as u32)
        })
    }

    /// Interns a stack, leaf first.
    pub fn intern_stack(&mut self, frames: &[FrameId]) -> StackId {
        let mut encoded = Vec::with_capacity(frames.len() * 2);
        for &frame in frames {
            encode_frame(frame, &mut encoded);
        }
        self.intern_encoded_stack(&encoded)
    }

    /// Interns a stack that is already a run of [`encode_frame`] outputs, leaf first.
    pub(super) fn intern_encoded_stack(&mut self, encoded: &[u8]) -> StackId {
        StackId(self.stacks.intern(encoded))
    }

    /// The same, with the hash that [`SymbolTable::stack_hasher`] makes of it.
    pub(super) fn intern_hashed_stack(&mut self, hash: u64, encoded: &[u8]) -> StackId {
        StackId(self.stacks.intern_hashed(hash, encoded))
    }

    /// Makes room for the stacks of a first file. Later files mostly bring the same again.
    pub(super) fn expect_stacks(&mut self, count: usize, bytes: usize) {
        if self.stacks.len() == 0 {
            self.stacks.reserve(count, bytes);
        }
    }

    /// Hashes encoded stacks as this table does, without needing the table.
    pub(super) fn stack_hasher(&self) -> StackHasher {
        StackHasher(self.stacks.hasher.clone())
    }

    /// The frames of a stack, leaf first.
    pub fn stack(&self, id: StackId) -> impl Iterator<Item = FrameId> + '_ {
        let mut rest = self.stacks.get(id.0);
        std::iter::from_fn(move || {
            let mut value = 0u32;
            let mut shift = 0;
            loop {
                let (&byte, tail) = rest.split_first()?;
                rest = tail;
                value |= u32::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    return Some(FrameId(value));
                }
                shift += 7;
            }
        })
    }

    /// Number of frames of a stack, without decoding it.
    pub fn stack_depth(&self, id: StackId) -> usize {
        // The last byte of each encoded frame is the one without the high bit.
        self.stacks
            .get(id.0)
            .iter()
            .filter(|byte| **byte < 0x80)
            .count()
    }

    /// The frame behind an id.
    pub fn frame(&self, id: FrameId) -> Frame {
        self.frames[id.index()]
    }

    /// The function behind an id.
    pub fn function(&self, id: FunctionId) -> Function {
        self.functions[id.index()]
    }

    /// The verbatim name of a function.
    pub fn function_name(&self, id: FunctionId) -> &str {
        self.str(self.function(id).name)
    }

    /// The verbatim source file of a function.
    pub fn function_file(&self, id: FunctionId) -> &str {
        self.str(self.function(id).file)
    }

    /// All functions.
    pub fn function_ids(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (0..self.functions.len() as u32).map(FunctionId)
    }

    /// Number of distinct frames; ids run from 0 to this.
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// Number of distinct stacks; ids run from 0 to this.
    pub fn stack_count(&self) -> usize {
        self.stacks.len()
    }
}

/// See [`SymbolTable::stack_hasher`].
#[derive(Debug, Clone)]
pub(super) struct StackHasher(DefaultHashBuilder);

impl StackHasher {
    pub(super) fn hash(&self, encoded: &[u8]) -> u64 {
        self.0.hash_one(encoded)
    }
}

/// Appends the variable-length encoding of one frame id.
pub(super) fn encode_frame(frame: FrameId, out: &mut Vec<u8>) {
    let mut value = frame.0;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_things_get_equal_ids_and_come_back() {
        let mut table = SymbolTable::new();
        let name = table.intern_str("main.leak");
        assert_eq!(name, table.intern_bytes(b"main.leak"));
        let file = table.intern_str("main.go");
        let function = table.intern_function(name, file);
        assert_eq!(function, table.intern_function(name, file));
        let frames: Vec<_> = (0..300)
            .map(|line| table.intern_frame(function, line))
            .collect();
        let stack = table.intern_stack(&frames);
        assert_eq!(stack, table.intern_stack(&frames));
        assert_eq!(table.stack(stack).collect::<Vec<_>>(), frames);
        assert_eq!(table.stack_depth(stack), 300);
        let empty = table.intern_stack(&[]);
        assert_ne!(stack, empty);
        assert_eq!(table.stack(empty).count(), 0);
        assert_eq!(table.stack_count(), 2);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        let mut table = SymbolTable::new();
        let id = table.intern_bytes(b"a\xffb");
        assert_eq!(table.str(id), "a\u{fffd}b");
    }
}
