//! Steps as people call them: 16 for `ProfilerStep#16`. Tables count them by their place in the recording.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use stepscope_model::{Cell, Look, Part, Report, ReportColumn, ReportTable, StepRange, Unit, step_numbers};
use stepscope_runs::RunError;

use super::Asking;

/// The numbers of the steps of some recordings.
#[derive(Debug)]
pub(crate) struct StepNumbers {
    /// By rank and window: the number of each step, by its place. Numbers increase.
    by_source: BTreeMap<(i64, i64), Vec<i64>>,
}

/// The steps that are asked about and that there are.
#[derive(Clone, Debug)]
pub(crate) struct AskedSteps {
    /// What rows of tables must fulfill.
    pub condition: String,
    /// The first and the last of them.
    pub numbers: (i64, i64),
    /// All that there are, in words.
    pub all: String,
    /// Their places in the recordings that have some, by rank and window.
    pub places: BTreeMap<(i64, i64), Range<usize>>,
}

impl StepNumbers {
    pub(crate) fn read(asking: &Asking<'_>) -> Result<Self, RunError> {
        let mut names: BTreeMap<(i64, i64), Vec<String>> = BTreeMap::new();
        let statement = "SELECT rank, \"window\", name FROM steps WHERE {source} ORDER BY rank, \"window\", step";
        asking.walk(statement, |frame| {
            let (ranks, windows) = (frame.required_i64("rank")?, frame.required_i64("window")?);
            for (row, name) in frame.text("name")?.into_iter().enumerate() {
                names.entry((ranks[row], windows[row])).or_default().push(name.unwrap_or_default());
            }
            Ok(())
        })?;
        let numbers = |names: &Vec<String>| step_numbers(names.iter().map(String::as_str));
        Ok(Self { by_source: names.iter().map(|(source, names)| (*source, numbers(names))).collect() })
    }

    /// Whether a table of a report shows steps, so that numbers are needed.
    pub(crate) fn are_needed(report: &Report) -> bool {
        let is_step = |column: &ReportColumn| column.name == "step" && column.look != Look::Hidden;
        report.parts.iter().any(|part| matches!(part, Part::Table(table) if table.columns.iter().any(is_step)))
    }

    /// The number of a step.
    pub(crate) fn of(&self, rank: i64, window: i64, place: i64) -> Option<i64> {
        self.by_source.get(&(rank, window))?.get(usize::try_from(place).ok()?).copied()
    }

    /// The steps of a range of numbers; `None` if there are none.
    pub(crate) fn asked(&self, range: StepRange) -> Option<AskedSteps> {
        let (first, last) = (i64::from(range.first), i64::from(range.last));
        let mut by_places: BTreeMap<(usize, usize), BTreeMap<i64, Vec<i64>>> = BTreeMap::new();
        let mut places = BTreeMap::new();
        let mut found = BTreeSet::new();
        for (&(rank, window), numbers) in &self.by_source {
            let from = numbers.partition_point(|number| *number < first);
            let to = numbers.partition_point(|number| *number <= last);
            if from < to {
                by_places.entry((from, to - 1)).or_default().entry(window).or_default().push(rank);
                places.insert((rank, window), from..to);
                found.extend([numbers[from], numbers[to - 1]]);
            }
        }
        let between = |(from, to): (usize, usize)| format!("step BETWEEN {from} AND {to}");
        let is_alike = by_places.len() == 1 && places.len() == self.by_source.len();
        let condition = if is_alike {
            by_places.keys().map(|places| between(*places)).collect()
        } else {
            let of_window = |places: (usize, usize), window: i64, ranks: &[i64]| {
                let ranks: Vec<String> = ranks.iter().map(i64::to_string).collect();
                format!("(\"window\" = {window} AND rank IN ({}) AND {})", ranks.join(", "), between(places))
            };
            let of_places = by_places.iter().flat_map(|(places, windows)| {
                windows.iter().map(|(window, ranks)| of_window(*places, *window, ranks)).collect::<Vec<_>>()
            });
            format!("({})", of_places.collect::<Vec<_>>().join(" OR "))
        };
        let numbers = (found.first().copied()?, found.last().copied()?);
        Some(AskedSteps { condition, numbers, all: self.in_words()?, places })
    }

    /// Which steps there are, in words; `None` if there are none.
    pub(crate) fn in_words(&self) -> Option<String> {
        const SHOWN: usize = 4;
        let ends = self.by_source.values().filter_map(|numbers| Some((*numbers.first()?, *numbers.last()?)));
        let ranges: BTreeSet<(i64, i64)> = ends.collect();
        let word = |(first, last): &(i64, i64)| {
            if first == last { first.to_string() } else { format!("{first} to {last}") }
        };
        let mut words: Vec<String> = ranges.iter().take(SHOWN).map(word).collect();
        if ranges.len() > SHOWN {
            words.push("…".to_owned());
        }
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Adds the numbers to tables that show steps, in the place of the places.
    pub(crate) fn label(&self, report: &mut Report) {
        for part in &mut report.parts {
            if let Part::Table(table) = part {
                self.label_table(table);
            }
        }
    }

    fn label_table(&self, table: &mut ReportTable) {
        let place = |name: &str| table.columns.iter().position(|column| column.name == name);
        let Some(step) = place("step").filter(|step| table.columns[*step].look != Look::Hidden) else { return };
        if place("step_number").is_some() {
            return;
        }
        let (rank, window) = (place("rank"), place("window"));
        let number = |row: &Vec<Cell>| match row[step] {
            Cell::Int(step) => {
                let is = |column: Option<usize>, value: i64| match column.map(|column| &row[column]) {
                    Some(Cell::Int(wanted)) => *wanted == value,
                    _ => true,
                };
                let sources = self.by_source.keys().filter(|(of, window_of)| is(rank, *of) && is(window, *window_of));
                let numbers: BTreeSet<i64> =
                    sources.filter_map(|(rank, window)| self.of(*rank, *window, step)).collect();
                // Ranks that count differently have no number in common.
                (numbers.len() == 1).then(|| numbers.first().copied().map_or(Cell::Null, Cell::Int))
            }
            _ => Some(Cell::Null),
        };
        let Some(numbers) = table.rows.iter().map(number).collect::<Option<Vec<Cell>>>() else { return };
        for (row, number) in table.rows.iter_mut().zip(numbers) {
            row.insert(step + 1, number);
        }
        if let Some(total) = &mut table.total {
            total.insert(step + 1, Cell::Text(String::new()));
        }
        table.columns[step].look = Look::Hidden;
        table.columns[step].label = Some("place".to_owned());
        table.columns.insert(step + 1, ReportColumn::named("step_number").label("step").unit(Unit::Id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(sources: &[(i64, i64, &[i64])]) -> StepNumbers {
        StepNumbers {
            by_source: sources.iter().map(|(rank, window, numbers)| ((*rank, *window), numbers.to_vec())).collect(),
        }
    }

    #[track_caller]
    fn check(numbers: &StepNumbers, first: u32, last: u32, want: Option<(&str, (i64, i64))>) {
        let asked = numbers.asked(StepRange { first, last });
        assert_eq!(asked.as_ref().map(|asked| (asked.condition.as_str(), asked.numbers)), want, "{first}-{last}");
    }

    #[test]
    fn numbers_become_places() {
        let alike = numbers(&[(0, 0, &[5, 6, 7]), (1, 0, &[5, 6, 7])]);
        check(&alike, 6, 6, Some(("step BETWEEN 1 AND 1", (6, 6))));
        check(&alike, 0, 99, Some(("step BETWEEN 0 AND 2", (5, 7))));
        check(&alike, 0, 4, None);
        assert_eq!(alike.in_words().unwrap(), "5 to 7");

        let windows = numbers(&[(0, 0, &[5, 6, 7]), (0, 1, &[16, 17])]);
        check(&windows, 16, 16, Some(("((\"window\" = 1 AND rank IN (0) AND step BETWEEN 0 AND 0))", (16, 16))));
        check(
            &windows,
            7,
            16,
            Some((
                "((\"window\" = 1 AND rank IN (0) AND step BETWEEN 0 AND 0) OR (\"window\" = 0 AND rank IN (0) AND step BETWEEN 2 AND 2))",
                (7, 16),
            )),
        );
        assert_eq!(windows.in_words().unwrap(), "5 to 7, 16 to 17");
        assert_eq!(numbers(&[]).in_words(), None);
    }
}
