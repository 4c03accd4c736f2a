//! `poolgate completions` and `poolgate man`: shell completions and manual pages, generated from the command line,
//! for packages to install.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::files;

/// The flags of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell to print the script for
    #[arg(value_enum)]
    shell: Shell,
}

/// The flags of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The command to describe; without it, the whole program
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// Prints a script that a shell reads at its start.
pub fn completions(args: &CompletionsArgs, mut cli: Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    let program = cli.get_name().to_owned();
    clap_complete::generate(args.shell, &mut cli, program, &mut script);
    files::print(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a page of the manual, as `man` reads it.
pub fn man(args: &ManArgs, mut cli: Command) -> anyhow::Result<ExitCode> {
    cli.build();
    let subject = match &args.command {
        None => cli,
        Some(name) => {
            let commands: Vec<&str> = cli.get_subcommands().map(Command::get_name).collect();
            let known = commands.join(", ");
            cli.find_subcommand(name)
                .cloned()
                .ok_or_else(|| anyhow::anyhow!("there is no command {}: {known}", name.escape_debug()))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(subject).render(&mut page)?;
    files::print(&page)?;
    Ok(ExitCode::SUCCESS)
}
