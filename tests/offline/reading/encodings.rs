//! Files that are no UTF-8, or too large: they matter only if they name Karpenter's group.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use super::{assert_code, complete, typed};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

/// The largest manifest, in bytes.
const LIMIT: u64 = 16 << 20;

const LINES: [&str; 4] = ["lint all", "diff all all", "default --diff all", "budgets all"];

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = format!("\u{feff}{text}");
    text.encode_utf16().flat_map(bytes).collect()
}

/// A text in Latin-1 and the two encodings with a byte order mark that kubectl reads.
fn encoded(text: &str) -> [(&'static str, Vec<u8>); 3] {
    let latin = text.chars().map(|letter| u8::try_from(letter).expect("Latin-1"));
    [
        ("latin", latin.collect()),
        ("little", utf16(text, u16::to_le_bytes)),
        ("big", utf16(text, u16::to_be_bytes)),
    ]
}

/// A file above the limit that ends with this text.
fn large(path: &Path, end: &str) {
    let mut file = File::create(path).expect("a file");
    file.seek(SeekFrom::Start(LIMIT)).expect("a large file");
    file.write_all(end.as_bytes()).expect("written");
}

#[test]
fn a_file_that_never_names_karpenter_is_no_input_whatever_its_encoding_and_size() {
    let folder = directory(&[("all/pool.yaml", &complete())]);
    let all = folder.path().join("all");
    for (name, bytes) in encoded("# caf\u{e9}\nkind: EC2NodeClass\n") {
        fs::write(all.join(format!("{name}.yaml")), bytes).expect("a file");
    }
    large(&all.join("large.json"), r#"{"a": "karpenter\u002fsh"}"#);
    for line in LINES {
        let outcome = typed(folder.path(), line, "");
        assert_code(&outcome, 0, line);
    }
    for line in [
        "lint all/latin.yaml",
        "lint --together all/large.json all",
        "budgets all/latin.yaml",
    ] {
        assert_code(&typed(folder.path(), line, ""), 0, line);
    }
    let printed = typed(folder.path(), "default all/latin.yaml", "");
    assert_code(&printed, 2, "what cannot be printed");
}

#[test]
fn a_file_that_names_karpenter_is_an_error_in_every_encoding_and_behind_the_limit() {
    let folder = directory(&[("all/pool.yaml", &complete())]);
    let file = folder.path().join("all/a.yaml");
    let check = |why: &str| {
        for line in LINES {
            let outcome = typed(folder.path(), line, "");
            assert_code(&outcome, 2, &format!("{why}: {line}"));
            let all = outcome.stdout + &outcome.stderr;
            assert!(all.contains("all/a.yaml"), "{why}: {line}: {all}");
        }
    };
    for (name, bytes) in encoded(&format!("# caf\u{e9}\n{SOUND}")) {
        fs::write(&file, bytes).expect("a file");
        check(name);
    }
    for end in ["karpenter.sh", r#""karpenter\u002esh""#] {
        large(&file, end);
        check(end);
    }
}

#[cfg(unix)]
#[test]
fn an_endless_file_is_given_up_at_the_limit() {
    let folder = directory(&[]);
    assert_code(&typed(folder.path(), "lint /dev/zero", ""), 2, "/dev/zero");
}

#[test]
fn a_revision_is_read_like_the_folder_of_today() {
    let folder = directory(&[
        ("pool.yaml", SOUND),
        ("t.yaml", "{{ if x }}\nfoo: bar\n{{ end }}\n"),
    ]);
    let [(_, latin), _, _] = encoded("# caf\u{e9}\n");
    fs::write(folder.path().join("latin.yaml"), latin).expect("a file");
    large(&folder.path().join("large.json"), "{}");
    super::links::commit(folder.path());
    let outcome = typed(folder.path(), "diff --git HEAD --exit-code .", "");
    assert_code(&outcome, 0, "diff");
    let [(_, latin), _, _] = encoded("# caf\u{e9} karpenter.sh\n");
    fs::write(folder.path().join("latin.yaml"), latin).expect("a file");
    super::links::commit(folder.path());
    fs::remove_file(folder.path().join("latin.yaml")).expect("removed");
    let outcome = typed(folder.path(), "diff --git HEAD .", "");
    assert_code(&outcome, 2, "diff");
    assert!(outcome.stderr.contains("latin.yaml: is not UTF-8"), "{outcome:?}");
}
