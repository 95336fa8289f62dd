//! Stacks of an earlier build, written with the lines of the last.

use super::entry::{AFTER, BEFORE};
use super::line_up::LineUp;
use crate::profile::Frame;
use crate::site::Bucket;
use hashbrown::HashMap;
use std::cmp::Reverse;

impl LineUp<'_> {
    /// Buckets of the first build whose stack found no partner, with their frames as the second
    /// build has them.
    pub(super) fn translations(&self) -> Vec<(Bucket, Vec<Frame>)> {
        let learned = self.learn_frames();
        let functions = [BEFORE, AFTER].map(|side| &self.heaps[side].functions);
        let translate = |frame: Frame| {
            if let Some(new) = learned.get(&frame) {
                return *new;
            }
            let [old, new] = functions.map(|functions| functions.start_line(frame.function));
            match (old, new) {
                (Some(old), Some(new)) if frame.line >= old => Frame {
                    line: (frame.line - old).saturating_add(new),
                    ..frame
                },
                _ => frame,
            }
        };
        let rest = self
            .apart
            .iter()
            .map(|number| &self.entries[BEFORE][*number]);
        rest.filter_map(|entry| {
            let old: Vec<Frame> = self.sites.frames(entry.bucket.stack).collect();
            let new: Vec<Frame> = old.iter().copied().map(translate).collect();
            (new != old).then_some((entry.bucket, new))
        })
        .collect()
    }

    /// What became of each frame on the stacks that found a partner; of several, what holds
    /// the most bytes.
    fn learn_frames(&self) -> HashMap<Frame, Frame> {
        let mut joined = self.joined.clone();
        joined.sort_unstable();
        joined.dedup();
        let mut seen: HashMap<(Frame, Frame), (i64, Reverse<usize>)> = HashMap::new();
        for (before, after) in joined {
            let pair = [&self.entries[BEFORE][before], &self.entries[AFTER][after]];
            let [old, new] = pair.map(|entry| self.signer.frames(entry.bucket.stack));
            if old.len() == new.len() {
                for pair in old.into_iter().zip(new) {
                    let next = seen.len();
                    let (bytes, _) = seen.entry(pair).or_insert((0, Reverse(next)));
                    *bytes = bytes.saturating_add(self.entries[BEFORE][before].bytes + 1);
                }
            }
        }
        // Of equal bytes the first seen counts.
        let mut learned: HashMap<Frame, (Frame, (i64, Reverse<usize>))> = HashMap::new();
        for ((old, new), rank) in seen {
            let known = learned.entry(old).or_insert((new, rank));
            if rank > known.1 {
                *known = (new, rank);
            }
        }
        learned
            .into_iter()
            .map(|(old, (new, _))| (old, new))
            .collect()
    }
}
