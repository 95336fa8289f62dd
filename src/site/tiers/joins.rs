//! Which buckets of several builds count as one, and which stand at one place.

use super::Keys;
use super::entry::Entry;
use crate::site::Bucket;
use hashbrown::HashMap;
use std::cmp::Reverse;

/// An entry: the number of its build, its own number there.
pub(super) type Node = (usize, usize);

/// Entries of several builds in groups.
pub(super) struct Joins<'e> {
    builds: Vec<&'e [Entry]>,
    /// Where each build's nodes begin.
    bases: Vec<usize>,
    /// Those that count as one bucket: same place, same object size.
    buckets: Groups,
    /// Those of one place.
    places: Groups,
}

impl<'e> Joins<'e> {
    pub(super) fn new(builds: &[&'e [Entry]]) -> Self {
        let mut bases = Vec::with_capacity(builds.len());
        let mut nodes = 0;
        for entries in builds {
            bases.push(nodes);
            nodes += entries.len();
        }
        Self {
            builds: builds.to_vec(),
            bases,
            buckets: Groups::new(nodes),
            places: Groups::new(nodes),
        }
    }

    /// Makes two entries one bucket.
    pub(super) fn join(&mut self, one: Node, other: Node) {
        let (one, other) = (self.bases[one.0] + one.1, self.bases[other.0] + other.1);
        self.buckets.join(one, other);
        self.places.join(one, other);
    }

    /// Puts two entries of different object sizes at one place.
    pub(super) fn put_beside(&mut self, one: Node, other: Node) {
        let (one, other) = (self.bases[one.0] + one.1, self.bases[other.0] + other.1);
        self.places.join(one, other);
    }

    /// Joins entries of equal frames and size in builds that are not matched with each other.
    pub(super) fn join_equal_frames(&mut self) {
        let mut seen: HashMap<(u32, u64), Node> = HashMap::new();
        for (build, entries) in self.builds.clone().into_iter().enumerate() {
            for (number, entry) in entries.iter().enumerate() {
                if self.places.is_alone(self.bases[build] + number) {
                    let key = (entry.sign.lines, entry.bucket.size);
                    let known = *seen.entry(key).or_insert((build, number));
                    self.join(known, (build, number));
                }
            }
        }
    }

    /// Per build: the keys that are not the bucket itself. A group counts at its largest
    /// bucket in its latest build.
    pub(super) fn keys(mut self) -> Vec<Keys> {
        let all: Vec<(usize, Entry)> = self
            .builds
            .iter()
            .enumerate()
            .flat_map(|(build, entries)| entries.iter().map(move |entry| (build, *entry)))
            .collect();
        let rank = |node: usize| (all[node].0, all[node].1.bytes, Reverse(node));
        let bucket_of = self.buckets.best_by(rank);
        let place_of = self.places.best_by(rank);
        let mut keys = vec![Keys::new(); self.builds.len()];
        for (node, (build, entry)) in all.iter().enumerate() {
            let key = Bucket {
                stack: all[place_of[node]].1.bucket.stack,
                size: all[bucket_of[node]].1.bucket.size,
            };
            if key != entry.bucket {
                keys[*build].insert(entry.bucket, key);
            }
        }
        keys
    }
}

/// Disjoint groups of nodes, by union and find.
struct Groups {
    parents: Vec<u32>,
    sizes: Vec<u32>,
}

impl Groups {
    fn new(nodes: usize) -> Self {
        Self {
            parents: (0..nodes as u32).collect(),
            sizes: vec![1; nodes],
        }
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parents[node] as usize != node {
            let above = self.parents[node] as usize;
            self.parents[node] = self.parents[above];
            node = above;
        }
        node
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        if one == other {
            return;
        }
        let (small, large) = match self.sizes[one] < self.sizes[other] {
            true => (one, other),
            false => (other, one),
        };
        self.parents[small] = large as u32;
        self.sizes[large] += self.sizes[small];
    }

    fn is_alone(&mut self, node: usize) -> bool {
        let root = self.root(node);
        self.sizes[root] == 1
    }

    /// Per node: the node of the highest rank in its group.
    fn best_by<K: Ord>(&mut self, rank: impl Fn(usize) -> K) -> Vec<usize> {
        let nodes = self.parents.len();
        let mut best: Vec<Option<usize>> = vec![None; nodes];
        for node in 0..nodes {
            let best = &mut best[self.root(node)];
            if best.is_none_or(|known| rank(node) > rank(known)) {
                *best = Some(node);
            }
        }
        (0..nodes)
            .map(|node| best[self.root(node)].unwrap_or(node))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_joined_and_have_one_best() {
        let mut groups = Groups::new(6);
        groups.join(0, 1);
        groups.join(2, 3);
        groups.join(1, 3);
        groups.join(3, 0);
        assert_eq!(groups.best_by(|node| node), [3, 3, 3, 3, 4, 5]);
        assert_eq!(groups.best_by(Reverse), [0, 0, 0, 0, 4, 5]);
        assert!(groups.is_alone(4) && !groups.is_alone(2));
    }
}
