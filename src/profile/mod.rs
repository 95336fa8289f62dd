//! What a profile file is: bytes in, structs out.
//!
//! [`RawProfile::open`] inflates the bytes and finds out from their content
//! which [`Form`] they have. [`RawProfile::decode`] then turns them into columns of
//! integers whose strings and stacks live in a [`SymbolTable`] that all files of one
//! series share. What needs the table is done file by file ([`RawProfile::intern_names`],
//! [`WalkedProfile::intern_stacks`]); what does not (opening, [`NamedProfile::walk`]) can be done
//! for many files side by side.
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
mod pasted;
mod pprof;
mod proto;
mod prune;
mod sniff;
mod symbols;

pub use columns::HeapColumns;
pub use error::{ProfileError, ProfileWarning};
pub use goroutine::{GoroutineForm, GoroutineGroup, GoroutineProfile};
pub use heap::{FunctionSet, HeapProfile, PassingFrame, Pasted, SampleType};
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
    /// Memory figures alone: a bare MemStats trailer, a page of metrics, cgroup files.
    Memory(Box<MemoryStats>),
    /// A text that holds several of these; none of them is another such text.
    Several(Vec<ProfileFile>),
}

impl ProfileFile {
    /// What a text of several holds; else the file itself.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Several(files) => files,
            one => std::slice::from_ref(one),
        }
    }

    /// Checks what was decoded, and cuts stacks as the profile asks for.
    fn finish(&mut self, symbols: &mut SymbolTable) -> Result<(), ProfileError> {
        match self {
            Self::Heap { heap, .. } => {
                heap.check_totals()?;
                heap.drop_uninteresting(symbols);
                Ok(())
            }
            Self::Goroutines(goroutines) => goroutines.check_total(),
            Self::Memory(_) => Ok(()),
            Self::Several(files) => files.iter_mut().try_for_each(|file| file.finish(symbols)),
        }
    }
}

/// An inflated file whose form is known and whose tables are read, but not its samples.
#[derive(Debug)]
pub struct RawProfile(Stage<pprof::Opened>);

impl RawProfile {
    /// Inflates `bytes` (gzip of any number of members, zstd, or none) and recognises the form.
    ///
    /// # Errors
    /// Anything that is not a profile heapdrift reads: empty or truncated data, another
    /// kind of file, more than `limits` allow.
    pub fn open(bytes: Vec<u8>, limits: &Limits) -> Result<Self, ProfileError> {
        let bytes = container::inflate(bytes, limits)?;
        Ok(Self(match sniff::recognise(&bytes)? {
            Form::PprofProto => Stage::Proto(pprof::Opened::read(bytes)?),
            form => Stage::Text(bytes, form),
        }))
    }

    /// The form that the content showed.
    pub fn form(&self) -> Form {
        match &self.0 {
            Stage::Proto(_) => Form::PprofProto,
            Stage::Text(_, form) => *form,
        }
    }

    /// Decodes in one go: [`RawProfile::intern_names`], [`NamedProfile::walk`],
    /// [`WalkedProfile::intern_stacks`].
    ///
    /// # Errors
    /// Truncated or contradictory content, or a profile of a kind that says nothing about
    /// memory (CPU, mutex, block).
    pub fn decode(self, symbols: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
        self.intern_names(symbols)?.walk()?.intern_stacks(symbols)
    }

    /// Interns the names of a protobuf profile. Of a text, where names stand beside each stack,
    /// nothing is read yet.
    ///
    /// # Errors
    /// As [`RawProfile::decode`].
    pub fn intern_names(self, symbols: &mut SymbolTable) -> Result<NamedProfile, ProfileError> {
        Ok(NamedProfile(match self.0 {
            Stage::Proto(opened) => Stage::Proto(opened.intern_names(symbols)?),
            Stage::Text(bytes, form) => Stage::Text(bytes, form),
        }))
    }
}

/// A protobuf profile on its way, or a text that waits for the last step.
#[derive(Debug)]
enum Stage<P> {
    Proto(P),
    Text(Vec<u8>, Form),
}

/// A file whose names are interned.
#[derive(Debug)]
pub struct NamedProfile(Stage<pprof::Named>);

/// A file whose samples are read, but whose stacks are not interned yet.
#[derive(Debug)]
pub struct WalkedProfile(Stage<pprof::Walked>);

impl NamedProfile {
    /// Reads the samples: the long part of decoding, and the one that needs nothing shared.
    ///
    /// # Errors
    /// As [`RawProfile::decode`].
    pub fn walk(self) -> Result<WalkedProfile, ProfileError> {
        Ok(WalkedProfile(match self.0 {
            Stage::Proto(named) => Stage::Proto(named.walk()?),
            Stage::Text(bytes, form) => Stage::Text(bytes, form),
        }))
    }
}

impl WalkedProfile {
    /// Interns the stacks.
    ///
    /// # Errors
    /// As [`RawProfile::decode`].
    pub fn intern_stacks(self, symbols: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
        let mut file = match self.0 {
            Stage::Proto(walked) => walked.intern(symbols),
            Stage::Text(bytes, Form::HeapText) => legacy::decode(&bytes, symbols)?,
            Stage::Text(bytes, Form::GoroutineText) => goroutine::decode_grouped(&bytes, symbols)?,
            Stage::Text(bytes, Form::GoroutineDump) => goroutine::decode_dump(&bytes, symbols)?,
            Stage::Text(bytes, Form::Pasted) => pasted::decode(&bytes, symbols)?,
            Stage::Text(bytes, form) => memory::decode(&bytes, form)?,
        };
        file.finish(symbols)?;
        Ok(file)
    }
}
