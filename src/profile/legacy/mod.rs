//! Text heap profiles: Go's `heap?debug=1`, gperftools and tcmalloc, jemalloc's dump.
//!
//! Knows the rows between the header and the memory map. Rows hold what was sampled; they are
//! scaled here, so that columns have one unit in every form. Text that does not fit is skipped
//! and counted, never fatal, unless nothing fits.

mod header;
mod maps;
mod scale;
pub(in crate::profile) mod stack;
pub(in crate::profile) mod text;

pub(super) use header::is_header;

use super::{
    HeapProfile, MemoryStats, ProfileError, ProfileFile, ProfileWarning, SampleType, SymbolTable,
};
use header::Header;
use maps::MemoryMap;
use stack::StackReader;
use text::{Cursor, Line, Lines, Skipped};

/// Allocator frames of C and C++ programs, which hide the caller; the list of google/pprof
/// (`profile/legacy_profile.go`, `allocRxStr`), so that a symbolised text is cut where pprof cuts it.
const ALLOCATOR_FRAMES: &str = concat!(
    r"calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|pvalloc|valloc|",
    r"realloc|tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc|tc_free|tc_memalign|",
    r"tc_posix_memalign|tc_pvalloc|tc_valloc|tc_realloc|tc_new|tc_delete|tc_newarray|",
    r"tc_deletearray|tc_new_nothrow|tc_newarray_nothrow|malloc_zone_malloc|",
    r"malloc_zone_calloc|malloc_zone_valloc|malloc_zone_realloc|malloc_zone_memalign|",
    r"malloc_zone_free|runtime\..*|BaseArena::.*|(::)?do_malloc_no_errno|",
    r"(::)?do_malloc_pages|(::)?do_malloc|DoSampledAllocation|",
    r"MallocedMemBlock::MallocedMemBlock|_M_allocate|__builtin_(vec_)?delete|",
    r"__builtin_(vec_)?new|__gnu_cxx::new_allocator::allocate|__libc_malloc|",
    r"__malloc_alloc_template::allocate|allocate|cpp_alloc|operator new(\[\])?|",
    r"simple_alloc::allocate",
);
/// Exceptions to [`ALLOCATOR_FRAMES`] (`allocSkipRxStr` there).
const KEPT_FRAMES: &str = r"runtime\.panic|runtime\.reflectcall|runtime\.call[0-9]*";

pub(super) fn decode(bytes: &[u8], symbols: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
    let mut lines = Lines::new(bytes);
    let first = lines.find(|line| is_header(line.bytes.trim_ascii()));
    let header = first.and_then(|line| header::parse(line.bytes.trim_ascii()));
    let Some(header) = header else {
        return Err(ProfileError::Text {
            line: first.map_or(1, |line| line.number),
            reason: "the first line of a heap profile is damaged or of an unknown kind".to_owned(),
        });
    };
    let mut decoder = Decoder {
        header,
        profile: HeapProfile {
            has_object_sizes: true,
            ..HeapProfile::default()
        },
        memory: MemoryStats::default(),
        has_memory: false,
        stacks: StackReader::new(MemoryMap::find_in(bytes)),
        pending: None,
        has_symbols: false,
        skipped: Skipped::default(),
    };
    let mut was_cut = false;
    for line in lines {
        let text = line.bytes.trim_ascii();
        if maps::is_sentinel(text) {
            break;
        }
        if is_header(text) {
            return Err(ProfileError::Text {
                line: line.number,
                reason: "a second heap profile begins here; split the file".to_owned(),
            });
        }
        was_cut = !line.is_ended && !text.is_empty() && !decoder.has_memory;
        decoder.read_line(line, text, symbols);
    }
    decoder.finish(was_cut, symbols)
}

struct Decoder<'a> {
    header: Header,
    profile: HeapProfile,
    memory: MemoryStats,
    has_memory: bool,
    stacks: StackReader<'a>,
    /// Values of the row whose comments (or, in jemalloc's form, whose thread lines) may follow:
    /// in use, then allocated.
    pending: Option<[i64; 4]>,
    has_symbols: bool,
    skipped: Skipped,
}

impl<'a> Decoder<'a> {
    fn read_line(&mut self, line: Line<'a>, text: &'a [u8], symbols: &mut SymbolTable) {
        let understood = match text.first() {
            None => Some(()),
            Some(b'#') => {
                self.read_comment(text, symbols);
                // A comment may say anything.
                Some(())
            }
            Some(b'@') if self.header.is_jemalloc => {
                self.finish_row(symbols);
                self.stacks.start(&text[1..]).map(|()| {
                    self.pending = Some([0; 4]);
                })
            }
            Some(b't') if self.header.is_jemalloc => self.read_thread_line(text),
            Some(_) => {
                self.finish_row(symbols);
                self.read_row(text)
            }
        };
        if understood.is_none() {
            self.skipped.note(line.number);
        }
    }

    /// `n: b [n: b] @ 0x… 0x…`
    fn read_row(&mut self, text: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(text);
        let values = header::parse_values(&mut cursor)?;
        cursor.eat(b"@")?;
        self.stacks.start(cursor.rest)?;
        self.pending = Some(values);
        Some(())
    }

    /// `t*: n: b [n: b]`: the sum over threads; `t7:` and the like are its parts.
    /// Before the first stack it is the sum over everything.
    fn read_thread_line(&mut self, text: &[u8]) -> Option<()> {
        let colon = text.iter().position(|byte| *byte == b':')?;
        let values = header::parse_values(&mut Cursor::new(&text[colon + 1..]))?;
        if &text[..colon] == b"t*" {
            match &mut self.pending {
                Some(pending) => *pending = values,
                None => self.header.has_alloc = values[2] != 0 || values[3] != 0,
            }
        }
        Some(())
    }

    fn read_comment(&mut self, text: &'a [u8], symbols: &mut SymbolTable) {
        if self.pending.is_some() && self.stacks.add_comment(text, symbols).is_some() {
            self.has_symbols = true;
        } else if self.memory.read_line(text).is_some() {
            self.has_memory = true;
        }
    }

    fn finish_row(&mut self, symbols: &mut SymbolTable) {
        let Some([objects, bytes, alloc_objects, alloc_bytes]) = self.pending.take() else {
            return;
        };
        self.profile.samples_in_file += 1;
        let period = if self.header.is_sampled {
            self.header.period
        } else {
            1
        };
        let mut values = [0; 4];
        if self.header.has_alloc {
            (values[0], values[1]) = scale::unsample(alloc_objects, alloc_bytes, period);
        }
        (values[2], values[3]) = scale::unsample(objects, bytes, period);
        if values == [0; 4] {
            return;
        }
        // As pprof: the mean size, of what is in use where there is something.
        let mean_size = bytes
            .checked_div(objects)
            .or_else(|| alloc_bytes.checked_div(alloc_objects))
            .unwrap_or(0);
        let size = u64::try_from(mean_size).unwrap_or(0);
        self.profile.has_object_sizes &= size != 0;
        let stack = self.stacks.finish(symbols);
        self.profile.columns.push(stack, size, values);
    }

    fn finish(
        mut self,
        was_cut: bool,
        symbols: &mut SymbolTable,
    ) -> Result<ProfileFile, ProfileError> {
        self.finish_row(symbols);
        let mut profile = self.profile;
        if let (0, Some(line)) = (profile.samples_in_file, self.skipped.first()) {
            return Err(ProfileError::Text {
                line,
                reason: "expected `objects: bytes [objects: bytes] @ addresses`".to_owned(),
            });
        }
        profile.columns.normalise();
        profile.sample_types = sample_types(self.header.has_alloc);
        profile.period = self.header.period;
        profile.has_negative_inuse = profile.columns.inuse_space.iter().any(|v| *v < 0)
            || profile.columns.inuse_objects.iter().any(|v| *v < 0);
        profile.has_object_sizes &= !profile.columns.is_empty();
        // A heap profile shows the heap as the last collection left it, so the end of that
        // collection is the moment that the samples belong to. The text has no other clock.
        profile.time_nanos = self.memory.last_gc_nanos;
        let path = String::from_utf8_lossy(self.stacks.main_file()).into_owned();
        profile.binary = path.rsplit(['/', '\\']).next().unwrap_or("").to_owned();
        if !self.has_symbols {
            profile.drop_frames = ALLOCATOR_FRAMES.to_owned();
            profile.keep_frames = KEPT_FRAMES.to_owned();
        }
        // Where there are comments, Go's runtime has already hidden its own leading frames, and
        // the protobuf form of the same process drops nothing: stacks must stay comparable.
        let lacks_trailer = self.header.is_go && self.has_symbols && !self.has_memory;
        if was_cut || lacks_trailer {
            profile.warnings.push(ProfileWarning::TextCut);
        }
        profile.warnings.extend(self.skipped.warning());
        Ok(ProfileFile::Heap {
            heap: Box::new(profile),
            memory: self.has_memory.then(|| Box::new(self.memory)),
        })
    }
}

fn sample_types(has_alloc: bool) -> Vec<SampleType> {
    const ALL: [(&str, &str); 4] = [
        ("alloc_objects", "count"),
        ("alloc_space", "bytes"),
        ("inuse_objects", "count"),
        ("inuse_space", "bytes"),
    ];
    ALL[if has_alloc { 0 } else { 2 }..]
        .iter()
        .map(|(kind, unit)| SampleType {
            kind: (*kind).to_owned(),
            unit: (*unit).to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
