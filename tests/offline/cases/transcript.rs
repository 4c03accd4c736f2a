//! The text of a case: what it shows, and for each command the exit code, both streams and the files that it changed.

use std::collections::BTreeSet;

/// A transcript as it is read, or as it becomes.
#[derive(Clone)]
pub(super) struct Transcript {
    /// What the case shows, in lines that begin with `#`.
    title: Vec<String>,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone)]
pub(super) struct Step {
    /// Lines that begin with `#`, directly above the command.
    comment: Vec<String>,
    /// A line for the shell. A backslash at its end continues it.
    pub(super) command: String,
    pub(super) said: Said,
}

/// What a command did, in the lines of the transcript.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Said {
    pub(super) code: String,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) files: String,
}

impl Transcript {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let lines: Vec<&str> = text.lines().collect();
        let is_comment = |line: &&&str| line.starts_with('#');
        let title = lines.iter().take_while(is_comment).count();
        if title == 0 || lines[0].len() < 3 {
            return Err("begin with a line \"# …\" that says what the case shows".into());
        }
        let mut steps: Vec<Step> = Vec::new();
        let mut at = title;
        while let Some(found) = lines[at..].iter().position(|line| line.starts_with("$ ")) {
            let command = at + found;
            let comment = lines[at..command].iter().rev().take_while(is_comment).count();
            if let Some(last) = steps.last_mut() {
                last.said = Said::read(&lines[at..command - comment]);
            }
            let continued = lines[command..]
                .iter()
                .take_while(|line| line.ends_with('\\'))
                .count();
            at = (command + continued + 1).min(lines.len());
            let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
            steps.push(Step {
                comment: owned(&lines[command - comment..command]),
                command: lines[command..at].join("\n").split_off(2),
                said: Said::default(),
            });
        }
        let Some(last) = steps.last_mut() else {
            return Err("there is no command, a line \"$ …\"".into());
        };
        last.said = Said::read(&lines[at..]);
        let title = lines[..title].iter().map(|&line| line.to_owned()).collect();
        Ok(Self { title, steps })
    }

    pub(super) fn text(&self) -> String {
        let mut lines = self.title.clone();
        for step in &self.steps {
            lines.push(String::new());
            lines.extend(step.comment.clone());
            lines.push(format!("$ {}", step.command));
            let Said {
                code,
                stdout,
                stderr,
                files,
            } = &step.said;
            for part in [code, stdout, stderr, files] {
                lines.extend(part.lines().map(str::to_owned));
            }
        }
        lines.join("\n") + "\n"
    }

    /// The kinds of what is different in another transcript of the same commands.
    pub(super) fn kinds(&self, other: &Self) -> BTreeSet<&'static str> {
        let is_new = |step: &Step| step.said == Said::default();
        if self.steps.iter().all(is_new) && !other.steps.iter().all(is_new) {
            return BTreeSet::from(["new"]);
        }
        let mut kinds = BTreeSet::new();
        for (before, after) in self.steps.iter().zip(&other.steps) {
            let (before, after) = (&before.said, &after.said);
            for (kind, is_other) in [
                ("exit code", before.code != after.code),
                ("stdout", before.stdout != after.stdout),
                ("stderr", before.stderr != after.stderr),
                ("files", before.files != after.files),
            ] {
                if is_other {
                    kinds.insert(kind);
                }
            }
        }
        if kinds.is_empty() && self.text() != other.text() {
            kinds.insert("layout");
        }
        kinds
    }
}

/// What a line of standard output may not begin with, since other lines do.
const MARKS: [&str; 5] = ["$ ", "? ", "! ", "> ", "\\"];

impl Said {
    fn read(lines: &[&str]) -> Self {
        let mut said = Self::default();
        let end = lines.iter().rposition(|line| !line.is_empty());
        for line in &lines[..end.map_or(0, |last| last + 1)] {
            let part = if !said.files.is_empty() || line.starts_with("> ") {
                &mut said.files
            } else if line.starts_with("? ") {
                &mut said.code
            } else if line.starts_with("! ") || *line == "!" {
                &mut said.stderr
            } else {
                &mut said.stdout
            };
            part.push_str(line);
            part.push('\n');
        }
        said
    }

    pub(super) fn new(code: Option<i32>, stdout: &str, stderr: &str, files: String) -> Self {
        let escaped = |line: String| {
            let is_marked = MARKS.iter().any(|mark| line.starts_with(mark));
            format!("{}{line}\n", if is_marked { "\\" } else { "" })
        };
        Self {
            code: match code {
                Some(0) => String::new(),
                Some(code) => format!("? {code}\n"),
                None => "? killed\n".into(),
            },
            stdout: visible(stdout).into_iter().map(escaped).collect(),
            stderr: visible(stderr)
                .iter()
                .map(|line| format!("! {line}").trim_end().to_owned() + "\n")
                .collect(),
            files,
        }
    }
}

/// The lines of a text, with signs for what nobody sees. Not the escapes that the commands print: those are characters.
pub(super) fn visible(text: &str) -> Vec<String> {
    let turns = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let shown = |line: &str| -> String {
        let parts = line.chars().map(|c| match c {
            '\t' => "\t".to_owned(),
            '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).expect("a sign").to_string(),
            c if c.is_control() || turns(c) => format!("⟨U+{:04X}⟩", u32::from(c)),
            c => c.to_string(),
        });
        parts.collect()
    };
    let mut lines: Vec<String> = text.split('\n').map(shown).collect();
    // What is behind the last line end.
    match lines.pop() {
        Some(rest) if !rest.is_empty() => lines.extend([rest, "\\ no line end".to_owned()]),
        _ => {}
    }
    lines
}
