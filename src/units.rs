//! How sizes, rates and times are written, everywhere the same.
//!
//! A leaf of the architecture: it knows numbers only, and anything may use it.

/// A size in IEC units with one decimal: `11.4 MiB`.
pub fn size(bytes: f64) -> String {
    let mut value = bytes;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value.abs() < 1023.95 {
            return match unit {
                "B" => format!("{value:.0} B"),
                unit => format!("{value:.1} {unit}"),
            };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// A sampling period, which is nearly always a round figure: `512 KiB`.
pub fn period(bytes: i64) -> String {
    let text = size(bytes as f64);
    match bytes % 1024 {
        0 => text.replace(".0 ", " "),
        _ => text,
    }
}

/// A change, always with its sign: `+11.4 MiB`.
pub fn signed_size(bytes: f64) -> String {
    let text = size(bytes.abs());
    match bytes {
        b if b < 0.0 => format!("-{text}"),
        _ => format!("+{text}"),
    }
}

/// A time span: `50 s`, `18 min`, `31 h`, `5 d`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}
