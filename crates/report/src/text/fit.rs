//! How wide each column becomes. Names give way first; numbers are never cut; pictures take what is left.

use unicode_width::UnicodeWidthStr;

use super::column::{Kind, Shown};

/// Space between two columns, and where everything fits with more.
const GAP: usize = 2;
const WIDE_GAP: usize = 3;
/// Text is not shortened below this.
const NARROWEST_TEXT: usize = 12;
const NARROWEST_PROSE: usize = 30;
/// Names that share the screen with a bar or a second table keep this much.
const COMFORTABLE_NAME: usize = 24;
const COMFORTABLE_PICTURE: usize = 16;
const NARROWEST_BAR: usize = 8;
const WIDEST_BAR: usize = 14;
/// From this screen on a bar may take room from names.
const SCREEN_FOR_BARS: usize = 100;

/// What a table asks of its columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    /// Columns of the screen; the table may have less.
    pub(super) screen: usize,
    /// Whether gaps may be wide.
    pub(super) is_airy: bool,
    /// Whether the table takes the whole room.
    pub(super) fills: bool,
}

/// What came out, beside the widths.
#[derive(Clone, Debug, Default)]
pub(super) struct Fitted {
    pub(super) gap: usize,
    /// Names of the columns that went.
    pub(super) left_out: Vec<String>,
}

/// Sets the widths so that the table fits. What still does not fit goes, from the right; the first column stays, and
/// the one that explains the order of the rows as long as others can go.
pub(super) fn fit(columns: &mut Vec<Shown>, room: usize, wishes: Wishes) -> Fitted {
    shorten_headers(columns, room);
    let mut left_out = Vec::new();
    while needed(columns, GAP, 0, narrowest) > room && columns.len() > 1 {
        if let Some(place) = columns.iter().position(|column| column.kind == Kind::Picture) {
            // It only shows again what the numbers say.
            columns.remove(place);
            continue;
        }
        let place = columns.iter().rposition(|column| !column.is_sorted).filter(|place| *place > 0);
        left_out.push(columns.remove(place.unwrap_or(columns.len() - 1)).name);
    }
    left_out.reverse();
    let name_width = if wishes.screen >= SCREEN_FOR_BARS { comfortable } else { natural };
    let has_bars = columns.iter().any(has_bar) && needed(columns, GAP, NARROWEST_BAR, name_width) <= room;
    let mut bar = if has_bars { NARROWEST_BAR } else { 0 };
    let is_airy = wishes.is_airy && needed(columns, WIDE_GAP, bar, natural) <= room;
    let gap = if is_airy { WIDE_GAP } else { GAP };
    if has_bars {
        let grown = |bar: &usize| needed(columns, gap, *bar, natural) <= room;
        bar = (NARROWEST_BAR..=WIDEST_BAR).rev().find(grown).unwrap_or(bar);
    }
    for (index, column) in columns.iter_mut().enumerate() {
        column.bar_width = if has_bar(column) { bar } else { 0 };
        column.width = natural(column, index, gap, column.bar_width);
    }
    narrow(columns, room, gap);
    widen(columns, room, gap, wishes.fills);
    Fitted { gap, left_out }
}

/// Whether the columns fit in a part of the screen without looking cramped.
pub(super) fn is_comfortable(columns: &[Shown], room: usize) -> bool {
    needed(columns, GAP, 0, comfortable) <= room
}

/// The whole table as wide as its values, with room between them.
pub(super) fn natural_width(columns: &[Shown]) -> usize {
    needed(columns, WIDE_GAP, 0, natural)
}

/// The width of the table as fitted.
pub(super) fn width(columns: &[Shown], gap: usize) -> usize {
    let gaps = gap * columns.len().saturating_sub(1);
    columns.iter().map(|column| column.lead_width + column.width).sum::<usize>() + gaps
}

fn has_bar(column: &Shown) -> bool {
    column.kind == Kind::Fixed && column.picture.is_some()
}

fn shorten_headers(columns: &mut [Shown], room: usize) {
    if needed(columns, GAP, 0, comfortable) <= room {
        return;
    }
    for column in columns {
        if let Some(header) = column.short_header.take() {
            column.header = header;
        }
    }
}

/// Cells for values and bar of one column, without its lead.
type Measure = fn(&Shown, usize, usize, usize) -> usize;

fn needed(columns: &[Shown], gap: usize, bar: usize, measure: Measure) -> usize {
    let widths = columns.iter().enumerate().map(|(index, column)| {
        let bar = if has_bar(column) { bar } else { 0 };
        column.lead_width + measure(column, index, gap, bar)
    });
    widths.sum::<usize>() + gap * columns.len().saturating_sub(1)
}

fn natural(column: &Shown, index: usize, gap: usize, bar: usize) -> usize {
    let total = column.total.as_ref().map_or(0, super::line::Line::width);
    let content = match column.kind {
        Kind::Picture => NARROWEST_BAR,
        // A sum may reach into the gap before it, as long as one space is left.
        Kind::Fixed if column.is_right && index > 0 => column.content_width.max((total + 1).saturating_sub(gap)),
        _ => column.content_width.max((total + column.indent()).saturating_sub(column.lead_width)),
    };
    let bar = if bar > 0 { bar + gap } else { 0 };
    (content + bar).max(header_width(column))
}

/// What the header asks of the cells behind the lead.
fn header_width(column: &Shown) -> usize {
    if column.header_spans { 0 } else { column.header.width().saturating_sub(column.lead_width) }
}

fn narrowest(column: &Shown, index: usize, gap: usize, bar: usize) -> usize {
    at_least(column, natural(column, index, gap, bar), NARROWEST_TEXT)
}

fn comfortable(column: &Shown, index: usize, gap: usize, bar: usize) -> usize {
    at_least(column, natural(column, index, gap, bar), COMFORTABLE_NAME)
}

fn at_least(column: &Shown, natural: usize, name: usize) -> usize {
    let floor = match column.kind {
        Kind::Name(_) => name,
        Kind::Prose => NARROWEST_PROSE.max(name),
        Kind::Picture if name == COMFORTABLE_NAME => return natural.max(COMFORTABLE_PICTURE),
        Kind::Fixed | Kind::Picture | Kind::Detail => return natural,
    };
    natural.min(floor.max(header_width(column)))
}

/// Sentences lose nothing in more lines, so they give way first; then the widest name, a cell at a time.
fn narrow(columns: &mut [Shown], room: usize, gap: usize) {
    while width(columns, gap) > room {
        let is_soft = |column: &&mut Shown| column.width > narrowest(column, 1, gap, column.bar_width);
        let widest = columns.iter_mut().filter(is_soft).max_by_key(|column| (column.kind == Kind::Prose, column.width));
        let Some(widest) = widest else { break };
        widest.width -= 1;
    }
    if let [only] = columns {
        only.width = only.width.min(room.saturating_sub(only.lead_width));
    }
}

/// What is left goes to pictures, else to the last name of a table that fills its room.
fn widen(columns: &mut [Shown], room: usize, gap: usize, fills: bool) {
    let free = room.saturating_sub(width(columns, gap));
    let pictures = columns.iter().filter(|column| column.kind == Kind::Picture).count();
    if let Some(each) = free.checked_div(pictures) {
        for column in columns.iter_mut().filter(|column| column.kind == Kind::Picture) {
            column.width += each;
        }
    } else if fills && let Some(name) = columns.iter_mut().rfind(|column| matches!(column.kind, Kind::Name(_))) {
        name.width += free;
    }
}
