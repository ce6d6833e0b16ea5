//! How a command is spelled: what answers name to ask next, as it is typed.

use std::path::PathBuf;

use stepscope_model::Target;

use crate::shell_words;

/// The command that asks it, with what follows every command about the same part of a run.
pub(crate) fn line(target: &Target, rest: &str) -> String {
    let Target { ask, group_by, sort } = target;
    let words = [
        Some(format!("stepscope {ask}")),
        sort.map(|column| format!("--sort {column}")),
        group_by.map(|grouping| format!("--group-by {grouping}")),
        (!rest.is_empty()).then(|| rest.to_owned()),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The command that asks it of the run at these paths.
#[must_use]
pub fn of_paths(target: &Target, paths: &[PathBuf]) -> String {
    line(target, &shell_words::of_paths(paths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_a_command_that_can_be_pasted() {
        let kernels = Target::of("kernels").grouped_by("category");
        assert_eq!(line(&kernels, "run/ --rank 3"), "stepscope kernels --group-by category run/ --rank 3");
        assert_eq!(line(&Target::of("functions").sorted_by("tottime"), ""), "stepscope functions --sort tottime");
        assert_eq!(of_paths(&Target::of("ops"), &["my run".into()]), "stepscope ops 'my run'");
    }
}
