//! Figures together with their errors: `7.3 → 16.4 MiB`, `+9.1 ±1.3 MiB`, `+11.4 MiB/h (95 %: …)`.
//!
//! Knows numbers only. Sizes of their own are written by [`crate::units`].

pub(super) use crate::units::{duration, period, size};

const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// A unit for several sizes: the one that suits the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unit(usize);

impl Unit {
    fn for_largest(sizes: &[f64]) -> Self {
        let mut largest = sizes
            .iter()
            .fold(0.0f64, |largest, size| largest.max(size.abs()));
        let mut unit = 0;
        // Below that, one decimal rounds to less than 1024.0.
        while largest >= 1023.95 && unit + 1 < UNITS.len() {
            largest /= 1024.0;
            unit += 1;
        }
        Self(unit)
    }

    fn in_unit(self, bytes: f64) -> f64 {
        bytes / 1024f64.powi(self.0 as i32)
    }

    /// The number alone.
    fn number(self, bytes: f64) -> String {
        match self.0 {
            0 => format!("{:.0}", without_negative_zero(bytes.round())),
            _ => {
                let tenths = (self.in_unit(bytes) * 10.0).round();
                format!("{:.1}", without_negative_zero(tenths) / 10.0)
            }
        }
    }

    /// The number with its sign.
    fn signed(self, bytes: f64) -> String {
        let number = self.number(bytes);
        match number.starts_with('-') {
            true => number,
            false => format!("+{number}"),
        }
    }

    /// ` ±1.3`: rounded up, so that an error never looks like none; empty for none.
    fn error(self, sd: Option<f64>) -> String {
        let step = if self.0 == 0 { 1.0 } else { 10.0 };
        match sd {
            Some(sd) if sd > 0.0 && sd.is_finite() => {
                let rounded = (self.in_unit(sd) * step).round().max(1.0) / step;
                match self.0 {
                    0 => format!(" ±{rounded:.0}"),
                    _ => format!(" ±{rounded:.1}"),
                }
            }
            _ => String::new(),
        }
    }

    fn name(self) -> &'static str {
        UNITS[self.0]
    }
}

fn without_negative_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// `16.4 ±1.2 MiB`.
pub(super) fn size_with_error(bytes: f64, sd: Option<f64>) -> String {
    let unit = Unit::for_largest(&[bytes, sd.unwrap_or(0.0)]);
    format!("{}{} {}", unit.number(bytes), unit.error(sd), unit.name())
}

/// `+9.1 ±1.3 MiB`.
pub(super) fn change(delta: f64, sd: Option<f64>) -> String {
    let unit = Unit::for_largest(&[delta, sd.unwrap_or(0.0)]);
    format!("{}{} {}", unit.signed(delta), unit.error(sd), unit.name())
}

/// `7.3 → 16.4 MiB`; in two units when one would hide the smaller size.
pub(super) fn from_to(before: f64, after: f64) -> String {
    from_to_with_errors((before, None), (after, None))
}

/// `7.3 ±0.9 → 16.4 ±1.2 MiB`.
pub(super) fn from_to_with_errors(before: (f64, Option<f64>), after: (f64, Option<f64>)) -> String {
    let unit = Unit::for_largest(&[before.0, after.0]);
    let is_hidden = |bytes: f64| bytes != 0.0 && unit.0 > 0 && unit.in_unit(bytes).abs() < 0.05;
    let first = match () {
        () if before.0 == 0.0 => "0".to_owned(),
        () if is_hidden(before.0) => size_with_error(before.0, before.1),
        () => format!("{}{}", unit.number(before.0), unit.error(before.1)),
    };
    let second = match () {
        () if is_hidden(after.0) || after.0 == 0.0 && before.0 == 0.0 => {
            size_with_error(after.0, after.1)
        }
        () if after.0 == 0.0 => format!("0 {}", unit.name()),
        () => format!(
            "{}{} {}",
            unit.number(after.0),
            unit.error(after.1),
            unit.name()
        ),
    };
    // Without a unit of its own the first number would be read in the second's.
    match is_hidden(after.0) && !is_hidden(before.0) && before.0 != 0.0 {
        true => format!("{first} {} → {second}", unit.name()),
        false => format!("{first} → {second}"),
    }
}

/// `+11.4 MiB/h`.
pub(super) fn rate(bytes_per_hour: f64) -> String {
    let unit = Unit::for_largest(&[bytes_per_hour]);
    format!("{} {}/h", unit.signed(bytes_per_hour), unit.name())
}

/// `+11.4 MiB/h (95 %: 10.2 to 12.6)`.
pub(super) fn rate_with_interval(bytes_per_hour: f64, ci95: Option<[f64; 2]>) -> String {
    let Some([low, high]) = ci95 else {
        return rate(bytes_per_hour);
    };
    let unit = Unit::for_largest(&[bytes_per_hour, low, high]);
    format!(
        "{} {}/h (95 %: {} to {})",
        unit.signed(bytes_per_hour),
        unit.name(),
        unit.number(low),
        unit.number(high)
    )
}

/// `12,345`.
pub(super) fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match number < 0 {
        true => format!("-{grouped}"),
        false => grouped,
    }
}

/// The same of a number that cannot be negative.
pub(super) fn count_of(number: u64) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX))
}

/// `+12,345`.
pub(super) fn signed_count(number: i64) -> String {
    match number > 0 {
        true => format!("+{}", count(number)),
        false => count(number),
    }
}

/// `1 snapshot`, `6 snapshots`.
pub fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!(
        "{} {what}{plural}",
        count(i64::try_from(number).unwrap_or(i64::MAX))
    )
}

/// `0:07`, `4:30` or `1:02:05`, rounded up to whole seconds.
pub(super) fn clock(seconds: f64) -> String {
    // Negative and absurd times end at the limits of the type.
    let seconds = seconds.ceil() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A share from 0 to 1 as `12.3 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `31 to 38 h`.
pub(super) fn hours_from_to(earliest: f64, latest: f64) -> String {
    let (first, second) = (hours(earliest), hours(latest));
    match (first.split_once(' '), second.split_once(' ')) {
        _ if first == second => first,
        (Some((number, unit)), Some((_, other))) if unit == other => {
            format!("{number} to {second}")
        }
        _ => format!("{first} to {second}"),
    }
}

/// A time span given in hours.
pub(super) fn hours(hours: f64) -> String {
    duration(hours * 3600.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    #[test]
    fn sizes_carry_their_error() {
        assert_eq!(
            size_with_error(16.4 * MIB, Some(1.23 * MIB)),
            "16.4 ±1.2 MiB"
        );
        assert_eq!(size_with_error(16.4 * MIB, None), "16.4 MiB");
        assert_eq!(size_with_error(16.4 * MIB, Some(0.0)), "16.4 MiB");
        assert_eq!(size_with_error(16.4 * MIB, Some(1.0)), "16.4 ±0.1 MiB");
        assert_eq!(size_with_error(512.0, Some(0.2)), "512 ±1 B");
        assert_eq!(size_with_error(1023.96 * 1024.0, None), "1.0 MiB");
        assert_eq!(change(9.1 * MIB, Some(1.3 * MIB)), "+9.1 ±1.3 MiB");
        assert_eq!(change(0.0, Some(0.7 * MIB)), "+0.0 ±716.8 KiB");
        assert_eq!(change(-2048.0, None), "-2.0 KiB");
        assert_eq!(change(0.0, None), "+0 B");
        assert_eq!(change(-0.3, None), "+0 B");
    }

    #[test]
    fn two_sizes_share_a_unit_unless_it_hides_one() {
        assert_eq!(from_to(7.3 * MIB, 16.4 * MIB), "7.3 → 16.4 MiB");
        assert_eq!(from_to(0.0, 16.4 * MIB), "0 → 16.4 MiB");
        assert_eq!(from_to(16.4 * MIB, 0.0), "16.4 → 0 MiB");
        assert_eq!(from_to(0.0, 0.0), "0 → 0 B");
        assert_eq!(from_to(2048.0, 16.4 * MIB), "2.0 KiB → 16.4 MiB");
        assert_eq!(from_to(16.4 * MIB, 2048.0), "16.4 MiB → 2.0 KiB");
        assert_eq!(from_to(0.5 * MIB, 2.0 * MIB), "0.5 → 2.0 MiB");
        assert_eq!(
            from_to_with_errors((7.3 * MIB, Some(MIB)), (16.4 * MIB, Some(1.2 * MIB))),
            "7.3 ±1.0 → 16.4 ±1.2 MiB"
        );
    }

    #[test]
    fn rates_carry_their_interval_in_one_unit() {
        assert_eq!(
            rate_with_interval(11.4 * MIB, Some([10.2 * MIB, 12.6 * MIB])),
            "+11.4 MiB/h (95 %: 10.2 to 12.6)"
        );
        assert_eq!(
            rate_with_interval(0.5 * MIB, Some([-0.5 * MIB, 1.5 * MIB])),
            "+0.5 MiB/h (95 %: -0.5 to 1.5)"
        );
        assert_eq!(rate_with_interval(-3.0 * MIB, None), "-3.0 MiB/h");
    }

    #[test]
    fn periods_are_round() {
        assert_eq!(period(524_288), "512 KiB");
        assert_eq!(period(1_048_576), "1 MiB");
        assert_eq!(period(1_572_864), "1.5 MiB");
        assert_eq!(period(4000), "3.9 KiB");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(-1_234_567), "-1,234,567");
        assert_eq!(signed_count(1000), "+1,000");
        assert_eq!(count(i64::MIN), "-9,223,372,036,854,775,808");
        assert_eq!(counted(1, "snapshot"), "1 snapshot");
        assert_eq!(counted(1200, "site"), "1,200 sites");
    }

    #[test]
    fn spans_of_hours_share_a_unit() {
        assert_eq!(hours_from_to(31.0, 38.4), "31 to 38 h");
        assert_eq!(hours_from_to(1.0, 31.0), "60 min to 31 h");
        assert_eq!(hours_from_to(31.0, 31.1), "31 h");
        assert_eq!(percent(0.1234), "12.3 %");
    }
}
