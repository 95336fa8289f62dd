//! The figures of pprof's reports: sizes, times, counts, percentages.
//!
//! Source of the units: google/pprof `internal/measurement`: kB, MB, GB are powers of 1024, and
//! two decimals are printed, none when both are 0.

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Bytes.
    Bytes,
    /// Seconds and their parts.
    Time,
    /// Objects, goroutines, samples.
    Count,
    /// `0`, which pprof prints without a unit.
    None,
}

/// A figure as printed, rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figure {
    pub unit: Unit,
    /// In bytes, nanoseconds or pieces.
    pub value: i64,
    /// How far the figure before rounding may be off, in the same unit.
    pub slack: i64,
}

impl Default for Figure {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Figure {
    pub const ZERO: Self = Self {
        unit: Unit::None,
        value: 0,
        slack: 0,
    };

    /// Whether both may be roundings of one figure.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let same_unit = self.unit == other.unit
            || self.unit == Unit::None && other.value.saturating_abs() <= other.slack
            || other.unit == Unit::None && self.value.saturating_abs() <= self.slack;
        let apart = self.value.saturating_sub(other.value).saturating_abs();
        same_unit && apart <= self.slack.saturating_add(other.slack).saturating_add(1)
    }
}

/// Unit suffixes, what they count, and how much one is.
const SUFFIXES: [(&[u8], Unit, f64); 18] = [
    (b"B", Unit::Bytes, 1.0),
    (b"kB", Unit::Bytes, 1024.0),
    (b"KB", Unit::Bytes, 1024.0),
    (b"MB", Unit::Bytes, 1_048_576.0),
    (b"GB", Unit::Bytes, 1_073_741_824.0),
    (b"TB", Unit::Bytes, 1_099_511_627_776.0),
    (b"PB", Unit::Bytes, 1_125_899_906_842_624.0),
    (b"ns", Unit::Time, 1.0),
    (b"us", Unit::Time, 1e3),
    ("µs".as_bytes(), Unit::Time, 1e3),
    (b"ms", Unit::Time, 1e6),
    (b"s", Unit::Time, 1e9),
    (b"mins", Unit::Time, 60e9),
    (b"hrs", Unit::Time, 3600e9),
    (b"hours", Unit::Time, 3600e9),
    (b"days", Unit::Time, 86_400e9),
    (b"wks", Unit::Time, 604_800e9),
    (b"yrs", Unit::Time, 31_556_952e9),
];

/// `20MB`, `-512.03kB`, `1.20s`, `90107`, `0`.
pub(super) fn parse_figure(text: &[u8]) -> Option<Figure> {
    let (number, decimals, suffix) = split_number(text)?;
    if suffix.is_empty() {
        return (decimals == 0).then_some(match number {
            0.0 => Figure::ZERO,
            number => Figure {
                unit: Unit::Count,
                value: number as i64,
                slack: 0,
            },
        });
    }
    let (_, unit, scale) = SUFFIXES.iter().find(|(known, ..)| *known == suffix)?;
    Some(Figure {
        unit: *unit,
        // What does not fit saturates.
        value: (number * scale).round() as i64,
        slack: match scale {
            1.0 => 0,
            scale => (0.005 * scale).ceil() as i64,
        },
    })
}

/// `40.37%`, `4.8e-05%`: as a share of 100.
pub(super) fn parse_percent(text: &[u8]) -> Option<f64> {
    let text = text.strip_suffix(b"%")?;
    let is_number = text
        .iter()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'e' | b'+'));
    let value = std::str::from_utf8(text).ok()?.parse::<f64>().ok()?;
    (is_number && value.is_finite()).then_some(value)
}

/// A number, how many decimals it has, and what follows it.
fn split_number(text: &[u8]) -> Option<(f64, usize, &[u8])> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let end = digits
        .iter()
        .position(|byte| !byte.is_ascii_digit() && *byte != b'.')
        .unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    let point = number.iter().position(|byte| *byte == b'.');
    if !number.first()?.is_ascii_digit() || !number.last()?.is_ascii_digit() {
        return None;
    }
    let value = std::str::from_utf8(number).ok()?.parse::<f64>().ok()?;
    let value = if text.len() > digits.len() {
        -value
    } else {
        value
    };
    Some((value, point.map_or(0, |at| number.len() - at - 1), suffix))
}

/// The first word of a text, and what follows it.
pub(super) fn split_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let end = text
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, unit, value, slack) in [
            ("0", Unit::None, 0, 0),
            ("64B", Unit::Bytes, 64, 0),
            ("512.03kB", Unit::Bytes, 524_319, 6),
            ("21MB", Unit::Bytes, 22_020_096, 5243),
            ("-2563.50kB", Unit::Bytes, -2_625_024, 6),
            ("1.52GB", Unit::Bytes, 1_632_087_572, 5_368_710),
            ("1.20s", Unit::Time, 1_200_000_000, 5_000_000),
            ("340ms", Unit::Time, 340_000_000, 5000),
            ("90107", Unit::Count, 90_107, 0),
            (
                "99999999999999999999PB",
                Unit::Bytes,
                i64::MAX,
                5_629_499_534_214,
            ),
        ] {
            let expected = Figure { unit, value, slack };
            assert_eq!(parse_figure(text.as_bytes()), Some(expected), "{text}");
        }
        for text in [
            "", ".", "-", "1.", ".5MB", "1..2MB", "MB", "1.5", "1MBs", "1e5B", "x1B", "inf",
        ] {
            assert_eq!(parse_figure(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn percentages_are_read_as_printed() {
        for (text, value) in [("100%", 100.0), ("0.96%", 0.96), ("4.8e-05%", 4.8e-5)] {
            assert_eq!(parse_percent(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["%", "inf%", "nan%", "1", "flat%", "1_0%"] {
            assert_eq!(parse_percent(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn one_total_is_known_in_two_units() {
        let figure = |text: &str| parse_figure(text.as_bytes()).expect(text);
        // The same profile by `top` and by `list`.
        assert!(figure("45146.05kB").agrees_with(&figure("44.09MB")));
        assert!(!figure("45146.05kB").agrees_with(&figure("44.12MB")));
        assert!(figure("0").agrees_with(&figure("0")));
        assert!(!figure("0").agrees_with(&figure("1MB")));
        assert!(!figure("12MB").agrees_with(&figure("12582912")));
    }
}
