//! The samples of a heap profile as columns.

use super::StackId;

/// One row per (stack, object size), sorted by that key, no key twice, no row all zero.
///
/// Values are as the file holds them: *scaled* in the protobuf form, and scaled by our own
/// reader from the raw counts of the text forms, so that one unit holds everywhere.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct HeapColumns {
    /// Where the objects were allocated.
    pub stack: Vec<StackId>,
    /// Object (slot) size in bytes from the label `bytes`; 0 = the label is missing.
    pub size: Vec<u64>,
    /// Objects allocated since the process started.
    pub alloc_objects: Vec<i64>,
    /// Bytes allocated since the process started.
    pub alloc_space: Vec<i64>,
    /// Objects in use.
    pub inuse_objects: Vec<i64>,
    /// Bytes in use.
    pub inuse_space: Vec<i64>,
}

impl HeapColumns {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.stack.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// Key of a row: stack, then object size.
    pub fn key(&self, row: usize) -> (StackId, u64) {
        (self.stack[row], self.size[row])
    }

    /// Values of a row in Go's order: `alloc_objects`, `alloc_space`, `inuse_objects`, `inuse_space`.
    pub fn values(&self, row: usize) -> [i64; 4] {
        [
            self.alloc_objects[row],
            self.alloc_space[row],
            self.inuse_objects[row],
            self.inuse_space[row],
        ]
    }

    /// Appends a row as it comes; [`HeapColumns::normalise`] must follow.
    pub(crate) fn push(&mut self, stack: StackId, size: u64, values: [i64; 4]) {
        self.stack.push(stack);
        self.size.push(size);
        self.alloc_objects.push(values[0]);
        self.alloc_space.push(values[1]);
        self.inuse_objects.push(values[2]);
        self.inuse_space.push(values[3]);
    }

    /// Sorts by key and sums rows of equal key (saturating).
    pub(crate) fn normalise(&mut self) {
        let sorted = (1..self.len()).all(|row| self.key(row - 1) < self.key(row));
        if sorted {
            return;
        }
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        // Stable, for its merging of runs: a second file of a series comes nearly sorted.
        order.sort_by_key(|&row| self.key(row as usize));
        let mut merged = Self::default();
        merged.reserve(self.len());
        for row in order {
            let row = row as usize;
            let (stack, size) = self.key(row);
            let values = self.values(row);
            match merged.len().checked_sub(1) {
                Some(last) if merged.key(last) == (stack, size) => {
                    for (column, value) in merged.value_columns().into_iter().zip(values) {
                        column[last] = column[last].saturating_add(value);
                    }
                }
                _ => merged.push(stack, size, values),
            }
        }
        *self = merged;
    }

    /// The same samples with every key replaced by `key_of` it, sorted and summed again.
    pub fn rekey(&self, key_of: impl Fn(StackId, u64) -> (StackId, u64)) -> Self {
        let mut rekeyed = self.clone();
        for (stack, size) in rekeyed.stack.iter_mut().zip(&mut rekeyed.size) {
            (*stack, *size) = key_of(*stack, *size);
        }
        rekeyed.normalise();
        rekeyed
    }

    /// Makes room for `rows` more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.stack.reserve(rows);
        self.size.reserve(rows);
        for column in self.value_columns() {
            column.reserve(rows);
        }
    }

    fn value_columns(&mut self) -> [&mut Vec<i64>; 4] {
        [
            &mut self.alloc_objects,
            &mut self.alloc_space,
            &mut self.inuse_objects,
            &mut self.inuse_space,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_equal_key_are_summed_and_sorted() {
        let mut columns = HeapColumns::default();
        columns.push(StackId(2), 16, [1, 16, 1, 16]);
        columns.push(StackId(1), 32, [2, 64, 0, 0]);
        columns.push(StackId(2), 16, [3, 48, 2, 32]);
        columns.normalise();
        assert_eq!(columns.len(), 2);
        assert_eq!(columns.key(0), (StackId(1), 32));
        assert_eq!(columns.values(1), [4, 64, 3, 48]);
        let rekeyed = columns.rekey(|_, size| (StackId(0), size));
        assert_eq!(rekeyed.len(), 2, "sizes stay apart");
    }
}
