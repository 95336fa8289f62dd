//! One object that is reallocated ever larger: a slice, a buffer or a string that is appended
//! to without end.
//!
//! Such growth comes in a few large steps, each a fact, and no test of means or scatter suits
//! it. But an array is only made larger because it was full: what it holds grew in between.
//! So, as with goroutines, it is persistence that decides.

use super::History;

/// Fewest times that it was made larger within the window.
const MIN_ENLARGED: usize = 3;
/// Share of a set's growth that must be the object's own.
const OWN_SHARE: f64 = 0.8;
/// More objects than that at one moment are a population, not an object and its copies.
const MAX_ALIVE: i64 = 3;

/// An object that was made larger again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Container {
    /// Its size in the first snapshot, bytes.
    pub first: u64,
    /// Its size in the last.
    pub last: u64,
    /// How often a snapshot shows it larger than the one before.
    pub enlarged: usize,
}

impl Container {
    /// Looks for one among a set of buckets: in every snapshot between one and three objects
    /// large enough to be always sampled, the largest of them never smaller than before, and
    /// larger by the end of each third of the window.
    pub fn find(history: &History, buckets: &[u32]) -> Option<Self> {
        let sampler = history.sampler()?;
        let large: Vec<u32> = buckets
            .iter()
            .copied()
            .filter(|&bucket| sampler.is_exact(history.buckets()[bucket as usize].size))
            .collect();
        let points = history.distinct();
        let mut sizes = Vec::with_capacity(points.len());
        for &point in points {
            let alive = large
                .iter()
                .filter(|&&bucket| history.inuse_objects(point, bucket) > 0);
            let count: i64 = alive
                .clone()
                .map(|&bucket| history.inuse_objects(point, bucket))
                .sum();
            let largest = alive.map(|&bucket| history.buckets()[bucket as usize].size);
            sizes.push(largest.max().filter(|_| count <= MAX_ALIVE)?);
        }
        let container = Self::of_sizes(&sizes)?;
        let series = history.series(buckets);
        let growth = series.last()? - series.first()?;
        let own = (container.last - container.first) as f64;
        (own >= OWN_SHARE * growth).then_some(container)
    }

    fn of_sizes(sizes: &[u64]) -> Option<Self> {
        let enlarged = sizes.windows(2).filter(|pair| pair[0] < pair[1]).count();
        let never_smaller = sizes.windows(2).all(|pair| pair[0] <= pair[1]);
        let intervals = sizes.len().checked_sub(1)?;
        let at = |third: usize| sizes[intervals * third / 3];
        let in_every_third = (0..3).all(|third| at(third) < at(third + 1));
        (never_smaller && in_every_third && enlarged >= MIN_ENLARGED).then_some(Self {
            first: sizes[0],
            last: sizes[intervals],
            enlarged,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_made_larger_in_every_third() {
        let found =
            |sizes: &[u64]| Container::of_sizes(sizes).map(|c| (c.first, c.last, c.enlarged));
        assert_eq!(
            found(&[10, 10, 13, 13, 16, 16, 16, 20, 20, 20]),
            Some((10, 20, 3))
        );
        // It has reached its size.
        assert_eq!(found(&[10, 13, 16, 20, 20, 20, 20, 20, 20, 20]), None);
        // It is made anew.
        assert_eq!(found(&[10, 13, 16, 5, 20, 20, 25, 25, 30, 30]), None);
        // Too few to tell.
        assert_eq!(found(&[10, 20]), None);
        assert_eq!(found(&[]), None);
    }
}
