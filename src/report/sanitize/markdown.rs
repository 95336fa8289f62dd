//! Text that says in Markdown what it says without, whatever characters it is made of.
//!
//! Written for GitHub's dialect: beside markup proper, `@name`, `#12` and bare addresses would
//! become mentions and links there.

use super::sanitize;

/// Code between fences that are longer than any that it holds.
pub(in crate::report) fn fenced(code: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    let lines: Vec<_> = code
        .lines()
        .map(|line| sanitize(line).into_owned())
        .collect();
    format!("{fence}\n{}\n{fence}\n", lines.join("\n"))
}

/// Running text: what Markdown would read as markup is escaped, but for `code` in backquotes.
pub(in crate::report) fn prose(text: &str) -> String {
    let text = sanitize(text);
    let is_paired = text.matches('`').count().is_multiple_of(2);
    let mut out = String::with_capacity(text.len() + 8);
    let mut is_code = false;
    for (index, c) in text.char_indices() {
        match c {
            '`' if is_paired => is_code = !is_code,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' if !is_code => out.push('\\'),
            '#' | '+' | '-' if index == 0 => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}

/// A name as code: nothing in it means anything.
pub(in crate::report) fn code_span(text: &str) -> String {
    let text = sanitize(text);
    if text.is_empty() {
        return String::new();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Of spaces at both ends one is taken off again.
    let is_open = |c: char| c == '`' || c == ' ';
    let space = match text.starts_with(is_open) || text.ends_with(is_open) {
        true => " ",
        false => "",
    };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A sentence that may hold names: words in which Markdown would find markup are set as code.
pub(in crate::report) fn sentence(text: &str) -> String {
    let text = sanitize(text);
    let words = text.split(' ').enumerate();
    let written: Vec<String> = words
        .map(|(number, word)| written(word, number == 0))
        .collect();
    written.join(" ")
}

/// Characters that may begin markup, a mention or an entity.
const MARKUP: &[char] = &[
    '\\', '`', '*', '_', '[', ']', '<', '>', '|', '@', '#', '~', '&', '$', '^', '{', '}',
];

fn written(word: &str, is_first: bool) -> String {
    if word.chars().nth(1).is_none() && word.starts_with(MARKUP)
        || is_first && !word.is_empty() && word.chars().all(|c| "-+=".contains(c))
    {
        return format!("\\{word}");
    }
    if !word.contains(MARKUP) && !word.contains("://") && !word.contains("www.") {
        return word.to_owned();
    }
    let mut core = word.trim_end_matches([',', '.', ';', ':']);
    // Brackets around a name are the sentence's; a name's own come in pairs.
    let open = |text: &str| text.matches('(').count();
    let closed = |text: &str| text.matches(')').count();
    if core.ends_with(')') && closed(core) > open(core) {
        core = &core[..core.len() - 1];
    }
    let start = usize::from(core.starts_with('(') && open(core) > closed(core));
    let (before, after) = (&word[..start], &word[core.len()..]);
    format!("{before}{}{after}", code_span(&core[start..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_is_escaped_and_code_is_not() {
        assert_eq!(prose("a_b `c_d` <e>"), r"a\_b `c_d` \<e\>");
        assert_eq!(prose("one ` alone *"), r"one \` alone \*");
        assert_eq!(prose("# no heading"), r"\# no heading");
        assert_eq!(prose("a\x1b[2J"), r"a\\x1b\[2J");
        assert_eq!(fenced("a ``` b"), "````\na ``` b\n````\n");
    }

    #[test]
    fn names_in_sentences_become_code() {
        for (text, expect) in [
            (
                "grew by 3.1 MiB/h, p < 1e-12",
                r"grew by 3.1 MiB/h, p \< 1e-12",
            ),
            (
                "it comes from main.(*T).f, mostly",
                "it comes from `main.(*T).f`, mostly",
            ),
            ("(by a_b)", "(by `a_b`)"),
            (
                "(a.(*Old).f → (*T).g 3 MiB)",
                "(`a.(*Old).f` → `(*T).g` 3 MiB)",
            ),
            (
                "<img src=x onerror=alert(1)>",
                "`<img` src=x `onerror=alert(1)>`",
            ),
            ("see [me](http://x.y)", "see `[me](http://x.y)`"),
            ("@all see #12", "`@all` see `#12`"),
            ("# a", r"\# a"),
            ("--- a", r"\--- a"),
            ("a `b` @c", "a `` `b` `` `@c`"),
        ] {
            assert_eq!(sentence(text), expect);
        }
    }

    #[test]
    fn a_code_span_holds_any_text() {
        assert_eq!(code_span("a"), "`a`");
        assert_eq!(code_span("a``b"), "```a``b```");
        assert_eq!(code_span("`a"), "`` `a ``");
        assert_eq!(code_span(""), "");
    }
}
