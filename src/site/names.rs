//! Canonical function names: what stays the same across builds, Go versions and vendoring.
//!
//! Names are only compared in this form; what is shown is the name in the profile.

/// The canonical form of a Go function name; other languages' names pass nearly unchanged.
///
/// Gone are: everything up to `/vendor/`, ` (inline)`, `%2e` escapes, type arguments,
/// `-fm`, `-rangeN`, `.gowrapN`, `.deferwrapN`, the numbers of closures and `init`s, and
/// major versions in import paths.
pub fn canonical_name(raw: &str) -> String {
    let name = raw.strip_suffix(" (inline)").unwrap_or(raw);
    let name = match name.rfind("/vendor/") {
        Some(at) => &name[at + "/vendor/".len()..],
        None => name.strip_prefix("vendor/").unwrap_or(name),
    };
    let name = decode_percent(name);
    let name = drop_type_arguments(&name);
    let name = drop_major_versions(&name);
    let (package, symbol) = split_package(&name);
    format!("{package}{}", canonical_symbol(symbol))
}

/// Splits `a.b/c.Type.Method` into the import path with its dot (`a.b/c.`) and the symbol.
fn split_package(name: &str) -> (&str, &str) {
    let path_end = name.rfind('/').map_or(0, |at| at + 1);
    match name[path_end..].find('.') {
        Some(dot) => name.split_at(path_end + dot + 1),
        None => ("", name),
    }
}

/// The import path of a canonical or raw Go name, without the dot; empty if there is none.
pub(super) fn package_of(name: &str) -> &str {
    let (package, _) = split_package(name);
    package.strip_suffix('.').unwrap_or(package)
}

fn decode_percent(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('%') {
        let (before, tail) = rest.split_at(at);
        out.push_str(before);
        let code = tail
            .get(1..3)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code.filter(u8::is_ascii_graphic) {
            Some(code) => {
                out.push(char::from(code));
                rest = &tail[3..];
            }
            None => {
                out.push('%');
                rest = &tail[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Drops `[...]` and `[go.shape.…]` with balanced brackets; an unbalanced rest stays.
fn drop_type_arguments(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut depth = 0usize;
    let mut open_at = 0;
    for c in name.chars() {
        match c {
            '[' => {
                if depth == 0 {
                    open_at = out.len();
                }
                depth += 1;
                out.push(c);
            }
            ']' if depth > 0 => {
                depth -= 1;
                out.push(c);
                if depth == 0 {
                    out.truncate(open_at);
                }
            }
            _ => out.push(c),
        }
    }
    out
}

/// Drops `/vN` (N ≥ 2: `/v1` is an API package, not a major version) and `gopkg.in/x.vN`.
fn drop_major_versions(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let is_gopkg = name.starts_with("gopkg.in/");
    for (index, element) in name.split('/').enumerate() {
        let (head, tail) = match element.find('.') {
            Some(dot) => element.split_at(dot),
            None => (element, ""),
        };
        if index > 0 && is_major_version(head) {
            // `yaml/v3.Unmarshal` keeps `.Unmarshal`; `x/v2/y` loses the element.
            out.push_str(tail);
            continue;
        }
        if index > 0 {
            out.push('/');
        }
        out.push_str(head);
        let version = tail.strip_prefix('.').map(|rest| {
            let end = rest.find('.').unwrap_or(rest.len());
            rest.split_at(end)
        });
        match version {
            Some((version, rest)) if is_gopkg && index > 0 && is_version(version) => {
                out.push_str(rest);
            }
            _ => out.push_str(tail),
        }
    }
    out
}

fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(is_number)
}

fn is_major_version(text: &str) -> bool {
    is_version(text) && !matches!(text, "v0" | "v1")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// The part behind the import path: method wrappers, closures and `init`s.
fn canonical_symbol(symbol: &str) -> String {
    // Package-level closures were `glob..func1` before Go 1.21.
    let symbol = symbol.replace("glob..", "glob.");
    let mut parts: Vec<&str> = Vec::new();
    let mut is_closure = false;
    for part in split_symbol(&symbol) {
        let part = part.strip_suffix("-fm").unwrap_or(part);
        let part = match part.rfind("-range") {
            Some(at) if is_number(&part[at + "-range".len()..]) => &part[..at],
            _ => part,
        };
        let numbered = |prefix: &str| part.strip_prefix(prefix).is_some_and(is_number);
        if numbered("gowrap") || numbered("deferwrap") || is_number(part) {
            continue;
        }
        if numbered("func") || (is_closure && part == "func") {
            is_closure = true;
            continue;
        }
        // `Outer.Outer.func1`: a closure of an inlined function is named after both.
        if parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    let mut canonical = parts.join(".");
    if is_closure {
        canonical.push_str(if canonical.is_empty() {
            "func"
        } else {
            ".func"
        });
    }
    canonical
}

/// Splits at dots outside parentheses: `(*T).m.func1` is three parts.
fn split_symbol(symbol: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    symbol.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == '.' && depth <= 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_function_become_equal() {
        let check = |raw: &str, expect: &str| assert_eq!(canonical_name(raw), expect, "{raw}");
        check("main.leak", "main.leak");
        check("main.(*T).leak (inline)", "main.(*T).leak");
        check("main.main.func1", "main.main.func");
        check("main.main.func1.2", "main.main.func");
        check("main.Outer.Outer.func1.2", "main.Outer.func");
        check("main.main.func2.gowrap1", "main.main.func");
        check("main.main.gowrap3", "main.main");
        check("main.f.deferwrap1", "main.f");
        check("main.(*T).Close-fm", "main.(*T).Close");
        check("main.walk-range1", "main.walk");
        check("main.init.0", "main.init");
        check("main.glob..func1", "main.glob.func");
        check("main.Map[...]", "main.Map");
        check("main.Map[go.shape.struct { A []int }].Get", "main.Map.Get");
        check(
            "main.(*Cache[go.shape.string,go.shape.[]uint8]).Set",
            "main.(*Cache).Set",
        );
        check("gopkg.in/yaml%2ev2.Unmarshal", "gopkg.in/yaml.Unmarshal");
        check(
            "gopkg.in/yaml.v3.(*parser).parse",
            "gopkg.in/yaml.(*parser).parse",
        );
        check("github.com/a/b/v2/c.F", "github.com/a/b/c.F");
        check(
            "github.com/go-redis/redis/v8.NewClient",
            "github.com/go-redis/redis.NewClient",
        );
        check(
            "k8s.io/api/core/v1.(*PodSpec).Unmarshal",
            "k8s.io/api/core/v1.(*PodSpec).Unmarshal",
        );
        check(
            "github.com/x/y/vendor/github.com/lib/pq.F",
            "github.com/lib/pq.F",
        );
        check(
            "vendor/golang.org/x/net/http2/hpack.F",
            "golang.org/x/net/http2/hpack.F",
        );
        check("0x45ab10", "0x45ab10");
        check("std::vec::Vec<T>::push", "std::vec::Vec<T>::push");
        check("", "");
        check("[", "[");
        check("main.f[unbalanced", "main.f[unbalanced");
        check("a%", "a%");
        check("a%zz", "a%zz");
    }

    #[test]
    fn a_package_is_what_stands_before_the_first_dot_of_the_last_element() {
        assert_eq!(
            package_of("k8s.io/client-go/rest.(*Request).Watch"),
            "k8s.io/client-go/rest"
        );
        assert_eq!(package_of("main.main"), "main");
        assert_eq!(package_of("0x10"), "");
    }

    proptest::proptest! {
        #[test]
        fn no_name_panics_and_canonical_names_are_stable(raw in "\\PC{0,60}") {
            let once = canonical_name(&raw);
            proptest::prop_assert!(once.len() <= raw.len() * 3 + 8);
        }
    }
}
