//! The SQL shell: history, statements over several lines, a few commands that begin with a backslash.

use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use stepscope_workspace::Workspace;

use crate::commands::{schema, sql};
use crate::failure::Failure;
use crate::options::OutputOptions;
use crate::output::{self, Answer, Target};
use crate::{Context, VERSION, interrupt, standard_output};

const HELP: &str = "\
End a statement with ; on the same or a later line. Ctrl-C stops a query or clears the input.
  \\d          tables and views
  \\d TABLE    columns of one of them
  \\h          this help
  \\q          quit (also Ctrl-D)
";

/// What to do with a line that begins with a backslash.
#[derive(Debug, PartialEq, Eq)]
enum Order<'a> {
    Describe(Option<&'a str>),
    Help,
    Quit,
    Unknown(&'a str),
}

/// Reads and answers until the user leaves.
pub(crate) fn run(
    workspace: &Workspace,
    target: &Target,
    options: &OutputOptions,
    context: Context,
) -> Result<(), Failure> {
    let mut editor = editor()?;
    let history = history_file();
    if let Some(path) = &history {
        // The first time there is none.
        let _ = editor.load_history(path);
    }
    if !context.quiet {
        standard_output::write(
            format!("Stepscope {VERSION}: SQL over this trace. Type \\h for help, \\q to quit.\n").as_bytes(),
        )?;
    }
    let mut statement = String::new();
    loop {
        interrupt::clear();
        let prompt = if statement.is_empty() { "sql> " } else { "  -> " };
        match editor.readline(prompt) {
            Ok(line) => {
                // No line of SQL begins with a backslash, so orders work in the middle of a statement too.
                if line.trim_start().starts_with('\\') {
                    let _ = editor.add_history_entry(line.trim());
                    match parse(line.trim()) {
                        Order::Quit => break,
                        order => obey(&order, target, options, context)?,
                    }
                    continue;
                }
                statement.push_str(&line);
                statement.push('\n');
                if is_complete(&statement) {
                    let whole = std::mem::take(&mut statement);
                    let _ = editor.add_history_entry(whole.trim());
                    answer(workspace, &whole, target, options, context)?;
                } else if statement.trim().is_empty() {
                    statement.clear();
                }
            }
            Err(ReadlineError::Interrupted) => statement.clear(),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(Failure::usage(format!("cannot read from the terminal: {error}"))),
        }
    }
    if let Some(path) = &history {
        save(&mut editor, path);
    }
    Ok(())
}

/// A failed statement is shown and the shell goes on; a reader that went away ends it.
fn answer(
    workspace: &Workspace,
    text: &str,
    target: &Target,
    options: &OutputOptions,
    context: Context,
) -> Result<(), Failure> {
    let statement = text.trim().trim_end_matches(';').trim_end();
    if statement.is_empty() {
        return Ok(());
    }
    match sql::answer(workspace, statement, target, options, context) {
        Err(failure) if failure.is_broken_pipe => Err(failure),
        Err(_) if interrupt::is_set() => {
            crate::failure::print_line("stopped", context);
            Ok(())
        }
        Err(failure) => {
            failure.print(context);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn obey(order: &Order<'_>, target: &Target, options: &OutputOptions, context: Context) -> Result<(), Failure> {
    match order {
        Order::Describe(table) => match schema::schema(*table) {
            Ok(report) => output::write(Answer::new(report), target, options, context),
            Err(failure) => {
                failure.print(context);
                Ok(())
            }
        },
        Order::Help | Order::Quit => standard_output::write(HELP.as_bytes()),
        Order::Unknown(text) => {
            Failure::usage(format!("found no shell command: {text}"))
                .with_hint("type `\\h` for the list")
                .print(context);
            Ok(())
        }
    }
}

fn parse(line: &str) -> Order<'_> {
    let mut words = line.trim_end_matches(';').split_whitespace();
    match (words.next(), words.next()) {
        (Some("\\d" | "\\dt"), table) => Order::Describe(table),
        (Some("\\h" | "\\?" | "\\help"), _) => Order::Help,
        (Some("\\q" | "\\quit"), _) => Order::Quit,
        (word, _) => Order::Unknown(word.unwrap_or("\\")),
    }
}

/// Whether a `;` ends the text: outside quotes and comments, with nothing but space after it.
fn is_complete(text: &str) -> bool {
    let mut ended = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' | '"' => {
                // A doubled quote closes and opens again, which has the same effect.
                if !characters.by_ref().any(|next| next == character) {
                    return false;
                }
                ended = false;
            }
            '-' if characters.peek() == Some(&'-') => {
                let _ = characters.by_ref().find(|next| *next == '\n');
            }
            ';' => ended = true,
            other if other.is_whitespace() => {}
            _ => ended = false,
        }
    }
    ended
}

fn editor() -> Result<Editor<(), FileHistory>, Failure> {
    let config = Config::builder().auto_add_history(false).build();
    Editor::with_config(config).map_err(|error| Failure::usage(format!("cannot use the terminal: {error}")))
}

/// Beside other programs' state, as the XDG base directories say.
fn history_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local").join("state")))?;
    Some(state.join("stepscope").join("sql_history"))
}

/// Losing the history does not fail the command.
fn save(editor: &mut Editor<(), FileHistory>, path: &PathBuf) {
    if let Some(folder) = path.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    let _ = editor.save_history(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_with_a_semicolon_outside_quotes_and_comments() {
        let check = |text: &str, want: bool| assert_eq!(is_complete(text), want, "{text}");
        check("SELECT 1;", true);
        check("SELECT 1 ; \n", true);
        check("SELECT 1", false);
        check("SELECT ';", false);
        check("SELECT 'it''s;'", false);
        check("SELECT 'it''s';", true);
        check("SELECT 1 -- ;\n", false);
        check("SELECT 1; -- done\n", true);
        check("SELECT \"a;b\" FROM t;", true);
    }

    #[test]
    fn orders() {
        assert_eq!(parse("\\d"), Order::Describe(None));
        assert_eq!(parse("\\d spans;"), Order::Describe(Some("spans")));
        assert_eq!(parse("\\q"), Order::Quit);
        assert_eq!(parse("\\x"), Order::Unknown("\\x"));
    }
}
