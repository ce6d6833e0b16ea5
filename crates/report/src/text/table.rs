//! A table as lines: header, rows, what stands below a row, sums below a rule, notes.

use stepscope_model::{LeftOut, Look, ReportColumn, ReportTable};
use unicode_width::UnicodeWidthStr;

use super::column::{self, Kind, Shown};
use super::fit::{self, Fitted, Wishes};
use super::line::{Line, Style};
use super::name::{Cut, shorten, wrap};
use super::{TextOptions, Ways};
use crate::number::grouped;
use crate::stream::TableStream;
use crate::{safe_text, sentence};

/// From this screen on what explains a finding stands beside it.
const SCREEN_FOR_DETAILS: usize = 120;
/// Space between two tables that stand beside one another.
const TABLE_GAP: usize = 4;

/// The whole table on the whole screen.
pub(super) fn lines(table: &ReportTable, options: TextOptions) -> Vec<Line> {
    let mut columns = column::columns(table, options);
    if columns.is_empty() && !table.columns.is_empty() {
        return Vec::new();
    }
    let details = take_details(&mut columns, table, options);
    let fitted = fit::fit(&mut columns, options.width, wishes(table, options));
    let mut lines = Vec::new();
    if table.title.is_none() && !table.name.is_empty() && table.name != "rows" {
        let heading = safe_text::one_line(&table.name).replace('_', " ").to_uppercase();
        lines.push(Line::new(heading, Style::Bold));
    }
    lines.extend(body(table, &columns, &details, &fitted, options.width, options));
    let left_out = left_out(table, &fitted.left_out, options);
    let notes = notes(table, table.rows.len() as u64, &columns, &left_out, options.ways);
    lines.extend(note_lines(&notes, options.width, options));
    lines
}

/// A plain table as its rows come, below the layout of the first ones.
#[derive(Debug)]
pub struct TextStream {
    options: TextOptions,
    /// The table without its rows.
    table: ReportTable,
    columns: Vec<Shown>,
    fitted: Fitted,
    rows: u64,
}

impl TextStream {
    /// A table that looks so.
    #[must_use]
    pub fn new(options: TextOptions) -> Self {
        let table = ReportTable::rows(Vec::new(), Vec::new());
        Self { options, table, columns: Vec::new(), fitted: Fitted::default(), rows: 0 }
    }

    fn painted(&self, lines: impl IntoIterator<Item = Line>) -> String {
        lines.into_iter().map(|line| line.paint(self.options.color)).collect()
    }
}

impl TableStream for TextStream {
    fn head(&mut self, head: &ReportTable) -> String {
        let mut columns = column::columns(head, self.options);
        self.fitted = fit::fit(&mut columns, self.options.width, wishes(head, self.options));
        self.rows = head.rows.len() as u64;
        self.table = ReportTable { columns: head.columns.clone(), ..ReportTable::rows(Vec::new(), Vec::new()) };
        let text = self.painted(body(head, &columns, &[], &self.fitted, self.options.width, self.options));
        let layout = |column: Shown| Shown { leads: Vec::new(), cells: Vec::new(), ..column };
        self.columns = columns.into_iter().map(layout).collect();
        text
    }

    fn rows(&mut self, rows: &ReportTable) -> String {
        self.rows += rows.rows.len() as u64;
        let mut written = column::columns(rows, self.options);
        let columns = self.columns.iter().filter_map(|layout| {
            let place = written.iter().position(|column| column.place == layout.place)?;
            let Shown { leads, cells, .. } = written.swap_remove(place);
            Some(Shown { leads, cells, ..layout.clone() })
        });
        let columns: Vec<Shown> = columns.collect();
        let painter = Painter { columns: &columns, gap: self.fitted.gap, options: self.options };
        self.painted((0..rows.rows.len()).flat_map(|row| painter.row(row)))
    }

    fn end(&mut self, left_out: LeftOut) -> String {
        let table =
            ReportTable { left_out, ..std::mem::replace(&mut self.table, ReportTable::rows(Vec::new(), Vec::new())) };
        let notes = notes(&table, self.rows, &self.columns, &self.fitted.left_out, self.options.ways);
        self.painted(note_lines(&notes, self.options.width, self.options))
    }
}

/// Two tables with titles beside one another, if both fit. Each may leave out its last column: somebody who wants all
/// of it asks for that table alone.
pub(super) fn lines_beside(left: &ReportTable, right: &ReportTable, options: TextOptions) -> Option<Vec<Line>> {
    let both = options.width.checked_sub(TABLE_GAP)?;
    let tables = [left, right];
    let mut columns = [column::columns(left, options), column::columns(right, options)];
    let rooms = shared_room(&columns, both);
    for ((columns, table), room) in columns.iter_mut().zip(tables).zip(rooms) {
        let has_details = columns.iter().any(|column| column.kind == Kind::Detail);
        if table.title.is_none() || columns.is_empty() || has_details {
            return None;
        }
        if !fit::is_comfortable(columns, room) && columns.len() > 2 {
            columns.pop();
        }
        if !fit::is_comfortable(columns, room) {
            return None;
        }
    }
    let mut blocks = columns.iter_mut().zip(tables).zip(rooms).map(|((columns, table), room)| {
        let shown: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let is_popped = |column: &&ReportColumn| column::is_number(column) && !shown.contains(&column.name);
        let popped: Vec<String> = table.columns.iter().filter(is_popped).map(|column| column.name.clone()).collect();
        let fitted = fit::fit(columns, room, wishes(table, options));
        let mut lines = body(table, columns, &[], &fitted, room, options);
        lines.extend(note_lines(&notes(table, table.rows.len() as u64, columns, &popped, options.ways), room, options));
        lines
    });
    let (left, right) = (blocks.next()?, blocks.next()?);
    let lines = (0..left.len().max(right.len())).map(|place| {
        let mut line = left.get(place).cloned().unwrap_or_default();
        if let Some(right) = right.get(place) {
            line.pad_to(rooms[0] + TABLE_GAP);
            line.append(right);
        }
        line
    });
    Some(lines.collect())
}

/// What two tables do not need goes to their pictures; if they need more than there is, each gets one half.
fn shared_room(columns: &[Vec<Shown>; 2], both: usize) -> [usize; 2] {
    let [left, right] = [fit::natural_width(&columns[0]), fit::natural_width(&columns[1])];
    let has_picture = |columns: &[Shown]| columns.iter().any(|column| column.kind == Kind::Picture);
    let left = match (both.checked_sub(left + right), has_picture(&columns[0]), has_picture(&columns[1])) {
        (None, ..) => both / 2,
        (Some(free), true, true) => left + free / 2,
        (Some(free), true, false) => left + free,
        (Some(_), false, _) => left,
    };
    [left, both - left]
}

fn wishes(table: &ReportTable, options: TextOptions) -> Wishes {
    let has_severity = table.columns.iter().any(|column| column.look == Look::Severity);
    Wishes { screen: options.width, is_airy: is_designed(table) && !options.raw, fills: has_severity && !options.raw }
}

/// Whether somebody thought about how it looks; rows of SQL are plain.
fn is_designed(table: &ReportTable) -> bool {
    let has_look = table.columns.iter().any(|column| column.label.is_some() || column.look != Look::Value);
    table.title.is_some() || table.total.is_some() || has_look
}

/// Texts that stand below their rows. On a wide screen those of a table of findings become a column, if all fit.
fn take_details(columns: &mut Vec<Shown>, table: &ReportTable, options: TextOptions) -> Vec<Shown> {
    let is_detail = |column: &Shown| column.kind == Kind::Detail;
    let details: Vec<Shown> = columns.iter().filter(|column| is_detail(column)).cloned().collect();
    columns.retain(|column| !is_detail(column));
    let [detail] = details.as_slice() else { return details };
    let name = columns.iter().position(|column| matches!(column.kind, Kind::Name(_)));
    let Some(name) = name.filter(|_| wishes(table, options).fills && options.width >= SCREEN_FOR_DETAILS) else {
        return details;
    };
    let mut beside = columns.clone();
    let lead = vec![Line::default(); detail.cells.len()];
    let detail = Shown { kind: Kind::Name(Cut::End), leads: lead, lead_width: 1, ..detail.clone() };
    beside.insert(name + 1, detail);
    if fit::natural_width(&beside) > options.width {
        return details;
    }
    *columns = beside;
    Vec::new()
}

fn body(
    table: &ReportTable,
    columns: &[Shown],
    details: &[Shown],
    fitted: &Fitted,
    room: usize,
    options: TextOptions,
) -> Vec<Line> {
    let painter = Painter { columns, gap: fitted.gap, options };
    let mut lines = vec![painter.header()];
    for row in 0..table.rows.len() {
        lines.extend(painter.row(row));
        for detail in details {
            lines.extend(painter.detail(&detail.cells[row].text(), room));
        }
        if let Some((_, gap)) = table.gap.as_ref().filter(|(place, _)| *place == row + 1) {
            lines.push(Line::new(shorten(&options.spell(gap), room, Cut::End, options.ascii), Style::Secondary));
        }
    }
    if table.total.is_some() && !columns.is_empty() {
        let rule = if options.ascii { "-" } else { "─" };
        lines.push(Line::new(rule.repeat(fit::width(columns, fitted.gap).min(room)), Style::Secondary));
        lines.push(painter.total());
    }
    lines
}

struct Painter<'a> {
    columns: &'a [Shown],
    gap: usize,
    options: TextOptions,
}

impl Painter<'_> {
    fn header(&self) -> Line {
        let mut line = Line::default();
        let mut start = 0;
        for (index, column) in self.columns.iter().enumerate() {
            let width = column.lead_width + column.width;
            let next = self.columns.get(index + 1).filter(|_| column.header_spans);
            let room = width + next.map_or(0, |next| self.gap + next.lead_width + next.width);
            let header = shorten(&column.header, room, Cut::End, self.options.ascii);
            let before = if column.is_right { width.saturating_sub(header.width()) } else { 0 };
            line.pad_to(start + before);
            line.push(&header, column.header_style);
            start += width + self.gap;
        }
        line
    }

    /// One line, or several if it ends in a sentence.
    fn row(&self, row: usize) -> Vec<Line> {
        let mut first = Line::default();
        let mut more = Vec::new();
        let mut start = 0;
        for column in self.columns {
            first.pad_to(start);
            if let Some(lead) = column.leads.get(row) {
                first.append(lead);
            }
            start += column.lead_width;
            first.pad_to(start);
            match column.kind {
                Kind::Prose => {
                    let mut sentences = wrap(&column.cells[row].text(), column.width).into_iter().map(|sentence| {
                        let mut line = Line::default();
                        line.pad_to(start);
                        line.append(&self.shortened(&Line::plain(sentence), column.width, Cut::End));
                        line
                    });
                    if let Some(sentence) = sentences.next() {
                        first.append(&Line::plain(sentence.text().trim_start()));
                    }
                    more.extend(sentences);
                }
                Kind::Name(cut) => first.append(&self.shortened(&column.cells[row], column.width, cut)),
                Kind::Picture => self.draw(&mut first, column, row, column.width),
                Kind::Fixed | Kind::Detail => {
                    if column.bar_width > 0 {
                        self.draw(&mut first, column, row, column.bar_width);
                    }
                    let cell = &column.cells[row];
                    let before = if column.is_right { column.width.saturating_sub(cell.width()) } else { 0 };
                    first.pad_to(start + before);
                    first.append(cell);
                }
            }
            start += column.width + self.gap;
        }
        std::iter::once(first).chain(more).collect()
    }

    fn draw(&self, line: &mut Line, column: &Shown, row: usize, width: usize) {
        if let Some(picture) = &column.picture {
            line.append(&picture.draw(row, width, self.options));
        }
    }

    fn shortened(&self, cell: &Line, width: usize, cut: Cut) -> Line {
        if cell.width() <= width {
            return cell.clone();
        }
        Line::plain(shorten(&cell.text(), width, cut, self.options.ascii))
    }

    /// A text below its row, under the name.
    fn detail(&self, text: &str, room: usize) -> Vec<Line> {
        if text.is_empty() {
            return Vec::new();
        }
        let lead = self.columns.first().map_or(0, |column| column.lead_width);
        let indent = if lead > 2 { lead } else { lead + 2 };
        let lines = wrap(text, room.saturating_sub(indent)).into_iter().map(|part| {
            let mut line = Line::default();
            line.pad_to(indent);
            let part = shorten(&part, room.saturating_sub(indent), Cut::End, self.options.ascii);
            line.push(&part, Style::Secondary);
            line
        });
        lines.collect()
    }

    fn total(&self) -> Line {
        let mut line = Line::default();
        let mut start = 0;
        for column in self.columns {
            let end = start + column.lead_width + column.width;
            let total = column.total.clone().unwrap_or_default();
            let begin = if column.is_right { end.saturating_sub(total.width()) } else { start + column.indent() };
            line.pad_to(begin);
            match column.kind {
                Kind::Name(cut) => line.append(&self.shortened(&total, end - begin, cut)),
                _ => line.append(&total),
            }
            start = end + self.gap;
        }
        line
    }
}

/// Columns that did not fit or are for wider screens, in their order. Pictures only show again what numbers say.
fn left_out(table: &ReportTable, did_not_fit: &[String], options: TextOptions) -> Vec<String> {
    let is_left_out = |column: &&ReportColumn| {
        let is_too_wide = usize::from(column.from_width) > options.width && column::is_number(column);
        is_too_wide || did_not_fit.contains(&safe_text::one_line(&column.name).into_owned())
    };
    table.columns.iter().filter(is_left_out).map(|column| safe_text::one_line(&column.name).into_owned()).collect()
}

/// What stands below a table: lines of pieces.
fn notes(table: &ReportTable, rows: u64, columns: &[Shown], left_out: &[String], ways: Ways) -> Vec<Vec<String>> {
    let mut pieces = Vec::new();
    let all_rows = ways.rows;
    let shown = grouped(i128::from(rows), 0);
    match table.left_out {
        LeftOut::Uncounted => pieces.push(format!("the first {shown} rows; there are more ({all_rows})")),
        LeftOut::Rows(more) => {
            let all = grouped(i128::from(rows + more), 0);
            let what = if is_designed(table) { "" } else { " rows" };
            pieces.push(format!("{shown} of {all}{what} shown ({all_rows})"));
        }
        LeftOut::Nothing if rows == 0 && !columns.is_empty() => pieces.push("no rows".to_owned()),
        LeftOut::Nothing => {}
    }
    pieces.extend(table.notes.iter().map(|note| safe_text::one_line(&sentence::written(note)).into_owned()));
    let mut lines = vec![pieces];
    if !left_out.is_empty() {
        let count = left_out.len();
        let plural = if count == 1 { "" } else { "s" };
        let some = left_out.iter().take(6).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if count > 6 { ", …" } else { "" };
        // Options pick from the main table alone.
        let way = if table.name == "rows" { ways.columns } else { ways.columns_beside };
        lines.push(vec![format!("{count} column{plural} did not fit: {some}{more} ({way})")]);
    }
    lines
}

fn note_lines(notes: &[Vec<String>], width: usize, options: TextOptions) -> Vec<Line> {
    let mut lines = Vec::new();
    for pieces in notes.iter().filter(|pieces| !pieces.is_empty()) {
        let text = options.spell(&pieces.join(" · "));
        lines.extend(
            wrap(&text, width)
                .into_iter()
                .map(|line| Line::new(shorten(&line, width, Cut::Middle, options.ascii), Style::Secondary)),
        );
    }
    lines
}
