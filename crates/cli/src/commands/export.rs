//! `thrice export`: what shells, `man` and editors read, made from what reads the command line and the files. Asks no
//! server.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use serde_json::json;
use thrice_pipeline::keys::File;

use crate::args::{Cli, Export, Global, SchemaOf};
use crate::exit_code::Exit;
use crate::fault::{Outcome, io_fault};
use crate::output::{Output, to_stdout};
use crate::project::Project;
use crate::schema_files;

pub(crate) fn run(global: &Global, args: &Export, output: Output) -> Outcome<Exit> {
    match args {
        Export::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "thrice", &mut script);
            let script = String::from_utf8_lossy(&script);
            if output.json {
                output.object(json!({ "schema": "thrice.export/1", "shell": shell.to_string(), "script": script }));
            } else {
                to_stdout(&script);
            }
        }
        Export::Man { folder } => {
            let pages = man_pages(&Cli::command());
            fs::create_dir_all(folder).map_err(|error| io_fault("cannot make", folder, &error))?;
            for (name, page) in &pages {
                write(&folder.join(name), page)?;
            }
            let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
            output.lines(names.iter().map(|name| format!("wrote {}", folder.join(name).display())));
            output.object(json!({ "schema": "thrice.export/1", "folder": folder, "written": names }));
        }
        Export::Schema { file: Some(file), .. } => print_schema(*file, output),
        Export::Schema { file: None, .. } => write_schemas(&Project::root(&global.dir)?, output)?,
    }
    Ok(Exit::Ok)
}

fn print_schema(file: SchemaOf, output: Output) {
    let schema = schema_files::schema(match file {
        SchemaOf::Project => File::Project,
        SchemaOf::Pipeline => File::Pipeline,
    });
    if output.json {
        output.object(json!({ "schema": "thrice.export/1", "json_schema": schema }));
    } else {
        to_stdout(&format!("{schema:#}\n"));
    }
}

/// An editor finds a schema by the first line of a file, which is the user's: it is told, not written.
fn write_schemas(root: &Path, output: Output) -> Outcome<()> {
    let written = schema_files::renew(root)?;
    if written.is_empty() {
        output.line("the schemas are those of this version");
    }
    output.lines(written.iter().map(|path| format!("wrote {path}")));
    output.note("a file names its schema in its first line:");
    output.note(format!("  thrice.toml            {}", schema_files::header(File::Project)));
    output.note(format!("  pipelines/NAME.toml    {}", schema_files::header(File::Pipeline)));
    output.object(json!({ "schema": "thrice.export/1", "folder": root, "written": written }));
    Ok(())
}

fn write(path: &Path, text: &[u8]) -> Outcome<()> {
    fs::write(path, text).map_err(|error| io_fault("cannot write", path, &error).into())
}

/// `thrice.1`, `thrice-run.1`, `thrice-pg-stop.1` and so on.
fn man_pages(tree: &Command) -> Vec<(String, Vec<u8>)> {
    let mut pages = Vec::new();
    // without the screen's own layout: a man page has sections for that
    collect("thrice", &tree.clone().help_template("{usage}"), &mut pages);
    pages
}

fn collect(name: &str, command: &Command, pages: &mut Vec<(String, Vec<u8>)>) {
    // clap keeps names for the life of the program; these are a few dozen
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    let named = command.clone().name(kept).version(env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    // writing into memory does not fail
    if clap_mangen::Man::new(named).render(&mut page).is_ok() {
        pages.push((format!("{name}.1"), page));
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        collect(&format!("{name}-{}", sub.get_name()), sub, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_page_with_its_examples() {
        let tree = Cli::command();
        let pages = man_pages(&tree);
        for command in tree.get_subcommands() {
            let name = format!("thrice-{}.1", command.get_name());
            let (_, page) = pages.iter().find(|(known, _)| *known == name).unwrap();
            let text = String::from_utf8(page.clone()).unwrap();
            assert!(text.contains("Examples:") && text.contains("Exit codes:"), "{name}");
        }
        assert!(pages.iter().any(|(name, _)| name == "thrice.1"));
        assert!(pages.iter().any(|(name, _)| name == "thrice-pg-psql.1"));
    }

    #[test]
    fn completions_of_every_shell_know_the_commands() {
        for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "thrice", &mut script);
            let script = String::from_utf8(script).unwrap();
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
