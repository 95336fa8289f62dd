//! Buckets of two builds joined, tier by tier.

use super::entry::{AFTER, BEFORE, Entry};
use super::joins::Joins;
use super::moved::{Moved, Renames, find_moves};
use super::signature::Signer;
use super::{Tier, names_of};
use crate::profile::HeapProfile;
use crate::site::SiteIndex;
use hashbrown::{HashMap, HashSet};

/// Two builds under comparison.
pub(super) struct LineUp<'a> {
    pub(super) sites: &'a SiteIndex<'a>,
    pub(super) signer: &'a Signer<'a>,
    pub(super) heaps: [&'a HeapProfile; 2],
    pub(super) entries: [&'a [Entry]; 2],
    /// Numbers of the two builds in [`Joins`].
    builds: [usize; 2],
    /// Per side and entry.
    pub(super) tiers: [Vec<Option<Tier>>; 2],
    /// What stands elsewhere now.
    pub(super) moved: Vec<Moved>,
    /// Joined entries whose frames differ.
    pub(super) joined: Vec<(usize, usize)>,
    /// Numbers of the first side's entries that no stack of the second side is like.
    pub(super) apart: Vec<usize>,
}

impl<'a> LineUp<'a> {
    pub(super) fn new(
        sites: &'a SiteIndex<'a>,
        signer: &'a Signer<'a>,
        heaps: [&'a HeapProfile; 2],
        entries: [&'a [Entry]; 2],
        builds: [usize; 2],
    ) -> Self {
        Self {
            sites,
            signer,
            heaps,
            builds,
            tiers: entries.map(|entries| vec![None; entries.len()]),
            entries,
            moved: Vec::new(),
            joined: Vec::new(),
            apart: Vec::new(),
        }
    }

    /// Goes through the tiers.
    pub(super) fn run(mut self, joins: &mut Joins, is_same_code: bool) -> Self {
        let lines = |_: usize, entry: &Entry| Some(entry.sign.lines);
        let offsets = |_: usize, entry: &Entry| entry.sign.offsets;
        let names = |_: usize, entry: &Entry| Some(entry.sign.names);
        self.pair(joins, Tier::SameLines, lines);
        if is_same_code {
            self.put_beside(joins, Tier::SameLines, lines);
            let signer = self.signer;
            self.match_sites(Tier::SameLines, |frame, at| signer.site_lines(frame, at));
            self.match_packages();
            return self;
        }
        self.pair(joins, Tier::SameOffsets, offsets);
        if !self.signer.has_start_lines() {
            self.pair_in_order_of_lines(joins);
        }
        self.pair(joins, Tier::SameNames, names);
        self.pair_with_matched(joins);
        self.pair_cut_stacks(joins);
        self.pair_near_sizes(joins, Tier::SameLines, lines);
        self.pair_near_sizes(joins, Tier::SameOffsets, offsets);
        self.pair_near_sizes(joins, Tier::SameNames, names);
        self.put_beside(joins, Tier::SameLines, lines);
        self.put_beside(joins, Tier::SameOffsets, offsets);
        self.put_beside(joins, Tier::SameNames, names);
        let known =
            [BEFORE, AFTER].map(|side| names_of(self.signer, self.heaps[side], self.entries[side]));
        let renames = Renames::new(self.signer, &known);
        self.pair_renamed(joins, &renames);
        self.find_moves(joins, &known);
        self.apart = self.free(BEFORE);
        let signer = self.signer;
        self.match_sites(Tier::SameLines, |frame, at| signer.site_lines(frame, at));
        self.match_sites(Tier::SameOffsets, |frame, at| signer.site_offset(frame, at));
        self.match_sites(Tier::SameNames, |frame, _| {
            Some([signer.name(frame.function), 0, 0])
        });
        self.match_moved_sites(&renames);
        self.match_packages();
        self
    }

    fn join(&mut self, joins: &mut Joins, tier: Tier, before: usize, after: usize) {
        joins.join((self.builds[BEFORE], before), (self.builds[AFTER], after));
        self.tiers[BEFORE][before].get_or_insert(tier);
        self.tiers[AFTER][after].get_or_insert(tier);
        if tier > Tier::SameLines {
            self.joined.push((before, after));
        }
    }

    fn is_free(&self, side: usize, entry: usize) -> bool {
        self.tiers[side][entry].is_none()
    }

    /// Numbers of the entries without partner.
    pub(super) fn free(&self, side: usize) -> Vec<usize> {
        let all = 0..self.entries[side].len();
        all.filter(|entry| self.is_free(side, *entry)).collect()
    }

    /// Joins all free entries of equal key and object size.
    fn pair(&mut self, joins: &mut Joins, tier: Tier, key: impl Fn(usize, &Entry) -> Option<u32>) {
        let full_key = |side: usize, entry: &Entry| Some((key(side, entry)?, entry.bucket.size));
        let mut firsts: HashMap<(u32, u64), (usize, Option<usize>)> = HashMap::new();
        for before in self.free(BEFORE) {
            if let Some(key) = full_key(BEFORE, &self.entries[BEFORE][before]) {
                firsts.entry(key).or_insert((before, None));
            }
        }
        for after in self.free(AFTER) {
            let key = full_key(AFTER, &self.entries[AFTER][after]);
            if let Some((before, partner)) = key.and_then(|key| firsts.get_mut(&key)) {
                partner.get_or_insert(after);
                let before = *before;
                self.join(joins, tier, before, after);
            }
        }
        for before in self.free(BEFORE) {
            let key = full_key(BEFORE, &self.entries[BEFORE][before]);
            if let Some((_, Some(after))) = key.and_then(|key| firsts.get(&key)) {
                self.join(joins, tier, before, *after);
            }
        }
    }

    /// Where it is not known on which line functions begin: of as many stacks of equal names,
    /// the first is the first, and so on.
    fn pair_in_order_of_lines(&mut self, joins: &mut Joins) {
        let mut groups: HashMap<(u32, u64), [Vec<usize>; 2]> = HashMap::new();
        for side in [BEFORE, AFTER] {
            for number in self.free(side) {
                let entry = &self.entries[side][number];
                let group = groups.entry((entry.sign.names, entry.bucket.size));
                group.or_default()[side].push(number);
            }
        }
        for [before, after] in groups.into_values() {
            if before.len() != after.len() {
                continue;
            }
            let by_line = |side: usize, mut group: Vec<usize>| {
                group.sort_by_cached_key(|number| {
                    let stack = self.entries[side][*number].bucket.stack;
                    let frames = self.signer.frames(stack);
                    let lines: Vec<u32> = frames.iter().map(|frame| frame.line).collect();
                    (lines, *number)
                });
                group
            };
            let (before, after) = (by_line(BEFORE, before), by_line(AFTER, after));
            for (before, after) in before.into_iter().zip(after) {
                self.join(joins, Tier::SameOffsets, before, after);
            }
        }
    }

    /// A line more in a function that has a partner already is the same place, by name.
    fn pair_with_matched(&mut self, joins: &mut Joins) {
        for side in [BEFORE, AFTER] {
            let key = |entry: &Entry| (entry.sign.names, entry.bucket.size);
            let partners = self.largest(1 - side, |entry| Some(key(entry)));
            for number in self.free(side) {
                if let Some(&partner) = partners.get(&key(&self.entries[side][number])) {
                    let (before, after) = in_order(side, number, partner);
                    self.join(joins, Tier::SameNames, before, after);
                }
            }
        }
    }

    /// Per key: the entry with the most bytes.
    fn largest<K: std::hash::Hash + Eq>(
        &self,
        side: usize,
        key: impl Fn(&Entry) -> Option<K>,
    ) -> HashMap<K, usize> {
        let mut largest: HashMap<K, usize> = HashMap::new();
        let entries = self.entries[side];
        for (number, entry) in entries.iter().enumerate() {
            if let Some(key) = key(entry) {
                let best = largest.entry(key).or_insert(number);
                if entry.bytes > entries[*best].bytes {
                    *best = number;
                }
            }
        }
        largest
    }

    /// A stack that the runtime cut is matched with those that begin with it, from the leaf.
    fn pair_cut_stacks(&mut self, joins: &mut Joins) {
        for side in [BEFORE, AFTER] {
            let mut cut: HashMap<(u64, u64), usize> = HashMap::new();
            for number in self.free(side) {
                let entry = &self.entries[side][number];
                if entry.sign.is_cut {
                    let hash = prefix_hashes(self.signer.names(entry.sign.names)).last();
                    cut.insert((hash.unwrap_or(0), entry.bucket.size), number);
                }
            }
            if cut.is_empty() {
                continue;
            }
            for whole in self.free(1 - side) {
                let entry = &self.entries[1 - side][whole];
                let names = self.signer.names(entry.sign.names);
                let found = prefix_hashes(names)
                    .filter_map(|hash| cut.get(&(hash, entry.bucket.size)).copied())
                    .filter(|number| {
                        let cut = self.entries[side][*number].sign.names;
                        names.starts_with(self.signer.names(cut))
                    })
                    // The longest.
                    .last();
                if let Some(number) = found {
                    let (before, after) = in_order(side, number, whole);
                    self.join(joins, Tier::SameNames, before, after);
                }
            }
        }
    }

    /// Objects that became a little larger or smaller: a field more in a struct. The older
    /// bytes then count at the newer size.
    fn pair_near_sizes(
        &mut self,
        joins: &mut Joins,
        tier: Tier,
        key: impl Fn(usize, &Entry) -> Option<u32>,
    ) {
        let mut of_after: HashMap<u32, Vec<usize>> = HashMap::new();
        for after in self.free(AFTER) {
            if let Some(key) = key(AFTER, &self.entries[AFTER][after]) {
                of_after.entry(key).or_default().push(after);
            }
        }
        for before in self.free(BEFORE) {
            let entry = &self.entries[BEFORE][before];
            let Some(partners) = key(BEFORE, entry).and_then(|key| of_after.get_mut(&key)) else {
                continue;
            };
            let size = |after: usize| self.entries[AFTER][after].bucket.size;
            let nearest = (0..partners.len())
                .filter(|at| is_near_size(size(partners[*at]), entry.bucket.size))
                .min_by_key(|at| size(partners[*at]).abs_diff(entry.bucket.size));
            if let Some(at) = nearest {
                let after = partners.remove(at);
                self.join(joins, tier, before, after);
            }
        }
    }

    /// Objects of any other size at a place that is there on the other side too.
    fn put_beside(
        &mut self,
        joins: &mut Joins,
        tier: Tier,
        key: impl Fn(usize, &Entry) -> Option<u32>,
    ) {
        for side in [BEFORE, AFTER] {
            let partners = self.largest(1 - side, |entry| key(1 - side, entry));
            for number in self.free(side) {
                let key = key(side, &self.entries[side][number]);
                if let Some(&partner) = key.and_then(|key| partners.get(&key)) {
                    joins.put_beside(
                        (self.builds[side], number),
                        (self.builds[1 - side], partner),
                    );
                    self.tiers[side][number] = Some(tier);
                }
            }
        }
    }

    /// Functions that are gone, and under the same name in another package: stacks that are
    /// equal once these are renamed.
    fn pair_renamed(&mut self, joins: &mut Joins, renames: &Renames) {
        if renames.is_empty() {
            return;
        }
        let mut renamed: HashMap<u32, u32> = HashMap::new();
        for number in self.free(BEFORE) {
            let names = self.entries[BEFORE][number].sign.names;
            if let Some(new) = renames.apply(self.signer, names) {
                renamed.insert(names, new);
            }
        }
        let key = |side: usize, entry: &Entry| match side {
            BEFORE => renamed.get(&entry.sign.names).copied(),
            _ => Some(entry.sign.names),
        };
        let before = self.tiers.clone();
        self.pair(joins, Tier::Moved, key);
        self.pair_near_sizes(joins, Tier::Moved, key);
        self.put_beside(joins, Tier::Moved, key);
        for side in [BEFORE, AFTER] {
            for (entry, tier) in self.tiers[side].iter().enumerate() {
                if *tier == before[side][entry] {
                    continue;
                }
                let names = self.signer.names(self.entries[side][entry].sign.names);
                if let Some((from, to)) = renames.first_on(side, names, self.signer) {
                    self.moved.push(Moved {
                        side,
                        entry,
                        from,
                        to,
                    });
                }
            }
        }
    }

    fn find_moves(&mut self, joins: &mut Joins, known: &[HashSet<u32>; 2]) {
        let found = find_moves(self.sites, self.signer, self.entries, &self.tiers, known);
        for (before, after) in found.pairs {
            self.join(joins, Tier::Moved, before, after);
        }
        for (side, number, partner) in found.beside {
            joins.put_beside((self.builds[side], number), (self.builds[AFTER], partner));
            self.tiers[side][number] = Some(Tier::Moved);
        }
        self.moved.extend(found.moved);
    }
}

/// `(before, after)` of an entry of `side` and its partner of the other.
fn in_order(side: usize, number: usize, partner: usize) -> (usize, usize) {
    match side {
        BEFORE => (number, partner),
        _ => (partner, number),
    }
}

/// Whether two object sizes are as far apart as a field more or less makes them: Go's size
/// classes are at most a fourth apart, or 16 bytes.
pub(super) fn is_near_size(one: u64, other: u64) -> bool {
    let smaller = one.min(other);
    one.abs_diff(other) <= (smaller / 4).max(16) && (smaller > 0 || one == other)
}

/// A hash of each beginning of a list of names, shortest first.
fn prefix_hashes(names: &[u32]) -> impl Iterator<Item = u64> + '_ {
    names.iter().scan(0x9e37_79b9_7f4a_7c15_u64, |hash, name| {
        *hash = (hash.rotate_left(5) ^ u64::from(*name)).wrapping_mul(0x517c_c1b7_2722_0a95);
        Some(*hash)
    })
}
