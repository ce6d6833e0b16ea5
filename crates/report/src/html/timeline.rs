//! A stretch of a recording as a picture: steps on top, a band a track, spans in the colors of their classes.
//!
//! Spans that are long enough are rectangles that say their name and length when pointed at. Those that were too short
//! for a column stand together as a skyline: as high as the share of the time that they take.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use stepscope_model::{PictureSpan, PictureTrack, TimelinePicture, TimelineStep};

use super::escape::{escaped, shortened};
use super::words::{class_label, class_of, duration, step_label};
use crate::kernel_name;
use crate::number::grouped;

/// The picture in its own units, which are pixels on a wide screen.
const WIDTH: f64 = 1_032.0;
const LABELS: f64 = 132.0;
const RULER: f64 = 22.0;
const STEPS: f64 = 24.0;
const LANE: f64 = 16.0;
const BAR: f64 = 15.0;
const BAND_PADDING: f64 = 4.0;
const BAND_GAP: f64 = 5.0;
/// The smallest height of what is there.
const LEAST_HEIGHT: f64 = 0.22;
/// From this width on a span is a rectangle of its own, and from that one it may have a label.
const RECTANGLE: f64 = 2.0;
const LABELED: f64 = 30.0;
/// Width of a letter, and how few of them are no help.
const LETTER: f64 = 6.2;
const FEWEST_LETTERS: usize = 4;
/// Rectangles that say their name; the widest do.
const MOST_TITLES: usize = 2_500;
/// Bytes of markup of a name.
const LONGEST_NAME: usize = 90;
/// More steps than this are no marks any more.
const MOST_STEPS: usize = 150;
/// Marks of the ruler are at least so far apart.
const TICK: f64 = 92.0;

/// Columns that a picture can show.
#[must_use]
pub fn columns() -> u32 {
    (WIDTH - LABELS) as u32
}

/// The picture as SVG, and the legend of the classes that are in it.
#[must_use]
pub fn timeline(picture: &TimelinePicture) -> String {
    let scale = Scale::of(picture);
    let mut markup = String::new();
    let has_steps = !picture.steps.is_empty() && picture.steps.len() <= MOST_STEPS;
    let top = RULER + if has_steps { STEPS } else { 0.0 };
    let height = top + picture.tracks.iter().map(|track| band(track) + BAND_GAP).sum::<f64>();
    let _ = writeln!(
        markup,
        "<div class=\"scroll\"><svg class=\"timeline\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
         aria-label=\"Timeline of {}\">",
        escaped(&duration(picture.to_ns - picture.from_ns))
    );
    let titled = width_of_titles(picture, scale);
    let tops = picture.tracks.iter().scan(top, |y, track| {
        let top = *y;
        *y += band(track) + BAND_GAP;
        Some(top)
    });
    let tracks: Vec<(f64, &PictureTrack)> = tops.zip(&picture.tracks).collect();
    for (y, track) in &tracks {
        push_band(&mut markup, track, *y);
    }
    // Lines lie behind the spans: what ran is what is looked at.
    push_ruler(&mut markup, scale, picture.zero_ns, height - BAND_GAP);
    if has_steps {
        push_steps(&mut markup, &picture.steps, scale, height - BAND_GAP);
    }
    for (y, track) in &tracks {
        push_spans(&mut markup, track, *y, scale, titled);
    }
    markup.push_str("</svg></div>\n");
    markup.push_str(&legend(picture));
    markup
}

/// From time to place.
#[derive(Clone, Copy, Debug)]
struct Scale {
    from_ns: i64,
    to_ns: i64,
    /// Units a nanosecond.
    factor: f64,
}

impl Scale {
    fn of(picture: &TimelinePicture) -> Self {
        let (from_ns, to_ns) = (picture.from_ns, picture.to_ns.max(picture.from_ns + 1));
        Self { from_ns, to_ns, factor: (WIDTH - LABELS) / (to_ns - from_ns) as f64 }
    }

    fn x(self, time_ns: i64) -> f64 {
        let inside = time_ns.clamp(self.from_ns, self.to_ns);
        LABELS + (inside - self.from_ns) as f64 * self.factor
    }

    /// Left end and width of what is inside of the picture.
    fn extent(self, start_ns: i64, dur_ns: i64) -> (f64, f64) {
        let left = self.x(start_ns);
        (left, self.x(start_ns.saturating_add(dur_ns)) - left)
    }
}

fn band(track: &PictureTrack) -> f64 {
    (track.lanes as f64 * LANE + 2.0 * BAND_PADDING).max(LANE + 2.0 * BAND_PADDING)
}

/// The width from which on rectangles say their name, so that there are not too many.
fn width_of_titles(picture: &TimelinePicture, scale: Scale) -> f64 {
    let spans = picture.tracks.iter().flat_map(|track| &track.spans);
    let mut widths: Vec<f64> = spans.map(|span| scale.extent(span.start_ns, span.dur_ns).1).collect();
    widths.sort_by(|a, b| b.total_cmp(a));
    widths.get(MOST_TITLES).copied().unwrap_or(0.0)
}

/// The ground of a track, and what it is called.
fn push_band(markup: &mut String, track: &PictureTrack, y: f64) {
    let height = band(track);
    let (name, process) = labels(track);
    let whole = [track.track.process.as_str(), &track.track.name].join(" · ");
    let _ = writeln!(
        markup,
        "<g><title>{}, {} spans</title><rect class=\"band\" x=\"{LABELS}\" y=\"{y}\" width=\"{}\" height=\"{height}\"/>\
         <text class=\"track\" x=\"0\" y=\"{}\">{}</text>",
        shortened(&whole, 2 * LONGEST_NAME),
        grouped(i128::from(track.track.spans), 0),
        WIDTH - LABELS,
        y + 16.0,
        fitting(&name, LABELS - 10.0)
    );
    if track.lanes > 1 {
        let _ = write!(markup, "<text x=\"0\" y=\"{}\">{}</text>", y + 31.0, fitting(&process, LABELS - 10.0));
    }
    if track.lanes > 2 && track.hidden_lanes > 0 {
        let _ = write!(markup, "<text x=\"0\" y=\"{}\">+ {} deeper lanes</text>", y + 46.0, track.hidden_lanes);
    }
    markup.push_str("</g>\n");
}

fn push_spans(markup: &mut String, track: &PictureTrack, y: f64, scale: Scale, titled: f64) {
    let mut skylines: BTreeMap<&'static str, String> = BTreeMap::new();
    for span in &track.spans {
        let floor = y + BAND_PADDING + span.lane as f64 * LANE + BAR;
        let (left, width) = scale.extent(span.start_ns, span.dur_ns);
        let share = (span.busy_ns as f64 / span.dur_ns.max(1) as f64).clamp(LEAST_HEIGHT, 1.0);
        let is_alone = span.count == 1;
        if width < RECTANGLE || !is_alone {
            let height = if is_alone { BAR } else { share * BAR };
            let path = skylines.entry(class_of(&span.class)).or_default();
            let _ = write!(path, "M{left:.1} {floor:.1}v-{height:.1}h{:.1}v{height:.1}z", width.max(1.0));
        } else {
            push_span(markup, span, (left, floor - BAR, width), width > titled);
        }
    }
    for (class, path) in skylines {
        let _ = writeln!(markup, "<path class=\"{class}\" d=\"{path}\"/>");
    }
}

/// One span with its name: in it if there is room, and said when pointed at.
fn push_span(markup: &mut String, span: &PictureSpan, (left, top, width): (f64, f64, f64), is_titled: bool) {
    let class = class_of(&span.class);
    // A gap sets neighbors apart from where there is room for it.
    let drawn = if width >= 4.0 { width - 1.0 } else { width };
    let _ =
        write!(markup, "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{drawn:.1}\" height=\"{BAR}\"");
    let name = if class == "kernel" { kernel_name::short(&span.name) } else { span.name.as_str().into() };
    if is_titled {
        let title = shortened(&name, LONGEST_NAME);
        let _ = write!(markup, "><title>{title}, {}</title></rect>", escaped(&duration(span.dur_ns)));
    } else {
        markup.push_str("/>");
    }
    if width >= LABELED {
        let label = fitting(name.strip_prefix("aten::").unwrap_or(&name), width - 8.0);
        if !label.is_empty() {
            let _ = write!(
                markup,
                "<text class=\"on {class}\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                left + 4.0,
                top + 11.5
            );
        }
    }
    markup.push('\n');
}

/// As much of a text as there is room for; nothing if that says nothing.
fn fitting(text: &str, room: f64) -> String {
    let letters = text.chars().count();
    let most = (room / LETTER) as usize;
    if letters <= most {
        return shortened(text, 6 * most);
    }
    if most < FEWEST_LETTERS + 1 {
        return String::new();
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{}…", shortened(&kept, 6 * most))
}

/// What a track is called, and what it belongs to.
fn labels(track: &PictureTrack) -> (String, String) {
    let of = &track.track;
    let name = match of.stream {
        Some(stream) if of.kind == "stream" => format!("stream {stream}"),
        _ => of.name.clone(),
    };
    let device = of.device.filter(|_| of.kind == "stream").map(|device| format!("GPU {device}"));
    match (device, name.split_once(" (")) {
        (Some(device), _) if track.lanes <= 1 => (format!("{device} {name}"), String::new()),
        (Some(device), _) => (name, device),
        // `thread 123 (python)`, as PyTorch writes.
        (None, Some((thread, note))) if !thread.is_empty() => {
            (thread.to_owned(), note.trim_end_matches(')').to_owned())
        }
        (None, _) => (name, of.process.clone()),
    }
}

/// Times from the zero of the picture.
fn push_ruler(markup: &mut String, scale: Scale, zero_ns: i64, bottom: f64) {
    let step = tick_ns((scale.to_ns - scale.from_ns) as f64 * TICK / (WIDTH - LABELS));
    let (unit, symbol) = match step {
        _ if step >= 100_000_000 => (1_000_000_000, "s"),
        _ if step >= 100_000 => (1_000_000, "ms"),
        _ if step >= 100 => (1_000, "µs"),
        _ => (1, "ns"),
    };
    // Marks are 1, 2 or 5 of a power of ten, so that one decimal is enough.
    let decimals = usize::from(step < unit);
    let mut mark = (scale.from_ns - zero_ns).div_euclid(step) * step;
    while mark + zero_ns <= scale.to_ns {
        if mark + zero_ns >= scale.from_ns {
            let x = scale.x(mark + zero_ns);
            let scaled = grouped(i128::from(mark) * 10i128.pow(decimals as u32) / i128::from(unit), decimals);
            let _ = write!(markup, "<line class=\"tick\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"6\" y2=\"{bottom:.0}\"/>");
            if x + TICK / 2.0 < WIDTH {
                let _ = write!(markup, "<text x=\"{:.1}\" y=\"14\">{scaled} {symbol}</text>", x + 4.0);
            }
            markup.push('\n');
        }
        mark += step;
    }
}

/// The next of 1, 2, 5, 10, 20, 50… that is not smaller.
fn tick_ns(least: f64) -> i64 {
    let power = 10f64.powf(least.max(1.0).log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= least).unwrap_or(10.0);
    (factor * power).round().max(1.0) as i64
}

/// Steps as boxes with their names, and rules through all tracks where they begin.
fn push_steps(markup: &mut String, steps: &[TimelineStep], scale: Scale, bottom: f64) {
    for step in steps {
        let (left, width) = scale.extent(step.start_ns, step.end_ns - step.start_ns);
        let cut = if step.complete { "" } else { " cut" };
        let name = step_label(&step.name);
        let length = duration(step.end_ns - step.start_ns);
        let long = format!("{name} · {length}");
        let length = escaped(&length);
        let label = if long.chars().count() as f64 * LETTER <= width - 14.0 { &long } else { &name };
        let label = fitting(label, width - 12.0);
        let incomplete = if step.complete { "" } else { ", incomplete" };
        let _ = writeln!(
            markup,
            "<line class=\"rule\" x1=\"{left:.1}\" x2=\"{left:.1}\" y1=\"{RULER}\" y2=\"{bottom:.0}\"/>\
             <rect class=\"step{cut}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"17\">\
             <title>{}, {length}{incomplete}</title></rect><text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            RULER + 2.5,
            (width - 2.0).max(1.0),
            shortened(&name, LONGEST_NAME),
            left + 6.0,
            RULER + 15.0
        );
    }
}

/// The classes that are in the picture, in stacking order.
fn legend(picture: &TimelinePicture) -> String {
    const ORDER: [&str; 10] = [
        "kernel",
        "memcpy",
        "memset",
        "communication",
        "runtime",
        "dataloader",
        "cpu_exec",
        "other",
        "python",
        "annotation",
    ];
    let drawn: BTreeSet<&str> =
        picture.tracks.iter().flat_map(|track| &track.spans).map(|span| class_of(&span.class)).collect();
    let entry = |class: &&str| format!("<span><i class=\"sw {class}\"></i>{}</span>", class_label(class));
    let entries: String = ORDER.iter().filter(|class| drawn.contains(**class)).map(entry).collect();
    format!("<p class=\"keys\">{entries}</p>\n")
}

#[cfg(test)]
mod tests {
    use stepscope_model::TimelineTrack;

    use super::*;

    fn span(start_ns: i64, dur_ns: i64, count: i64, class: &str, name: &str) -> PictureSpan {
        let (class, name) = (class.to_owned(), name.to_owned());
        PictureSpan { lane: 0, start_ns, dur_ns, busy_ns: dur_ns / 2, count, class, name }
    }

    fn picture(spans: Vec<PictureSpan>) -> TimelinePicture {
        let track = TimelineTrack {
            track: 1,
            kind: "stream".to_owned(),
            process: "<i>device</i>".to_owned(),
            name: "stream 7".to_owned(),
            device: Some(0),
            stream: Some(7),
            spans: 1_234,
            depth: 1,
            first_ns: Some(0),
            last_ns: Some(90_000_000),
        };
        let steps = vec![TimelineStep {
            step: 0,
            number: 3,
            name: "ProfilerStep#3".to_owned(),
            start_ns: 10_000_000,
            end_ns: 60_000_000,
            complete: true,
        }];
        let tracks = vec![PictureTrack { track, lanes: 1, hidden_lanes: 0, spans }];
        let columns = columns();
        TimelinePicture { from_ns: 0, to_ns: 90_000_000, zero_ns: 10_000_000, columns, steps, tracks, left_out: 0 }
    }

    #[test]
    fn long_spans_say_their_name_and_short_ones_make_a_skyline() {
        let markup = timeline(&picture(vec![
            span(0, 45_000_000, 1, "kernel", "void at::native::gemm<float>(int)"),
            span(50_000_000, 200_000, 4, "memcpy", "copies"),
            span(60_000_000, 10, 1, "memset", "alone"),
        ]));
        assert!(markup.contains("<title>gemm&lt;float&gt;, 45.00 ms</title>"), "{markup}");
        assert!(markup.contains("<path class=\"memcpy\" d=\"M632.0 65.0v-7.5h2.0v7.5z\"/>"), "{markup}");
        assert!(markup.contains("v-15.0h1.0v15.0z"), "one that is alone is seen: {markup}");
        assert!(markup.contains(">GPU 0 stream 7</text>") && markup.contains("1,234 spans"), "{markup}");
        assert!(markup.contains(">step 3 · 50.00 ms</text>"), "{markup}");
        assert!(markup.contains(">0 ms</text>") && markup.contains(">−10 ms</text>"), "{markup}");
        assert!(markup.contains("Kernel</span>") && !markup.contains("Annotation"), "{markup}");
    }

    #[test]
    fn nothing_of_a_trace_is_markup() {
        let markup = timeline(&picture(vec![span(0, 45_000_000, 1, "\"><script>", "<script>alert(1)</script>")]));
        assert!(!markup.contains("<script") && !markup.contains("<i>device"), "{markup}");
        assert!(markup.contains("<rect class=\"other\""), "{markup}");
    }

    #[test]
    fn many_spans_do_not_make_it_large() {
        let spans = (0..9_000).map(|place| span(place * 10_000, 9_000, 1, "kernel", &"<".repeat(5_000))).collect();
        let large = timeline(&picture(spans));
        assert!(large.len() < 400_000, "{}", large.len());
        let spans = (0..440).map(|place| span(place * 200_000, 200_000, 1, "kernel", &"<".repeat(5_000))).collect();
        assert!(timeline(&picture(spans)).len() < 150_000);
    }

    #[test]
    fn marks_are_round() {
        assert_eq!([0.3, 1.0, 1.1, 3.0, 7_000.0, 12_345.0].map(tick_ns), [1, 1, 2, 5, 10_000, 20_000]);
    }

    #[test]
    fn a_label_that_says_nothing_is_left_out() {
        assert_eq!(fitting("convolution", 200.0), "convolution");
        assert_eq!(fitting("convolution", 40.0), "convo…");
        assert_eq!(fitting("convolution", 25.0), "");
    }
}
