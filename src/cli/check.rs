//! `heapdrift check [BASE] HEAD`

use super::args::{CheckArgs, General};
use super::config::Config;
use super::exit::Exit;
use super::failure::{Failure, note};
use super::fetching::Connector;
use super::inputs::refuse_nothing;
use super::output::{Paper, Report, print};
use super::size::parse_size;
use crate::diagnosis::{
    BASELINE_VERSION, Baseline, Budget, Check, CheckOptions, CheckVerdict, Reference, check,
};
use crate::report::{
    Layout, Notices, check_markdown, check_notices, check_table, cut_check, to_json,
};
use crate::source::{Source, load_series, load_sides};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A baseline has a line a site; this is a hundred times a large one.
const MAX_BASELINE_BYTES: u64 = 64 << 20;

pub(super) fn run(args: &CheckArgs, general: &General) -> Result<Exit, Failure> {
    let config = Config::find()?;
    let (base, head) = args.sides()?;
    if !args.reading.force {
        refuse_same_file(&base, &head)?;
    }
    let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
    let connector = Connector::new(&args.fetching, &args.cluster, args.reading.bounds.max_size)?;
    let fetch = |arguments: &[OsString]| connector.fetch(Source::parse_all(arguments)?);
    let (base, head) = (fetch(&base)?, fetch(&head)?);
    let loading = args.reading.options();
    let (base, head) = match base.is_empty() {
        true => (None, load_series(&head, &loading)?),
        false => {
            let [base, head] = load_sides(&base, &head, &loading)?;
            refuse_nothing(&base)?;
            (Some(base), head)
        }
    };
    refuse_nothing(&head)?;
    let whole = args.max_growth;
    let options = CheckOptions {
        heap: whole,
        package: args.max_package_growth.unwrap_or(whole),
        site: args.max_site_growth.unwrap_or(whole),
        allow: config.allow,
        app_modules: args.app_module.clone(),
        force: args.reading.force,
    };
    let reference = Reference {
        base: base.as_ref(),
        baseline: baseline.as_ref(),
    };
    let (result, figures) = check(&reference, &head, &options)?;
    if let Some(path) = &args.write_baseline {
        write_baseline(path, &figures)?;
    }
    let is_compared = base.is_some() || baseline.is_some();
    let exit = match result.verdict {
        _ if args.exit_zero || !is_compared => Exit::Clean,
        CheckVerdict::Passed => Exit::Clean,
        CheckVerdict::Failed => Exit::Found,
        CheckVerdict::Undecided => Exit::NotComparable,
    };
    if is_compared {
        print(result, args.rows.rows, general)?;
    }
    Ok(exit)
}

impl CheckArgs {
    /// What is given for the base and for the head.
    fn sides(&self) -> Result<(Vec<OsString>, Vec<OsString>), Failure> {
        let (mut base, mut head) = (self.base.clone(), self.head.clone());
        match self.sources.as_slice() {
            [] => {}
            [one] if head.is_empty() => head.push(one.clone()),
            [first, second] if base.is_empty() && head.is_empty() => {
                base.push(first.clone());
                head.push(second.clone());
            }
            _ => {
                let hint = "check BASE HEAD, or check --base FILE... --head FILE...";
                let message = "there are more sources than a base and a head";
                return Err(Failure::new(Exit::Usage, message, hint));
            }
        }
        let is_one_sided = self.baseline.is_some() || self.write_baseline.is_some();
        match (base.is_empty(), head.is_empty()) {
            (_, true) => Err(Failure::new(
                Exit::Usage,
                "the head is missing: what is to be checked?",
                "check BASE HEAD, each a heap profile or a directory of one a run",
            )),
            (true, false) if !is_one_sided => Err(Failure::new(
                Exit::Usage,
                "the base is missing: with what is the head to be compared?",
                "check BASE HEAD, or check --baseline FILE HEAD",
            )),
            _ => Ok((base, head)),
        }
    }
}

/// A file that is compared with itself always passes: the gate would sleep.
fn refuse_same_file(base: &[OsString], head: &[OsString]) -> Result<(), Failure> {
    let real = |argument: &OsString| std::fs::canonicalize(argument).ok();
    let known: Vec<PathBuf> = base.iter().filter_map(real).collect();
    match head
        .iter()
        .find(|one| real(one).is_some_and(|path| known.contains(&path)))
    {
        Some(same) => Err(Failure::new(
            Exit::Usage,
            format!("{}: given as base and as head", same.display()),
            "give profiles of two builds; --force compares it with itself",
        )),
        None => Ok(()),
    }
}

/// Understands `5%`, `10MiB` or `5%,1MiB`.
pub(super) fn parse_budget(text: &str) -> Result<Budget, String> {
    let mut budget = Budget {
        relative: None,
        bytes: None,
    };
    let hint = "a share, a size, or both: 5%, 10MiB or 5%,1MiB";
    for part in text.split(',').map(str::trim) {
        let is_new = match part.strip_suffix('%') {
            Some(number) => {
                let share: f64 = number.trim().parse().map_err(|_| hint.to_owned())?;
                if !share.is_finite() || share < 0.0 {
                    return Err(hint.to_owned());
                }
                budget.relative.replace(share / 100.0).is_none()
            }
            // `parse_size` is for limits of which 0 is none.
            None if part == "0" => budget.bytes.replace(0.0).is_none(),
            None => {
                let bytes = parse_size(part).map_err(|error| format!("{error}; {hint}"))?;
                budget.bytes.replace(bytes as f64).is_none()
            }
        };
        if !is_new {
            return Err(hint.to_owned());
        }
    }
    Ok(budget)
}

fn read_baseline(path: &Path) -> Result<Baseline, Failure> {
    let hint = "write it anew with --write-baseline";
    let refuse =
        |problem: String| Failure::new(Exit::Usage, format!("{}: {problem}", path.display()), hint);
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BASELINE_BYTES).read_to_string(&mut text))
        .map_err(|error| refuse(error.to_string()))?;
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| refuse(format!("no baseline: {error}")))?;
    match value
        .get("schema_version")
        .and_then(serde_json::Value::as_u64)
    {
        Some(version) if version == u64::from(BASELINE_VERSION) => {}
        Some(version) => {
            return Err(refuse(format!(
                "a baseline of version {version}, and this is heapdrift for version {BASELINE_VERSION}"
            )));
        }
        None => return Err(refuse("no baseline: it has no schema_version".to_owned())),
    }
    serde_json::from_value(value).map_err(|error| refuse(format!("no baseline: {error}")))
}

fn write_baseline(path: &Path, figures: &Baseline) -> Result<(), Failure> {
    let refuse = |problem: String| {
        let message = format!("{}: {problem}", path.display());
        Failure::new(Exit::Usage, message, "check the path of --write-baseline")
    };
    let text = to_json(figures).map_err(|error| refuse(error.to_string()))?;
    std::fs::write(path, text).map_err(|error| refuse(error.to_string()))?;
    note(&format!("the head's figures are in {}", path.display()));
    Ok(())
}

impl Report for Check {
    fn table(mut self, layout: &Layout, rows: usize) -> String {
        cut_check(&mut self, rows);
        check_table(&self, layout)
    }

    fn json(mut self, rows: usize) -> serde_json::Result<String> {
        cut_check(&mut self, rows);
        to_json(&self)
    }

    fn markdown_with(mut self, paper: &Paper) -> Option<String> {
        cut_check(&mut self, paper.rows_or(30));
        Some(check_markdown(&self))
    }

    fn notices(&self) -> Option<Notices> {
        Some(check_notices(self))
    }

    fn source_files(&self) -> Vec<&str> {
        let files = self.rows.iter().map(|row| &row.file);
        files.flatten().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_shares_sizes_or_both() {
        let parse = |text: &str| parse_budget(text).map(|b| (b.relative, b.bytes));
        assert_eq!(parse("5%"), Ok((Some(0.05), None)));
        assert_eq!(parse("10MiB"), Ok((None, Some(10_485_760.0))));
        assert_eq!(parse("2.5 %, 1MiB"), Ok((Some(0.025), Some(1_048_576.0))));
        assert_eq!(parse("0"), Ok((None, Some(0.0))));
        assert_eq!(parse("0%"), Ok((Some(0.0), None)));
        for wrong in ["", "-1%", "x%", "NaN%", "5%,5%", "much", "1MiB,2MiB"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
