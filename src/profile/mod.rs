//! What a profile file is: bytes in, structs out.
//!
//! [`RawProfile::open`] inflates the bytes and finds out from their content
//! which [`Form`] they have (this needs no shared state, so the files of a series are
//! opened in parallel). [`RawProfile::decode`] then turns them into columns of
//! integers whose strings and stacks live in a [`SymbolTable`] that all files of one
//! series share.
//!
//! This module knows file formats. It must not know where bytes come from, what a
//! series is, or what growth means; it does no I/O and reads no clock.

mod columns;
mod container;
mod error;
mod goroutine;
mod heap;
mod legacy;
mod memory;
mod pprof;
mod proto;
mod prune;
mod sniff;
mod symbols;

pub use columns::HeapColumns;
pub use error::{ProfileError, ProfileWarning};
pub use goroutine::{GoroutineForm, GoroutineGroup, GoroutineProfile};
pub use heap::{HeapProfile, SampleType};
pub use memory::MemoryStats;
pub use sniff::Form;
pub use symbols::{Frame, FrameId, Function, FunctionId, StackId, StrId, SymbolTable};

/// Bounds on what one file may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest file, in bytes, both compressed and expanded.
    pub max_bytes: usize,
}

impl Default for Limits {
    /// 512 MiB.
    fn default() -> Self {
        Self {
            max_bytes: 512 << 20,
        }
    }
}

/// A decoded file.
#[derive(Debug)]
pub enum ProfileFile {
    /// A heap profile; Go's text form brings the runtime's memory figures along.
    Heap {
        /// The samples.
        heap: Box<HeapProfile>,
        /// The `# runtime.MemStats` trailer of a `heap?debug=1` text.
        memory: Option<Box<MemoryStats>>,
    },
    /// A goroutine profile in any of its three forms.
    Goroutines(GoroutineProfile),
    /// A bare MemStats trailer.
    Memory(Box<MemoryStats>),
}

/// An inflated file whose form is known but whose samples are not yet decoded.
#[derive(Debug)]
pub struct RawProfile {
    bytes: Vec<u8>,
    form: Form,
}

impl RawProfile {
    /// Inflates `bytes` (gzip of any number of members, zstd, or none) and recognises the form.
    ///
    /// # Errors
    /// Anything that is not a profile heapdrift reads: empty or truncated data, another
    /// kind of file, more than `limits` allow.
    pub fn open(bytes: Vec<u8>, limits: &Limits) -> Result<Self, ProfileError> {
        let bytes = container::inflate(bytes, limits)?;
        let form = sniff::recognise(&bytes)?;
        Ok(Self { bytes, form })
    }

    /// The form that the content showed.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Size after inflating, in bytes.
    pub fn expanded_len(&self) -> usize {
        self.bytes.len()
    }

    /// Decodes the samples, interning names and stacks into `symbols`.
    ///
    /// # Errors
    /// Truncated or contradictory content, or a profile of a kind that says nothing about
    /// memory (CPU, mutex, block).
    pub fn decode(self, symbols: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
        let mut file = match self.form {
            Form::PprofProto => pprof::decode(self.bytes, symbols),
            Form::HeapText => legacy::decode(&self.bytes, symbols),
            Form::GoroutineText => goroutine::decode_grouped(&self.bytes, symbols),
            Form::GoroutineDump => goroutine::decode_dump(&self.bytes, symbols),
            Form::MemStatsText => memory::decode(&self.bytes),
        }?;
        match &mut file {
            ProfileFile::Heap { heap, .. } => {
                heap.check_totals()?;
                heap.drop_uninteresting(symbols);
            }
            ProfileFile::Goroutines(goroutines) => goroutines.check_total()?,
            ProfileFile::Memory(_) => {}
        }
        Ok(file)
    }
}
