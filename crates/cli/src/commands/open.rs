//! `stepscope open PATH…`: the page in the browser.

use std::path::PathBuf;
use std::process::{Command as Program, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::{ArgMatches, Args};
use stepscope_model::Exit;
use stepscope_server::{App, Keeper, Server};
use stepscope_workspace::{RunChoice, Settings, Workspace};

use super::{Command, parsed};
use crate::failure::{self, Failure};
use crate::options::ReadingOptions;
use crate::{Context, interrupt, standard_output};

pub(super) static COMMAND: Command = Command {
    name: "open",
    options: |command| {
        Options::augment_args(command).about("Open traces in the web UI: pages, tables and a timeline").after_help(
            "\
The web UI is served to this machine only, and needs the token in the printed address.
New traces and runs in a folder appear automatically. Press Ctrl-C to stop.

Examples:
  stepscope open trace.json.gz
  stepscope open runs/                           every folder with traces is a run
  stepscope open runs/ --no-open --port 8080     on a remote machine: ssh -L 8080:localhost:8080",
        )
    },
    run,
};

/// How long a query of the page may take by default.
const PATIENCE: Duration = Duration::from_mins(5);

#[derive(Args)]
struct Options {
    /// Traces, folders of traces, stores, or - for standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Listen on this port; a free one by default
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    port: u16,
    /// Print the address, but open no browser
    #[arg(long)]
    no_open: bool,
    /// Open only this run, by its name or a part of it
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    run: Option<String>,
    #[command(flatten)]
    reading: ReadingOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let Options { paths, port, no_open, run, reading } = parsed(matches)?;
    let settings = reading.settings(None);
    let time_limit = settings.time_limit.or(Some(PATIENCE));
    let settings = Settings { time_limit, run: RunChoice::named(run), ..settings };
    // A path that is not there is told at once, not in the page.
    Workspace::find_runs(&paths, &settings)?;
    let app = Arc::new(App::default());
    let server = Server::bind(Arc::clone(&app), port).map_err(|error| {
        Failure::usage(format!("cannot listen on port {port}: {error}"))
            .with_hint("leave out `--port` to use a free one")
    })?;
    let url = server.url();
    standard_output::write(format!("{url}\n").as_bytes())?;
    failure::print_line("press Ctrl-C to stop", context);
    let stop = interrupt::flag();
    let tell = Box::new(move |words: &str| failure::print_line(&format!("error: {words}"), context));
    let keeper = Keeper { app, paths, settings, stop: stop.clone(), tell };
    let keeper = thread::spawn(move || keeper.run());
    if !no_open && !show(&url) {
        failure::print_line("found no browser: open the address yourself", context);
    }
    let ended = server.run(stop);
    stop.cancel();
    let joined = keeper.join();
    ended.map_err(|error| Failure::unreadable("answer", "the socket", &error))?;
    joined.map_or_else(|panic| std::panic::resume_unwind(panic), |()| Ok(Exit::Done))
}

/// Opens an address with the user's browser; says whether there is one.
fn show(url: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        // The first argument of `start` in quotes would be a title.
        ("cmd", &["/C", "start", ""])
    } else {
        ("xdg-open", &[])
    };
    let mut program = Program::new(program);
    program.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    program.spawn().is_ok()
}
