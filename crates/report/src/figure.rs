//! Figures inside sentences: four digits that count, and a unit. The pages write them in the same way: both are held to
//! the cases of `tests/figures.json`.

use stepscope_model::{Figure, Rounding, Unit};

/// The digits and the unit: `604.0 µs`, `98.59 ms`, `33.4 %`.
#[must_use]
pub(crate) fn written(figure: &Figure) -> String {
    let value = figure.value;
    match (figure.unit, figure.rounding) {
        (Unit::Ratio, Rounding::Down) => at_least(value),
        (Unit::Ratio, Rounding::Whole) => format!("{:.0} %", 100.0 * value),
        (Unit::Ratio, _) => ratio(value),
        (Unit::GigabytesPerSecond, Rounding::Tenths) => format!("{value:.1} GB/s"),
        (Unit::GigabytesPerSecond, _) => gb_per_s(value),
        (Unit::Nanoseconds, _) => ns(value),
        (Unit::Bytes, _) => scaled(value, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB"]),
        (Unit::MovedBytes, _) => scaled(value, 1000.0, ["B", "kB", "MB", "GB", "TB"]),
        (Unit::Flops, _) => flops(value, "FLOP"),
        (Unit::FlopsPerSecond, _) => flops(value, "FLOP/s"),
        (Unit::Plain, Rounding::Usual) => count(value),
        (Unit::Plain | Unit::Id, _) => format!("{value:.0}"),
    }
}

fn ns(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size == 0.0 => "0 ms".to_owned(),
        _ if size < 1e6 => format!("{} µs", significant(value / 1e3)),
        _ if size < 1e9 => format!("{} ms", significant(value / 1e6)),
        _ if size < 600e9 => format!("{} s", significant(value / 1e9)),
        _ => format!("{} min {:02} s", count((value / 60e9).trunc()), (value / 1e9) as i64 % 60),
    }
}

/// A whole number with commas.
fn count(value: f64) -> String {
    grouped(value as i128, 0)
}

/// A share: one decimal, but never a nought for what is not nothing.
fn ratio(value: f64) -> String {
    if value == 0.0 {
        "0 %".to_owned()
    } else if value.abs() < 0.0005 {
        "< 0.1 %".to_owned()
    } else {
        let sign = if value < 0.0 { "−" } else { "" };
        format!("{sign}{:.1} %", value.abs() * 100.0)
    }
}

/// A share that is a lower bound: never rounded up.
fn at_least(value: f64) -> String {
    let tenths = (value * 1000.0).floor().max(0.0);
    if tenths == 0.0 { "0 %".to_owned() } else { format!("{:.1} %", tenths / 10.0) }
}

fn gb_per_s(value: f64) -> String {
    match value {
        _ if value < 0.01 => "less than 0.01 GB/s".to_owned(),
        _ if value < 9.995 => format!("{value:.2} GB/s"),
        _ => format!("{value:.1} GB/s"),
    }
}

fn flops(value: f64, symbol: &str) -> String {
    let units = ["", "k", "M", "G", "T", "P"];
    let place = units.iter().enumerate().rev().find(|(place, _)| value.abs() >= 1000f64.powi(*place as i32));
    let place = place.map_or(0, |(place, _)| place);
    format!("{} {}{symbol}", significant(value / 1000f64.powi(place as i32)), units[place])
}

fn scaled(value: f64, step: f64, units: [&str; 5]) -> String {
    let mut place = 0;
    let mut value = value;
    while value.abs() >= step && place + 1 < units.len() {
        value /= step;
        place += 1;
    }
    if place == 0 { format!("{} B", count(value)) } else { format!("{} {}", significant(value), units[place]) }
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
    let digits: i128 = text.replace('.', "").parse().unwrap_or(0);
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{}", grouped(digits, decimals))
}

/// Digits in groups of three; the last `decimals` of them behind the point.
pub(crate) fn grouped(value: i128, decimals: usize) -> String {
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let mut text = String::from(if value < 0 { "−" } else { "" });
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if decimals > 0 {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn unit(name: &str) -> Unit {
        let all = [
            Unit::Plain,
            Unit::Nanoseconds,
            Unit::Bytes,
            Unit::MovedBytes,
            Unit::Ratio,
            Unit::GigabytesPerSecond,
            Unit::Flops,
            Unit::FlopsPerSecond,
        ];
        *all.iter().find(|unit| serde_json::to_value(unit).unwrap() == name).unwrap()
    }

    fn rounding(name: &str) -> Rounding {
        let all = [Rounding::Usual, Rounding::Down, Rounding::Whole, Rounding::Tenths];
        *all.iter().find(|rounding| serde_json::to_value(rounding).unwrap() == name).unwrap()
    }

    /// The test of the pages reads the same cases.
    #[test]
    fn figures_look_the_same_in_every_place() {
        let cases: Vec<Value> = serde_json::from_str(include_str!("../tests/figures.json")).unwrap();
        assert!(cases.len() > 40);
        for case in cases {
            let text = |place: usize| case[place].as_str().unwrap();
            let figure = Figure { value: case[2].as_f64().unwrap(), unit: unit(text(0)), rounding: rounding(text(1)) };
            assert_eq!(written(&figure), text(3), "{case}");
        }
    }
}
