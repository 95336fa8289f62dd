//! A series of values as a line of small bars.

/// Most bars of one line; longer series are thinned out, first and last value kept.
pub(super) const MAX_BARS: usize = 12;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Bars from the smallest value to the largest.
///
/// A series that varies by less than a quarter of its largest value does not fill the
/// height: noise must not look like growth.
pub(super) fn sparkline(values: &[f64]) -> String {
    let values = thin_out(values, MAX_BARS);
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (
        finite().fold(f64::INFINITY, f64::min),
        finite().fold(f64::NEG_INFINITY, f64::max),
    );
    let span = (high - low).max(high.abs() / 4.0);
    values
        .iter()
        .map(|value| {
            if !value.is_finite() {
                return ' ';
            }
            let height = if span > 0.0 {
                (value - low) / span
            } else {
                0.0
            };
            BARS[((height * 7.0).round() as usize).min(7)]
        })
        .collect()
}

/// So many of the values, evenly spread, first and last among them. `most` is at least 2.
pub(super) fn thin_out(values: &[f64], most: usize) -> Vec<f64> {
    if values.len() <= most {
        return values.to_vec();
    }
    (0..most)
        .map(|bar| values[bar * (values.len() - 1) / (most - 1)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_span_from_smallest_to_largest() {
        assert_eq!(
            sparkline(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
            "▁▂▃▄▅▆▇█"
        );
        assert_eq!(sparkline(&[7.0, 0.0]), "█▁");
    }

    #[test]
    fn small_changes_stay_low() {
        assert_eq!(sparkline(&[100.0, 100.0, 100.0]), "▁▁▁");
        // 4 of a span of 26: 4 / 26 × 7 = 1.08.
        assert_eq!(sparkline(&[100.0, 104.0]), "▁▂");
        assert_eq!(sparkline(&[0.0, 0.0]), "▁▁");
    }

    #[test]
    fn odd_values_do_no_harm() {
        assert_eq!(sparkline(&[]), "");
        assert_eq!(sparkline(&[f64::NAN, 1.0, f64::INFINITY, 3.0]), " ▁ █");
        assert_eq!(sparkline(&[f64::NAN]), " ");
    }

    #[test]
    fn long_series_keep_their_ends() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let line = sparkline(&values);
        assert_eq!(line.chars().count(), MAX_BARS);
        assert!(line.starts_with('▁') && line.ends_with('█'));
    }
}
