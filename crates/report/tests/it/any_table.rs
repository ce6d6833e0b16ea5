//! Promises that hold for any table on any screen.

use proptest::prelude::*;
use stepscope_model::{Cell, Class, Look, Part, Report, ReportColumn, ReportTable, Unit};
use stepscope_report::text::{self, ColorMode, TextOptions};
use unicode_width::UnicodeWidthStr;

fn looks() -> impl Strategy<Value = Look> {
    prop::sample::select(vec![
        Look::Value,
        Look::Figure,
        Look::Operator,
        Look::Kernel,
        Look::Bar(None),
        Look::Bar(Some(Class::Kernel)),
        Look::Length,
        Look::Class,
        Look::Spark,
        Look::Stack,
        Look::Severity,
        Look::Detail,
        Look::Hidden,
    ])
}

fn units() -> impl Strategy<Value = Unit> {
    prop::sample::select(vec![
        Unit::Plain,
        Unit::Nanoseconds,
        Unit::Bytes,
        Unit::MovedBytes,
        Unit::Ratio,
        Unit::GigabytesPerSecond,
        Unit::Flops,
        Unit::FlopsPerSecond,
        Unit::Id,
    ])
}

fn cells() -> impl Strategy<Value = Cell> {
    prop_oneof![
        Just(Cell::Null),
        any::<bool>().prop_map(Cell::Bool),
        any::<i64>().prop_map(Cell::Int),
        (0i64..2_000_000_000).prop_map(Cell::Int),
        any::<f64>().prop_map(Cell::Float),
        (0.0..1.0).prop_map(Cell::Float),
        "[a-zé漢:<>(), _…]{0,70}".prop_map(Cell::Text),
        prop::sample::select(vec!["high", "medium", "kernel", "dataloader"]).prop_map(|text| Cell::Text(text.into())),
        prop::collection::vec(-1.0..1e9, 0..40).prop_map(Cell::Numbers),
    ]
}

fn column() -> impl Strategy<Value = ReportColumn> {
    let label = prop::option::of("[a-z ]{0,24}|ms per step");
    let short = prop::option::of("[a-z]{0,6}");
    ("[a-z_]{0,30}", label, short, units(), looks(), prop::sample::select(vec![0, 100, 140])).prop_map(
        |(name, label, short_label, unit, look, from_width)| ReportColumn {
            label,
            short_label,
            unit,
            look,
            from_width,
            ..ReportColumn::named(&name)
        },
    )
}

fn any_table() -> impl Strategy<Value = ReportTable> {
    (1usize..12, 0usize..6).prop_flat_map(|(columns, rows)| {
        let row = || prop::collection::vec(cells(), columns);
        (
            prop::collection::vec(column(), columns),
            prop::collection::vec(row(), rows),
            prop::option::of(row()),
            prop::option::of("[A-Z ]{1,30}"),
            prop::collection::vec("[a-z ]{0,60}", 0..4),
            any::<bool>(),
        )
            .prop_map(|(columns, rows, total, title, notes, is_beside)| ReportTable {
                sorted_by: columns.first().map(|column| format!("-{}", column.name)),
                total,
                title,
                notes: notes.into_iter().map(Into::into).collect(),
                is_beside,
                ..ReportTable::named("any", columns, rows)
            })
    })
}

fn screens() -> impl Strategy<Value = TextOptions> {
    (80usize..200, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(width, raw, pictures, ascii)| TextOptions {
        width,
        raw,
        color: ColorMode::None,
        pictures,
        ascii,
        ..TextOptions::default()
    })
}

/// Digits of columns that are ids, so that a value can be found in the text.
fn plain_numbers() -> impl Strategy<Value = ReportTable> {
    (2usize..14, 1usize..5).prop_flat_map(|(columns, rows)| {
        let number = 0i64..10_000_000_000_000_000;
        let row = ("[a-z:]{0,60}", prop::collection::vec(number, columns));
        prop::collection::vec(row, rows).prop_map(move |rows| {
            let numbers = (0..columns).map(|index| ReportColumn::named(&format!("column_{index}_id")));
            let columns = std::iter::once(ReportColumn::named("name").look(Look::Operator)).chain(numbers).collect();
            let row = |(name, numbers): (String, Vec<i64>)| {
                std::iter::once(Cell::Text(name)).chain(numbers.into_iter().map(Cell::Int)).collect()
            };
            ReportTable::rows(columns, rows.into_iter().map(row).collect())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_row_is_wider_than_the_screen(left in any_table(), right in any_table(), options in screens()) {
        let shown = text::render(&Report::new("any", vec![Part::Table(left), Part::Table(right)]), options);
        for line in shown.lines() {
            prop_assert!(line.width() <= options.width, "{} > {}: {line}", line.width(), options.width);
            prop_assert_eq!(line.trim_end_matches(' '), line);
        }
    }

    #[test]
    fn narrow_screens_hold_less(table in plain_numbers(), width in 40usize..80) {
        let options = TextOptions::screen(width, ColorMode::None);
        let shown = text::render(&Report::new("any", vec![Part::Table(table)]), options);
        for line in shown.lines() {
            prop_assert!(line.width() <= width, "{} > {width}: {line}", line.width());
        }
    }

    #[test]
    fn no_number_is_cut(table in plain_numbers(), options in screens()) {
        let shown = text::render(&Report::new("any", vec![Part::Table(table.clone())]), options);
        let words: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        let header = shown.lines().next().unwrap_or_default().replace(' ', "_");
        for (index, column) in table.columns.iter().enumerate().skip(1) {
            if !header.contains(&column.name) {
                continue;
            }
            for (place, row) in table.rows.iter().enumerate() {
                let Cell::Int(number) = row[index] else { continue };
                prop_assert!(words[place + 1].contains(&number.to_string().as_str()), "{number} is not in\n{shown}");
            }
        }
    }
}
