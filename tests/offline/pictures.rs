//! The pictures of the pages, drawn from `docs/pictures/pictures.yaml`. `POOLGATE_WRITE=1` writes them; otherwise a picture
//! that differs from its description, or from the output that it shows, fails.

mod draw;
mod terminal;

use std::process::Command;

use poolgate_core::manifest::{Limits, parse};
use regex::Regex;

use crate::documents::{WRITE, path, read};
use crate::support::process::run;
use crate::support::program::root;
use draw::Picture;

/// All pictures, as they are described.
fn described() -> Vec<Picture> {
    let text = read("docs/pictures/pictures.yaml");
    let document = parse(&text, &Limits::default()).next().expect("a document");
    assert_eq!(document.problems(), []);
    serde_json::from_value(document.into_value()).expect("pictures")
}

#[test]
fn pictures_are_drawn_as_they_are_described() {
    for picture in described() {
        let shown: Vec<_> = picture
            .terminal
            .iter()
            .map(|command| terminal::typed(command))
            .collect();
        // An empty line between them.
        let drawn = picture.draw(&shown.join(&Vec::new()));
        let name = format!("docs/pictures/{}.svg", picture.name);
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(path(&name), &drawn).expect("a picture");
        }
        roxmltree::Document::parse(&drawn).expect("XML");
        assert!(
            std::fs::read_to_string(path(&name)).is_ok_and(|stored| stored == drawn),
            "{name}: tests/generated-files --write draws it again"
        );
    }
}

#[test]
fn pages_show_only_pictures_that_exist_and_say_what_each_shows() {
    let mut git = Command::new("git");
    let pages = run(git.args(["ls-files", "*.md"]).current_dir(root()), "").success();
    let shown = Regex::new(r"pictures/([a-z-]+\.svg)").expect("a pattern");
    let without_words = Regex::new(r#"!\[\s*\]|<img (?:[^a>]|a[^l>])*>|alt="""#).expect("a pattern");
    for page in pages.lines() {
        let text = read(page);
        for name in shown.captures_iter(&text) {
            let picture = format!("docs/pictures/{}", &name[1]);
            assert!(path(&picture).exists(), "{page} shows {picture}");
        }
        assert_eq!(
            without_words.find(&text).map(|found| found.as_str()),
            None,
            "{page}"
        );
    }
}
