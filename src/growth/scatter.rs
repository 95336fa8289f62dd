//! What the scatter of a series around its own slope tells: load noise, and turnover that
//! counts alone cannot bound.
//!
//! Between two points the sampler's noise is known from counts. How much a program's load
//! swings is not; it shows in how far the changes of the single intervals lie from a steady
//! slope. Knows numbers only; nothing of buckets or sites.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

/// Fewest degrees of freedom from which scatter is estimated.
const MIN_DEGREES: usize = 4;
/// Load noise counts once chance alone would show less in this share of series.
const SHOWN_BEYOND: f64 = 0.95;

/// Scatter of the changes of a series' intervals, each third around its own slope, so that a
/// slope that fades does not pass for noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scatter {
    /// s² = Σ (dᵢ − d̄ᵢ)²/tᵢ / (intervals − thirds): variance of a change, per unit of time.
    per_time: f64,
    /// Intervals less thirds.
    degrees: usize,
    /// φ̂ = s²·T/Σ Vᵢ: scatter over what counts predict; None without a prediction.
    pub dispersion: Option<f64>,
}

impl Scatter {
    /// From the values and clocks of the points of each third (which share their ends), and
    /// Σ Vᵢ, the variance of all intervals' changes that counts predict (0 = not known). None
    /// with fewer than four intervals more than thirds.
    ///
    /// φ̂ is Pearson's statistic over its degrees of freedom (Wedderburn 1974; McCullagh and
    /// Nelder 1989, §4.5), each interval's expected change and variance in proportion to
    /// its length.
    pub fn of(thirds: &[(&[f64], &[f64])], predicted: f64) -> Option<Self> {
        let (mut sum, mut span, mut degrees) = (0.0, 0.0, 0usize);
        for (values, clocks) in thirds {
            let time = clocks.last()? - clocks.first()?;
            if time.is_nan() || time <= 0.0 {
                return None;
            }
            let slope = (values.last()? - values.first()?) / time;
            for (value, clock) in values.windows(2).zip(clocks.windows(2)) {
                let time = clock[1] - clock[0];
                if time <= 0.0 {
                    return None;
                }
                sum += (value[1] - value[0] - slope * time).powi(2) / time;
            }
            span += time;
            degrees += values.len().saturating_sub(2);
        }
        if degrees < MIN_DEGREES {
            return None;
        }
        let per_time = sum / degrees as f64;
        let dispersion = (predicted > 0.0).then(|| per_time * span / predicted);
        Some(Self {
            per_time,
            degrees,
            dispersion,
        })
    }

    /// The factor by which the load's noise makes variances larger than counts predict: φ̂
    /// where chance alone would seldom (once in twenty series) show as much, else 1.
    ///
    /// Dividing by every φ̂ above 1 would weaken half of all tests for nothing.
    pub fn load_noise(&self) -> f64 {
        let degrees = self.degrees as f64;
        let Some(factor) = self.dispersion else {
            return 1.0;
        };
        let by_chance = ChiSquared::new(degrees)
            .map_or(f64::INFINITY, |chi| chi.inverse_cdf(SHOWN_BEYOND) / degrees);
        if factor > by_chance { factor } else { 1.0 }
    }

    /// One-sided p of "no growth" for a change over `time`, by the scatter alone: Student's
    /// t = d/√(s²·time) (Student 1908).
    ///
    /// The changes of a steady population correlate negatively (what is added is taken away
    /// again), which makes this careful there; `tests/calibration_shape.rs` measures it.
    pub fn p_value(&self, change: f64, time: f64) -> f64 {
        let sd = (self.per_time * time).sqrt();
        if sd <= 0.0 {
            return if change > 0.0 { 0.0 } else { 1.0 };
        }
        StudentsT::new(0.0, 1.0, self.degrees as f64).map_or(1.0, |t| t.sf(change / sd))
    }

    /// How far from its estimate a change over `time` may lie, by the scatter alone (95 %):
    /// t(0.975; degrees)·√(s²·time) (Student 1908).
    pub fn reach95(&self, time: f64) -> f64 {
        let quantile = StudentsT::new(0.0, 1.0, self.degrees as f64)
            .map_or(f64::INFINITY, |t| t.inverse_cdf(0.975));
        match self.per_time * time {
            variance if variance > 0.0 => quantile * variance.sqrt(),
            _ => 0.0,
        }
    }
}

/// The median of the slopes between all pairs of points (Theil 1950, Sen 1968), in units per
/// unit of the clocks; None with fewer than two points in time.
///
/// It shrugs off what a few odd snapshots do to the slope from first to last.
pub fn theil_sen(values: &[f64], clocks: &[f64]) -> Option<f64> {
    let mut slopes: Vec<f64> = Vec::with_capacity(values.len() * values.len() / 2);
    for later in 1..values.len().min(clocks.len()) {
        for earlier in 0..later {
            let time = clocks[later] - clocks[earlier];
            if time > 0.0 {
                slopes.push((values[later] - values[earlier]) / time);
            }
        }
    }
    if slopes.is_empty() {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let middle = slopes.len() / 2;
    Some(match slopes.len() % 2 {
        1 => slopes[middle],
        _ => (slopes[middle - 1] + slopes[middle]) / 2.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: slopes of (0,0), (1,1), (2,2), (3,30) are 1, 1, 1, 10, 14.5 and 28; their
    /// median is (1 + 10)/2.
    #[test]
    fn theil_sen_by_hand() {
        assert_eq!(
            theil_sen(&[0.0, 1.0, 2.0, 30.0], &[0.0, 1.0, 2.0, 3.0]),
            Some(5.5)
        );
        assert_eq!(theil_sen(&[0.0, 3.0], &[0.0, 2.0]), Some(1.5));
        assert_eq!(theil_sen(&[1.0], &[0.0]), None);
        assert_eq!(theil_sen(&[1.0, 2.0], &[5.0, 5.0]), None);
    }

    /// By hand: changes 2, 0, 2, 0, 2, 0 around a slope of 1 leave residuals; of its two
    /// halves of three intervals the first has a slope of 4/3, the second
    /// of 2/3: residuals 2/3, −4/3, 2/3 and −2/3, 4/3, −2/3, squares 24/9 each half, so s² =
    /// (48/9)/4 = 4/3; a predicted variance of 6 over a span of 6 gives φ̂ = 4/3.
    #[test]
    fn scatter_by_hand() {
        let values = [0.0, 2.0, 2.0, 4.0, 4.0, 6.0, 6.0];
        let clocks = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let halves = [(&values[..4], &clocks[..4]), (&values[3..], &clocks[3..])];
        let scatter = Scatter::of(&halves, 6.0).expect("four degrees of freedom");
        assert!((scatter.per_time - 4.0 / 3.0).abs() < 1e-12);
        assert!((scatter.dispersion.unwrap_or(0.0) - 4.0 / 3.0).abs() < 1e-12);
        // χ²(0.95; 4)/4 = 9.488/4 = 2.37: 1.33 is chance, ten times as much is not.
        assert_eq!(scatter.load_noise(), 1.0);
        let noisy = Scatter::of(&halves, 0.6).expect("four degrees of freedom");
        assert!((noisy.load_noise() - 40.0 / 3.0).abs() < 1e-9);
        // t = 2.132 is the 5 % point for 4 degrees of freedom (Student's table).
        let p = scatter.p_value(2.132 * (4.0_f64 / 3.0 * 2.0).sqrt(), 2.0);
        assert!((p - 0.05).abs() < 0.0005, "{p}");
    }

    #[test]
    fn too_few_points_or_no_time_have_no_scatter() {
        let line = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(Scatter::of(&[(&line[..5], &line[..5])], 1.0), None);
        assert_eq!(Scatter::of(&[(&line, &[7.0; 6])], 1.0), None);
        assert_eq!(Scatter::of(&[(&[], &[])], 1.0), None);
        // A perfect line has no scatter: its growth is certain.
        let scatter = Scatter::of(&[(&line, &line)], 0.0).expect("four degrees of freedom");
        assert_eq!(scatter.p_value(1.0, 1.0), 0.0);
        assert_eq!(scatter.p_value(-1.0, 1.0), 1.0);
        assert_eq!(scatter.load_noise(), 1.0);
    }
}
