//! Modules of TensorFlow and JAX: the name scopes of the operators that a span says it belongs to.

use stepscope_runs::RunError;

use super::{Group, Modules};
use crate::Asking;

/// Host operators and device work by the operator of the framework. Ops of a device may nest, so time is self time.
const OPERATORS: &str = "
    SELECT rank, \"window\", step, framework_op, kind = 'op' AS is_on_host, count(*) AS spans, sum(coalesce(self_ns, dur_ns)) AS own_ns
    FROM spans WHERE {events} AND framework_op IS NOT NULL AND phase = 'X' AND kind IN ('op', 'kernel', 'memcpy', 'memset')
    GROUP BY rank, \"window\", step, framework_op, is_on_host
    ORDER BY rank, \"window\", step, framework_op, is_on_host";

pub(super) fn read(asking: &Asking<'_>) -> Result<Modules, RunError> {
    let mut modules = Modules::new();
    asking.walk(OPERATORS, |frame| {
        let required = |name: &str| frame.required_i64(name);
        let (ranks, windows, steps) = (required("rank")?, required("window")?, frame.i64("step")?);
        let (counts, times, hosts) = (required("spans")?, required("own_ns")?, frame.bool("is_on_host")?);
        for (row, path) in frame.text("framework_op")?.into_iter().enumerate() {
            let path = path.unwrap_or_default();
            let scopes = scopes(&path);
            let mut before: Vec<Group> = Vec::new();
            for (place, scope) in scopes.iter().enumerate() {
                let group = group(asking, scope, (ranks[row], windows[row]), steps[row]);
                let is_last = place + 1 == scopes.len();
                let is_new = !before.contains(&group);
                let sums = modules.entry(group.clone()).or_default();
                let own_ns = |is: bool| if is { times[row] } else { 0 };
                if hosts[row] == Some(true) {
                    sums.host_total_ns += own_ns(is_new);
                    sums.host_self_ns += own_ns(is_last);
                    sums.operators += if is_last { counts[row] } else { 0 };
                } else {
                    sums.device_total_ns += own_ns(is_new);
                    sums.device_self_ns += own_ns(is_last);
                    sums.device_events += if is_new { counts[row] } else { 0 };
                }
                before.push(group);
            }
        }
        Ok(())
    })?;
    Ok(modules)
}

fn group(asking: &Asking<'_>, scope: &str, source: (i64, i64), step: Option<i64>) -> Group {
    let mut group = Group::new(asking, scope, source, step);
    scope.clone_into(&mut group.name);
    if asking.groups_by("class") {
        let last = parts(scope).last().map_or(scope, |(_, part)| part);
        let number = last.rsplit_once('_').filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
        number.map_or(last, |(class, _)| class).clone_into(&mut group.name);
    }
    group
}

/// The scopes around an operator, outermost first: `model/dense/MatMul:MatMul` is in `model` and in `model/dense`.
fn scopes(framework_op: &str) -> Vec<&str> {
    let path = framework_op.rsplit_once(':').map_or(framework_op, |(path, _)| path).trim_end_matches('/');
    let mut ends: Vec<usize> = parts(path).map(|(end, _)| end).collect();
    ends.pop();
    ends.into_iter().map(|end| &path[..end]).filter(|scope| !scope.is_empty()).collect()
}

/// The parts of a path with where each ends. What is in parentheses is one: `transpose(jvp(a/b))`.
fn parts(path: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut depth = 0_usize;
    let mut start = 0;
    path.char_indices().chain([(path.len(), '/')]).filter_map(move |(place, character)| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '/' if depth == 0 || place == path.len() => {
                let part = &path[start..place];
                start = place + 1;
                return Some((place, part));
            }
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::scopes;

    #[test]
    fn an_operator_is_in_the_scopes_of_its_path() {
        for (framework_op, want) in [
            ("model/dense/MatMul:MatMul", &["model", "model/dense"][..]),
            ("jit(f)/transpose(jvp(a/b))/mul", &["jit(f)", "jit(f)/transpose(jvp(a/b))"]),
            ("jit(main)/add:", &["jit(main)"]),
            ("jit(sqrt)", &[]),
            ("open(a/b", &[]),
            ("a//b", &["a", "a/"]),
            ("", &[]),
        ] {
            assert_eq!(scopes(framework_op), want, "{framework_op}");
        }
    }
}
