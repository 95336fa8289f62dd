//! Samples of several heap profiles lined up by (stack, object size).

use crate::profile::{HeapColumns, StackId};
use rayon::prelude::*;

/// Key of a bucket, as the runtime keeps them: one stack, one object size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    /// Where its objects are allocated.
    pub stack: StackId,
    /// Size of each object in bytes; 0 = unknown.
    pub size: u64,
}

/// Scaled values of one bucket at one moment; all 0 where the profile lacks the bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BucketValues {
    /// Bytes allocated since the process started.
    pub alloc_space: i64,
    /// Objects in use.
    pub inuse_objects: i64,
    /// Bytes in use.
    pub inuse_space: i64,
}

/// The union of the buckets of K profiles, in key order, and where each stands in each profile.
#[derive(Debug)]
pub struct Aligned<'a> {
    columns: Vec<&'a HeapColumns>,
    buckets: Vec<Bucket>,
    /// Per profile: the row of each bucket, or [`ABSENT`].
    rows: Vec<Vec<u32>>,
}

const ABSENT: u32 = u32::MAX;

impl<'a> Aligned<'a> {
    /// Lines up the profiles by a merge of their sorted keys.
    pub fn new(columns: Vec<&'a HeapColumns>) -> Self {
        let mut buckets: Vec<Bucket> = Vec::new();
        for (index, profile) in columns.iter().enumerate() {
            let keys = (0..profile.len()).map(|row| {
                let (stack, size) = profile.key(row);
                Bucket { stack, size }
            });
            buckets = match index {
                0 => keys.collect(),
                _ => union(&buckets, keys),
            };
        }
        let rows = columns
            .par_iter()
            .map(|profile| find_rows(profile, &buckets))
            .collect();
        Self {
            columns,
            buckets,
            rows,
        }
    }

    /// The buckets in key order; a bucket's index is its position here.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// Number of profiles.
    pub fn points(&self) -> usize {
        self.columns.len()
    }

    /// Values of a bucket in a profile.
    pub fn values(&self, point: usize, bucket: usize) -> BucketValues {
        let row = self.rows[point][bucket];
        if row == ABSENT {
            return BucketValues::default();
        }
        let (columns, row) = (self.columns[point], row as usize);
        BucketValues {
            alloc_space: columns.alloc_space[row],
            inuse_objects: columns.inuse_objects[row],
            inuse_space: columns.inuse_space[row],
        }
    }
}

/// The row of each bucket in one profile.
fn find_rows(profile: &HeapColumns, buckets: &[Bucket]) -> Vec<u32> {
    let mut row = 0;
    let mut rows = Vec::with_capacity(buckets.len());
    for bucket in buckets {
        let is_here = row < profile.len() && profile.key(row) == (bucket.stack, bucket.size);
        rows.push(if is_here { row as u32 } else { ABSENT });
        row += usize::from(is_here);
    }
    rows
}

/// Merges two sorted lists without duplicates.
fn union(a: &[Bucket], b: impl Iterator<Item = Bucket>) -> Vec<Bucket> {
    let mut merged = Vec::with_capacity(a.len());
    let mut a = a.iter().copied().peekable();
    let mut b = b.peekable();
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x < y => a.next(),
            (Some(x), Some(y)) => {
                if x == y {
                    a.next();
                }
                b.next()
            }
            (Some(_), None) => a.next(),
            (None, _) => b.next(),
        };
        match next {
            Some(bucket) => merged.push(bucket),
            None => return merged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(rows: &[(u32, u64, i64)]) -> HeapColumns {
        let mut columns = HeapColumns::default();
        for &(stack, size, bytes) in rows {
            columns.push(StackId(stack), size, [0, bytes, 0, bytes]);
        }
        columns
    }

    #[test]
    fn profiles_line_up_by_stack_and_size() {
        let a = columns(&[(0, 16, 1), (2, 8, 2)]);
        let b = columns(&[(0, 16, 3), (0, 32, 4), (5, 8, 5)]);
        let aligned = Aligned::new(vec![&a, &b]);
        let seen: Vec<_> = (0..aligned.buckets().len())
            .map(|i| {
                let bucket = aligned.buckets()[i];
                let bytes = |point| aligned.values(point, i).inuse_space;
                (bucket.stack.0, bucket.size, bytes(0), bytes(1))
            })
            .collect();
        assert_eq!(
            seen,
            [(0, 16, 1, 3), (0, 32, 0, 4), (2, 8, 2, 0), (5, 8, 0, 5)]
        );
    }
}
