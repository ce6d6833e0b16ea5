//! Lists of names inside errors.

/// A list that stays readable for thousands of names.
pub(crate) fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 8;
    if names.len() <= SHOWN {
        names.join(", ")
    } else {
        format!("{}, … and {} more", names[..SHOWN].join(", "), names.len() - SHOWN)
    }
}
