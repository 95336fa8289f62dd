//! Which declared function a frame's code belongs to, and whether that has a receiver.
//!
//! Knows how Go's compiler names closures and wrappers; nothing of stacks.

/// The declared function whose text a frame's code stands in: closures, `go` and `defer`
/// wrappers, method values and range bodies are a part of it. Other names pass unchanged.
///
/// `a/b.(*T).Run.func2.1` and `a/b.(*T).Run-range1` are both in `a/b.(*T).Run`.
pub fn declared_name(raw: &str) -> &str {
    let mut name = raw.strip_suffix(" (inline)").unwrap_or(raw);
    loop {
        let shorter = name
            .rfind(['.', '-'])
            .filter(|&at| at > 0 && is_generated(&name[at..]))
            .map(|at| &name[..at]);
        match shorter {
            // `glob..func1` is at package level: there is no function around it.
            Some(outer) if !outer.ends_with('.') => name = outer,
            _ => return name,
        }
    }
}

/// `.func1`, `.gowrap2`, `.deferwrap1`, `.1`, `-range1`, `-fm`
fn is_generated(part: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbered = ["func", "gowrap", "deferwrap"].iter().any(|word| {
        part[1..]
            .strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || is_number(rest))
    });
    match part.as_bytes()[0] {
        b'.' => numbered || is_number(&part[1..]),
        _ => part == "-fm" || part.strip_prefix("-range").is_some_and(is_number),
    }
}

/// Whether a function (canonical name) is a method, or a closure within one: it has a receiver
/// in which it can keep what it makes. A plain function can only hand it on, unless it keeps
/// it in a variable of its package.
pub(super) fn has_receiver(canonical: &str) -> bool {
    let name = declared_name(canonical);
    let path_end = name.rfind('/').map_or(0, |at| at + 1);
    let symbol = name[path_end..]
        .split_once('.')
        .map_or("", |(_, symbol)| symbol);
    symbol.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_are_part_of_the_function_around_them() {
        for (raw, declared) in [
            ("a.b/c.(*T).Run", "a.b/c.(*T).Run"),
            ("a.b/c.(*T).Run.func2.1", "a.b/c.(*T).Run"),
            ("a.b/c.(*T).Run-range1", "a.b/c.(*T).Run"),
            ("a.b/c.(*T).Run-fm", "a.b/c.(*T).Run"),
            ("main.main.func1.gowrap2", "main.main"),
            ("main.main.deferwrap1 (inline)", "main.main"),
            ("main.run.func", "main.run"),
            ("main.glob..func1", "main.glob..func1"),
            ("main.function", "main.function"),
            ("main.init.0.func1", "main.init"),
            ("_PyEval.2", "_PyEval"),
            ("", ""),
            (".", "."),
            ("-fm", "-fm"),
        ] {
            assert_eq!(declared_name(raw), declared, "{raw}");
        }
    }

    #[test]
    fn methods_have_a_receiver() {
        assert!(has_receiver("a.b/c.(*T).Run"));
        assert!(has_receiver("a.b/c.T.Run.func"));
        assert!(!has_receiver("a.b/c.Run"));
        assert!(!has_receiver("a.b/c.Run.func"));
        assert!(!has_receiver("malloc"));
    }
}
