//! Amounts as Kubernetes writes them: `512Mi`, `1.5Gi`, `500M`, `1e9`, `128974848`, `100m`.

/// More digits than this are no amount of memory.
const MAX_DIGITS: usize = 30;

/// The amount in whole units (bytes, for memory), rounded up as Kubernetes does; `None`: no
/// amount, a negative one, or one that no machine has.
///
/// The grammar is that of apimachinery's `resource.Quantity`: a decimal number followed by a
/// binary suffix, a decimal suffix or an exponent.
pub(super) fn parse_quantity(text: &str) -> Option<u64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > MAX_DIGITS || fraction.contains('.') {
        return None;
    }
    let mantissa: u128 = digits.parse().ok()?;
    let (twos, tens) = match suffix {
        "" => (0, 0),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        _ => (0, suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    let tens: i32 = tens;
    let tens = tens.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scaled = mantissa.checked_mul(1 << twos)?;
    let power = 10_u128.checked_pow(tens.unsigned_abs());
    let amount = match (tens < 0, power) {
        (false, Some(power)) => scaled.checked_mul(power)?,
        (true, Some(power)) => scaled.div_ceil(power),
        (false, None) => return None,
        // Less than one, however small.
        (true, None) => u128::from(scaled > 0),
    };
    u64::try_from(amount).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_kubernetes_reads_them() {
        for (text, expected) in [
            ("128974848", 128_974_848),
            ("512Mi", 512 << 20),
            ("1.5Gi", 3 << 29),
            ("500M", 500_000_000),
            ("64k", 64_000),
            ("64Ki", 65_536),
            ("1e9", 1_000_000_000),
            ("1E9", 1_000_000_000),
            ("1E", 1_000_000_000_000_000_000),
            ("12e-1", 2),
            ("129e6", 129_000_000),
            ("128974848000m", 128_974_848),
            ("100m", 1),
            ("1n", 1),
            ("0", 0),
            ("+1G", 1_000_000_000),
            (".5Mi", 1 << 19),
            ("5.", 5),
            ("1e-99", 1),
        ] {
            assert_eq!(parse_quantity(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_none() {
        for text in [
            "",
            "Mi",
            ".",
            "-1",
            "1.2.3",
            "1mi",
            "1 Gi",
            "1e",
            "1e99",
            "16Ei",
            "1K",
            "9999999999999999999999999999999",
            "1e-99999999999",
        ] {
            assert_eq!(parse_quantity(text), None, "{text:?}");
        }
    }
}
