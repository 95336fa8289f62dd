//! Stacks as an icicle: a tree of functions from the root down, cut to a size that a page can
//! carry, drawn once for readers without JavaScript and given as data to the page's script.
//!
//! A frame of a pair is as wide as the sum over its stacks of the larger of before and after, so
//! that stacks that vanished stay visible.

use crate::diagnosis::Stacks;
use crate::report::names::brief;
use crate::report::sanitize::html::{Text, script_json};
use crate::report::units::{change, counted, from_to, percent, size};
use hashbrown::HashMap;
use serde::Serialize;
use std::cmp::Reverse;

/// Frames that the script gets, and of these the ones that are drawn without it.
const MAX_NODES: usize = 3000;
const MAX_DRAWN: usize = 400;
/// Rows below the root that are drawn without the script.
const MAX_ROWS: usize = 48;
/// Height of a row in pixels.
const ROW: usize = 20;
/// Longest name, in characters.
const MAX_NAME: usize = 240;

/// A flame graph for a page.
pub(super) struct Flame {
    /// The picture for readers without JavaScript.
    pub(super) drawing: String,
    /// The data for the script.
    pub(super) data: String,
    /// Whether there are two sides.
    pub(super) is_pair: bool,
    /// What is cut, as a sentence; empty for nothing.
    pub(super) cut: String,
}

#[derive(Debug, Clone, Copy, Default)]
struct Node {
    parent: usize,
    name: usize,
    before: i64,
    after: i64,
    /// Larger of before and after, by stack.
    width: i64,
    /// What grew, by stack.
    grown: i64,
}

#[derive(Serialize)]
struct Data {
    pair: bool,
    names: Vec<Text>,
    /// Six numbers a node: parent, name, before, after, width, grown. A parent stands before its
    /// children; the first node is the root, its own parent.
    nodes: Vec<i64>,
}

impl Flame {
    /// None when nothing is in use.
    pub(super) fn new(stacks: &Stacks) -> Option<Self> {
        let is_pair = stacks.before.is_some();
        let (names, nodes) = tree(stacks);
        if nodes[0].width <= 0 {
            return None;
        }
        let (kept, cut) = prune(&nodes);
        Some(Self {
            drawing: draw(&names, &kept, is_pair),
            data: script_json(&data(&names, &kept, is_pair)),
            is_pair,
            cut,
        })
    }
}

/// Names and nodes; children stand behind their parents.
fn tree(stacks: &Stacks) -> (Vec<&str>, Vec<Node>) {
    let mut names: Vec<&str> = vec!["all"];
    let mut name_ids: HashMap<&str, usize> = HashMap::new();
    let mut nodes = vec![Node::default()];
    let mut children: HashMap<(usize, usize), usize> = HashMap::new();
    for row in &stacks.rows {
        let (before, after) = (row.before[0].max(0), row.after[0].max(0));
        let mut at = 0;
        let functions = row.frames.iter();
        let functions = functions.map(|f| stacks.frames[*f as usize].function.as_str());
        let path: Vec<&str> = match row.frames.is_empty() {
            true => vec!["(no stack)"],
            false => functions.collect(),
        };
        for step in 0..=path.len() {
            let node: &mut Node = &mut nodes[at];
            node.before = node.before.saturating_add(before);
            node.after = node.after.saturating_add(after);
            node.width = node.width.saturating_add(before.max(after));
            node.grown = node.grown.saturating_add((after - before).max(0));
            let Some(function) = path.get(step) else {
                break;
            };
            let name = *name_ids.entry(function).or_insert_with(|| {
                names.push(function);
                names.len() - 1
            });
            let (parent, next) = (at, nodes.len());
            at = *children.entry((parent, name)).or_insert_with(|| {
                nodes.push(Node {
                    parent,
                    name,
                    ..Node::default()
                });
                next
            });
        }
    }
    (names, nodes)
}

/// The widest nodes, widest child first, parents before children; and what became of the others.
fn prune(nodes: &[Node]) -> (Vec<Node>, String) {
    let mut by_width: Vec<usize> = (0..nodes.len()).filter(|n| nodes[*n].width > 0).collect();
    // A parent is no narrower than its child and stands before it.
    by_width.sort_by_key(|&node| (Reverse(nodes[node].width), node));
    let rest = by_width.split_off(by_width.len().min(MAX_NODES));
    let mut is_kept = vec![false; nodes.len()];
    by_width.iter().for_each(|&node| is_kept[node] = true);
    let cut_bytes: i64 = rest
        .iter()
        .filter(|&&node| is_kept[nodes[node].parent])
        .map(|&node| nodes[node].width)
        .sum();
    let cut = match rest.len() {
        0 => String::new(),
        frames => format!(
            "{} of less than {} each are not in the picture, {} in all.",
            counted(frames, "frame"),
            size(nodes[by_width[by_width.len() - 1]].width as f64),
            size(cut_bytes as f64),
        ),
    };
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for &node in by_width.iter().filter(|&&node| node != 0) {
        children[nodes[node].parent].push(node);
    }
    let mut kept: Vec<Node> = Vec::with_capacity(by_width.len());
    let mut open = vec![(0, 0)];
    while let Some((node, parent)) = open.pop() {
        let number = kept.len();
        kept.push(Node {
            parent,
            ..nodes[node]
        });
        open.extend(children[node].iter().rev().map(|&child| (child, number)));
    }
    (kept, cut)
}

fn data(names: &[&str], nodes: &[Node], is_pair: bool) -> Data {
    let mut ids: HashMap<usize, i64> = HashMap::new();
    let mut used = Vec::new();
    let nodes = nodes.iter().flat_map(|node| {
        let next = ids.len() as i64;
        let name = *ids.entry(node.name).or_insert_with(|| {
            used.push(shown_name(names[node.name]));
            next
        });
        let Node {
            parent,
            before,
            after,
            width,
            grown,
            ..
        } = *node;
        [parent as i64, name, before, after, width, grown]
    });
    let nodes = nodes.collect();
    Data {
        pair: is_pair,
        names: used,
        nodes,
    }
}

fn shown_name(name: &str) -> Text {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => Text::new(format!("{}…", &name[..end])),
        None => Text::new(name),
    }
}

/// The widest frames as SVG that is as wide as its place, with a title each.
fn draw(names: &[&str], nodes: &[Node], is_pair: bool) -> String {
    let total = nodes[0].width as f64;
    let mut widths: Vec<i64> = nodes.iter().map(|node| node.width).collect();
    widths.sort_unstable_by_key(|width| Reverse(*width));
    let least = widths.get(MAX_DRAWN).copied().unwrap_or(0);
    // Where the next child of each node begins, and how deep the node is.
    let mut next: Vec<f64> = vec![0.0; nodes.len()];
    let mut depth: Vec<usize> = vec![0; nodes.len()];
    let mut deepest = 0;
    let mut frames = String::new();
    for (number, node) in nodes.iter().enumerate() {
        let start = match number {
            0 => 0.0,
            _ => {
                let start = next[node.parent];
                next[node.parent] += node.width as f64;
                depth[number] = depth[node.parent] + 1;
                start
            }
        };
        next[number] = start;
        if node.width <= least || depth[number] > MAX_ROWS {
            continue;
        }
        deepest = deepest.max(depth[number]);
        let name = shown_name(names[node.name]).escaped();
        let short = shown_name(brief(names[node.name])).escaped();
        let share = percent(node.width as f64 / total);
        let figures = match is_pair {
            true => format!(
                "{} ({})",
                change((node.after - node.before) as f64, None),
                from_to(node.before as f64, node.after as f64)
            ),
            false => format!("{}, {share}", size(node.after as f64)),
        };
        frames += &format!(
            "<svg x=\"{:.3}%\" y=\"{}\" width=\"{:.3}%\" height=\"{}\"><title>{name}\n{figures}</title>\
             <rect class=\"{}\" width=\"100%\" height=\"100%\"/><text x=\"4\" y=\"14\">{short}</text></svg>",
            start / total * 100.0,
            depth[number] * ROW,
            node.width as f64 / total * 100.0,
            ROW - 1,
            shade(node, is_pair),
        );
    }
    format!(
        "<svg class=\"icicle\" width=\"100%\" height=\"{}\" role=\"img\" aria-label=\"Flame graph, from the root at the top down to the allocation\">{frames}</svg>",
        (deepest + 1) * ROW
    )
}

/// The class that colours a frame: by how much of it changed, and in which direction.
fn shade(node: &Node, is_pair: bool) -> &'static str {
    if !is_pair {
        return ["m0", "m1", "m2", "m3", "m4"][node.name % 5];
    }
    let share = (node.after - node.before) as f64 / (node.width.max(1)) as f64;
    match share {
        s if s > 0.66 => "g3",
        s if s > 0.33 => "g2",
        s if s > 0.02 => "g1",
        s if s < -0.66 => "s3",
        s if s < -0.33 => "s2",
        s if s < -0.02 => "s1",
        _ => "eq",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{StackFrame, StackRow, StackSide};

    fn stacks(rows: &[(&[u32], i64, i64)]) -> Stacks {
        let frame = |name: &str| StackFrame {
            function: name.to_owned(),
            file: None,
            line: None,
        };
        Stacks {
            frames: ["main", "kept", "</script>"].map(frame).to_vec(),
            rows: rows
                .iter()
                .map(|(frames, before, after)| StackRow {
                    frames: frames.to_vec(),
                    object_size: 8,
                    before: [*before, 1],
                    after: [*after, 1],
                })
                .collect(),
            before: Some(StackSide::default()),
            ..Stacks::default()
        }
    }

    #[test]
    fn what_vanished_keeps_its_width() {
        let stacks = stacks(&[(&[0, 1], 10, 40), (&[0, 2], 60, 0)]);
        let (names, nodes) = tree(&stacks);
        assert_eq!(names, ["all", "main", "kept", "</script>"]);
        assert_eq!((nodes[1].before, nodes[1].after), (70, 40));
        assert_eq!((nodes[1].width, nodes[1].grown), (100, 30));
        let flame = Flame::new(&stacks).unwrap();
        // The wider child comes first.
        assert!(flame.data.ends_with(
            r#""nodes":[0,0,70,40,100,30,0,1,70,40,100,30,1,2,60,0,60,0,1,3,10,40,40,30]}"#
        ));
        assert!(flame.drawing.contains("&lt;/script&gt;") && !flame.data.contains("</"));
        assert!(
            flame
                .drawing
                .contains(r#"x="60.000%" y="40" width="40.000%""#)
        );
        assert_eq!(flame.cut, "");
    }

    #[test]
    fn a_tree_without_bytes_is_no_picture() {
        assert!(Flame::new(&stacks(&[])).is_none());
    }

    #[test]
    fn what_is_cut_is_counted() {
        let mut many = stacks(&[]);
        for number in 0..5000 {
            many.frames.push(StackFrame {
                function: format!("f{number}"),
                file: None,
                line: None,
            });
            many.rows.push(StackRow {
                frames: vec![number + 3],
                object_size: 8,
                before: [0, 0],
                after: [if number < 2999 { 2000 } else { 1000 }, 1],
            });
        }
        let flame = Flame::new(&many).unwrap();
        // The root and 2,999 functions are kept.
        assert_eq!(
            flame.cut,
            "2,001 frames of less than 2.0 KiB each are not in the picture, 1.9 MiB in all."
        );
    }
}
