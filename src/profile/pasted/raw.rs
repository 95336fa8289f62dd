//! `raw`: everything that a profile holds, as text: values, stacks, sizes, times.
//!
//! Knows the form of google/pprof's `Profile.String` (`profile/profile.go`). It loses nothing
//! that a judgement needs, so that such a text is as good as the profile itself.

use super::figure::split_word;
use super::header::parse_time;
use super::name::{parse_place, split_place};
use crate::profile::legacy::text::{Cursor, decimal};
use crate::profile::{
    FrameId, HeapProfile, ProfileError, ProfileFile, ProfileWarning, SampleType, SymbolTable,
    goroutine,
};
use hashbrown::HashMap;

/// Most frames of all samples for each byte of the text: a few lines could name one long location
/// over and over.
const MAX_FRAMES_PER_BYTE: usize = 4;
/// Most sample types that are kept apart; real profiles have at most a handful.
const MAX_SAMPLE_TYPES: usize = 64;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Envelope,
    Types,
    Samples,
    Locations,
    Mappings,
}

/// Reads a text from `PeriodType:` to the last mapping.
#[derive(Debug, Default)]
pub(super) struct RawReader {
    part: Part,
    profile: HeapProfile,
    is_space: bool,
    /// Values of all samples, [`RawReader::width`] each.
    values: Vec<i64>,
    /// Location ids of all samples, one after the other, and where each sample's end.
    ids: Vec<u64>,
    ends: Vec<usize>,
    sizes: Vec<u64>,
    locations: HashMap<u64, Vec<FrameId>>,
    current: Option<u64>,
    has_mapping: bool,
    bytes: usize,
}

impl RawReader {
    /// A line of the front matter, which opens a text of this form.
    pub fn begins(text: &[u8]) -> bool {
        text.starts_with(b"PeriodType: ")
    }

    /// Whether the text got as far as its samples.
    pub fn has_samples(&self) -> bool {
        !self.ends.is_empty()
    }

    fn width(&self) -> usize {
        self.profile.sample_types.len()
    }

    /// Takes a line; `None`: it does not belong to the text, which has ended.
    pub fn read_line(&mut self, text: &[u8], symbols: &mut SymbolTable) -> Option<()> {
        self.bytes += text.len();
        match (self.part, text) {
            (_, b"Locations") => self.part = Part::Locations,
            (_, b"Mappings") => self.part = Part::Mappings,
            (Part::Envelope, b"Samples:") => self.part = Part::Types,
            (Part::Envelope, _) => self.read_envelope(text)?,
            (Part::Types, _) => self.read_types(text)?,
            (Part::Samples, _) => self.read_sample(text)?,
            (Part::Locations, _) => self.read_location(text, symbols)?,
            (Part::Mappings, _) => self.read_mapping(text)?,
        }
        Some(())
    }

    fn read_envelope(&mut self, text: &[u8]) -> Option<()> {
        if let Some(kind) = text.strip_prefix(b"PeriodType: ") {
            self.is_space = kind.trim_ascii().ends_with(b"bytes");
        } else if let Some(period) = text.strip_prefix(b"Period: ") {
            self.profile.period = Cursor::new(period).signed()?.max(0);
        } else if let Some(time) = text.strip_prefix(b"Time: ") {
            let seconds = parse_time(time);
            self.profile.time_nanos = seconds.and_then(|s| s.checked_mul(1_000_000_000));
        } else if text.starts_with(b"Duration: ") {
            // How long does not matter: a heap profile has none.
            self.profile.duration_nanos = 1;
        } else {
            (text.starts_with(b"Comment: ") || text.starts_with(b"Doc: ")).then_some(())?;
        }
        Some(())
    }

    fn read_types(&mut self, text: &[u8]) -> Option<()> {
        for word in text
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
        {
            let word = word.strip_suffix(b"[dflt]").unwrap_or(word);
            let slash = memchr::memrchr(b'/', word)?;
            if self.width() == MAX_SAMPLE_TYPES {
                return None;
            }
            let part = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            self.profile.sample_types.push(SampleType {
                kind: part(&word[..slash]),
                unit: part(&word[slash + 1..]),
            });
        }
        self.part = Part::Samples;
        (self.width() > 0).then_some(())
    }

    /// `V V V V: ID ID …`, or the labels of the sample before.
    fn read_sample(&mut self, text: &[u8]) -> Option<()> {
        if !text.first()?.is_ascii_digit() && text[0] != b'-' {
            return self.read_labels(text);
        }
        let mut cursor = Cursor::new(text);
        let start = self.values.len();
        for _ in 0..self.width() {
            let Some(value) = cursor.signed() else {
                self.values.truncate(start);
                return None;
            };
            self.values.push(value);
        }
        if cursor.eat(b":").is_none() {
            self.values.truncate(start);
            return None;
        }
        while let Some(id) = cursor.unsigned() {
            self.ids.push(id);
        }
        self.ends.push(self.ids.len());
        self.sizes.push(0);
        Some(())
    }

    /// `bytes:[64]`, `bytes:[64 bytes]`, `pprof::base:[true]`.
    fn read_labels(&mut self, text: &[u8]) -> Option<()> {
        if !text.ends_with(b"]") {
            return None;
        }
        let mut words = text.split(|byte| *byte == b' ');
        self.profile.is_saved_diff |= words.any(|word| word.starts_with(b"pprof::base:["));
        let size = text
            .split(|byte| *byte == b' ')
            .find_map(|word| word.strip_prefix(b"bytes:["));
        if let (Some(size), Some(last)) = (size, self.sizes.last_mut()) {
            *last = decimal(size).map_or(0, |(size, _)| size);
        }
        Some(())
    }

    /// `ID: ADDRESS M=1 [F] NAME FILE:LINE:COLUMN s=START(SYSTEM NAME)`; inlined lines follow
    /// without number and address, the outermost last.
    fn read_location(&mut self, text: &[u8], symbols: &mut SymbolTable) -> Option<()> {
        let mut rest = text;
        if let Some((id, after)) = decimal(text)
            && let Some(after) = after.strip_prefix(b": ")
        {
            let (address, after) = split_word(after)?;
            rest = after.trim_ascii();
            if let Some((mapping, after)) = split_word(rest)
                && mapping.starts_with(b"M=")
            {
                rest = after.trim_ascii();
            }
            rest = rest.strip_prefix(b"[F]").unwrap_or(rest).trim_ascii();
            self.current = Some(id);
            self.locations.insert(id, Vec::new());
            if rest.is_empty() {
                let name = symbols.intern_bytes(address);
                self.push_frame(name, b"", 0, 0, symbols);
                return Some(());
            }
        }
        self.current?;
        let start = memchr::memmem::rfind(rest, b" s=")?;
        let start_line = decimal(&rest[start + 3..]).map_or(0, |(line, _)| line);
        let place = &rest[..start];
        // A blank in a path would end the name too early; a name's own blanks are in brackets.
        let (name, file, line) = match split_place(place) {
            (_, b"", 0) => {
                let blank = memchr::memrchr(b' ', place)?;
                let (file, line) = parse_place(&place[blank + 1..])?;
                (&place[..blank], file, line)
            }
            found => found,
        };
        let name = symbols.intern_bytes(name);
        let start_line = u32::try_from(start_line).unwrap_or(0);
        self.push_frame(name, file, line, start_line, symbols);
        Some(())
    }

    fn push_frame(
        &mut self,
        name: crate::profile::StrId,
        file: &[u8],
        line: u32,
        start_line: u32,
        symbols: &mut SymbolTable,
    ) {
        let file = symbols.intern_bytes(file);
        let function = symbols.intern_function(name, file);
        self.profile.functions.insert(function, start_line);
        let frame = symbols.intern_frame(function, line);
        let current = self.current.and_then(|id| self.locations.get_mut(&id));
        if let Some(frames) = current {
            frames.push(frame);
        }
    }

    /// `1: START/LIMIT/OFFSET FILE BUILDID [FN]`: the first one is the binary.
    fn read_mapping(&mut self, text: &[u8]) -> Option<()> {
        let (_, rest) = decimal(text)?;
        let rest = rest.strip_prefix(b": ")?;
        if !std::mem::replace(&mut self.has_mapping, true) {
            let (_, rest) = split_word(rest)?;
            let mut words = rest
                .split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty() && !word.starts_with(b"["));
            let mut next = || {
                words
                    .next()
                    .map(|w| String::from_utf8_lossy(w).into_owned())
            };
            let path = next().unwrap_or_default();
            self.profile.binary = path.rsplit(['/', '\\']).next().unwrap_or("").to_owned();
            self.profile.build_id = next().unwrap_or_default();
        }
        Some(())
    }

    /// The profile.
    pub fn finish(self, symbols: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
        let Self {
            mut profile,
            values,
            ids,
            ends,
            sizes,
            locations,
            bytes,
            ..
        } = self;
        let types = &profile.sample_types;
        let width = types.len().max(1);
        let at = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| types.iter().position(|t| t.kind == *name))
        };
        let goroutines = at(&["goroutine", "goroutineleak"]);
        let wanted = [
            at(&["alloc_objects"]),
            at(&["alloc_space"]),
            at(&["inuse_objects", "objects"]),
            at(&["inuse_space", "space"]),
        ];
        if goroutines.is_none() && wanted.iter().all(Option::is_none) {
            let is_cpu = at(&["cpu"]).is_some();
            let kinds: Vec<&str> = types.iter().map(|t| t.kind.as_str()).collect();
            let kind = if is_cpu {
                "CPU".to_owned()
            } else {
                kinds.join(", ")
            };
            return Err(ProfileError::OtherKind { kind });
        }
        let is_leak = at(&["goroutineleak"]).is_some();
        let mut dangling = 0;
        let mut counts = Vec::new();
        let mut lacks_size = false;
        let mut start = 0;
        let mut frames: Vec<FrameId> = Vec::new();
        let mut room = bytes.saturating_mul(MAX_FRAMES_PER_BYTE);
        for (row, &end) in ends.iter().enumerate() {
            frames.clear();
            let mut is_whole = true;
            for id in &ids[start..end] {
                match locations.get(id) {
                    Some(of_location) if of_location.len() <= room => {
                        room -= of_location.len();
                        frames.extend(of_location);
                    }
                    Some(_) => {
                        return Err(ProfileError::Impossible { what: "stacks" });
                    }
                    None => is_whole = false,
                }
            }
            start = end;
            let row_values = &values[row * width..(row + 1) * width];
            let value = |index: Option<usize>| index.map_or(0, |index| row_values[index]);
            if let Some(index) = goroutines {
                counts.push((symbols.intern_stack(&frames), row_values[index]));
                continue;
            }
            let row_values = wanted.map(value);
            if row_values == [0; 4] {
                continue;
            }
            dangling += u64::from(!is_whole);
            lacks_size |= sizes[row] == 0;
            let stack = symbols.intern_stack(&frames);
            profile.columns.push(stack, sizes[row], row_values);
        }
        if goroutines.is_some() {
            let time = profile.time_nanos;
            return Ok(ProfileFile::Goroutines(goroutine::from_samples(
                counts.into_iter(),
                time,
                is_leak,
            )));
        }
        profile.columns.normalise();
        profile.samples_in_file = ends.len() as u64;
        if !self.is_space {
            profile.period = 0;
        }
        let columns = &profile.columns;
        profile.has_negative_inuse = columns.inuse_space.iter().any(|v| *v < 0)
            || columns.inuse_objects.iter().any(|v| *v < 0);
        profile.has_object_sizes = !columns.is_empty() && !lacks_size;
        if dangling > 0 {
            profile
                .warnings
                .push(ProfileWarning::DanglingLocations { count: dangling });
        }
        Ok(ProfileFile::Heap {
            heap: Box::new(profile),
            memory: None,
        })
    }
}
