//! The buckets of one build, each with what is compared of it.

use super::signature::{Signature, Signer};
use crate::profile::{HeapProfile, StackId};
use crate::site::Bucket;
use hashbrown::HashMap;

/// Index of the first side.
pub(super) const BEFORE: usize = 0;
/// Index of the second side.
pub(super) const AFTER: usize = 1;

/// One bucket of a build.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub bucket: Bucket,
    /// In use in the heap that is compared.
    pub bytes: i64,
    pub sign: Signature,
}

impl Entry {
    /// The buckets of a build's heaps in the order of their names and lines, with the bytes that
    /// `weigh` holds in them.
    pub(super) fn all_of(
        heaps: &[&HeapProfile],
        weigh: &HeapProfile,
        signer: &mut Signer,
    ) -> Vec<Self> {
        let key_of = |(stack, size): (StackId, u64)| Bucket { stack, size };
        let mut buckets: Vec<Bucket> = heaps
            .iter()
            .flat_map(|heap| (0..heap.columns.len()).map(|row| key_of(heap.columns.key(row))))
            .collect();
        buckets.sort_unstable();
        buckets.dedup();
        let (columns, mut row) = (&weigh.columns, 0);
        let mut known: Option<(StackId, Signature)> = None;
        let mut entries = Vec::with_capacity(buckets.len());
        for bucket in buckets {
            while row < columns.len() && key_of(columns.key(row)) < bucket {
                row += 1;
            }
            let is_here = row < columns.len() && key_of(columns.key(row)) == bucket;
            // Buckets of one stack stand beside each other.
            let sign = match known {
                Some((stack, sign)) if stack == bucket.stack => sign,
                _ => signer.sign(bucket.stack, &weigh.functions),
            };
            known = Some((bucket.stack, sign));
            entries.push(Self {
                bucket,
                bytes: if is_here {
                    columns.inuse_space[row].max(0)
                } else {
                    0
                },
                sign,
            });
        }
        let mut order: HashMap<StackId, Vec<u32>> = HashMap::new();
        for entry in &entries {
            let stack = entry.bucket.stack;
            order
                .entry(stack)
                .or_insert_with(|| signer.order_key(stack));
        }
        entries.sort_by(|a, b| {
            let key = |entry: &Self| (&order[&entry.bucket.stack], entry.bucket.size);
            key(a).cmp(&key(b))
        });
        entries
    }
}
