//! Function names and places, short enough for a column.

use super::wrap::width_of;
use crate::report::sanitize;

/// `controller.go:240`: the file's base name and the line.
pub(super) fn place(file: Option<&str>, line: Option<u32>) -> String {
    let Some(file) = file else {
        return String::new();
    };
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    match line {
        Some(line) => sanitize(&format!("{base}:{line}")).into_owned(),
        None => sanitize(base).into_owned(),
    }
}

/// Where modules are unpacked, whoever's cache it is.
const MODULE_CACHE: &str = "/pkg/mod/";
/// Go's own sources below its root, wherever that is.
const GO_SOURCES: &[&str] = &["/go/src/", "/libexec/src/", "/goroot/src/"];

/// File and line with as much of the path as says whose it is: `module@version/file.go:52` of the
/// module cache, `bufio/bufio.go:599` of Go itself, else as the profile has it.
pub(super) fn full_place(file: Option<&str>, line: Option<u32>) -> String {
    let Some(file) = file else {
        return String::new();
    };
    let of_module = file
        .rfind(MODULE_CACHE)
        .map(|at| &file[at + MODULE_CACHE.len()..]);
    let of_go = || {
        let ends = GO_SOURCES
            .iter()
            .filter_map(|root| Some(&file[file.find(root)? + root.len()..]));
        // A GOPATH has the same look, and packages with a dot in the host's name.
        ends.into_iter().find(|rest| {
            !rest
                .split('/')
                .next()
                .is_some_and(|host| host.contains('.') && rest.contains('/'))
        })
    };
    let shown = match of_module {
        Some(path) => capitals_of(path),
        None => of_go().unwrap_or(file).to_owned(),
    };
    match line {
        Some(line) => sanitize(&format!("{shown}:{line}")).into_owned(),
        None => sanitize(&shown).into_owned(),
    }
}

/// The module cache writes `!x` for `X`.
fn capitals_of(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut is_capital = false;
    for c in path.chars() {
        match c {
            '!' if !is_capital => is_capital = true,
            c if is_capital => {
                out.push(c.to_ascii_uppercase());
                is_capital = false;
            }
            c => out.push(c),
        }
    }
    out
}

/// A function's name without the path of its package: `controller.(*Controller).reconcileHandler`.
pub(super) fn brief(function: &str) -> &str {
    let name_end = function.find(['[', '(']).unwrap_or(function.len());
    match function[..name_end].rfind('/') {
        Some(slash) => &function[slash + 1..],
        None => function,
    }
}

/// Shortens from the left, at a package boundary if that fits, else at a dot, else anywhere;
/// what is left out is marked `…`. The text must be sanitised already.
pub(super) fn shorten(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let fitting = |boundaries: &[char]| {
        text.char_indices()
            .filter(|(_, c)| boundaries.contains(c))
            .map(|(index, c)| &text[index + c.len_utf8()..])
            .find(|rest| !rest.is_empty() && width_of(rest) <= room)
    };
    // Half the column left empty is worse than a break at a dot.
    let cut = fitting(&['/'])
        .filter(|rest| width_of(rest) * 3 >= room)
        .or_else(|| fitting(&['/', '.']))
        .filter(|rest| width_of(rest) * 3 >= room);
    let rest = cut.unwrap_or_else(|| {
        text.char_indices()
            .map(|(index, _)| &text[index..])
            .find(|rest| width_of(rest) <= room)
            .unwrap_or("")
    });
    format!("…{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str =
        "sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller).reconcileHandler";

    #[test]
    fn names_are_cut_at_package_boundaries() {
        assert_eq!(shorten(NAME, 100), NAME);
        assert_eq!(
            shorten(NAME, 54),
            "…internal/controller.(*Controller).reconcileHandler"
        );
        assert_eq!(
            shorten(NAME, 45),
            "…controller.(*Controller).reconcileHandler"
        );
        assert_eq!(shorten(NAME, 35), "…(*Controller).reconcileHandler");
        assert_eq!(shorten(NAME, 20), "…reconcileHandler");
        assert_eq!(shorten(NAME, 10), "…leHandler");
        for width in 1..100 {
            assert!(width_of(&shorten(NAME, width)) <= width);
        }
        assert_eq!(shorten("包包包/函数函数", 6), "…函数");
    }

    #[test]
    fn a_brief_name_keeps_its_type_arguments() {
        assert_eq!(brief(NAME), "controller.(*Controller).reconcileHandler");
        assert_eq!(brief("a/b.F[go.shape/x.T]"), "b.F[go.shape/x.T]");
        assert_eq!(brief("main.main"), "main.main");
    }

    #[test]
    fn a_full_place_says_whose_file_it_is() {
        for (file, shown) in [
            (
                "/home/u/go/pkg/mod/sigs.k8s.io/controller-runtime@v0.6.5/pkg/log/deleg.go",
                "sigs.k8s.io/controller-runtime@v0.6.5/pkg/log/deleg.go:7",
            ),
            (
                "/m/pkg/mod/github.com/!azure/x@v1.0.0/a.go",
                "github.com/Azure/x@v1.0.0/a.go:7",
            ),
            ("/usr/local/go/src/bufio/bufio.go", "bufio/bufio.go:7"),
            (
                "/home/u/go/src/example.com/app/main.go",
                "/home/u/go/src/example.com/app/main.go:7",
            ),
            ("example.com/app/main.go", "example.com/app/main.go:7"),
        ] {
            assert_eq!(full_place(Some(file), Some(7)), shown);
        }
        assert_eq!(full_place(None, Some(7)), "");
    }

    #[test]
    fn places_are_base_names() {
        assert_eq!(
            place(Some("/go/src/a/controller.go"), Some(240)),
            "controller.go:240"
        );
        assert_eq!(place(Some("C:\\a\\b.go"), None), "b.go");
        assert_eq!(place(Some("a/\x1b[2J.go"), Some(1)), "\\x1b[2J.go:1");
        assert_eq!(place(None, Some(3)), "");
    }
}
