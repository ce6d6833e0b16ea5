//! Kernels that exist on one side only, and those among them that are the same work under another name.

use std::collections::BTreeSet;

use super::rows::Steps;
use super::side::{Kernel, Side};

/// Work of an operator whose kernel has another name on the other side.
pub(super) struct Renamed<'a> {
    pub operator: &'a str,
    pub a: (&'a str, &'a Kernel),
    pub b: (&'a str, &'a Kernel),
}

/// Kernels of one operator on one side only that run equally often per step, the longest first.
pub(super) fn renamed<'a>(a: &'a Side, b: &'a Side) -> Vec<Renamed<'a>> {
    let steps = Steps::of(a, b);
    let operators =
        |side: &'a Side| side.kernels.keys().map(|(operator, _)| operator.as_str()).collect::<BTreeSet<_>>();
    let mut pairs = Vec::new();
    for operator in operators(a).intersection(&operators(b)) {
        let mut new = only_on(b, a, operator);
        for gone in only_on(a, b, operator) {
            let is_as_often =
                |(_, kernel): &(&str, &Kernel)| kernel.count.total * steps.a == gone.1.count.total * steps.b;
            if let Some(place) = new.iter().position(is_as_often) {
                pairs.push(Renamed { operator, a: gone, b: new.remove(place) });
            }
        }
    }
    pairs
}

/// The kernels of an operator that the other side does not have.
fn only_on<'a>(side: &'a Side, other: &Side, operator: &str) -> Vec<(&'a str, &'a Kernel)> {
    let of_operator = side.kernels.iter().filter(|(key, _)| key.0 == operator && !other.kernels.contains_key(*key));
    let mut kernels: Vec<(&str, &Kernel)> = of_operator.map(|((_, name), kernel)| (name.as_str(), kernel)).collect();
    kernels.sort_by_key(|(name, kernel)| (-kernel.total_ns.total, *name));
    kernels
}
