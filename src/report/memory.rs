//! The memory block of a diagnosis, and what in it is no leak of the heap.
//!
//! Knows the figures of [`MemoryBreakdown`] and their order on a page; computes none.

use super::Layout;
use super::printer::{Printer, Role, Span};
use super::units::size;
use crate::diagnosis::{Diagnosis, MemoryBreakdown};
use crate::units::signed_size;

/// Columns of the block's label, of a part's name, of its size.
const LABEL: usize = 12;
const NAME: usize = 25;
const SIZE: usize = 10;

pub(super) fn print_not_a_leak(printer: &mut Printer, diagnosis: &Diagnosis) {
    if diagnosis.not_a_leak.is_empty() {
        return;
    }
    printer.gap();
    printer.line(0, &[Span::new(Role::Note, "NOT A LEAK OF THE HEAP")]);
    for entry in &diagnosis.not_a_leak {
        let name = match entry.bytes {
            Some(bytes) => format!("{}  {}", entry.name, size(bytes)),
            None => entry.name.to_string(),
        };
        printer.paragraph(Role::Strong, 6, &name);
        printer.paragraph(Role::Plain, 8, &entry.text);
    }
}

/// The block without its label.
pub(super) fn memory_text(memory: &MemoryBreakdown, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    print_block(&mut printer, memory, "", 0);
    printer.finish()
}

pub(super) fn print_memory(printer: &mut Printer, memory: &MemoryBreakdown) {
    print_block(printer, memory, "memory", LABEL);
}

fn print_block(printer: &mut Printer, memory: &MemoryBreakdown, label: &str, column: usize) {
    let mut label = label;
    let mut lines = Vec::new();
    let mut parts = parts(memory);
    parts.sort_by_key(|(_, bytes, _)| std::cmp::Reverse(*bytes));
    for (name, bytes, change) in parts {
        let change = change.map_or_else(String::new, |change| {
            format!("  {:>SIZE$}", signed_size(change as f64))
        });
        lines.push(format!(
            "{name:<NAME$}{:>SIZE$}{change}",
            size(bytes as f64)
        ));
    }
    if lines.is_empty() && total(memory).is_none() && beside(memory).is_empty() {
        return;
    }
    printer.gap();
    if let Some(total) = total(memory) {
        printer.labelled(0, column, label, &total);
        label = "";
    }
    for line in lines {
        let spans = [
            Span::new(Role::Faint, format!("{label:<column$}")),
            Span::plain(line),
        ];
        printer.line(0, &spans);
        label = "";
    }
    for text in beside(memory) {
        printer.labelled(0, column, label, &text);
        label = "";
    }
}

/// The whole of which the lines are parts.
pub(super) fn total(memory: &MemoryBreakdown) -> Option<String> {
    let (bytes, change, what) = match (memory.rss, memory.held) {
        (Some(rss), _) => (rss, memory.change.rss, "resident"),
        (None, held) => (held?, memory.change.held, "held by the Go runtime"),
    };
    let change = change.map_or_else(String::new, |change| {
        format!(", {} in the window", signed_size(change as f64))
    });
    Some(format!("{} {what}{change}", size(bytes as f64)))
}

/// Name, bytes and change of each part of what is resident.
pub(super) fn parts(memory: &MemoryBreakdown) -> Vec<(&'static str, i64, Option<i64>)> {
    let change = &memory.change;
    let whole = |bytes: Option<u64>| bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    // Pages that were obtained and never touched: nothing is resident of them.
    let native = memory.native.filter(|bytes| *bytes > 0);
    [
        (
            "live or not yet swept",
            whole(memory.heap_alloc),
            change.heap_alloc,
        ),
        (
            "room between objects",
            whole(memory.fragmentation),
            change.fragmentation,
        ),
        (
            "idle, kept for reuse",
            whole(memory.heap_idle_kept),
            change.heap_idle_kept,
        ),
        ("goroutine stacks", whole(memory.stacks), change.stacks),
        (
            "the runtime's own data",
            whole(memory.runtime),
            change.runtime,
        ),
        ("not of the Go runtime", native, change.native),
    ]
    .into_iter()
    .filter_map(|(name, bytes, change)| Some((name, bytes?, change)))
    .collect()
}

/// What is no part of the sum.
pub(super) fn beside(memory: &MemoryBreakdown) -> Vec<String> {
    let figure = |bytes: Option<u64>| bytes.map(|bytes| size(bytes as f64));
    let mut lines = Vec::new();
    let of_peak = [
        figure(memory.heap_released).map(|bytes| format!("{bytes} given back")),
        figure(memory.sys).map(|bytes| format!("{bytes} ever obtained")),
        figure(memory.max_rss).map(|bytes| format!("peak resident {bytes}")),
    ];
    let of_cycle = [
        figure(memory.next_gc).map(|bytes| format!("next collection at {bytes}")),
        memory
            .gogc_factor
            .zip(memory.live)
            .map(|(factor, live)| format!("{factor:.1} × {} live", size(live as f64))),
        match (memory.gogc_percent, memory.gogc_seen_percent) {
            (Some(percent), _) => Some(format!("GOGC {percent}")),
            (None, seen) => seen.map(|percent| format!("GOGC about {percent:.0}")),
        },
        figure(memory.go_memory_limit).map(|bytes| format!("GOMEMLIMIT {bytes}")),
    ];
    let of_group = [
        figure(memory.cgroup_current).map(|bytes| format!("control group {bytes}")),
        figure(memory.cgroup_limit).map(|bytes| format!("limit {bytes}")),
        figure(memory.cgroup_anon).map(|bytes| format!("anonymous {bytes}")),
        figure(memory.cgroup_file).map(|bytes| format!("files {bytes}")),
        figure(memory.cgroup_inactive_file).map(|bytes| format!("of these inactive {bytes}")),
    ];
    let inuse = memory
        .profile_inuse
        .map(|bytes| format!("{} in use by the profile", size(bytes as f64)));
    for facts in [&of_peak[..], &of_cycle, &of_group, &[inuse]] {
        let known: Vec<&str> = facts.iter().flatten().map(String::as_str).collect();
        if !known.is_empty() {
            lines.push(known.join(", "));
        }
    }
    lines
}
