//! Laws that hold for all series.

use proptest::prelude::*;
use stepscope_figures::statistics::{Comparison, benjamini_hochberg, change_points, holm, median};

/// Whole numbers as floats, so that sums and differences are exact.
fn series() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((1_i32..200).prop_map(f64::from), 1..40)
}

/// Different whole numbers that leave the given remainder when halved: two series with different remainders have no ties.
fn distinct(remainder: i32) -> impl Strategy<Value = Vec<f64>> {
    let values = prop::collection::hash_set(1_i32..100, 1..40);
    values.prop_map(move |values| values.into_iter().map(|value| f64::from(2 * value + remainder)).collect())
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn turning_the_sides_turns_the_answer(a in series(), b in series()) {
        let (there, back) = (Comparison::new(&a, &b).unwrap(), Comparison::new(&b, &a).unwrap());
        prop_assert!(is_near(there.u + back.u, (a.len() * b.len()) as f64));
        prop_assert!(is_near(there.p_larger, back.p_smaller) && is_near(there.p, back.p));
        prop_assert!(is_near(there.shift, -back.shift));
        let turned = back.interval.map(|(low, high)| (-high, -low));
        prop_assert_eq!(there.interval, turned);
    }

    #[test]
    fn a_constant_added_to_one_side_moves_the_shift_alone(a in series(), b in series(), by in 1_i32..100) {
        let moved: Vec<f64> = b.iter().map(|value| value + f64::from(by)).collect();
        let (before, after) = (Comparison::new(&a, &b).unwrap(), Comparison::new(&a, &moved).unwrap());
        prop_assert!(is_near(after.shift - before.shift, f64::from(by)));
        prop_assert!(is_near(after.inflation, before.inflation));
        prop_assert!(after.u >= before.u);
    }

    /// Ties change the variance, and whether the chances are exact: with them this is no law.
    #[test]
    fn without_ties_larger_values_are_more_surely_larger(a in distinct(0), b in distinct(1), by in 1_i32..100) {
        let moved: Vec<f64> = b.iter().map(|value| value + 2.0 * f64::from(by)).collect();
        let (before, after) = (Comparison::new(&a, &b).unwrap(), Comparison::new(&a, &moved).unwrap());
        prop_assert!(after.p_larger <= before.p_larger + 1e-9 && after.p_smaller >= before.p_smaller - 1e-9);
    }

    #[test]
    fn the_shift_lies_between_its_bounds_and_the_differences(a in series(), b in series()) {
        let found = Comparison::new(&a, &b).unwrap();
        let mut all: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
        prop_assert_eq!(Some(found.shift), median(&all));
        all.sort_unstable_by(f64::total_cmp);
        if let Some((low, high)) = found.interval {
            prop_assert!(low <= found.shift && found.shift <= high);
            prop_assert!(all[0] <= low && high <= all[all.len() - 1]);
        }
        prop_assert!((0.0..=1.0).contains(&found.p) && found.inflation >= 1.0);
    }

    #[test]
    fn corrections_raise_chances_and_keep_their_order(chances in prop::collection::vec(0.0_f64..=1.0, 0..20)) {
        for corrected in [holm(&chances), benjamini_hochberg(&chances)] {
            prop_assert_eq!(corrected.len(), chances.len());
            for (place, (after, before)) in corrected.iter().zip(&chances).enumerate() {
                prop_assert!(*after >= before - 1e-12 && *after <= 1.0);
                let keeps = |other: usize| chances[other] > *before || corrected[other] <= *after;
                prop_assert!((0..chances.len()).all(keeps), "{}", place);
            }
        }
    }

    #[test]
    fn changes_leave_parts_of_three_values(history in prop::collection::vec((50_i32..150).prop_map(f64::from), 8..40)) {
        let points = change_points(&history, 0.02).unwrap();
        let edges: Vec<usize> = [0].into_iter().chain(points.iter().map(|point| point.at)).chain([history.len()]).collect();
        prop_assert!(edges.windows(2).all(|pair| pair[1] >= pair[0] + 3));
        prop_assert!(points.iter().all(|point| point.p < 0.001 && point.ratio.abs() >= 0.02));
    }
}
