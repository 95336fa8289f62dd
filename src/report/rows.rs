//! Cuts lists to a number of rows; what is cut is counted, in rows and bytes.

use crate::diagnosis::{Diagnosis, Diff, Finding, Top, Unshown};

/// Keeps the first `rows` rows of a diff.
pub fn cut_diff(diff: &mut Diff, rows: usize) {
    cut(&mut diff.rows, &mut diff.unshown, rows, |row| {
        row.delta_bytes as f64
    });
}

/// Keeps the first `rows` functions of a top list.
pub fn cut_top(top: &mut Top, rows: usize) {
    cut(&mut top.rows, &mut top.unshown, rows, |row| {
        row.flat_bytes as f64
    });
}

/// Keeps the first `rows` sites of the whole, and of each finding.
pub fn cut_diagnosis(diagnosis: &mut Diagnosis, rows: usize) {
    cut(
        &mut diagnosis.sites,
        &mut diagnosis.sites_unshown,
        rows,
        |site| site.delta.unwrap_or(site.after),
    );
    for Finding {
        sites,
        sites_unshown,
        ..
    } in &mut diagnosis.findings
    {
        cut(sites, sites_unshown, rows, |site| {
            site.delta.unwrap_or(site.after)
        });
    }
}

fn cut<T>(list: &mut Vec<T>, unshown: &mut Unshown, rows: usize, bytes_of: impl Fn(&T) -> f64) {
    for row in list.drain(rows.min(list.len())..) {
        unshown.rows += 1;
        unshown.bytes += bytes_of(&row);
    }
}
