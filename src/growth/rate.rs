//! How fast a set of buckets grew over a window, with limits that know load noise, and how two
//! such rates of different processes differ.
//!
//! Knows histories and numbers; nothing of names, nor of what is made of a difference.

use super::interval::mover;
use super::scatter::Scatter;
use super::shape::{MIN_POINTS, thirds};
use super::{Evidence, History};

/// A rate of growth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Growth over the window, bytes.
    pub bytes: f64,
    /// Length of the window, hours; above 0.
    pub hours: f64,
    /// 95 % limits of `bytes`.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

impl Rate {
    /// From the first to the last point of a cycle of its own. None without clocks, without
    /// counts, or with fewer than two such points.
    ///
    /// The limits are those of the sampled counts ([`Evidence::interval95`]); where the changes of
    /// the intervals scatter more than counts predict, they are widened by that scatter.
    pub fn of(history: &History, buckets: &[u32]) -> Option<Self> {
        let distinct = history.distinct();
        let (&first, &last) = (distinct.first()?, distinct.last()?);
        let seconds = history.seconds()?;
        let hours = (seconds[last] - seconds[first]) / 3600.0;
        if hours.is_nan() || hours <= 0.0 {
            return None;
        }
        let evidence = history.evidence(buckets, first, last)?;
        let (low, high) = evidence.interval95();
        let bytes = evidence.delta_bytes();
        let scatter = scatter_of(history, buckets, distinct, seconds);
        let (mut down, mut up) = (bytes - low, high - bytes);
        if let Some(scatter) = scatter {
            let reach = scatter.reach95(hours * 3600.0);
            // Where every object may have been renewed, counts bound the turnover loosely, and
            // what the changes show is the better witness.
            if evidence.is_loose() {
                (down, up) = (down.min(reach), up.min(reach));
            }
            // Quasi-likelihood, √φ̂ (Wedderburn 1974); limits of few, large objects grow out of all
            // proportion by it, and no more than the scatter itself is ever needed.
            let factor = scatter.load_noise().sqrt();
            let widen = |limit: f64| (limit * factor).min(limit.max(reach));
            (down, up) = (widen(down), widen(up));
        }
        Some(Self {
            bytes,
            hours,
            low: bytes - down,
            high: bytes + up,
        })
    }

    /// Of a count that is exact (goroutines): the limits come from the scatter of its changes
    /// alone, and close in on the value where these are all alike. None with fewer than two
    /// points, or clocks that stand still.
    pub fn of_counts(counts: &[u64], seconds: &[f64]) -> Option<Self> {
        let values: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
        let last = values.len().min(seconds.len()).checked_sub(1)?;
        let hours = (seconds[last] - seconds[0]) / 3600.0;
        if hours.is_nan() || hours <= 0.0 {
            return None;
        }
        let bytes = values[last] - values[0];
        let reach = Scatter::of(&[(&values[..=last], &seconds[..=last])], 0.0)
            .map_or(0.0, |scatter| scatter.reach95(hours * 3600.0));
        Some(Self {
            bytes,
            hours,
            low: bytes - reach,
            high: bytes + reach,
        })
    }

    /// Bytes per hour.
    pub fn per_hour(&self) -> f64 {
        self.bytes / self.hours
    }

    /// 95 % limits of the bytes per hour.
    pub fn ci95(&self) -> [f64; 2] {
        [self.low / self.hours, self.high / self.hours]
    }

    /// 95 % limits of `self − before` in bytes per hour, the two being independent (MOVER,
    /// Zou and Donner 2008).
    pub fn less95(&self, before: &Self) -> [f64; 2] {
        let parts = |rate: &Self| {
            let [low, high] = rate.ci95();
            (rate.per_hour(), (low, high))
        };
        let (low, high) = mover(parts(self), parts(before));
        [low, high]
    }
}

/// How the changes of a set of buckets scatter, each third around its own slope.
fn scatter_of(
    history: &History,
    buckets: &[u32],
    distinct: &[usize],
    seconds: &[f64],
) -> Option<Scatter> {
    if distinct.len() < MIN_POINTS {
        return None;
    }
    let series = history.series(buckets);
    let variances = distinct.windows(2).map(|pair| {
        let evidence = history.evidence(buckets, pair[0], pair[1]);
        evidence.as_ref().map_or(0.0, Evidence::sd_bytes).powi(2)
    });
    let predicted = variances.sum();
    let points: Vec<(Vec<f64>, Vec<f64>)> = thirds(distinct)
        .map(|(from, to)| {
            let inside = || distinct.iter().filter(|point| (from..=to).contains(*point));
            (
                inside().map(|&point| series[point]).collect(),
                inside().map(|&point| seconds[point]).collect(),
            )
        })
        .collect();
    let thirds: Vec<(&[f64], &[f64])> = points
        .iter()
        .map(|(values, clocks)| (values.as_slice(), clocks.as_slice()))
        .collect();
    Scatter::of(&thirds, predicted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 10 bytes in 2 h (4 to 16) and 2 bytes in 1 h (−1 to 5): 5/h (2 to 8) and
    /// 2/h (−1 to 5), so the second less the first is −3 ∓ √(3² + 3²).
    #[test]
    fn the_difference_of_two_rates_by_hand() {
        let rate = |bytes, hours, low, high| Rate {
            bytes,
            hours,
            low,
            high,
        };
        let [low, high] = rate(2.0, 1.0, -1.0, 5.0).less95(&rate(10.0, 2.0, 4.0, 16.0));
        assert!((low - (-3.0 - 18.0_f64.sqrt())).abs() < 1e-12, "{low}");
        assert!((high - (-3.0 + 18.0_f64.sqrt())).abs() < 1e-12, "{high}");
    }

    /// By hand: changes 2, 0, 2, 0, 2, 0 around 1 per second have squares that sum to 6, over
    /// 6 − 1 degrees of freedom s² = 6/5; t(0.975; 5) = 2.571 (Student's table).
    #[test]
    fn limits_of_counts_by_hand() {
        let seconds = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let rate = Rate::of_counts(&[0, 2, 2, 4, 4, 6, 6], &seconds).expect("time passes");
        assert_eq!(rate.bytes, 6.0);
        let reach = 2.5706 * (6.0_f64 / 5.0 * 6.0).sqrt();
        assert!((rate.high - 6.0 - reach).abs() < 0.001, "{}", rate.high);
        assert!((6.0 - rate.low - reach).abs() < 0.001, "{}", rate.low);
        let steady = Rate::of_counts(&[5; 7], &seconds).expect("time passes");
        assert_eq!((steady.low, steady.high), (0.0, 0.0));
        assert_eq!(Rate::of_counts(&[1, 2], &[3.0, 3.0]), None);
        assert_eq!(Rate::of_counts(&[1], &[3.0]), None);
    }
}
