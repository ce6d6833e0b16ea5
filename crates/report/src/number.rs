//! How numbers look in a column: one unit, one number of decimals, thousands with a comma. A value that would have less
//! than two digits in the unit of its column has a unit of its own.

use stepscope_model::{Cell, Unit};

pub(crate) use crate::figure::grouped;

/// What stands for a value that is not known.
pub(crate) const NULL: &str = "–";

/// From here on a number of nanoseconds is a point in time, not a duration: 10 days.
const POINT_IN_TIME_NS: f64 = 10.0 * 86_400e9;

/// How all values of one column are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NumberStyle {
    /// As it is: no grouping, no unit.
    Raw,
    /// An integer with grouped thousands.
    Count,
    /// A decimal number with that many decimals.
    Decimal(usize),
    /// Divided by `unit` and followed by `symbol`.
    Scaled { unit: i128, symbol: &'static str, decimals: usize },
    /// The same with at most four digits that count, each value for itself. An empty symbol stands in the header.
    Figure { unit: i128, symbol: &'static str, decimals: usize },
    /// Minutes and seconds.
    Minutes,
    /// A percentage.
    Percent,
}

impl NumberStyle {
    /// The format of a column: chosen by its largest value.
    pub(crate) fn of(unit: Unit, cells: &[&Cell]) -> Self {
        let values = || cells.iter().filter_map(|cell| number(cell));
        let largest = values().map(f64::abs).fold(0.0, f64::max);
        match unit {
            Unit::Id => Self::Raw,
            Unit::Ratio => Self::Percent,
            Unit::Nanoseconds => nanoseconds(largest, cells),
            Unit::Bytes => bytes(largest),
            Unit::MovedBytes => moved_bytes(largest),
            // Digits enough for the slowest link, if there is nothing else.
            Unit::GigabytesPerSecond if largest < 0.95 => Self::Scaled { unit: 1, symbol: "GB/s", decimals: 4 },
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

    /// The format of figures that stand for themselves: four digits, and seconds from one second on.
    pub(crate) fn of_figures(unit: Unit, cells: &[&Cell]) -> Self {
        let largest = cells.iter().filter_map(|cell| number(cell)).map(f64::abs).fold(0.0, f64::max);
        match Self::of(unit, cells) {
            Self::Scaled { symbol: "ms", .. } if largest >= 1e9 => {
                Self::Figure { unit: 1_000_000_000, symbol: "s", decimals: 3 }
            }
            Self::Scaled { unit, symbol, decimals } => Self::Figure { unit, symbol, decimals },
            other => other,
        }
    }

    /// The format where the header names the unit: `ms per step`. None if it does not.
    pub(crate) fn of_header(unit: Unit, header: &str, is_figure: bool) -> Option<Self> {
        let word = header.split(' ').next()?;
        let known: &[(&str, i128, usize)] = match unit {
            Unit::Nanoseconds => &[("ns", 1, 0), ("µs", 1_000, 1), ("ms", 1_000_000, 2), ("s", 1_000_000_000, 3)],
            Unit::Bytes => &[("B", 1, 0), ("KiB", 1 << 10, 2), ("MiB", 1 << 20, 2), ("GiB", 1 << 30, 2)],
            Unit::MovedBytes => &[("B", 1, 0), ("kB", 1_000, 2), ("MB", 1_000_000, 2), ("GB", 1_000_000_000, 2)],
            _ => &[],
        };
        let (_, unit, decimals) = *known.iter().find(|(symbol, ..)| *symbol == word)?;
        let format = Self::Scaled { unit, symbol: "", decimals };
        Some(if is_figure { Self::Figure { unit, symbol: "", decimals } } else { format })
    }

    /// The text of one value; never cut.
    pub(crate) fn show(self, cell: &Cell) -> String {
        match (cell, self) {
            (Cell::Null, _) => NULL.to_owned(),
            (Cell::Bool(value), Self::Raw) => value.to_string(),
            (Cell::Bool(value), _) => if *value { "yes" } else { "no" }.to_owned(),
            (Cell::Text(text), _) => crate::safe_text::one_line(text).into_owned(),
            (Cell::Sentence(_) | Cell::Sentences(_), _) => self.show(&crate::sentence::cell(cell)),
            (Cell::Numbers(numbers), _) => format!("{numbers:?}"),
            (Cell::Json(value), _) => crate::safe_text::one_line(&value.to_string()).into_owned(),
            (Cell::Int(value), format) => format.show_int(*value),
            (Cell::Float(value), format) => format.show_float(*value),
        }
    }

    fn show_int(self, value: i64) -> String {
        match self {
            Self::Raw => value.to_string(),
            Self::Count => grouped(i128::from(value), 0),
            Self::Decimal(decimals) => grouped(i128::from(value) * power_of_ten(decimals), decimals),
            Self::Scaled { symbol, .. } | Self::Figure { symbol, .. } if value == 0 => with_symbol("0", symbol),
            Self::Scaled { unit, symbol, decimals } => {
                let scaled = divide_rounded(i128::from(value) * power_of_ten(decimals), unit);
                let own = own_unit(scaled, symbol, decimals).map(|unit| Self::of(unit, &[&Cell::Int(value)]));
                own.map_or_else(|| with_symbol(&not_nothing(scaled, decimals), symbol), |own| own.show_int(value))
            }
            Self::Figure { unit, symbol, decimals } => {
                let decimals = figure_decimals(value as f64 / unit as f64, decimals);
                Self::Scaled { unit, symbol, decimals }.show_int(value)
            }
            Self::Minutes if below_a_minute(value as f64) => seconds(value as f64).show_int(value),
            Self::Minutes => minutes(i128::from(value)),
            Self::Percent => percent(value as f64),
        }
    }

    fn show_float(self, value: f64) -> String {
        if !value.is_finite() {
            return NULL.to_owned();
        }
        match self {
            // A hundred zeros are no help to anybody.
            Self::Raw | Self::Count if value.abs() >= 1e16 || (value != 0.0 && value.abs() < 1e-5) => {
                format!("{value:e}")
            }
            Self::Raw | Self::Count => value.to_string(),
            Self::Decimal(decimals) => grouped((value * 10f64.powi(decimals as i32)).round() as i128, decimals),
            Self::Scaled { symbol, .. } | Self::Figure { symbol, .. } if value == 0.0 => with_symbol("0", symbol),
            Self::Scaled { unit, symbol, decimals } => {
                let scaled = (value * 10f64.powi(decimals as i32) / unit as f64).round() as i128;
                let own = own_unit(scaled, symbol, decimals).map(|unit| Self::of(unit, &[&Cell::Float(value)]));
                own.map_or_else(|| with_symbol(&not_nothing(scaled, decimals), symbol), |own| own.show_float(value))
            }
            Self::Figure { unit, symbol, decimals } => {
                let decimals = figure_decimals(value / unit as f64, decimals);
                Self::Scaled { unit, symbol, decimals }.show_float(value)
            }
            Self::Minutes if below_a_minute(value) => seconds(value).show_float(value),
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

/// The unit to choose anew by the value itself, if it has less than two digits in the unit of its column.
fn own_unit(scaled: i128, symbol: &str, decimals: usize) -> Option<Unit> {
    if decimals == 0 || scaled.unsigned_abs() >= 10 {
        return None;
    }
    match symbol {
        "s" | "ms" | "µs" => Some(Unit::Nanoseconds),
        "TiB" | "GiB" | "MiB" | "KiB" => Some(Unit::Bytes),
        "TB" | "GB" | "MB" | "kB" => Some(Unit::MovedBytes),
        "PFLOP" | "TFLOP" | "GFLOP" | "MFLOP" => Some(Unit::Flops),
        "PFLOP/s" | "TFLOP/s" | "GFLOP/s" | "MFLOP/s" => Some(Unit::FlopsPerSecond),
        "GB/s" if decimals == 1 => Some(Unit::GigabytesPerSecond),
        _ => None,
    }
}

fn with_symbol(number: &str, symbol: &str) -> String {
    if symbol.is_empty() { number.to_owned() } else { format!("{number} {symbol}") }
}

/// Decimals that make at most four digits; what is below a tenth gets one more, so that it says something.
fn figure_decimals(value: f64, decimals: usize) -> usize {
    let places = [10.0, 100.0, 1_000.0].iter().filter(|limit| value.abs() >= **limit).count();
    if value.abs() < 0.1 && decimals > 0 { decimals + 1 } else { decimals.min(3 - places) }
}

fn nanoseconds(largest: f64, cells: &[&Cell]) -> NumberStyle {
    let scaled = |unit, symbol, decimals| NumberStyle::Scaled { unit, symbol, decimals };
    if largest >= POINT_IN_TIME_NS {
        scaled(1, "ns", 0)
    } else if largest >= 600e9 {
        NumberStyle::Minutes
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

fn bytes(largest: f64) -> NumberStyle {
    let steps: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let found = steps.into_iter().find(|(bits, _)| largest >= (1u64 << bits) as f64);
    let (bits, symbol, decimals) = found.map_or((0, "B", 0), |(bits, symbol)| (bits, symbol, 2));
    NumberStyle::Scaled { unit: 1 << bits, symbol, decimals }
}

fn moved_bytes(largest: f64) -> NumberStyle {
    let steps: [(i128, &str); 4] = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let found = steps.into_iter().find(|(unit, _)| largest >= *unit as f64);
    let (unit, symbol, decimals) = found.map_or((1, "B", 0), |(unit, symbol)| (unit, symbol, 2));
    NumberStyle::Scaled { unit, symbol, decimals }
}

fn flops(largest: f64, symbols: [&'static str; 5]) -> NumberStyle {
    let step = [1e15, 1e12, 1e9, 1e6].iter().position(|unit| largest >= *unit).map_or(0, |place| 4 - place);
    if step == 0 {
        return NumberStyle::Scaled { unit: 1, symbol: symbols[0], decimals: 0 };
    }
    NumberStyle::Scaled { unit: power_of_ten(3 * (step + 1)), symbol: symbols[step], decimals: 2 }
}

fn percent(ratio: f64) -> String {
    if ratio == 0.0 {
        return "0 %".to_owned();
    }
    let tenths = (ratio * 1_000.0).round() as i128;
    if tenths == 0 { "< 0.1 %".to_owned() } else { format!("{} %", grouped(tenths, 1)) }
}

/// Whether a time among minutes would say nothing as minutes.
fn below_a_minute(ns: f64) -> bool {
    ns != 0.0 && ns.abs() < 60e9
}

/// The format of such a time.
fn seconds(ns: f64) -> NumberStyle {
    if ns.abs() < 1e9 {
        return nanoseconds(ns.abs(), &[&Cell::Float(ns)]);
    }
    NumberStyle::Scaled { unit: 1_000_000_000, symbol: "s", decimals: 3 }
}

fn minutes(ns: i128) -> String {
    let seconds = divide_rounded(ns, 1_000_000_000);
    let sign = if seconds < 0 { "−" } else { "" };
    format!("{sign}{} min {:02} s", grouped(seconds.abs() / 60, 0), seconds.abs() % 60)
}

/// Digits of something that is not zero: what rounds to zero is less than the last digit.
fn not_nothing(scaled: i128, decimals: usize) -> String {
    if scaled == 0 { format!("< {}", grouped(1, decimals)) } else { grouped(scaled, decimals) }
}

/// Half away from zero, from the integer: 34,245,000 ns is 34.25 ms.
fn divide_rounded(value: i128, unit: i128) -> i128 {
    let half = unit / 2;
    if value < 0 { (value - half) / unit } else { (value + half) / unit }
}

fn power_of_ten(decimals: usize) -> i128 {
    10i128.pow(decimals as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unit: Unit, values: &[i64], want: &[&str]) {
        let cells: Vec<Cell> = values.iter().map(|value| Cell::Int(*value)).collect();
        let format = NumberStyle::of(unit, &cells.iter().collect::<Vec<_>>());
        assert_eq!(cells.iter().map(|cell| format.show(cell)).collect::<Vec<_>>(), want);
    }

    #[test]
    fn one_unit_a_column() {
        check(Unit::Plain, &[0, 999, 1_000, -1_234_567], &["0", "999", "1,000", "−1,234,567"]);
        check(Unit::Id, &[1_934_443], &["1934443"]);
        check(Unit::Nanoseconds, &[999, 0], &["999 ns", "0 ns"]);
        check(Unit::Nanoseconds, &[604_000, 9_000], &["604 µs", "9 µs"]); // A clock of whole microseconds.
        check(Unit::Nanoseconds, &[604_000, 12_940], &["604.0 µs", "12.9 µs"]);
        check(Unit::Nanoseconds, &[142_460_000, 34_245_000, 1], &["142.46 ms", "34.25 ms", "1 ns"]);
        check(Unit::Nanoseconds, &[1_533_540_000], &["1,533.54 ms"]);
        check(Unit::Nanoseconds, &[12_000_500_000], &["12.001 s"]); // Half away from zero.
        check(Unit::Nanoseconds, &[724_000_000_000, 1_000_000_000], &["12 min 04 s", "1.000 s"]);
        check(Unit::Nanoseconds, &[1_775_167_061_388_202_755], &["1,775,167,061,388,202,755 ns"]); // A point in time.
        check(Unit::Bytes, &[0, 1_023], &["0 B", "1,023 B"]);
        check(Unit::Bytes, &[1_536, 12], &["1.50 KiB", "12 B"]);
        check(Unit::Bytes, &[2_791_728_742], &["2.60 GiB"]);
    }

    #[test]
    fn small_values_keep_two_digits() {
        // The call of a launch beside the wait for the device.
        check(Unit::Nanoseconds, &[31_400_000, 4_217, 94_949, 99_949], &["31.40 ms", "4.2 µs", "94.9 µs", "0.10 ms"]);
        check(Unit::Nanoseconds, &[12_000_500_000, 9_000_000, 250], &["12.001 s", "9.00 ms", "250 ns"]);
        check(Unit::Nanoseconds, &[604_000, 12_940, 40], &["604.0 µs", "12.9 µs", "40 ns"]);
        check(Unit::Nanoseconds, &[-31_400_000, -4_217], &["−31.40 ms", "−4.2 µs"]);
        check(Unit::MovedBytes, &[5_000_000_000, 4_000, 0], &["5.00 GB", "4.00 kB", "0 GB"]);
        let rates = [Cell::Float(21.26), Cell::Float(0.012)];
        let format = NumberStyle::of(Unit::GigabytesPerSecond, &rates.iter().collect::<Vec<_>>());
        assert_eq!(rates.map(|rate| format.show(&rate)), ["21.3 GB/s", "0.0120 GB/s"]);
    }

    #[test]
    fn figures_have_four_digits() {
        #[track_caller]
        fn check(ns: i64, want: &str) {
            let cell = Cell::Int(ns);
            assert_eq!(NumberStyle::of_figures(Unit::Nanoseconds, &[&cell]).show(&cell), want);
        }
        check(177_592_000, "177.6 ms");
        check(98_590_000, "98.59 ms");
        check(604_000, "604 µs");
        check(1_066_000_000, "1.066 s");
        check(12_345_600_000, "12.35 s");
        check(724_000_000_000, "12 min 04 s");
        check(0, "0 ns");
    }

    #[test]
    fn a_header_may_carry_the_unit() {
        let format = NumberStyle::of_header(Unit::Nanoseconds, "ms per step", true).unwrap();
        let values = [98_591_167, 1_915_000, 89_000, 0, 187_912_000];
        assert_eq!(values.map(|ns| format.show(&Cell::Int(ns))), ["98.59", "1.92", "0.089", "0", "187.9"]);
        assert_eq!(NumberStyle::of_header(Unit::Nanoseconds, "makes others wait", true), None);
    }

    #[test]
    fn shares_tell_zero_from_little() {
        let format = NumberStyle::Percent;
        assert_eq!(
            [0.0, 0.0004, 0.123, 1.0, -0.05].map(|ratio| format.show(&Cell::Float(ratio))),
            ["0 %", "< 0.1 %", "12.3 %", "100.0 %", "−5.0 %"]
        );
        assert_eq!(format.show(&Cell::Float(f64::NAN)), NULL);
    }
}
