//! Two snapshots in the order that the user gave: for a diff.

use super::LoadOptions;
use super::argument::{Source, list_files};
use super::error::SourceError;
use super::load::{Loaded, load_files, refuse_terminal};
use crate::profile::{HeapProfile, ProfileFile, SymbolTable};
use crate::snapshot::{LoadedFile, Series, Skipped, Unsuitable};

/// Reads exactly one heap profile from each source; in the series `before`'s comes first.
///
/// # Errors
/// As [`super::load_series`]; and a source that holds no heap profile or several, whose only
/// profile is left out, or whose clock says that the two are in the wrong order.
pub fn load_pair(
    before: &Source,
    after: &Source,
    options: &LoadOptions,
) -> Result<Series, SourceError> {
    let mut listed = list_files(before)?;
    let of_before = listed.len();
    listed.extend(list_files(after)?);
    for (index, file) in listed.iter_mut().enumerate() {
        // Files of the two sides never belong to one moment.
        file.moment = format!("{} {}", side_mark(index < of_before), file.moment);
    }
    refuse_terminal(&listed)?;
    let mut symbols = SymbolTable::default();
    let files: Vec<LoadedFile> = load_files(listed, options, &mut symbols)
        .into_iter()
        .map(Loaded::into_file)
        .collect();
    let (first, first_time) = only_heap(before, &files, side_mark(true), options.force)?;
    let (second, second_time) = only_heap(after, &files, side_mark(false), options.force)?;
    let mut series = Series::assemble(symbols, files, options.force);
    let positions = put_in_order(&mut series, &first, &second);
    if let (Some(earlier), Some(later)) = (first_time, second_time)
        && later < earlier
        && !options.force
        && !positions.is_some_and(|(first, second)| series.trust_counters(first, second))
    {
        return Err(SourceError::WrongOrder {
            before: first,
            after: second,
            seconds: earlier.saturating_sub(later) / 1_000_000_000,
        });
    }
    Ok(series)
}

fn side_mark(is_before: bool) -> &'static str {
    match is_before {
        true => "before",
        false => "after",
    }
}

/// Name and time of the one heap profile of a side.
fn only_heap(
    source: &Source,
    files: &[LoadedFile],
    mark: &str,
    force: bool,
) -> Result<(String, Option<i64>), SourceError> {
    let mut protobufs = Vec::new();
    // `heap?debug=1` beside a protobuf heap is there for its memory figures.
    let mut texts = Vec::new();
    let mut left_out = None;
    let is_of_side = |file: &&LoadedFile| file.moment.split(' ').next() == Some(mark);
    for file in files.iter().filter(is_of_side) {
        let parts = match &file.content {
            Ok(content) => content.parts(),
            Err(reason) => {
                left_out.get_or_insert((file, reason.clone()));
                continue;
            }
        };
        for part in parts {
            let ProfileFile::Heap { heap, memory } = part else {
                continue;
            };
            match unsuitable(heap, force) {
                Some(reason) => {
                    left_out.get_or_insert((file, Skipped::Unsuitable(reason)));
                }
                None if memory.is_some() => texts.push((file, heap.time_nanos)),
                None => protobufs.push((file, heap.time_nanos)),
            }
        }
    }
    let heaps = match protobufs.is_empty() {
        true => texts,
        false => protobufs,
    };
    match (heaps.as_slice(), left_out, source) {
        ([(file, time)], ..) => Ok((file.source.clone(), *time)),
        ([], Some((file, reason)), _) => Err(SourceError::LeftOut {
            source_name: file.source.clone(),
            reason,
        }),
        ([], None, Source::Directory(path)) if !files.iter().any(|f| is_of_side(&f)) => {
            Err(SourceError::NoProfiles { path: path.clone() })
        }
        (heaps, ..) => Err(SourceError::NotOneHeap {
            source_name: source.to_string(),
            count: heaps.len(),
        }),
    }
}

fn unsuitable(heap: &HeapProfile, force: bool) -> Option<Unsuitable> {
    match force {
        true => None,
        false => Unsuitable::of(heap),
    }
}

/// Profiles without a clock are ordered by name, and forced ones by a clock that the user
/// overrules: here the order given counts. Returns where the two stand.
fn put_in_order(series: &mut Series, first: &str, second: &str) -> Option<(usize, usize)> {
    let position = |name: &str, from_end: bool| {
        let mut indices = 0..series.snapshots.len();
        let is_it = |index: &usize| {
            series.snapshots[*index].heap.is_some() && series.snapshots[*index].name() == name
        };
        match from_end {
            true => indices.rev().find(is_it),
            false => indices.find(is_it),
        }
    };
    let (a, b) = (position(first, false)?, position(second, true)?);
    if a > b {
        series.swap(a, b);
        return Some((b, a));
    }
    Some((a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: u64) -> String {
        format!(
            "heap profile: 1: {bytes} [1: {bytes}] @ heap/1048576\n1: {bytes} [1: {bytes}] @ 0x1 0x2\n"
        )
    }

    fn pair(files: &[(&str, String)], before: &str, after: &str) -> Result<Series, SourceError> {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let source = |name: &str| Source::parse(root.path().join(name).as_os_str()).unwrap();
        load_pair(&source(before), &source(after), &LoadOptions::default())
    }

    #[test]
    fn without_a_clock_the_order_given_counts() {
        let files = [("1.heap", text(1024)), ("2.heap", text(2048))];
        for (before, after) in [("1.heap", "2.heap"), ("2.heap", "1.heap")] {
            let series = pair(&files, before, after).unwrap();
            let names: Vec<&str> = series.snapshots.iter().map(|s| s.name()).collect();
            assert!(
                names[0].ends_with(before) && names[1].ends_with(after),
                "{names:?}"
            );
            let all: usize = series.runs.iter().map(|run| run.snapshots.len()).sum();
            assert_eq!(all, 2);
        }
    }

    #[test]
    fn a_file_against_itself_is_two_snapshots() {
        let series = pair(&[("1.heap", text(1024))], "1.heap", "1.heap").unwrap();
        assert_eq!(series.snapshots.len(), 2);
    }

    #[test]
    fn a_clock_that_was_set_back_is_told_from_the_wrong_order() {
        let timed = |objects: u64, seconds: i64| {
            let nanos = seconds * 1_000_000_000;
            let bytes = objects * 1024;
            let values = format!("1: 1024 [{objects}: {bytes}] @");
            format!(
                "heap profile: {values} heap/1048576\n{values} 0x1 0x2\n\n\
                 # runtime.MemStats\n# LastGC = {nanos}\n"
            )
        };
        let files = [("1.heap", timed(2, 5000)), ("2.heap", timed(3, 1400))];
        let series = pair(&files, "1.heap", "2.heap").unwrap();
        assert_eq!(series.runs.len(), 1);
        let warnings: Vec<String> = series.warnings.iter().map(|w| w.to_string()).collect();
        assert!(
            warnings[0].contains("jumped back by 3600 s"),
            "{warnings:?}"
        );
        let swapped = pair(&files, "2.heap", "1.heap");
        assert!(swapped.is_ok_and(|series| series.runs.len() == 2));
    }

    #[test]
    fn each_side_holds_one_heap() {
        let files = [
            ("a/1.heap", text(1024)),
            ("a/2.heap", text(1024)),
            ("b/1.heap", text(1024)),
            (
                "b/1.goroutine.txt",
                "goroutine profile: total 0\n".to_owned(),
            ),
            ("c/1.heap", "<html>".to_owned()),
            ("d/README.md", "hello".to_owned()),
        ];
        assert!(pair(&files, "b", "a/1.heap").is_ok());
        assert!(matches!(
            pair(&files, "a", "b"),
            Err(SourceError::NotOneHeap { count: 2, .. })
        ));
        assert!(matches!(
            pair(&files, "b/1.goroutine.txt", "b"),
            Err(SourceError::NotOneHeap { count: 0, .. })
        ));
        assert!(matches!(
            pair(&files, "b", "c"),
            Err(SourceError::LeftOut { .. })
        ));
        assert!(matches!(
            pair(&files, "b", "d"),
            Err(SourceError::NoProfiles { .. })
        ));
    }
}
