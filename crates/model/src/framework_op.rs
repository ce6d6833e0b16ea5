//! The operator of a framework that a device event belongs to, as TensorFlow and JAX write it.

/// The type of an operator: what follows the last `:` of `path:Type`, else the last part of the path; without parameters.
/// Empty where there is none.
#[must_use]
pub fn operator_type(framework_op: &str) -> &str {
    let (path, kind) = match framework_op.rsplit_once(':') {
        Some(("", kind)) => (framework_op.trim_end_matches(':'), kind),
        Some(parts) => parts,
        None => (framework_op, ""),
    };
    let last = || path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let kind = if kind.is_empty() { last() } else { kind };
    kind.split('[').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::operator_type;

    #[test]
    fn types_of_both_frameworks() {
        for (framework_op, want) in [
            ("model/dense/MatMul:MatMul", "MatMul"),
            ("jit(update)/jit(main)/dot_general", "dot_general"),
            ("jit(f)/reduce_sum[axes=(0,)]", "reduce_sum"),
            ("a/b/:", "b"),
            ("a/b/", "b"),
            (":Type", "Type"),
            ("", ""),
            (":", ""),
            ("/", ""),
        ] {
            assert_eq!(operator_type(framework_op), want, "{framework_op}");
        }
    }
}
