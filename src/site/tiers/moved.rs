//! Code that stands elsewhere in the second build: another package, another name, a function
//! split or joined.
//!
//! A pair of buckets is a move when their objects are of the same size (or nearly), most of
//! their functions are the same, and what differs is a matter of code, not of load: functions
//! of the first stack that are not on the second must be gone from the second build, or those
//! of the second be new, unless one stack merely has functions more than the other.

use super::super::SiteIndex;
use super::Tier;
use super::entry::{AFTER, BEFORE, Entry};
use super::line_up::is_near_size;
use super::signature::Signer;
use crate::profile::FunctionId;
use hashbrown::{HashMap, HashSet};
use std::cmp::Reverse;

/// Share of the functions of the longer stack that both must have.
const MIN_COMMON: f64 = 0.6;
/// The same where the function that ordered the allocation is the same.
const MIN_COMMON_OF_ORDERER: f64 = 0.5;
/// Buckets of the first build that are looked at, largest first: it bounds the time.
const MAX_LOOKED_AT: usize = 2_000;
/// Functions of a stack, rarest first, whose buckets are looked through.
const MAX_RARE: usize = 6;
/// Buckets of one function that are looked through, largest first.
const MAX_PARTNERS: usize = 256;

/// An entry that stands elsewhere now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    pub side: usize,
    pub entry: usize,
    pub from: FunctionId,
    pub to: FunctionId,
}

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    /// Entries of both sides that are to be joined.
    pub pairs: Vec<(usize, usize)>,
    /// Side and entry whose stack moved with another bucket, and the second build's entry to
    /// stand beside.
    pub beside: Vec<(usize, usize, usize)>,
    pub moved: Vec<Moved>,
}

/// Functions that are gone, each with the new function that has its name in another package.
pub(super) struct Renames {
    new_of: HashMap<u32, u32>,
    old_of: HashMap<u32, u32>,
}

/// Functions of one bare symbol in packages that are gone, and in new ones, that are compared.
const MAX_NAMESAKES: usize = 64;

impl Renames {
    /// A gone function of which there are several new namesakes is in the package that took in
    /// most functions of the old one.
    pub(super) fn new(signer: &Signer, known: &[HashSet<u32>; 2]) -> Self {
        let only = |side: usize| {
            let mut by_bare: HashMap<u32, Vec<u32>> = HashMap::new();
            for name in known[side].iter().filter(|n| !known[1 - side].contains(*n)) {
                by_bare.entry(signer.bare(*name)).or_default().push(*name);
            }
            by_bare.retain(|_, names| names.len() <= MAX_NAMESAKES);
            by_bare
        };
        let (gone, new) = (only(BEFORE), only(AFTER));
        let mut taken_in: HashMap<(u32, u32), usize> = HashMap::new();
        for (bare, old) in &gone {
            for (old, new) in pairs(old, new.get(bare)) {
                let packages = (signer.package(old), signer.package(new));
                *taken_in.entry(packages).or_default() += 1;
            }
        }
        let mut new_of = HashMap::new();
        let mut old_of: HashMap<u32, u32> = HashMap::new();
        let mut disputed: HashSet<u32> = HashSet::new();
        for (bare, old) in &gone {
            for old in old {
                let functions = |new: u32| taken_in[&(signer.package(*old), signer.package(new))];
                let all = || {
                    pairs(&[*old], new.get(bare))
                        .map(|(_, new)| new)
                        .collect::<Vec<_>>()
                };
                let most = all().into_iter().map(functions).max();
                let best: Vec<u32> = all()
                    .into_iter()
                    .filter(|new| Some(functions(*new)) == most)
                    .collect();
                if let [new] = best.as_slice() {
                    new_of.insert(*old, *new);
                    if old_of.insert(*new, *old).is_some() {
                        disputed.insert(*new);
                    }
                }
            }
        }
        // Two that became one are not told apart.
        new_of.retain(|_, new| !disputed.contains(new));
        old_of.retain(|new, _| !disputed.contains(new));
        Self { new_of, old_of }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new_of.is_empty()
    }

    /// The number of a sequence of names after renaming; none where nothing is renamed, or no
    /// stack is like it.
    pub(super) fn apply(&self, signer: &Signer, names: u32) -> Option<u32> {
        let names = signer.names(names);
        let new = |name: &u32| self.new_of.get(name).copied();
        names.iter().find_map(new)?;
        let renamed: Vec<u32> = names
            .iter()
            .map(|name| new(name).unwrap_or(*name))
            .collect();
        signer.number_of_names(&renamed)
    }

    /// The leaf-most renamed function among the names on a stack of a side: old and new.
    pub(super) fn first_on(
        &self,
        side: usize,
        names: &[u32],
        signer: &Signer,
    ) -> Option<(FunctionId, FunctionId)> {
        let pair = |name: &u32| match side {
            BEFORE => Some((*name, *self.new_of.get(name)?)),
            _ => Some((*self.old_of.get(name)?, *name)),
        };
        let (old, new) = names.iter().find_map(pair)?;
        Some((signer.function(old)?, signer.function(new)?))
    }
}

/// Finds the moves among the entries without partner.
pub(super) fn find_moves(
    sites: &SiteIndex,
    signer: &Signer,
    entries: [&[Entry]; 2],
    tiers: &[Vec<Option<Tier>>; 2],
    known: &[HashSet<u32>; 2],
) -> Found {
    let search = Search {
        sites,
        signer,
        entries,
        tiers,
        known,
    };
    let index = Index::new(&search);
    let mut found = Found::default();
    let mut taken: HashSet<usize> = HashSet::new();
    let mut new_place: HashMap<u32, (usize, FunctionId, FunctionId)> = HashMap::new();
    let mut is_target: HashMap<u32, (usize, FunctionId, FunctionId)> = HashMap::new();
    for before in search
        .free_largest_first(BEFORE)
        .into_iter()
        .take(MAX_LOOKED_AT)
    {
        let Some(after) = search.best_partner(before, &index, &taken) else {
            continue;
        };
        taken.insert(after);
        let (old, new) = (&entries[BEFORE][before], &entries[AFTER][after]);
        let (from, to) = search.what_differs(old, new);
        found.pairs.push((before, after));
        for (side, entry) in [(BEFORE, before), (AFTER, after)] {
            found.moved.push(Moved {
                side,
                entry,
                from,
                to,
            });
        }
        new_place.entry(old.sign.names).or_insert((after, from, to));
        is_target.entry(new.sign.names).or_insert((after, from, to));
    }
    let paired: HashSet<usize> = found.pairs.iter().map(|pair| pair.0).collect();
    for (side, places) in [(BEFORE, &new_place), (AFTER, &is_target)] {
        for (entry, tier) in tiers[side].iter().enumerate() {
            let is_done = tier.is_some() || side == BEFORE && paired.contains(&entry);
            if is_done || side == AFTER && taken.contains(&entry) {
                continue;
            }
            if let Some(&(after, from, to)) = places.get(&entries[side][entry].sign.names) {
                found.beside.push((side, entry, after));
                found.moved.push(Moved {
                    side,
                    entry,
                    from,
                    to,
                });
            }
        }
    }
    found
}

struct Search<'a> {
    sites: &'a SiteIndex<'a>,
    signer: &'a Signer<'a>,
    entries: [&'a [Entry]; 2],
    tiers: &'a [Vec<Option<Tier>>; 2],
    known: &'a [HashSet<u32>; 2],
}

/// Entries of the second build without partner by the names on their stacks, and by the bare
/// symbols of names that are new; largest first.
struct Index {
    by_name: HashMap<u32, Vec<usize>>,
    by_bare: HashMap<u32, Vec<usize>>,
}

impl Index {
    fn new(search: &Search) -> Self {
        let mut index = Self {
            by_name: HashMap::new(),
            by_bare: HashMap::new(),
        };
        for after in search.free_largest_first(AFTER) {
            let mut put = |map: usize, key: u32| {
                let maps = [&mut index.by_name, &mut index.by_bare];
                let [by_name, by_bare] = maps;
                let list = if map == 0 { by_name } else { by_bare };
                let list = list.entry(key).or_default();
                if list.len() < MAX_PARTNERS && list.last() != Some(&after) {
                    list.push(after);
                }
            };
            for name in search.names(AFTER, after) {
                put(0, name);
                if search.is_new(name) {
                    put(1, search.signer.bare(name));
                }
            }
        }
        index
    }
}

impl Search<'_> {
    /// Entries without partner that hold anything.
    fn free_largest_first(&self, side: usize) -> Vec<usize> {
        let is_free = |number: &usize| {
            self.tiers[side][*number].is_none() && self.entries[side][*number].bytes > 0
        };
        let mut free: Vec<usize> = (0..self.entries[side].len()).filter(is_free).collect();
        free.sort_by_key(|number| (Reverse(self.entries[side][*number].bytes), *number));
        free
    }

    fn names(&self, side: usize, number: usize) -> Vec<u32> {
        let entry = &self.entries[side][number];
        let mut names = self.signer.names(entry.sign.names).to_vec();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn is_gone(&self, name: u32) -> bool {
        !self.known[AFTER].contains(&name)
    }

    fn is_new(&self, name: u32) -> bool {
        !self.known[BEFORE].contains(&name)
    }

    fn best_partner(&self, before: usize, index: &Index, taken: &HashSet<usize>) -> Option<usize> {
        let names = self.names(BEFORE, before);
        let leaf_first = self.signer.names(self.entries[BEFORE][before].sign.names);
        let mut lists: Vec<&Vec<usize>> = leaf_first
            .iter()
            .flat_map(|name| {
                let bare = Some(self.signer.bare(*name)).filter(|_| self.is_gone(*name));
                let by_bare = bare.and_then(|bare| index.by_bare.get(&bare));
                index.by_name.get(name).into_iter().chain(by_bare)
            })
            .collect();
        lists.sort_by_key(|list| list.len());
        let mut partners: Vec<usize> = lists
            .into_iter()
            .take(MAX_RARE)
            .flatten()
            .copied()
            .filter(|after| !taken.contains(after))
            .collect();
        partners.sort_unstable();
        partners.dedup();
        let old = &self.entries[BEFORE][before];
        let rank = |after: usize| {
            let new = &self.entries[AFTER][after];
            if !is_near_size(old.bucket.size, new.bucket.size) {
                return None;
            }
            let common = self.common_share(&names, &self.names(AFTER, after))?;
            let is_enough = common >= MIN_COMMON
                || common >= MIN_COMMON_OF_ORDERER && self.have_one_orderer(old, new);
            // In whole thousandths, so that ranks can be compared.
            let rank = (
                (common * 1000.0).round() as u32,
                Reverse(old.bucket.size.abs_diff(new.bucket.size)),
                Reverse(old.bytes.abs_diff(new.bytes)),
                Reverse(after),
            );
            is_enough.then_some((rank, after))
        };
        let best = partners.into_iter().filter_map(rank).max();
        best.map(|(_, after)| after)
    }

    /// Share of the longer stack's functions that are on both, a function that changed its
    /// package included; none when what differs may be load instead of code.
    fn common_share(&self, old: &[u32], new: &[u32]) -> Option<f64> {
        let only_old: Vec<u32> = differing(old, new);
        let only_new: Vec<u32> = differing(new, old);
        let mut renamed: HashMap<u32, usize> = HashMap::new();
        for name in only_new.iter().filter(|name| self.is_new(**name)) {
            *renamed.entry(self.signer.bare(*name)).or_default() += 1;
        }
        let mut common = old.len() - only_old.len();
        let (mut rest_old, mut rest_new) = (only_old.len(), only_new.len());
        for name in only_old.iter().filter(|name| self.is_gone(**name)) {
            if let Some(left) = renamed.get_mut(&self.signer.bare(*name))
                && *left > 0
            {
                *left -= 1;
                common += 1;
                rest_old -= 1;
                rest_new -= 1;
            }
        }
        let is_all_code = only_old.iter().all(|name| self.is_gone(*name))
            && only_new.iter().all(|name| self.is_new(*name));
        let is_move = rest_old == 0 || rest_new == 0 || is_all_code;
        let longer = old.len().max(new.len());
        (is_move && longer > 0).then(|| common as f64 / longer as f64)
    }

    fn have_one_orderer(&self, old: &Entry, new: &Entry) -> bool {
        let orderer = |entry: &Entry| {
            let frame = self.sites.orderer(entry.bucket.stack)?;
            Some(self.signer.name(frame.function))
        };
        let (Some(old), Some(new)) = (orderer(old), orderer(new)) else {
            return false;
        };
        let is_renamed =
            self.is_gone(old) && self.is_new(new) && self.signer.bare(old) == self.signer.bare(new);
        old == new || is_renamed
    }

    /// The leaf-most functions that are on one of the stacks only; the site where there is none.
    fn what_differs(&self, old: &Entry, new: &Entry) -> (FunctionId, FunctionId) {
        let first_outside = |entry: &Entry, other: &Entry| {
            let others = self.signer.names(other.sign.names);
            let frames = self.signer.frames(entry.bucket.stack);
            let outside = frames
                .iter()
                .find(|frame| !others.contains(&self.signer.name(frame.function)));
            // Entries with names have frames.
            outside
                .or(frames.first())
                .map_or(FunctionId(0), |frame| frame.function)
        };
        (first_outside(old, new), first_outside(new, old))
    }
}

fn pairs<'a>(old: &'a [u32], new: Option<&'a Vec<u32>>) -> impl Iterator<Item = (u32, u32)> + 'a {
    let new = new.map_or(&[][..], Vec::as_slice);
    old.iter()
        .flat_map(move |old| new.iter().map(move |new| (*old, *new)))
}

/// What of a sorted list is not in another.
fn differing(names: &[u32], others: &[u32]) -> Vec<u32> {
    let is_missing = |name: &u32| others.binary_search(name).is_err();
    names.iter().copied().filter(is_missing).collect()
}
