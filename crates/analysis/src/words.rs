//! Figures inside sentences: four significant digits and a unit.

/// A duration: `604 µs`, `98.59 ms`, `1.066 s`.
pub(crate) fn ns(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size == 0.0 => "0 ms".to_owned(),
        _ if size < 1e6 => format!("{} µs", significant(value / 1e3)),
        _ if size < 1e9 => format!("{} ms", significant(value / 1e6)),
        _ if size < 600e9 => format!("{} s", significant(value / 1e9)),
        _ => format!("{} min {:02} s", count((value / 60e9) as i64), (value / 1e9) as i64 % 60),
    }
}

/// A whole number with commas.
pub(crate) fn count(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 { format!("−{text}") } else { text }
}

/// A share: one decimal, but never a nought for what is not nothing.
pub(crate) fn ratio(value: f64) -> String {
    if value == 0.0 {
        "0 %".to_owned()
    } else if value.abs() < 0.0005 {
        "< 0.1 %".to_owned()
    } else {
        format!("{:.1} %", value * 100.0)
    }
}

/// A share that is a lower bound: never rounded up.
pub(crate) fn at_least(value: f64) -> String {
    let tenths = (value * 1000.0).floor().max(0.0);
    if tenths == 0.0 { "0 %".to_owned() } else { format!("{:.1} %", tenths / 10.0) }
}

/// Memory: powers of 1024.
pub(crate) fn memory(bytes: f64) -> String {
    scaled(bytes, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB"])
}

/// Data that was moved: powers of 1000.
pub(crate) fn moved(bytes: f64) -> String {
    scaled(bytes, 1000.0, ["B", "kB", "MB", "GB", "TB"])
}

/// How fast data was moved.
pub(crate) fn gb_per_s(value: f64) -> String {
    match value {
        _ if value < 0.01 => "less than 0.01 GB/s".to_owned(),
        _ if value < 9.995 => format!("{value:.2} GB/s"),
        _ => format!("{value:.1} GB/s"),
    }
}

/// Operations a second, or their number.
pub(crate) fn flops(value: f64, per: &str) -> String {
    let units = ["", "k", "M", "G", "T", "P"];
    let place = units.iter().enumerate().rev().find(|(place, _)| value.abs() >= 1000f64.powi(*place as i32));
    let place = place.map_or(0, |(place, _)| place);
    format!("{} {}FLOP{per}", significant(value / 1000f64.powi(place as i32)), units[place])
}

/// `1 step`, `2 steps`, `2 copies`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let number_text = count(number as i64);
    match (number, noun.strip_suffix("py")) {
        (1, _) => format!("{number_text} {noun}"),
        (_, Some(stem)) => format!("{number_text} {stem}pies"),
        (_, None) => format!("{number_text} {noun}s"),
    }
}

/// `a`, `a and b`, `a, b and c`; of many the first four, and how many more.
pub(crate) fn listed(names: &[String]) -> String {
    const TOLD: usize = 4;
    match names {
        [first @ .., last] if !first.is_empty() && names.len() <= TOLD => format!("{} and {last}", first.join(", ")),
        _ if names.len() > TOLD => format!("{} and {} more", names[..TOLD].join(", "), names.len() - TOLD),
        _ => names.join(", "),
    }
}

/// Ranks by number, and a verb that goes with them: `rank 1` and `causes`, `ranks 0 and 6` and `cause`.
pub(crate) fn ranks(ranks: impl Iterator<Item = i64>, verb: &str) -> (String, String) {
    let names: Vec<String> = ranks.map(|rank| rank.to_string()).collect();
    let (noun, ending) = if names.len() == 1 { ("rank", "s") } else { ("ranks", "") };
    (format!("{noun} {}", listed(&names)), format!("{verb}{ending}"))
}

fn scaled(value: f64, step: f64, units: [&str; 5]) -> String {
    let mut place = 0;
    let mut value = value;
    while value.abs() >= step && place + 1 < units.len() {
        value /= step;
        place += 1;
    }
    if place == 0 { format!("{} B", count(value as i64)) } else { format!("{} {}", significant(value), units[place]) }
}

/// Four digits that count.
fn significant(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 999.95 => 0,
        _ if size >= 99.995 => 1,
        _ if size >= 9.9995 => 2,
        _ if size == 0.0 => 0,
        _ => 3,
    };
    let text = format!("{size:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = count(whole.parse().unwrap_or(0));
    let sign = if value < 0.0 { "−" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A list that stays readable for thousands of names.
pub(crate) fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 8;
    if names.len() <= SHOWN {
        names.join(", ")
    } else {
        format!("{}, … and {} more", names[..SHOWN].join(", "), names.len() - SHOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_count() {
        assert_eq!(
            [177_612_000.0, 98_591_234.0, 604_000.0, 1_066_000_000.0, 0.0].map(ns),
            ["177.6 ms", "98.59 ms", "604.0 µs", "1.066 s", "0 ms"]
        );
        assert_eq!(ns(725e9), "12 min 05 s");
        assert_eq!(count(-1_234_567), "−1,234,567");
        assert_eq!([0.0, 0.0001, 0.334].map(ratio), ["0 %", "< 0.1 %", "33.4 %"]);
        assert_eq!([512.0, 2_791_728_742.4].map(memory), ["512 B", "2.600 GiB"]);
        assert_eq!(moved(115_605_504.0), "115.6 MB");
        assert_eq!([0.0045, 0.446, 10.06].map(gb_per_s), ["less than 0.01 GB/s", "0.45 GB/s", "10.1 GB/s"]);
        assert_eq!(flops(19.5e12, "/s"), "19.50 TFLOP/s");
        assert_eq!(ranks([3].into_iter(), "cause"), ("rank 3".to_owned(), "causes".to_owned()));
        assert_eq!(ranks([0, 6].into_iter(), "cause"), ("ranks 0 and 6".to_owned(), "cause".to_owned()));
        assert_eq!(ranks(0..6, "cause").0, "ranks 0, 1, 2, 3 and 2 more");
        assert_eq!((counted(1, "step"), counted(1024, "rank")), ("1 step".to_owned(), "1,024 ranks".to_owned()));
    }
}
