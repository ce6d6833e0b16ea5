//! Which columns and rows of a finished table are shown, and in which order.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use stepscope_model::{Cell, Class, Hint, LeftOut, Look, Part, Report, ReportColumn, ReportTable, Unit};

use crate::number::{NumberStyle, grouped};

/// What `--columns`, `--sort` and `--limit` ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Columns to keep, in this order; all when empty. The unit at the end of a name may be left off.
    pub columns: Vec<String>,
    /// Column to sort by; a leading `-` reverses. Values that are missing come last either way.
    pub sort: Option<String>,
    /// How many rows to keep; all when missing.
    pub limit: Option<usize>,
    /// Whether nobody asked for that limit: a table whose two ends matter then loses its middle.
    pub is_usual_limit: bool,
    /// Columns that must have a value, such as one rank; a table without such a column keeps all its rows.
    pub only: Vec<(&'static str, i64)>,
}

/// A name that no column of the table has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// The name as asked for.
    pub name: String,
    /// The option it was asked with.
    pub option: &'static str,
    /// The command whose table it is.
    pub report: String,
    /// The columns that exist.
    pub columns: Vec<String>,
    /// Other names that the option takes.
    pub sort_keys: Vec<&'static str>,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no column named {} in {}", self.name, self.report)
    }
}

impl std::error::Error for ShapeError {}

impl Hint for ShapeError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        let nearest = self.columns.iter().map(|column| (distance(&self.name, column), column)).min();
        let guess = nearest.filter(|(distance, _)| *distance <= 2 + self.name.len() / 5);
        let guess = guess.map_or(String::new(), |(_, column)| format!("did you mean {column}?\n"));
        let keys = if self.sort_keys.is_empty() { "" } else { "\norders: " };
        Some(format!("{guess}columns: {}{keys}{}", self.columns.join(", "), self.sort_keys.join(", ")).into())
    }
}

/// Reshapes the table `rows` of a report; other parts stay.
pub fn apply(report: &mut Report, shape: &Shape) -> Result<(), ShapeError> {
    let name = report.name.clone();
    for part in &mut report.parts {
        if let Part::Table(table) = part
            && table.name == "rows"
        {
            apply_to_table(table, shape, &name)?;
        }
    }
    Ok(())
}

fn apply_to_table(table: &mut ReportTable, shape: &Shape, report: &str) -> Result<(), ShapeError> {
    let all_rows = table.rows.len();
    for (name, value) in &shape.only {
        if let Some(column) = table.columns.iter().position(|column| column.name == *name) {
            table.rows.retain(|row| row[column] == Cell::Int(*value));
        }
    }
    if table.rows.len() < all_rows {
        // It counts rows that are gone.
        table.total = None;
    }
    if let Some(sort) = &shape.sort {
        let order = order(table, sort, report)?;
        table.rows.sort_by(|a, b| {
            let then = |so_far: Ordering, &(column, down): &(usize, bool)| {
                so_far.then_with(|| compare(&a[column], &b[column], down))
            };
            order.iter().fold(Ordering::Equal, then)
        });
        let (column, down) = order[0];
        let sign = if down { "-" } else { "" };
        table.sorted_by = Some(format!("{sign}{}", table.columns[column].name));
        move_bar(table, column);
    }
    if !shape.columns.is_empty() {
        let found = shape.columns.iter().map(|name| find(table, name, "--columns", report));
        let kept = found.collect::<Result<Vec<_>, _>>()?;
        table.columns = kept.iter().map(|index| asked_for(&table.columns[*index])).collect();
        for row in table.rows.iter_mut().chain(&mut table.total) {
            *row = kept.iter().map(|index| row[*index].clone()).collect();
        }
    }
    if let Some(limit) = shape.limit
        && table.rows.len() > limit
    {
        let before = table.rows.len();
        match table.two_ended.filter(|_| shape.is_usual_limit) {
            Some(noun) => leave_out_middle(table, limit, noun),
            None => table.rows.truncate(limit),
        }
        let left_out = (before - table.rows.len()) as u64;
        table.left_out = match table.left_out {
            LeftOut::Nothing => LeftOut::Rows(left_out),
            LeftOut::Rows(rows) => LeftOut::Rows(rows + left_out),
            LeftOut::Uncounted => LeftOut::Uncounted,
        };
    }
    Ok(())
}

/// The columns that a name stands for, and whether the largest of each comes first. A leading `-` asks for that, which
/// some of the names of a table do by themselves.
fn order(table: &ReportTable, sort: &str, report: &str) -> Result<Vec<(usize, bool)>, ShapeError> {
    let signed = |name: &str| name.strip_prefix('-').map_or((name.to_owned(), false), |name| (name.to_owned(), true));
    let (name, down) = signed(sort);
    let columns = match table.sort_keys.iter().find(|(key, _)| *key == name) {
        Some((_, columns)) => {
            let is_turned = down && !columns.starts_with('-');
            columns.split(',').map(signed).map(|(name, down)| (name, down != is_turned)).collect()
        }
        None => vec![(name, down)],
    };
    columns.into_iter().map(|(name, down)| Ok((find(table, &name, "--sort", report)?, down))).collect()
}

/// The bar belongs to the column that rows are sorted by, if that holds amounts that are shown.
fn move_bar(table: &mut ReportTable, sorted: usize) {
    let is_bar = |column: &ReportColumn| matches!(column.look, Look::Bar(_));
    let Some(place) = table.columns.iter().position(is_bar).filter(|place| *place != sorted) else { return };
    let is_amount = |row: &Vec<Cell>| matches!(row[sorted], Cell::Int(_) | Cell::Float(_));
    let column = &mut table.columns[sorted];
    if column.look != Look::Value || column.unit == Unit::Id || !table.rows.iter().any(is_amount) {
        return;
    }
    let class = match column.name.split('_').next() {
        Some("host") => Some(Class::CpuExec),
        Some("device") => Some(Class::Kernel),
        _ => None,
    };
    column.look = Look::Bar(class);
    table.columns[place].look = Look::Value;
}

/// Keeps half of the limit at the beginning and a quarter at the end, with a line between that says what is not there.
fn leave_out_middle(table: &mut ReportTable, limit: usize, noun: &str) {
    let (first, last) = (limit.div_ceil(2), table.rows.len() - limit / 4);
    let sorted_by = table.sorted_by.as_deref().unwrap_or_default().trim_start_matches('-');
    let sorted = table.columns.iter().position(|column| column.name == sorted_by);
    let range = sorted.map(|sorted| {
        let values: Vec<&Cell> = table.rows.iter().map(|row| &row[sorted]).collect();
        let format = NumberStyle::of(table.columns[sorted].unit, &values);
        let mut ends = [values[first], values[last - 1]];
        ends.sort_by(|a, b| compare(a, b, false));
        match ends.map(|end| format.show(end)) {
            [low, high] if low == high => format!(" at {low}"),
            [low, high] => format!(" between {low} and {high}"),
        }
    });
    table.rows.drain(first..last);
    let count = grouped((last - first) as i128, 0);
    table.gap = Some((first, format!("… {count} {noun}{}", range.unwrap_or_default())));
}

/// Whoever names a column wants to see it.
fn asked_for(column: &ReportColumn) -> ReportColumn {
    let look = if column.look == Look::Hidden { Look::Value } else { column.look };
    ReportColumn { look, from_width: 0, ..column.clone() }
}

/// The column that a name stands for among columns that are only known by name, and whether a leading `-` is there.
pub fn place(columns: &[String], name: &str, option: &'static str, report: &str) -> Result<(usize, bool), ShapeError> {
    let columns = columns.iter().map(|name| ReportColumn::named(name)).collect();
    let table = ReportTable::rows(columns, Vec::new());
    let signed = if option == "--sort" { name.strip_prefix('-') } else { None };
    Ok((find(&table, signed.unwrap_or(name), option, report)?, signed.is_some()))
}

fn find(table: &ReportTable, name: &str, option: &'static str, report: &str) -> Result<usize, ShapeError> {
    let exact = table.columns.iter().position(|column| column.name == name);
    let suffixes = ["_ns", "_bytes", "_ratio", "_flops", "_gb_per_s", "_s"];
    let without_unit = || {
        let is_named = |column: &str| suffixes.iter().any(|suffix| column.strip_suffix(suffix) == Some(name));
        table.columns.iter().position(|column| is_named(&column.name))
    };
    exact.or_else(without_unit).ok_or_else(|| ShapeError {
        name: name.to_owned(),
        option,
        report: report.to_owned(),
        columns: table.columns.iter().map(|column| column.name.clone()).collect(),
        sort_keys: if option == "--sort" { table.sort_keys.iter().map(|(key, _)| *key).collect() } else { Vec::new() },
    })
}

fn compare(a: &Cell, b: &Cell, reverse: bool) -> Ordering {
    let known = |cell: &Cell| !matches!(cell, Cell::Null);
    match (known(a), known(b)) {
        (true, true) if reverse => compare_known(b, a),
        (true, true) => compare_known(a, b),
        (left, right) => right.cmp(&left),
    }
}

fn compare_known(a: &Cell, b: &Cell) -> Ordering {
    match (&*crate::sentence::cell(a), &*crate::sentence::cell(b)) {
        (Cell::Bool(a), Cell::Bool(b)) => a.cmp(b),
        (Cell::Int(a), Cell::Int(b)) => a.cmp(b),
        (Cell::Int(a), Cell::Float(b)) => (*a as f64).total_cmp(b),
        (Cell::Float(a), Cell::Int(b)) => a.total_cmp(&(*b as f64)),
        (Cell::Float(a), Cell::Float(b)) => a.total_cmp(b),
        (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
        (Cell::Json(a), Cell::Json(b)) => a.to_string().cmp(&b.to_string()),
        (a, b) => class(a).cmp(&class(b)),
    }
}

/// Columns of SQL have one type, so this orders only tables that mix texts and numbers.
fn class(cell: &Cell) -> u8 {
    match cell {
        Cell::Bool(_) => 0,
        Cell::Int(_) | Cell::Float(_) => 1,
        Cell::Text(_) | Cell::Sentence(_) => 2,
        Cell::Json(_) | Cell::Numbers(_) | Cell::Sentences(_) => 3,
        Cell::Null => 4,
    }
}

/// How many letters must change to get from one name to the other.
#[must_use]
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
