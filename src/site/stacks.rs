//! What is known of every function and stack of a series, worked out once.

use super::declared::has_receiver;
use super::names::package_of;
use super::{Classifier, FrameClass, canonical_name};
use crate::profile::{Frame, FunctionId, StackId, SymbolTable};
use hashbrown::HashMap;

/// A canonical function name of a series; functions of equal canonical name share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonId(pub u32);

impl CanonId {
    /// The id as an index into a dense column.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone, Copy)]
struct FunctionFacts {
    canon: CanonId,
    class: FrameClass,
    is_transparent: bool,
}

/// Canonical names and classes of all functions of a series.
#[derive(Debug)]
pub struct SiteIndex<'a> {
    symbols: &'a SymbolTable,
    functions: Vec<FunctionFacts>,
    names: Vec<String>,
}

impl<'a> SiteIndex<'a> {
    /// Works out the facts of every function in `symbols`.
    pub fn new(symbols: &'a SymbolTable, classifier: &Classifier) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut ids: HashMap<String, CanonId> = HashMap::new();
        let functions = symbols
            .function_ids()
            .map(|id| {
                let raw = symbols.function_name(id);
                let name = canonical_name(raw);
                let class = classifier.classify(&name, raw, symbols.function_file(id));
                let is_transparent = Classifier::is_transparent(&name);
                let canon = *ids.entry(name).or_insert_with_key(|name| {
                    names.push(name.clone());
                    CanonId((names.len() - 1) as u32)
                });
                FunctionFacts {
                    canon,
                    class,
                    is_transparent,
                }
            })
            .collect();
        Self {
            symbols,
            functions,
            names,
        }
    }

    /// The names and stacks themselves.
    pub fn symbols(&self) -> &'a SymbolTable {
        self.symbols
    }

    /// The canonical name of a function.
    pub fn canon(&self, function: FunctionId) -> CanonId {
        self.functions[function.index()].canon
    }

    /// The text of a canonical name.
    pub fn name(&self, canon: CanonId) -> &str {
        &self.names[canon.index()]
    }

    /// All canonical names by id.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whose code a function is.
    pub fn class(&self, function: FunctionId) -> FrameClass {
        self.functions[function.index()].class
    }

    /// Whether a function allocates for its caller and never takes the blame alone.
    pub fn is_transparent(&self, function: FunctionId) -> bool {
        self.functions[function.index()].is_transparent
    }

    /// Whether a function can keep what it makes in a receiver of its own.
    pub fn has_receiver(&self, canon: CanonId) -> bool {
        has_receiver(self.name(canon))
    }

    /// The import path of a function's package, canonical; empty if there is none.
    pub fn package(&self, canon: CanonId) -> &str {
        package_of(self.name(canon))
    }

    /// Frames of a stack, leaf first.
    pub fn frames(&self, stack: StackId) -> impl Iterator<Item = Frame> + '_ {
        self.symbols.stack(stack).map(|id| self.symbols.frame(id))
    }

    /// The allocation site of a stack: its leaf-most frame outside the runtime, or its leaf
    /// when all of it is runtime. None for an empty stack.
    pub fn site(&self, stack: StackId) -> Option<Frame> {
        self.frames(stack)
            .find(|frame| self.class(frame.function) != FrameClass::Runtime)
            .or_else(|| self.frames(stack).next())
    }

    /// The frame that ordered the allocation: the leaf-most that is neither runtime nor
    /// transparent; the site when there is none.
    pub fn orderer(&self, stack: StackId) -> Option<Frame> {
        self.frames(stack)
            .find(|frame| {
                self.class(frame.function) != FrameClass::Runtime
                    && !self.is_transparent(frame.function)
            })
            .or_else(|| self.site(stack))
    }

    /// Where a goroutine stands: its leaf-most frame outside the runtime and the standard
    /// library, which is where it waits for something; [`SiteIndex::orderer`] without one.
    pub fn standing(&self, stack: StackId) -> Option<Frame> {
        self.frames(stack)
            .find(|frame| self.class(frame.function) > FrameClass::Standard)
            .or_else(|| self.orderer(stack))
    }
}
