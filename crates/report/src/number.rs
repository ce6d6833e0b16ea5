//! How numbers look in a column: one unit, one number of decimals, thousands with a comma.

use stepscope_model::{Cell, Unit};

/// What stands for a value that is not known.
pub(crate) const NULL: &str = "–";

/// From here on a number of nanoseconds is a point in time, not a duration: 10 days.
const POINT_IN_TIME_NS: f64 = 10.0 * 86_400e9;

/// The look that all values of one column share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Look {
    /// As it is: no grouping, no unit.
    Raw,
    /// An integer with grouped thousands.
    Count,
    /// A decimal number with that many decimals.
    Decimal(usize),
    /// Divided by `unit` and followed by `symbol`.
    Scaled { unit: i128, symbol: &'static str, decimals: usize },
    /// Minutes and seconds.
    Minutes,
    /// A percentage.
    Percent,
}

impl Look {
    /// The look for a column: chosen by its largest value.
    pub(crate) fn of(unit: Unit, cells: &[&Cell]) -> Self {
        let values = || cells.iter().filter_map(|cell| number(cell));
        let largest = values().map(f64::abs).fold(0.0, f64::max);
        match unit {
            Unit::Id => Self::Raw,
            Unit::Ratio => Self::Percent,
            Unit::Nanoseconds => nanoseconds(largest, cells),
            Unit::Bytes => bytes(largest),
            Unit::MovedBytes => moved_bytes(largest),
            Unit::GigabytesPerSecond => Self::Scaled { unit: 1, symbol: "GB/s", decimals: 1 },
            Unit::Flops => flops(largest, ["FLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"]),
            Unit::FlopsPerSecond => flops(largest, ["FLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"]),
            Unit::Plain if cells.iter().any(|cell| matches!(cell, Cell::Float(_))) => {
                let smallest = values().map(f64::abs).filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
                if smallest < 1e-3 || largest >= 1e15 { Self::Raw } else { Self::Decimal(3) }
            }
            Unit::Plain => Self::Count,
        }
    }

    /// The text of one value; never cut.
    pub(crate) fn show(self, cell: &Cell) -> String {
        match (cell, self) {
            (Cell::Null, _) => NULL.to_owned(),
            (Cell::Bool(value), Self::Raw) => value.to_string(),
            (Cell::Bool(value), _) => if *value { "yes" } else { "no" }.to_owned(),
            (Cell::Text(text), _) => crate::safe_text::one_line(text).into_owned(),
            (Cell::Numbers(numbers), _) => format!("{numbers:?}"),
            (Cell::Json(value), _) => crate::safe_text::one_line(&value.to_string()).into_owned(),
            (Cell::Int(value), look) => look.show_int(*value),
            (Cell::Float(value), look) => look.show_float(*value),
        }
    }

    fn show_int(self, value: i64) -> String {
        match self {
            Self::Raw => value.to_string(),
            Self::Count => grouped(i128::from(value), 0),
            Self::Decimal(decimals) => grouped(i128::from(value) * power_of_ten(decimals), decimals),
            Self::Scaled { symbol, .. } if value == 0 => format!("0 {symbol}"),
            Self::Scaled { unit, symbol, decimals } => {
                let scaled = divide_rounded(i128::from(value) * power_of_ten(decimals), unit);
                format!("{} {symbol}", grouped(scaled, decimals))
            }
            Self::Minutes => minutes(i128::from(value)),
            Self::Percent => percent(value as f64),
        }
    }

    fn show_float(self, value: f64) -> String {
        if !value.is_finite() {
            return NULL.to_owned();
        }
        match self {
            Self::Raw | Self::Count => value.to_string(),
            Self::Decimal(decimals) => grouped((value * 10f64.powi(decimals as i32)).round() as i128, decimals),
            Self::Scaled { symbol, .. } if value == 0.0 => format!("0 {symbol}"),
            Self::Scaled { unit, symbol, decimals } => {
                let scaled = (value * 10f64.powi(decimals as i32) / unit as f64).round() as i128;
                format!("{} {symbol}", grouped(scaled, decimals))
            }
            Self::Minutes => minutes(value.round() as i128),
            Self::Percent => percent(value),
        }
    }
}

/// The number in a cell, for comparing.
pub(crate) fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Int(value) => Some(*value as f64),
        Cell::Float(value) if value.is_finite() => Some(*value),
        _ => None,
    }
}

fn nanoseconds(largest: f64, cells: &[&Cell]) -> Look {
    let scaled = |unit, symbol, decimals| Look::Scaled { unit, symbol, decimals };
    if largest >= POINT_IN_TIME_NS {
        scaled(1, "ns", 0)
    } else if largest >= 600e9 {
        Look::Minutes
    } else if largest >= 10e9 {
        scaled(1_000_000_000, "s", 3)
    } else if largest >= 1e6 {
        scaled(1_000_000, "ms", 2)
    } else if largest >= 1e3 {
        // A clock of whole microseconds has no decimals of them.
        let whole = cells
            .iter()
            .all(|cell| !matches!(cell, Cell::Float(_)) && !matches!(cell, Cell::Int(ns) if ns % 1_000 != 0));
        scaled(1_000, "µs", usize::from(!whole))
    } else {
        scaled(1, "ns", 0)
    }
}

fn bytes(largest: f64) -> Look {
    let steps: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let found = steps.into_iter().find(|(bits, _)| largest >= (1u64 << bits) as f64);
    let (bits, symbol, decimals) = found.map_or((0, "B", 0), |(bits, symbol)| (bits, symbol, 2));
    Look::Scaled { unit: 1 << bits, symbol, decimals }
}

fn moved_bytes(largest: f64) -> Look {
    let steps: [(i128, &str); 4] = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let found = steps.into_iter().find(|(unit, _)| largest >= *unit as f64);
    let (unit, symbol, decimals) = found.map_or((1, "B", 0), |(unit, symbol)| (unit, symbol, 2));
    Look::Scaled { unit, symbol, decimals }
}

fn flops(largest: f64, symbols: [&'static str; 5]) -> Look {
    let step = [1e15, 1e12, 1e9, 1e6].iter().position(|unit| largest >= *unit).map_or(0, |place| 4 - place);
    if step == 0 {
        return Look::Scaled { unit: 1, symbol: symbols[0], decimals: 0 };
    }
    Look::Scaled { unit: power_of_ten(3 * (step + 1)), symbol: symbols[step], decimals: 2 }
}

fn percent(ratio: f64) -> String {
    if ratio == 0.0 {
        return "0 %".to_owned();
    }
    let tenths = (ratio * 1_000.0).round() as i128;
    if tenths == 0 { "< 0.1 %".to_owned() } else { format!("{} %", grouped(tenths, 1)) }
}

fn minutes(ns: i128) -> String {
    let seconds = divide_rounded(ns, 1_000_000_000);
    let sign = if seconds < 0 { "−" } else { "" };
    format!("{sign}{} min {:02} s", grouped(seconds.abs() / 60, 0), seconds.abs() % 60)
}

/// Half away from zero, from the integer: 34,245,000 ns is 34.25 ms.
fn divide_rounded(value: i128, unit: i128) -> i128 {
    let half = unit / 2;
    if value < 0 { (value - half) / unit } else { (value + half) / unit }
}

fn power_of_ten(decimals: usize) -> i128 {
    10i128.pow(decimals as u32)
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
    use super::*;

    #[track_caller]
    fn check(unit: Unit, values: &[i64], want: &[&str]) {
        let cells: Vec<Cell> = values.iter().map(|value| Cell::Int(*value)).collect();
        let look = Look::of(unit, &cells.iter().collect::<Vec<_>>());
        assert_eq!(cells.iter().map(|cell| look.show(cell)).collect::<Vec<_>>(), want);
    }

    #[test]
    fn one_unit_a_column() {
        check(Unit::Plain, &[0, 999, 1_000, -1_234_567], &["0", "999", "1,000", "−1,234,567"]);
        check(Unit::Id, &[1_934_443], &["1934443"]);
        check(Unit::Nanoseconds, &[999, 0], &["999 ns", "0 ns"]);
        check(Unit::Nanoseconds, &[604_000, 9_000], &["604 µs", "9 µs"]); // A clock of whole microseconds.
        check(Unit::Nanoseconds, &[604_000, 12_940], &["604.0 µs", "12.9 µs"]);
        check(Unit::Nanoseconds, &[142_460_000, 34_245_000, 1], &["142.46 ms", "34.25 ms", "0.00 ms"]);
        check(Unit::Nanoseconds, &[1_533_540_000], &["1,533.54 ms"]);
        check(Unit::Nanoseconds, &[12_000_500_000], &["12.001 s"]); // Half away from zero.
        check(Unit::Nanoseconds, &[724_000_000_000, 1_000_000_000], &["12 min 04 s", "0 min 01 s"]);
        check(Unit::Nanoseconds, &[1_775_167_061_388_202_755], &["1,775,167,061,388,202,755 ns"]); // A point in time.
        check(Unit::Bytes, &[0, 1_023], &["0 B", "1,023 B"]);
        check(Unit::Bytes, &[1_536, 12], &["1.50 KiB", "0.01 KiB"]);
        check(Unit::Bytes, &[2_791_728_742], &["2.60 GiB"]);
    }

    #[test]
    fn shares_tell_zero_from_little() {
        let look = Look::Percent;
        assert_eq!(
            [0.0, 0.0004, 0.123, 1.0, -0.05].map(|ratio| look.show(&Cell::Float(ratio))),
            ["0 %", "< 0.1 %", "12.3 %", "100.0 %", "−5.0 %"]
        );
        assert_eq!(look.show(&Cell::Float(f64::NAN)), NULL);
    }
}
