//! What is compared of a stack: its frames with lines, with offsets, and by name alone.
//!
//! Runtime frames and wrappers that the compiler makes are left out, since they differ between
//! versions of Go; a stack of nothing else keeps them.

use super::super::names::{bare_symbol, is_wrapper, name_across_builds, package_of};
use super::super::{FrameClass, SiteIndex};
use crate::profile::{Frame, FunctionId, FunctionSet, HeapProfile, StackId};
use hashbrown::HashMap;

/// Frames at which Go's runtime cuts a stack, before and since Go 1.23.
const CUT_DEPTHS: [usize; 2] = [32, 128];
/// Of those, the runtime's own at the leaf are not shown.
const HIDDEN_FRAMES: usize = 4;

/// Equal numbers mean equal frames, in the sense of each tier.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signature {
    /// Verbatim names and lines.
    pub lines: u32,
    /// Names and distances from where their functions begin; none when that is not known of
    /// both builds.
    pub offsets: Option<u32>,
    /// Names, recursion collapsed.
    pub names: u32,
    /// Whether the runtime may have cut the root side.
    pub is_cut: bool,
}

#[derive(Debug, Clone, Copy)]
struct FunctionFacts {
    name: u32,
    is_left_out: bool,
}

/// Numbers the frames of stacks.
pub(super) struct Signer<'a> {
    sites: &'a SiteIndex<'a>,
    functions: Vec<FunctionFacts>,
    has_start_lines: bool,
    /// By name: its bare symbol.
    bare_of: Vec<u32>,
    /// By name: its package.
    package_of: Vec<u32>,
    /// By name: the first function that has it, in the order of their texts.
    function_of: Vec<Option<FunctionId>>,
    /// By function: its place in the order of names and files, which does not depend on where
    /// in a file it stands.
    ranks: Vec<u32>,
    lines: HashMap<Vec<u32>, u32>,
    offsets: HashMap<Vec<u32>, u32>,
    names: HashMap<Vec<u32>, u32>,
    name_sequences: Vec<Vec<u32>>,
}

impl<'a> Signer<'a> {
    /// For stacks of these heaps.
    pub(super) fn new(sites: &'a SiteIndex<'a>, heaps: &[&HeapProfile]) -> Self {
        let symbols = sites.symbols();
        let package_of_file = packages_of_files(sites);
        let mut in_order: Vec<FunctionId> = symbols.function_ids().collect();
        in_order.sort_by_key(|id| (symbols.function_name(*id), symbols.function_file(*id)));
        let mut ranks = vec![0; in_order.len()];
        for (rank, id) in in_order.iter().enumerate() {
            ranks[id.index()] = rank as u32;
        }
        let mut numbers = Numbers::default();
        let mut bare_of = Vec::new();
        let mut package_numbers = Numbers::default();
        let mut package_by_name = Vec::new();
        let mut function_of = Vec::new();
        let functions = symbols
            .function_ids()
            .map(|id| {
                let (raw, file) = (symbols.function_name(id), symbols.function_file(id));
                let package = package_of_file.get(file).copied().flatten();
                let name = name_across_builds(sites.name(sites.canon(id)), package);
                // Names and bare symbols share one space of numbers: each is there once.
                let bare = numbers.number(bare_symbol(&name));
                let number = numbers.number(&name);
                bare_of.resize(numbers.0.len(), 0);
                bare_of[number as usize] = bare;
                package_by_name.resize(numbers.0.len(), 0);
                package_by_name[number as usize] = package_numbers.number(package_of(&name));
                function_of.resize(numbers.0.len(), None);
                let first = function_of[number as usize].get_or_insert(id);
                if ranks[id.index()] < ranks[first.index()] {
                    *first = id;
                }
                FunctionFacts {
                    name: number,
                    is_left_out: sites.class(id) == FrameClass::Runtime || is_wrapper(raw, file),
                }
            })
            .collect();
        Self {
            sites,
            ranks,
            functions,
            has_start_lines: heaps.iter().all(|heap| heap.functions.has_start_lines()),
            bare_of,
            package_of: package_by_name,
            function_of,
            lines: HashMap::new(),
            offsets: HashMap::new(),
            names: HashMap::new(),
            name_sequences: Vec::new(),
        }
    }

    /// The numbers of a stack in the build that `functions` are of.
    pub(super) fn sign(&mut self, stack: StackId, functions: &FunctionSet) -> Signature {
        let frames = self.frames(stack);
        let symbols = self.sites.symbols();
        let start = |frame: &Frame| match self.has_start_lines {
            true => functions.start_line(frame.function).unwrap_or(0),
            false => 0,
        };
        let lines = frames
            .iter()
            .flat_map(|frame| {
                let name = symbols.function(frame.function).name.0;
                [name, frame.line, start(frame)]
            })
            .collect();
        let offsets = self.has_start_lines.then(|| {
            let offset = |frame: &Frame| frame.line.wrapping_sub(start(frame));
            frames
                .iter()
                .flat_map(|frame| [self.name(frame.function), offset(frame)])
                .collect::<Vec<u32>>()
        });
        let mut names: Vec<u32> = frames.iter().map(|f| self.name(f.function)).collect();
        names.dedup();
        let depth = symbols.stack_depth(stack);
        Signature {
            lines: number_of(&mut self.lines, lines),
            offsets: offsets.map(|offsets| number_of(&mut self.offsets, offsets)),
            names: self.number_names(names),
            is_cut: CUT_DEPTHS
                .iter()
                .any(|cut| (cut - HIDDEN_FRAMES..=*cut).contains(&depth)),
        }
    }

    /// The frames that are compared, leaf first.
    pub(super) fn frames(&self, stack: StackId) -> Vec<Frame> {
        let is_compared = |frame: &Frame| !self.functions[frame.function.index()].is_left_out;
        let compared: Vec<Frame> = self.sites.frames(stack).filter(is_compared).collect();
        match compared.is_empty() {
            true => self.sites.frames(stack).collect(),
            false => compared,
        }
    }

    /// What stacks are ordered by, so that nothing depends on where in a file they stand.
    pub(super) fn order_key(&self, stack: StackId) -> Vec<u32> {
        let frames = self.sites.frames(stack);
        frames
            .flat_map(|frame| [self.ranks[frame.function.index()], frame.line])
            .collect()
    }

    /// What is compared of a site's lines.
    pub(super) fn site_lines(&self, frame: Frame, functions: &FunctionSet) -> Option<[u32; 3]> {
        let name = self.sites.symbols().function(frame.function).name.0;
        let start = functions.start_line(frame.function);
        let start = start.filter(|_| self.has_start_lines);
        Some([name, frame.line, start.unwrap_or(0)])
    }

    /// What is compared of a site's offset; none where it is not known.
    pub(super) fn site_offset(&self, frame: Frame, functions: &FunctionSet) -> Option<[u32; 3]> {
        let start = functions.start_line(frame.function)?;
        let is_known = self.has_start_lines;
        is_known.then(|| [self.name(frame.function), frame.line.wrapping_sub(start), 1])
    }

    /// The number of a function's name.
    pub(super) fn name(&self, function: FunctionId) -> u32 {
        self.functions[function.index()].name
    }

    /// The number of a name without its package.
    pub(super) fn bare(&self, name: u32) -> u32 {
        self.bare_of[name as usize]
    }

    /// The number of a name's package.
    pub(super) fn package(&self, name: u32) -> u32 {
        self.package_of[name as usize]
    }

    /// A function of that name.
    pub(super) fn function(&self, name: u32) -> Option<FunctionId> {
        self.function_of[name as usize]
    }

    /// The number of a sequence of names, if a stack has it.
    pub(super) fn number_of_names(&self, names: &[u32]) -> Option<u32> {
        self.names.get(names).copied()
    }

    /// The numbers of the names that a file names.
    pub(super) fn names_in(&self, functions: &FunctionSet) -> impl Iterator<Item = u32> {
        let ids = self.sites.symbols().function_ids();
        ids.filter(|id| functions.contains(*id))
            .map(|id| self.functions[id.index()].name)
    }

    /// The names behind [`Signature::names`].
    pub(super) fn names(&self, names: u32) -> &[u32] {
        &self.name_sequences[names as usize]
    }

    /// Whether both sides know where their functions begin.
    pub(super) fn has_start_lines(&self) -> bool {
        self.has_start_lines
    }

    fn number_names(&mut self, names: Vec<u32>) -> u32 {
        if let Some(number) = self.names.get(&names) {
            return *number;
        }
        let number = self.name_sequences.len() as u32;
        self.name_sequences.push(names.clone());
        self.names.insert(names, number);
        number
    }
}

fn number_of(numbers: &mut HashMap<Vec<u32>, u32>, sequence: Vec<u32>) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry(sequence).or_insert(next)
}

/// Texts in order of appearance.
#[derive(Default)]
struct Numbers(HashMap<String, u32>);

impl Numbers {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.0.get(text) {
            return *number;
        }
        let number = self.0.len() as u32;
        self.0.insert(text.to_owned(), number);
        number
    }
}

/// The package of each source file, from the functions that are no closures; none for a file of
/// which two are claimed.
fn packages_of_files<'s>(sites: &'s SiteIndex) -> HashMap<&'s str, Option<&'s str>> {
    let symbols = sites.symbols();
    let mut packages: HashMap<&str, Option<&str>> = HashMap::new();
    for id in symbols.function_ids() {
        let (name, file) = (sites.name(sites.canon(id)), symbols.function_file(id));
        let package = package_of(name);
        if file.is_empty() || package.is_empty() || name.ends_with(".func") {
            continue;
        }
        let known = packages.entry(file).or_insert(Some(package));
        if *known != Some(package) {
            *known = None;
        }
    }
    packages
}
