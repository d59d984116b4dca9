//! The book holds together: `SUMMARY.md` names every page once, and every relative link and anchor is there.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::source;

/// Every page but the summary, by its path in the book.
pub(crate) fn pages() -> Vec<String> {
    let (mut open, mut pages) = (vec![source()], Vec::new());
    while let Some(at) = open.pop() {
        for path in std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path.strip_prefix(source()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    pages.retain(|page| page != "SUMMARY.md");
    pages.sort();
    pages
}

fn text_of(page: &Path) -> String {
    std::fs::read_to_string(source().join(page)).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The lines of a page outside of its blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

/// Targets of `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let targets = prose(text).flat_map(|line| line.split("](").skip(1));
    targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// Headings as mdBook names them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.collect::<String>().to_lowercase().replace(' ', "-")
        })
        .collect()
}

/// `a/../b` as `b`; what leads out of the book keeps its `..`.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir && tidy.file_name().is_some() {
            tidy.pop();
        } else {
            tidy.push(part);
        }
    }
    tidy
}

#[test]
fn the_summary_names_every_page_once() {
    let mut named = links(&text_of(Path::new("SUMMARY.md")));
    named.sort();
    assert_eq!(named, pages());
}

#[test]
fn every_link_leads_somewhere() {
    let mut lost = Vec::new();
    for page in pages() {
        let page = Path::new(&page);
        for link in links(&text_of(page)) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').map_or((link.as_str(), None), |(path, a)| (path, Some(a)));
            let to = if path.is_empty() {
                page.to_path_buf()
            } else {
                tidy(&page.parent().unwrap_or(Path::new("")).join(path))
            };
            let there = source().join(&to).is_file() && !to.starts_with("..");
            if !there || anchor.is_some_and(|anchor| !anchors(&text_of(&to)).contains(anchor)) {
                lost.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}
