//! Small pictures: what the time of steps goes to, curves, sparks, and bars.
//!
//! Widths are percentages, so that a picture fits any screen while its text keeps its size.

use std::fmt::Write as _;

use stepscope_model::{Cell, Class, Look, ReportTable, Series};

use super::escape::{escaped, shortened};
use super::words::{class_label, duration, step_label};
use crate::number::{NumberStyle, number};
use crate::text::{self, TextOptions};

/// More steps than this stand upright, and more than that are shown by their means.
const MOST_LYING: usize = 24;
const MOST_UPRIGHT: usize = 160;
const UPRIGHT_PX: f64 = 180.0;
const STACK_PX: u32 = 18;
/// Values of a spark at most: the last ones.
const MOST_SPARKS: usize = 24;
/// Points of a curve at most.
const MOST_POINTS: usize = 500;
const CURVE: (f64, f64) = (1_000.0, 80.0);
const LONGEST_LABEL: usize = 40;

/// What the time of a step, or of the steps of a rank, goes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What it is called.
    pub label: String,
    /// How long it is.
    pub total_ns: i64,
    /// How much of it each class takes, in the order of [`Class::ALL`]; empty if that is not known.
    pub shares: Vec<f64>,
    /// Whether it was recorded to its end.
    pub is_complete: bool,
}

/// The definition that hatched areas refer to; a page needs it once.
#[must_use]
pub fn definitions() -> String {
    "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"5\" height=\"5\" \
     patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"5\" class=\"other\"/>\
     </pattern></defs></svg>\n"
        .to_owned()
}

/// The rows of the analysis `steps` as bars: one per step, or one per rank if they are grouped so.
#[must_use]
pub fn bars_of(table: &ReportTable) -> Vec<Bar> {
    let place = |name: &str| table.columns.iter().position(|column| column.name == name);
    let (name, rank, step) = (place("name"), place("rank"), place("step"));
    let (total, shares, complete) = (place("dur_ns"), place("shares"), place("is_complete"));
    let is_by_rank = rank.is_some_and(|rank| table.columns[rank].look != Look::Hidden);
    let bar = |row: &Vec<Cell>| {
        let cell = |place: Option<usize>| place.and_then(|place| row.get(place)).unwrap_or(&Cell::Null);
        let label = match (cell(rank), cell(name), cell(step)) {
            (Cell::Int(rank), ..) if is_by_rank => format!("rank {rank}"),
            (_, Cell::Text(name), _) if !name.is_empty() => step_label(name),
            (_, _, Cell::Int(step)) => format!("step {step}"),
            _ => String::new(),
        };
        let total_ns = number(cell(total)).unwrap_or(0.0).round() as i64;
        let shares = if let Cell::Numbers(shares) = cell(shares) { shares.clone() } else { Vec::new() };
        Bar { label, total_ns, shares, is_complete: *cell(complete) != Cell::Bool(false) }
    };
    table.rows.iter().map(bar).collect()
}

/// What the time of steps goes to: a bar each, lying with its label if there are few, else upright.
#[must_use]
pub fn stacked(bars: &[Bar]) -> String {
    if bars.len() <= MOST_LYING { lying(bars) } else { upright(bars) }
}

fn lying(bars: &[Bar]) -> String {
    let largest = bars.iter().map(|bar| bar.total_ns).max().unwrap_or(0) as f64;
    let mut markup = String::from("<div class=\"bars\">\n");
    for bar in bars {
        let label = shortened(&bar.label, LONGEST_LABEL);
        let cut = if bar.is_complete { "" } else { " cut" };
        let _ = writeln!(
            markup,
            "<span class=\"l\">{label}</span><span class=\"b{cut}\">{}</span><span class=\"t\">{}</span>",
            stack(&bar.shares, largest),
            escaped(&duration(bar.total_ns))
        );
    }
    markup.push_str("</div>\n");
    markup
}

/// The parts of a whole in stacking order, on a scale that ends at `largest`.
#[must_use]
pub fn stack(shares: &[f64], largest: f64) -> String {
    let mut markup = format!("<svg class=\"stack\" width=\"100%\" height=\"{STACK_PX}\" role=\"img\">");
    let _ = write!(markup, "<title>{}</title>", escaped(&in_words(shares)));
    let mut from = 0.0;
    for (class, share) in Class::ALL.into_iter().zip(shares) {
        let width = percent(*share, largest);
        if width > 0.0 {
            let fill = if class == Class::Other { " fill=\"url(#hatch)\"" } else { "" };
            let _ = write!(
                markup,
                "<rect class=\"{}\" x=\"{from:.2}%\" width=\"{width:.2}%\" height=\"{STACK_PX}\"{fill}/>",
                class.as_text()
            );
            from += width;
        }
    }
    markup.push_str("</svg>");
    markup
}

/// What a stack says to those who cannot see it, and to those who point at it.
fn in_words(shares: &[f64]) -> String {
    let parts = Class::ALL.into_iter().zip(shares).filter(|(_, share)| **share > 0.0);
    let words = parts.map(|(class, ns)| format!("{} {}", class_label(class.as_text()), duration(ns.round() as i64)));
    words.collect::<Vec<_>>().join(" · ")
}

/// One column per step; very many are shown by the means of neighbors.
fn upright(bars: &[Bar]) -> String {
    let size = bars.len().div_ceil(MOST_UPRIGHT);
    let columns: Vec<Bar> = bars.chunks(size).map(mean).collect();
    let largest = columns.iter().map(|bar| bar.total_ns).max().unwrap_or(0).max(1) as f64;
    let each = 100.0 / columns.len() as f64;
    let mut markup = format!(
        "<div class=\"columns\"><svg width=\"100%\" height=\"{UPRIGHT_PX}\" role=\"img\" aria-label=\"steps\">"
    );
    for (place, bar) in columns.iter().enumerate() {
        let (x, width) = (place as f64 * each, each * 0.86);
        let title = format!("{} · {} · {}", bar.label, duration(bar.total_ns), in_words(&bar.shares));
        let cut = if bar.is_complete { "" } else { " class=\"cut\"" };
        let _ = write!(markup, "<g{cut}><title>{}</title>", shortened(&title, 400));
        let mut top = UPRIGHT_PX;
        for (class, share) in Class::ALL.into_iter().zip(&bar.shares) {
            let height = percent(*share, largest) / 100.0 * UPRIGHT_PX;
            if height > 0.0 {
                top -= height;
                let fill = if class == Class::Other { " fill=\"url(#hatch)\"" } else { "" };
                let _ = write!(
                    markup,
                    "<rect class=\"{}\" x=\"{x:.2}%\" y=\"{top:.1}\" width=\"{width:.2}%\" height=\"{height:.1}\"{fill}/>",
                    class.as_text()
                );
            }
        }
        markup.push_str("</g>");
    }
    let label = |bar: Option<&Bar>| bar.map(|bar| shortened(&bar.label, LONGEST_LABEL)).unwrap_or_default();
    let grouped = if size > 1 { format!(", means of {size}") } else { String::new() };
    let _ = writeln!(
        markup,
        "</svg><div class=\"ends\"><span>{}</span><span>largest {}{grouped}</span><span>{}</span></div></div>",
        label(bars.first()),
        escaped(&duration(largest as i64)),
        label(bars.last())
    );
    markup
}

fn mean(bars: &[Bar]) -> Bar {
    let count = bars.len().max(1);
    let share = |place: usize| bars.iter().filter_map(|bar| bar.shares.get(place)).sum::<f64>() / count as f64;
    let has_shares = bars.iter().all(|bar| !bar.shares.is_empty());
    let label = match bars {
        [first, .., last] => format!("{} to {}", first.label, last.label),
        _ => bars.first().map(|bar| bar.label.clone()).unwrap_or_default(),
    };
    Bar {
        label,
        total_ns: bars.iter().map(|bar| bar.total_ns).sum::<i64>() / count as i64,
        shares: if has_shares { (0..Class::ALL.len()).map(share).collect() } else { Vec::new() },
        is_complete: bars.iter().all(|bar| bar.is_complete),
    }
}

/// A curve with its largest value and its time, as an area.
#[must_use]
pub fn curve(series: &Series) -> String {
    let points = thinned(&series.points);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let values = || series.points.iter().map(|(_, value)| *value).filter(|value| value.is_finite());
    let ends = [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)];
    let (smallest, largest) = (ends[0].min(0.0), ends[1].max(0.0));
    let name = shortened(&text::header(&series.name, series.unit, TextOptions::default()), 120);
    let is_flat = ends[0] >= ends[1];
    let ends = ends.map(Cell::Float);
    let format = NumberStyle::of(series.unit, &ends.iter().collect::<Vec<_>>());
    let [low, high] = ends.map(|end| escaped(&format.show(&end)));
    if is_flat {
        return format!("<p class=\"note\">{name}: always {low}</p>\n");
    }
    let (width, height) = CURVE;
    let length = (last.0 - first.0).max(1) as f64;
    let x = |time: i64| (time - first.0) as f64 / length * width;
    let y = |value: f64| height - percent(value - smallest, largest - smallest) / 100.0 * height;
    let mut path = format!("M0 {:.1}", y(0.0));
    for (time, value) in &points {
        // A value holds until the next one.
        let _ = write!(path, "H{:.1}V{:.1}", x(*time), y(*value));
    }
    let _ = write!(path, "H{width}V{:.1}Z", y(0.0));
    let [from, to] = [first.0, last.0].map(|time| escaped(&duration(time)));
    format!(
        "<figure class=\"curve\"><figcaption>{name}<span>{low} to {high}</span></figcaption>\
         <svg width=\"100%\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" preserveAspectRatio=\"none\" \
         role=\"img\" aria-label=\"{name}\"><path d=\"{path}\"/></svg>\
         <div class=\"ends\"><span>{from}</span><span>{to}</span></div></figure>\n"
    )
}

/// Of many points the highest of each stretch: peaks are what people look for.
fn thinned(points: &[(i64, f64)]) -> Vec<(i64, f64)> {
    let points: Vec<(i64, f64)> = points.iter().copied().filter(|(_, value)| value.is_finite()).collect();
    if points.len() <= MOST_POINTS {
        return points;
    }
    let highest = |points: &[(i64, f64)]| points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(points.len().div_ceil(MOST_POINTS)).filter_map(highest).collect()
}

/// One small column a value, from the smallest to the largest.
#[must_use]
pub fn sparks(values: &[f64]) -> String {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let shown = &values[values.len().saturating_sub(MOST_SPARKS)..];
    let largest = shown.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = shown.iter().copied().fold(f64::INFINITY, f64::min) * 0.75;
    let width = shown.len() * 6;
    let mut markup = format!("<svg class=\"sparks\" width=\"{width}\" height=\"20\" aria-hidden=\"true\">");
    for (place, value) in shown.iter().enumerate() {
        let height = 6.0 + percent(value - smallest, largest - smallest) / 100.0 * 14.0;
        let _ =
            write!(markup, "<rect x=\"{}\" y=\"{:.1}\" width=\"4\" height=\"{height:.1}\"/>", place * 6, 20.0 - height);
    }
    markup.push_str("</svg>");
    markup
}

/// A bar of a share from 0 to 1, in the color of a class or neutral.
#[must_use]
pub fn meter(share: f64, class: Option<&'static str>) -> String {
    let width = percent(share, 1.0);
    let class = class.unwrap_or("neutral");
    format!("<span class=\"meter\"><i class=\"{class}\" style=\"width:{width:.1}%\"></i></span>")
}

/// How much of `whole` a part is, from 0 to 100.
pub(super) fn percent(part: f64, whole: f64) -> f64 {
    let share = part / whole;
    if share.is_finite() { (share * 100.0).clamp(0.0, 100.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use stepscope_model::Unit;

    use super::*;

    fn bar(label: &str, total_ns: i64) -> Bar {
        let mut shares = vec![0.0; Class::ALL.len()];
        (shares[0], shares[7]) = (total_ns as f64 * 0.75, total_ns as f64 * 0.25);
        Bar { label: label.to_owned(), total_ns, shares, is_complete: true }
    }

    #[test]
    fn a_stack_is_as_long_as_its_share_of_the_largest() {
        let markup = stack(&bar("", 50_000_000).shares, 100_000_000.0);
        assert!(markup.contains("<title>Kernel 37.50 ms · Other 12.50 ms</title>"), "{markup}");
        assert!(markup.contains("<rect class=\"kernel\" x=\"0.00%\" width=\"37.50%\" height=\"18\"/>"), "{markup}");
        assert!(markup.contains("<rect class=\"other\" x=\"37.50%\" width=\"12.50%\""), "{markup}");
        assert_eq!(stack(&[], 0.0).matches("<rect").count(), 0);
    }

    #[test]
    fn few_steps_lie_and_many_stand() {
        let few = stacked(&[bar("step 1", 50_000_000), bar("<b>", 100_000_000)]);
        assert!(few.contains("100.0 ms") && few.contains("&lt;b&gt;"), "{few}");
        let many: Vec<Bar> = (0..1_000).map(|step| bar(&format!("step {step}"), 1_000_000)).collect();
        let markup = stacked(&many);
        assert_eq!(markup.matches("<g>").count(), 143); // Means of seven.
        assert!(markup.contains("<title>step 0 to step 6 · 1.00 ms"), "{markup}");
        assert!(markup.contains("largest 1.00 ms, means of 7"), "{markup}");
    }

    #[test]
    fn a_curve_keeps_its_peak() {
        let mut points: Vec<(i64, f64)> = (0..10_000).map(|time| (time * 1_000, 1.0)).collect();
        points[4_321].1 = 5_000.0;
        let markup = curve(&Series { name: "gpu0_growth_bytes".to_owned(), unit: Unit::Bytes, points });
        assert!(markup.contains("gpu0 growth<span>1 B to 4.88 KiB</span>"), "{markup}");
        assert_eq!(markup.matches("V0.0").count(), 1, "{markup}");
        assert!(markup.len() < 12_000);
        assert_eq!(curve(&Series { name: String::new(), unit: Unit::Bytes, points: Vec::new() }), "");
    }

    #[test]
    fn nothing_is_drawn_of_what_is_no_number() {
        assert!(meter(f64::NAN, None).contains("width:0.0%") && meter(f64::INFINITY, None).contains("width:0.0%"));
        assert!(sparks(&[f64::NAN]).ends_with("aria-hidden=\"true\"></svg>"));
    }
}
