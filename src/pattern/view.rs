//! The evidence that patterns look at, and the frames they find in it.

use super::{CulpritRule, Expression};
use crate::growth::{Crowd, Crowds, Shape};
use crate::profile::{Frame, FrameId, StackId};
use crate::site::{CanonId, FrameClass, SiteIndex};
use hashbrown::HashMap;
use std::cell::RefCell;

/// One bucket of a finding and what it weighs.
#[derive(Debug, Clone, Copy)]
pub struct WeighedStack {
    /// Number of the bucket.
    pub bucket: u32,
    /// Where it allocates.
    pub stack: StackId,
    /// Bytes of each object; 0 = unknown.
    pub size: u64,
    /// Bytes: growth over the window, or in use in a single snapshot.
    pub weight: f64,
}

/// A function above stacks that are not known.
#[derive(Debug, Clone, Copy)]
pub struct WeighedFrame {
    /// The function.
    pub frame: Frame,
    /// Bytes allocated in it and below it, at least.
    pub weight: f64,
}

/// The heap side of a finding.
#[derive(Debug, Clone, Default)]
pub struct HeapView {
    /// Its buckets.
    pub stacks: Vec<WeighedStack>,
    /// Functions of a pasted report that stand above bytes of stacks which it does not show.
    pub passing: Vec<WeighedFrame>,
    /// Bytes that shares are of: the finding's growth, or the whole heap of a single snapshot.
    pub total: f64,
    /// Bytes allocated per byte of growth.
    pub churn: Option<f64>,
    /// Share of what was allocated that stayed.
    pub retention: Option<f64>,
    /// What kind of growth it is, where it is growth.
    pub shape: Option<Shape>,
}

/// All evidence of one run, with a memory of which names match which expressions.
#[derive(Debug)]
pub struct EvidenceView<'a> {
    /// Names and stacks.
    pub sites: &'a SiteIndex<'a>,
    /// The goroutines of the run.
    pub crowds: &'a Crowds,
    /// Whether there is only one snapshot: growth cannot be asked for.
    pub is_single: bool,
    matches: RefCell<HashMap<(*const Expression, CanonId), bool>>,
}

/// A blamed frame and where it was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlamedFrame {
    /// The frame.
    pub frame: Frame,
    /// Whether it was found on a goroutine's stack, not in the heap profile.
    pub in_goroutine: bool,
}

impl<'a> EvidenceView<'a> {
    /// A view of a run.
    pub fn new(sites: &'a SiteIndex<'a>, crowds: &'a Crowds, is_single: bool) -> Self {
        Self {
            sites,
            crowds,
            is_single,
            matches: RefCell::default(),
        }
    }

    /// Whether a frame's canonical name matches.
    pub(super) fn is_match(&self, expression: &Expression, frame: Frame) -> bool {
        let canon = self.sites.canon(frame.function);
        let key = (std::ptr::from_ref(expression), canon);
        if let Some(&known) = self.matches.borrow().get(&key) {
            return known;
        }
        let found = expression.is_match(self.sites.name(canon));
        self.matches.borrow_mut().insert(key, found);
        found
    }

    /// The frames of a crowd, leaf first, its creator last.
    pub(super) fn crowd_frames(&self, crowd: &Crowd) -> Vec<Frame> {
        let creator = crowd
            .created_by
            .map(|id: FrameId| self.sites.symbols().frame(id));
        self.sites.frames(crowd.stack).chain(creator).collect()
    }

    /// Position of the leaf-most frame that matches.
    pub(super) fn position(&self, frames: &[Frame], expression: &Expression) -> Option<usize> {
        frames
            .iter()
            .position(|&frame| self.is_match(expression, frame))
    }

    /// The application frame nearest to the frame at `of` on its leaf side: the program's own
    /// function that the library called.
    pub(super) fn application_inside(&self, frames: &[Frame], of: usize) -> Option<Frame> {
        let is_application =
            |frame: &&Frame| self.sites.class(frame.function) == FrameClass::Application;
        frames[..of].iter().rev().find(is_application).copied()
    }

    /// Applies a pattern's rules in order; None when none of them finds a frame. `crowds` are
    /// those that meet its conditions.
    pub fn blame(
        &self,
        rules: &[CulpritRule],
        heap: &HeapView,
        crowds: &[usize],
    ) -> Option<BlamedFrame> {
        rules.iter().find_map(|rule| match rule {
            CulpritRule::Frame { frame } => self
                .heaviest_heap_frame(heap, 0.0, |frames| {
                    self.position(frames, frame).map(|at| frames[at])
                })
                .or_else(|| {
                    Some(BlamedFrame {
                        frame: self.heaviest_passing(heap, frame)?.frame,
                        in_goroutine: false,
                    })
                }),
            CulpritRule::HeapCaller { of, only_grown } => {
                let least = if *only_grown { f64::MIN_POSITIVE } else { 0.0 };
                self.heaviest_heap_frame(heap, least, |frames| {
                    let at = self.position(frames, of)?;
                    let is_application = |frame: &&Frame| {
                        self.sites.class(frame.function) == FrameClass::Application
                    };
                    frames[at..].iter().find(is_application).copied()
                })
            }
            CulpritRule::GoroutineInside { of } => self.heaviest_crowd_frame(|crowd| {
                let frames = self.crowd_frames(crowd);
                let at = self.position(&frames, of)?;
                self.application_inside(&frames, at)
            }),
            CulpritRule::GoroutineCreator { of } => self.heaviest_crowd_frame(|crowd| {
                let frames = self.crowd_frames(crowd);
                self.position(&frames, of)?;
                let creator = self.sites.symbols().frame(crowd.created_by?);
                (self.sites.class(creator.function) == FrameClass::Application).then_some(creator)
            }),
            CulpritRule::GoroutineStanding => self.crowd_owner(crowds).map(|frame| BlamedFrame {
                frame,
                in_goroutine: true,
            }),
        })
    }

    /// Of the functions above unknown stacks that match, the one with most bytes below it.
    pub(super) fn heaviest_passing(
        &self,
        heap: &HeapView,
        expression: &Expression,
    ) -> Option<WeighedFrame> {
        let matching = heap.passing.iter().copied();
        let matching = matching.filter(|passing| self.is_match(expression, passing.frame));
        matching.max_by(|a, b| a.weight.total_cmp(&b.weight).then(b.frame.cmp(&a.frame)))
    }

    /// The application frame on most of these crowds' stacks (creators included), nearest to
    /// where they stand.
    pub fn crowd_owner(&self, crowds: &[usize]) -> Option<Frame> {
        let picked = crowds.iter().filter_map(|&index| {
            let crowd = &self.crowds.crowds[index];
            let is_application =
                |frame: &Frame| self.sites.class(frame.function) == FrameClass::Application;
            let owner = self.crowd_frames(crowd).into_iter().find(is_application)?;
            // Of one snapshot there is no growth, only a number.
            let weight = match self.is_single {
                true => crowd.counts.last().copied().unwrap_or(0) as f64,
                false => crowd.growth().max(0) as f64,
            };
            Some((owner, weight))
        });
        self.heaviest(picked)
    }

    /// The frame that is picked of stacks which weigh most, at least `least` each.
    fn heaviest_heap_frame(
        &self,
        heap: &HeapView,
        least: f64,
        pick: impl Fn(&[Frame]) -> Option<Frame>,
    ) -> Option<BlamedFrame> {
        let picked = heap.stacks.iter().filter_map(|stack| {
            let weight = stack.weight.max(0.0);
            let frames: Vec<Frame> = self.sites.frames(stack.stack).collect();
            (weight >= least).then_some((pick(&frames)?, weight))
        });
        self.heaviest(picked).map(|frame| BlamedFrame {
            frame,
            in_goroutine: false,
        })
    }

    fn heaviest_crowd_frame(&self, pick: impl Fn(&Crowd) -> Option<Frame>) -> Option<BlamedFrame> {
        let picked = self.crowds.crowds.iter().filter_map(|crowd| {
            let seen: u64 = crowd.counts.iter().sum();
            Some((pick(crowd)?, seen as f64))
        });
        self.heaviest(picked).map(|frame| BlamedFrame {
            frame,
            in_goroutine: true,
        })
    }

    /// The function that weighs most, at its line that weighs most.
    fn heaviest(&self, picked: impl Iterator<Item = (Frame, f64)>) -> Option<Frame> {
        let mut lines: HashMap<Frame, f64> = HashMap::new();
        let mut functions: HashMap<CanonId, f64> = HashMap::new();
        for (frame, weight) in picked {
            *lines.entry(frame).or_default() += weight;
            *functions
                .entry(self.sites.canon(frame.function))
                .or_default() += weight;
        }
        let weigh = |frame: &Frame| (functions[&self.sites.canon(frame.function)], lines[frame]);
        let mut frames: Vec<Frame> = lines.keys().copied().collect();
        frames.sort_unstable();
        frames.into_iter().max_by(|a, b| {
            let (a_weight, b_weight) = (weigh(a), weigh(b));
            a_weight
                .0
                .total_cmp(&b_weight.0)
                .then(a_weight.1.total_cmp(&b_weight.1))
        })
    }
}
