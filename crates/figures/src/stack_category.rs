//! What memory is for, as far as the stack that allocated it says (metrics, section 31).

/// The category of a stack, given as files and names of its frames. An estimate: names of PyTorch's own files decide.
#[must_use]
pub fn category(frames: &[(&str, &str)]) -> &'static str {
    if frames.is_empty() {
        return "unknown";
    }
    let any = |is: fn(&str, &str) -> bool| frames.iter().any(|(file, name)| is(&file.replace('\\', "/"), name));
    if any(|file, name| is_python(file) && file.contains("optim") && matches!(name, "step" | "_init_group")) {
        "optimizer"
    } else if any(|file, name| {
        (matches!(name, "_engine_run_backward" | "backward") && file.contains("/autograd/"))
            || name.contains("torch::autograd::Engine")
    }) {
        "backward"
    } else if any(|file, name| {
        file.ends_with("nn/modules/module.py") && matches!(name, "_apply" | "convert" | "load_state_dict")
    }) {
        "parameters"
    } else if any(|file, name| is_python(file) && matches!(name, "forward" | "_call_impl")) {
        "forward"
    } else {
        "other"
    }
}

#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "as recorded by Python, and as others read it")]
fn is_python(file: &str) -> bool {
    file.ends_with(".py")
}

/// The language of a frame, by its file and name.
#[must_use]
pub fn language(file: Option<&str>, name: &str) -> &'static str {
    let file = file.unwrap_or_default();
    if is_python(file) || file.starts_with('<') {
        "python"
    } else if name.contains("::") || [".cpp", ".h", ".c", ".cu"].iter().any(|ending| file.ends_with(ending)) {
        "cpp"
    } else {
        "unknown"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_category_that_matches_counts() {
        for (frames, want) in [
            (&[][..], "unknown"),
            (&[("a.py", "main")][..], "other"),
            (&[("torch/optim/adam.py", "step"), ("a.py", "forward")], "optimizer"),
            (&[("x/torch/autograd/graph.py", "_engine_run_backward"), ("m.py", "forward")], "backward"),
            (&[("??", "torch::autograd::Engine::execute")], "backward"),
            (&[("torch\\nn\\modules\\module.py", "_apply")], "parameters"),
            (&[("model.py", "forward")], "forward"),
        ] {
            assert_eq!(category(frames), want, "{frames:?}");
        }
        assert_eq!((language(Some("a.py"), "f"), language(Some("<string>"), "f")), ("python", "python"));
        assert_eq!(
            (language(Some("a.cu"), "f"), language(None, "at::f"), language(None, "f")),
            ("cpp", "cpp", "unknown")
        );
    }
}
