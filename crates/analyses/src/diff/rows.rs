//! Differences per step, kept as whole numbers so that they add up.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_replay::PathClass;

use super::side::{Operator, PerStep, Side};

/// Sums over the window of each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub a: i64,
    pub b: i64,
}

/// The numbers of steps, which a difference is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    pub a: i64,
    pub b: i64,
}

impl Steps {
    pub(super) fn of(a: &Side, b: &Side) -> Self {
        Self { a: a.steps_ns.len() as i64, b: b.steps_ns.len() as i64 }
    }

    /// The difference per step is this over the product of the numbers of steps.
    pub(super) fn numerator(self, sums: Sums) -> i64 {
        sums.b * self.a - sums.a * self.b
    }

    /// The difference per step.
    pub(super) fn difference(self, sums: Sums) -> f64 {
        self.numerator(sums) as f64 / self.denominator() as f64
    }

    pub(super) fn denominator(self) -> i64 {
        self.a * self.b
    }
}

/// Every key of either side, with its sums.
pub(super) fn both<'a, Key: Ord, Value>(
    a: &'a BTreeMap<Key, Value>,
    b: &'a BTreeMap<Key, Value>,
    sum: impl Fn(&Value) -> i64,
) -> Vec<(&'a Key, Sums)> {
    let keys: BTreeSet<&Key> = a.keys().chain(b.keys()).collect();
    let of = |side: &BTreeMap<Key, Value>, key: &Key| side.get(key).map_or(0, &sum);
    keys.into_iter().map(|key| (key, Sums { a: of(a, key), b: of(b, key) })).collect()
}

/// Time on the critical path of every class.
pub(super) fn classes(a: &Side, b: &Side) -> Vec<(PathClass, Sums)> {
    let of_class = |side: &Side, class: PathClass| {
        side.path.iter().filter(|((of_row, _), _)| *of_row == class).map(|(_, row)| row.total).sum()
    };
    PathClass::ALL.map(|class| (class, Sums { a: of_class(a, class), b: of_class(b, class) })).to_vec()
}

/// An operator of either side.
pub(super) struct OperatorRow<'a> {
    pub name: &'a str,
    pub spans: Sums,
    pub host_self_ns: Sums,
    pub device_self_ns: Sums,
}

/// The operators of both sides, by name.
pub(super) fn operator_rows<'a>(a: &'a Side, b: &'a Side) -> Vec<OperatorRow<'a>> {
    let names: BTreeSet<&String> = a.operators.keys().chain(b.operators.keys()).collect();
    let row = |name: &'a String| {
        let sums = |value: fn(&Operator) -> &PerStep| {
            let [a, b] = [a, b].map(|side| side.operators.get(name).map_or(0, |operator| value(operator).total));
            Sums { a, b }
        };
        OperatorRow {
            name,
            spans: sums(|operator| &operator.spans),
            host_self_ns: sums(|operator| &operator.host_self_ns),
            device_self_ns: sums(|operator| &operator.device_self_ns),
        }
    };
    names.into_iter().map(row).collect()
}
