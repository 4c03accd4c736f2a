//! The links of the pages lead to files and headings that exist, and the site lists every page.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use regex::Regex;

use crate::documents::{path, read};
use crate::support::process::run;
use crate::support::program::root;

/// The pages of the repository. The pages of the rules are parts of docs/reference/rules.md.
fn pages() -> Vec<String> {
    let mut git = Command::new("git");
    let listed = run(git.args(["ls-files", "*.md"]).current_dir(root()), "").success();
    listed
        .lines()
        .filter(|page| !page.contains("/rules/"))
        .map(str::to_owned)
        .collect()
}

/// A page without its blocks of code.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    for line in read(page).lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence {
            prose += line;
            prose += "\n";
        }
    }
    prose
}

/// The names by which GitHub and mdBook link to the headings of a page.
fn anchors(page: &str) -> BTreeSet<String> {
    let words = Regex::new(r"\[([^\]]*)\]\([^)]*\)").expect("a pattern");
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let mut anchors = BTreeSet::new();
    for heading in headings {
        let heading = words.replace_all(heading.trim_start_matches('#').trim(), "$1");
        let name: String = heading
            .to_lowercase()
            .chars()
            .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect();
        // A heading that comes twice has a number.
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let free = names
            .find(|name| !anchors.contains(name))
            .expect("there is always one");
        anchors.insert(free);
    }
    anchors
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> String {
    let mut parts = Vec::new();
    for part in path.iter().filter_map(|part| part.to_str()) {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn links_of_pages_lead_to_files_and_headings_that_exist() {
    let code = Regex::new("`[^`]*`").expect("a pattern");
    let links = Regex::new(r#"\]\(([^)\s]+)\)|src(?:set)?="([^"]+)""#).expect("a pattern");
    let mut broken = Vec::new();
    for page in pages() {
        let prose = prose(&page);
        for link in links.captures_iter(&code.replace_all(&prose, "")) {
            let link = link.get(1).or(link.get(2)).expect("one of two").as_str();
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let folder = Path::new(&page).parent().expect("a folder");
            let target = if file.is_empty() {
                page.clone()
            } else {
                plain(&folder.join(file))
            };
            let is_page = Path::new(&target)
                .extension()
                .is_some_and(|extension| extension == "md");
            let leads = path(&target).exists()
                && (heading.is_empty() || !is_page || anchors(&target).contains(heading));
            if !leads {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn the_site_lists_every_page_of_the_documentation() {
    let listed = read("docs/SUMMARY.md");
    for page in pages() {
        if let Some(page) = page.strip_prefix("docs/").filter(|page| *page != "SUMMARY.md") {
            assert!(
                listed.contains(&format!("]({page})")),
                "docs/SUMMARY.md lacks {page}"
            );
        }
    }
}
