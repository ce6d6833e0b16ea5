//! Functions of a profile such as that of cProfile, with the figures, names and orders of `pstats` (metrics, section 21).

use stepscope_model::null_reason::{NEVER_CALLED, NO_CALLER, UNSUPPORTED_EVENT_KIND, argument_not_recorded};
use stepscope_model::tables::FUNCTIONS;
use stepscope_model::{
    Cell, Class, Holds, Look, Missing, Part, Report, ReportColumn, ReportTable, Sentence, Text, Unit, say,
};
use stepscope_runs::RunError;

use super::asking::{missing_in, sum_of};
use super::{Analysis, Asking, Content, EmptyPage, Page, RowCount};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "functions",
    title: "Functions",
    about: "List functions of a cProfile profile: calls, own and cumulative time, callers",
    examples: &[
        ("stepscope functions train.prof", "most cumulative time first"),
        ("stepscope functions train.prof --sort tottime", "most own time first; every sort key of pstats works"),
        ("stepscope functions train.prof --group-by caller", "one row per caller"),
        ("stepscope functions train.prof --group-by callee", "one row per function they call"),
        ("stepscope functions train.prof -f csv -o functions.csv", "all functions, for a spreadsheet"),
    ],
    groupings: &["caller", "callee", "rank", "window"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::FunctionTotals],
    has_section: true,
    page: Some(Page {
        address: "functions",
        key: Some('f'),
        noun: "functions",
        groups: &[("caller", "+ caller"), ("callee", "+ callee")],
        has_values: false,
        table: Some("functions"),
        count: RowCount::OfTable,
        empty: EmptyPage {
            title: "No cProfile profile in this run",
            why: "Record the calls of functions with cProfile.",
            code: Some("stepscope run --cprofile train.py"),
        },
        statement: "SELECT * FROM functions\nORDER BY cumtime_ns DESC",
        ..Page::BY_NAME
    }),
    answer,
};

/// The orders of `pstats`. Rows that are equal in one stand as in the file.
static SORT_KEYS: [(&str, &str); 14] = [
    ("ncalls", "-calls,position"),
    ("calls", "-calls,position"),
    ("pcalls", "-primitive_calls,position"),
    ("tottime", "-tottime_ns,position"),
    ("time", "-tottime_ns,position"),
    ("cumtime", "-cumtime_ns,position"),
    ("cumulative", "-cumtime_ns,position"),
    ("filename", "file,position"),
    ("file", "file,position"),
    ("module", "file,position"),
    ("name", "name,position"),
    ("line", "line,position"),
    ("nfl", "name,file,line,position"),
    ("stdname", "stdname,position"),
];

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let question = asking.question;
    if question.has_time_range() || question.steps.is_some() {
        return Err(RunError::NoTimes);
    }
    if !asking.sources.iter().any(|source| source.is_profile()) {
        return Ok(without_profile());
    }
    let table = table(asking)?;
    let mut report = Report::new(ANALYSIS.name, vec![Part::Text(Text::headline(sentence(asking)?))]);
    report.missing = missing(asking, &table);
    report.parts.push(Part::Table(table));
    Ok(report)
}

/// All calls in one sentence, as the head of a table of `pstats` has them.
pub(super) fn sentence(asking: &Asking<'_>) -> Result<Sentence, RunError> {
    let sums = asking.query(
        "SELECT coalesce(sum(calls), 0) AS calls, coalesce(sum(primitive_calls), 0) AS primitive_calls,
           coalesce(sum(tottime_ns), 0) AS tottime_ns
         FROM functions WHERE {source}",
    )?;
    let sum = |name: &str| Ok::<_, RunError>(sums.required_i64(name)?[0]);
    let (calls, primitive) = (sum("calls")?, sum("primitive_calls")?);
    let of_them = if calls == primitive { Sentence::default() } else { say!(" ({} primitive)", say::count(primitive)) };
    let plural = if calls == 1 { "" } else { "s" };
    let time = say::ns(sum("tottime_ns")? as f64);
    Ok(say!("{} function call{}{} in {}.", say::count(calls), plural, of_them, time))
}

/// The functions, those with the most cumulative time first.
pub(super) fn table(asking: &Asking<'_>) -> Result<ReportTable, RunError> {
    let statement = match (asking.groups_by("caller"), asking.groups_by("callee")) {
        (false, false) => by_function(asking),
        (true, false) => by_edge(asking, CALLERS),
        (false, true) => by_edge(asking, CALLEES),
        (true, true) => {
            let known = ANALYSIS.groupings.iter().map(|&grouping| grouping.to_owned()).collect();
            let grouping = "caller and callee at once".to_owned();
            return Err(RunError::NoSuchGrouping { grouping, analysis: ANALYSIS.name, known });
        }
    };
    let mut table = asking.table(&statement, columns(asking))?;
    add_texts(&mut table);
    let [calls, primitive_calls, tottime_ns] = ["calls", "primitive_calls", "tottime_ns"].map(|name| sum(&table, name));
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => asking.counted_rows(table.rows.len(), "function"),
        "ncalls" => ncalls(&calls, &primitive_calls),
        "calls" => calls.clone(),
        "primitive_calls" => primitive_calls.clone(),
        "tottime_ns" => tottime_ns.clone(),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    table.sorted_by = Some("-cumtime_ns".to_owned());
    table.sort_keys = &SORT_KEYS;
    table.notes = vec![asking.scope()];
    Ok(table)
}

/// The sum of a column; not known if calls were counted whose value is not.
fn sum(table: &ReportTable, name: &str) -> Cell {
    if table.rows.iter().any(|row| is_only_counted(table, row, name)) {
        Cell::Null
    } else {
        Cell::Int(sum_of(table, name))
    }
}

/// Whether a row has calls, and no value in a column.
fn is_only_counted(table: &ReportTable, row: &[Cell], name: &str) -> bool {
    let cell = |name: &str| table.columns.iter().position(|column| column.name == name).map(|place| &row[place]);
    cell("calls") != Some(&Cell::Null) && cell(name) == Some(&Cell::Null)
}

/// Functions, added up over the recordings. Their position is that of the first recording that has them.
fn by_function(asking: &Asking<'_>) -> String {
    format!("{} SELECT *, {PER_CALL} FROM grouped ORDER BY cumtime_ns DESC, position", grouped(asking))
}

/// What a function is joined with: the calls of it, or its calls of others.
const CALLERS: &str = "SELECT called.rank, called.\"window\", called.file, called.line, called.name,
    calls.caller AS other, calls.caller_file AS other_file, calls.caller_line AS other_line,
    calls.calls, calls.primitive_calls, calls.tottime_ns, calls.cumtime_ns
  FROM function_calls AS calls JOIN functions AS called
    ON called.rank = calls.rank AND called.\"window\" = calls.\"window\" AND called.position = calls.position";
const CALLEES: &str = "SELECT called.rank, called.\"window\", calls.caller_file AS file, calls.caller_line AS line,
    calls.caller AS name, called.name AS other, called.file AS other_file, called.line AS other_line,
    calls.calls, calls.primitive_calls, calls.tottime_ns, calls.cumtime_ns
  FROM function_calls AS calls JOIN functions AS called
    ON called.rank = calls.rank AND called.\"window\" = calls.\"window\" AND called.position = calls.position";

/// Functions with each of their callers or callees, which are in the order of their names; one without any has one row.
fn by_edge(asking: &Asking<'_>, edges: &str) -> String {
    let source = source_keys(asking);
    let same_rank = if asking.groups_by("rank") { "AND edges.rank = grouped.rank" } else { "" };
    let same_window = if asking.groups_by("window") { "AND edges.\"window\" = grouped.\"window\"" } else { "" };
    format!(
        "{grouped}, edges AS (
           SELECT {source}, file, line, name, other, other_file, other_line, sum(calls) AS calls,
             sum(primitive_calls) AS primitive_calls, sum(tottime_ns) AS tottime_ns, sum(cumtime_ns) AS cumtime_ns
           FROM ({edges}) WHERE {{source}} GROUP BY ALL
         ), joined AS (
           SELECT grouped.rank, grouped.\"window\", grouped.file, grouped.line, grouped.name, other, other_file, other_line, edges.calls,
             edges.primitive_calls, edges.tottime_ns, edges.cumtime_ns, grouped.cumtime_ns AS order_ns,
             CAST(row_number() OVER (ORDER BY grouped.position, other_file, other_line, other) AS BIGINT) AS position
           FROM grouped LEFT JOIN edges ON edges.file = grouped.file AND edges.line = grouped.line
             AND edges.name = grouped.name {same_rank} {same_window}
         )
         SELECT *, {PER_CALL} FROM joined ORDER BY order_ns DESC, position",
        grouped = grouped(asking)
    )
}

/// The functions of the recordings that are asked about, as `pstats` adds profiles up.
fn grouped(asking: &Asking<'_>) -> String {
    format!(
        "WITH placed AS (
           SELECT *, CAST(row_number() OVER (ORDER BY rank, \"window\", position) AS BIGINT) AS place
           FROM functions WHERE {{source}}
         ), grouped AS (
           SELECT {}, file, line, name, sum(calls) AS calls, sum(primitive_calls) AS primitive_calls,
             sum(tottime_ns) AS tottime_ns, sum(cumtime_ns) AS cumtime_ns, min(place) - 1 AS position
           FROM placed GROUP BY ALL
         )",
        source_keys(asking)
    )
}

fn source_keys(asking: &Asking<'_>) -> String {
    [asking.key("rank", "rank", "BIGINT"), asking.key("window", "\"window\"", "BIGINT")].join(", ")
}

/// Own time is that of all calls, cumulative time that of primitive ones.
const PER_CALL: &str = "tottime_ns / nullif(CAST(calls AS DOUBLE), 0) AS tottime_per_call_ns,
    cumtime_ns / nullif(CAST(primitive_calls AS DOUBLE), 0) AS cumtime_per_call_ns";

/// What a function stands beside, if rows are grouped by that.
fn other_side(asking: &Asking<'_>) -> Option<&'static str> {
    ["caller", "callee"].into_iter().find(|side| asking.groups_by(side))
}

fn columns(asking: &Asking<'_>) -> Vec<ReportColumn> {
    let named = ReportColumn::named;
    let mut columns = vec![named("name").label("function").look(Look::Operator)];
    if let Some(label) = other_side(asking) {
        columns.push(named("other").label(label).look(Look::Operator));
        columns.push(named("other_file").label(&format!("file of {label}")).look(Look::Operator));
        columns.push(named("other_line").unit(Unit::Id).label("line"));
    }
    columns.extend([
        asking.key_column("rank", "rank", Look::Value),
        asking.key_column("window", "window", Look::Value),
        named("calls").look(Look::Hidden),
        named("primitive_calls").look(Look::Hidden),
        named("tottime_ns"),
        named("tottime_per_call_ns").label("per call").null(NEVER_CALLED),
        named("cumtime_ns").look(Look::Bar(Some(Class::CpuExec))),
        named("cumtime_per_call_ns").label("per call").null(NEVER_CALLED),
        named("file").look(Look::Operator),
        named("line"),
        named("position").look(Look::Hidden),
    ]);
    columns
}

/// Adds the texts that `pstats` prints: the calls, with the primitive ones behind a stroke, and the standard name.
fn add_texts(table: &mut ReportTable) {
    let place = |name: &str| table.columns.iter().position(|column| column.name == name).unwrap_or_default();
    let [calls, primitive_calls, file, line, name] = ["calls", "primitive_calls", "file", "line", "name"].map(place);
    for row in &mut table.rows {
        row.push(stdname(&row[file], &row[line], &row[name]));
        row.insert(calls, ncalls(&row[calls], &row[primitive_calls]));
    }
    table.columns.push(ReportColumn::named("stdname").holds(Holds::Texts).look(Look::Hidden));
    table.columns.insert(calls, ReportColumn::named("ncalls").holds(Holds::Texts).look(Look::Figure));
}

fn ncalls(calls: &Cell, primitive_calls: &Cell) -> Cell {
    match (calls, primitive_calls) {
        (Cell::Int(calls), Cell::Int(primitive)) if calls != primitive => {
            Cell::Sentence(say!("{}/{}", say::count(*calls), say::count(*primitive)))
        }
        (Cell::Int(calls), _) => Cell::Sentence(say::count(*calls).into()),
        _ => Cell::Null,
    }
}

fn stdname(file: &Cell, line: &Cell, name: &Cell) -> Cell {
    let (Cell::Text(file), Cell::Int(line), Cell::Text(name)) = (file, line, name) else { return Cell::Null };
    if (file.as_str(), *line) != ("~", 0) {
        return Cell::Text(format!("{file}:{line}({name})"));
    }
    let inner = name.strip_prefix('<').and_then(|name| name.strip_suffix('>'));
    Cell::Text(inner.map_or_else(|| name.clone(), |inner| format!("{{{inner}}}")))
}

/// Why figures are missing.
fn missing(asking: &Asking<'_>, table: &ReportTable) -> Vec<Missing> {
    let not_timed = argument_not_recorded("times of callers");
    let is_counted = table.rows.iter().any(|row| is_only_counted(table, row, "tottime_ns"));
    let no_time = if is_counted { &not_timed } else { NO_CALLER };
    let no_time_a_call = if other_side(asking).is_some() { no_time } else { NEVER_CALLED };
    let reasons = [
        ("other", NO_CALLER),
        ("other_file", NO_CALLER),
        ("other_line", NO_CALLER),
        ("ncalls", NO_CALLER),
        ("calls", NO_CALLER),
        ("primitive_calls", no_time),
        ("tottime_ns", no_time),
        ("cumtime_ns", no_time),
        ("tottime_per_call_ns", no_time_a_call),
        ("cumtime_per_call_ns", no_time_a_call),
    ];
    reasons.into_iter().filter_map(|(column, reason)| missing_in(table, column, reason)).collect()
}

/// What is said of a recording that is a trace.
fn without_profile() -> Report {
    let text = "No cProfile profile. Record one with `stepscope run --cprofile SCRIPT` or `python -m cProfile -o FILE SCRIPT`.";
    let mut report = Report::new(ANALYSIS.name, vec![Part::Text(text.into())]);
    report.parts.push(Part::Table(ReportTable::rows(vec![ReportColumn::named("name")], Vec::new())));
    let (path, label) = ("rows".to_owned(), FUNCTIONS.name.to_owned());
    report.missing.push(Missing { path, label, reason: UNSUPPORTED_EVENT_KIND.into() });
    report
}
