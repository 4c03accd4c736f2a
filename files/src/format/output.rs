//! Where the results are written: one format to standard output, any number of them to files.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anstream::AutoStream;
use anyhow::{Context as _, bail};
use clap::builder::PossibleValue;
use clap::{ColorChoice, ValueEnum as _};

use super::summary::Summary;
use super::{FileReport, Format, Look, Printer, RulePages};
use crate::listed::Listed;
use crate::sources::Written;
use crate::terminal;

/// A format and its file; `None` for standard output. Written `NAME` or `NAME=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub format: Format,
    pub file: Option<PathBuf>,
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = match text.split_once('=') {
            Some((_, "")) => return Err("a file is missing after =".into()),
            Some((name, file)) => (name, Some(file.into())),
            None => (text, None),
        };
        let format = Format::from_str(name, false).map_err(|_| {
            let formats = possible_formats();
            let names: Vec<&str> = formats.iter().map(PossibleValue::get_name).collect();
            let extension = Path::new(name).extension().and_then(OsStr::to_str);
            match extension.filter(|extension| names.contains(extension)) {
                Some(format) => format!("did you mean {format}={name}?"),
                None => format!("the formats are {}", names.join(", ")),
            }
        })?;
        Ok(Self { format, file })
    }
}

fn possible_formats() -> Vec<PossibleValue> {
    Format::value_variants()
        .iter()
        .filter_map(Format::to_possible_value)
        .collect()
}

/// Reads a format on the command line.
pub fn on_command_line() -> Listed<Wanted> {
    Listed {
        parse: str::parse,
        values: possible_formats,
    }
}

pub struct Outputs<'a> {
    outputs: Vec<Output<'a>>,
    has_summary: bool,
}

struct Output<'a> {
    printer: Printer<'a>,
    /// The file that is written, if it is not standard output.
    file: Option<PathBuf>,
    /// `None` before the file is created, and once the pipe is closed.
    writer: Option<Box<dyn Write>>,
    /// The name of this output in an error.
    name: String,
    is_first: bool,
}

impl<'a> Outputs<'a> {
    /// Chooses the outputs. Standard output gets the human format unless another one is named.
    pub fn new(wanted: &[Wanted], colour: ColorChoice, pages: RulePages<'a>) -> anyhow::Result<Self> {
        let mut outputs = Vec::new();
        let mut to_stdout = wanted.iter().filter(|wanted| wanted.file.is_none());
        let format = to_stdout.next().map_or(Format::Human, |wanted| wanted.format);
        if to_stdout.next().is_some() {
            bail!("two formats cannot both go to standard output. Give one of them a file: -o NAME=FILE");
        }
        let look = Look {
            coloured: is_coloured(colour),
            width: terminal::width(),
        };
        let printer = Printer { format, pages, look };
        outputs.push(Output::new(printer, None));
        let look = Look::default();
        for Wanted { format, file } in wanted {
            let Some(path) = file else { continue };
            if outputs.iter().any(|output| output.file.as_ref() == Some(path)) {
                bail!(
                    "two formats cannot both go to {}. Give each its own file",
                    path.display()
                );
            }
            let format = *format;
            let printer = Printer { format, pages, look };
            outputs.push(Output::new(printer, Some(path.clone())));
        }
        Ok(Self {
            outputs,
            has_summary: printer.is_for_people(),
        })
    }

    /// The formats, in the order that [`Self::file`] expects.
    pub fn printers(&self) -> Vec<Printer<'a>> {
        self.outputs.iter().map(|output| output.printer).collect()
    }

    /// Whether the summary is reported beside the results.
    pub fn has_summary(&self) -> bool {
        self.has_summary
    }

    /// The files that are written, as far as they exist.
    pub fn written(&self) -> Written {
        let mut written = Written::default();
        for output in &self.outputs {
            written.add(output.file.as_deref());
        }
        written
    }

    /// Creates the files, and begins every output.
    pub fn begin(&mut self) -> anyhow::Result<()> {
        for output in &mut self.outputs {
            output.create()?;
            output.write(output.printer.opening())?;
        }
        Ok(())
    }

    /// Writes the results of one file.
    pub fn file(&mut self, printed: &[String]) -> anyhow::Result<()> {
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

    /// Writes what comes after the last file, such as the totals, to every output.
    pub fn end(&mut self, summary: Summary<'_>) -> anyhow::Result<()> {
        for output in &mut self.outputs {
            output.write(&output.printer.closing(summary))?;
            output.with(|writer| writer.flush())?;
        }
        Ok(())
    }
}

/// Whether standard output is coloured. Where the flag says nothing, the environment decides, then the stream.
fn is_coloured(flag: ColorChoice) -> bool {
    match flag {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
    }
}

/// The results of one file in each format.
pub fn print(printers: &[Printer<'_>], file: &FileReport<'_>) -> Vec<String> {
    printers.iter().map(|printer| printer.file(file)).collect()
}

impl<'a> Output<'a> {
    fn new(printer: Printer<'a>, file: Option<PathBuf>) -> Self {
        Self {
            printer,
            name: file
                .as_ref()
                .map_or_else(|| "standard output".into(), |path| path.display().to_string()),
            file,
            writer: None,
            is_first: true,
        }
    }

    fn create(&mut self) -> anyhow::Result<()> {
        self.writer = Some(match &self.file {
            None => Box::new(io::stdout().lock()),
            Some(path) => {
                let file = File::create(path).with_context(|| format!("{} cannot be written", self.name))?;
                Box::new(BufWriter::new(file))
            }
        });
        Ok(())
    }

    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.with(|writer| writer.write_all(text.as_bytes()))
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
            "the formats are human, concise, json, github, gitlab, junit, sarif"
        );
        assert!(wanted("json=").is_err());
    }
}
