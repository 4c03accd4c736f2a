//! The pictures of the pages, drawn from `docs/pictures/pictures.yaml`. `POOLGATE_WRITE=1` writes them; otherwise a picture
//! that differs from its description, or from the output that it shows, fails.

mod draw;
mod terminal;

use poolgate_core::manifest::{Limits, parse};

use crate::documents::{WRITE, path, read};
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
        let shown: Vec<_> = picture.terminal.iter().map(|command| terminal::typed(command)).collect();
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
