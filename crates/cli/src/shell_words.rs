//! Paths as words of a command that can be pasted into a shell.

use std::path::PathBuf;

/// More paths than this, as a shell's `*` gives, make no line that anybody would paste.
const MOST_PATHS: usize = 4;

/// The paths with spaces between, quoted where a shell would take them apart.
pub(crate) fn of_paths(paths: &[PathBuf]) -> String {
    if paths.len() > MOST_PATHS {
        return "PATH…".to_owned();
    }
    paths.iter().map(|path| quoted(&path.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-+=:,./@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_back_what_was_given() {
        let check = |paths: &[&str], want: &str| {
            assert_eq!(of_paths(&paths.iter().map(PathBuf::from).collect::<Vec<_>>()), want);
        };
        check(&["runs/a.pt.trace.json.gz", "-"], "runs/a.pt.trace.json.gz -");
        check(&["my run", "$HOME"], "'my run' '$HOME'");
        check(&["it's"], r"'it'\''s'");
        check(&["a"; 5], "PATH…");
    }
}
