//! Where the results go: one format to standard output, any number of them to files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail};
use clap::ValueEnum as _;

use super::colour::{self, Colour};
use super::format::{FileReport, Format, Printer};
use super::tally::Tally;

/// A format, and the file that it goes to; none for standard output. Written `NAME` or `NAME=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) format: Format,
    pub(super) file: Option<PathBuf>,
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = match text.split_once('=') {
            Some((_, "")) => return Err("a file is missing behind =".into()),
            Some((name, file)) => (name, Some(file.into())),
            None => (text, None),
        };
        let format = Format::from_str(name, false).map_err(|_| {
            let names = Format::value_variants().iter();
            let names = names.filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()));
            format!("the formats are {}", names.collect::<Vec<_>>().join(", "))
        })?;
        Ok(Self { format, file })
    }
}

/// Every place that results go to.
pub(super) struct Outputs {
    outputs: Vec<Output>,
    has_summary: bool,
}

struct Output {
    printer: Printer,
    /// None once the reader has gone.
    writer: Option<Box<dyn Write>>,
    /// What it is called in an error.
    name: String,
    is_first: bool,
}

impl Outputs {
    /// Opens the files. What is wanted on standard output is the human format unless another one is named.
    pub(super) fn open(wanted: &[Wanted], colour: Colour) -> anyhow::Result<Self> {
        let mut outputs = Vec::new();
        let mut to_stdout = wanted.iter().filter(|wanted| wanted.file.is_none());
        let format = to_stdout.next().map_or(Format::Human, |wanted| wanted.format);
        if to_stdout.next().is_some() {
            bail!(
                "two formats cannot both go to standard output: give one of them a file, --format NAME=FILE"
            );
        }
        let printer = Printer::new(format, colour::is_wanted(colour));
        outputs.push(Output {
            printer,
            writer: Some(Box::new(io::stdout().lock())),
            name: "standard output".into(),
            is_first: true,
        });
        for Wanted { format, file } in wanted {
            let Some(path) = file else { continue };
            outputs.push(Output::file(*format, path)?);
        }
        Ok(Self {
            outputs,
            has_summary: printer.is_for_people(),
        })
    }

    /// The formats, in the order of what [`Self::file`] takes.
    pub(super) fn printers(&self) -> Vec<Printer> {
        self.outputs.iter().map(|output| output.printer).collect()
    }

    /// Whether the summary is told beside the results.
    pub(super) fn has_summary(&self) -> bool {
        self.has_summary
    }

    /// Begins every output.
    pub(super) fn begin(&mut self) -> anyhow::Result<()> {
        self.outputs
            .iter_mut()
            .try_for_each(|output| output.write(output.printer.opening()))
    }

    /// Writes what was printed of one file.
    pub(super) fn file(&mut self, printed: &[String]) -> anyhow::Result<()> {
        for (output, text) in self.outputs.iter_mut().zip(printed) {
            if text.is_empty() {
                continue;
            }
            if !output.is_first {
                output.write(output.printer.separator())?;
            }
            output.is_first = false;
            output.write(text)?;
        }
        Ok(())
    }

    /// Ends every output.
    pub(super) fn end(&mut self, tally: &Tally) -> anyhow::Result<()> {
        for output in &mut self.outputs {
            output.write(&output.printer.closing(tally))?;
            output.flush()?;
        }
        Ok(())
    }
}

/// What each format prints of one file.
pub(super) fn print(printers: &[Printer], file: &FileReport<'_>) -> Vec<String> {
    printers.iter().map(|printer| printer.file(file)).collect()
}

impl Output {
    fn file(format: Format, path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let file = File::create(path).with_context(|| format!("{name} cannot be written"))?;
        Ok(Self {
            printer: Printer::new(format, false),
            writer: Some(Box::new(BufWriter::new(file))),
            name,
            is_first: true,
        })
    }

    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.with(|writer| writer.write_all(text.as_bytes()))
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.with(|writer| writer.flush())
    }

    fn with(&mut self, act: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        match act(writer) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.writer = None;
                Ok(())
            }
            result => result.with_context(|| format!("{} cannot be written", self.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_may_name_its_file() {
        let wanted = |text: &str| text.parse::<Wanted>();
        assert_eq!(
            wanted("sarif=out/a=b.sarif"),
            Ok(Wanted {
                format: Format::Sarif,
                file: Some("out/a=b.sarif".into())
            })
        );
        assert_eq!(wanted("json").map(|wanted| wanted.file), Ok(None));
        assert_eq!(
            wanted("xml").unwrap_err(),
            "the formats are human, concise, json, github, gitlab, junit, sarif, rdjson"
        );
        assert!(wanted("json=").is_err());
    }
}
