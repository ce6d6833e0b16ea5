//! How many rows a source has in each table.

use std::fmt;
use std::sync::LazyLock;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::Table;
use crate::tables::TABLES;

/// The tables by name, which is the order in a record.
static BY_NAME: LazyLock<[&'static Table; TABLES.len()]> = LazyLock::new(|| {
    let mut tables = TABLES;
    tables.sort_unstable_by_key(|table| table.name);
    tables
});

/// Rows of each table. As JSON it is an object that has every table. A fleet has thousands of sources, so reading one
/// takes no memory beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// In the order of [`BY_NAME`].
    counts: [u64; TABLES.len()],
}

impl RowCounts {
    /// Rows of a table; none of one that sources do not have.
    #[must_use]
    pub fn of(&self, table: &Table) -> u64 {
        place(table.name).map_or(0, |place| self.counts[place])
    }

    /// Counts more rows of a table of [`TABLES`].
    pub fn add(&mut self, table: &Table, rows: u64) {
        if let Some(place) = place(table.name) {
            self.counts[place] += rows;
        }
    }

    /// Forgets the rows of a table.
    pub fn clear(&mut self, table: &Table) {
        if let Some(place) = place(table.name) {
            self.counts[place] = 0;
        }
    }

    /// Every table and its rows, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Table, u64)> {
        BY_NAME.iter().copied().zip(self.counts)
    }
}

fn place(name: &str) -> Option<usize> {
    BY_NAME.binary_search_by_key(&name, |table| table.name).ok()
}

impl Serialize for RowCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(table, rows)| (table.name, rows)))
    }
}

impl<'de> Deserialize<'de> for RowCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Counts)
    }
}

struct Counts;

impl<'de> Visitor<'de> for Counts {
    type Value = RowCounts;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the rows of every table")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<RowCounts, M::Error> {
        let mut counts = [None; TABLES.len()];
        // They come in the order that they were written in.
        let mut expected = 0;
        while let Some(place) = map.next_key_seed(TableName { expected })? {
            if counts[place].replace(map.next_value()?).is_some() {
                return Err(M::Error::duplicate_field(BY_NAME[place].name));
            }
            expected = place + 1;
        }
        let mut rows = RowCounts::default();
        for (place, count) in counts.into_iter().enumerate() {
            rows.counts[place] = count.ok_or_else(|| M::Error::missing_field(BY_NAME[place].name))?;
        }
        Ok(rows)
    }
}

/// The place of a table that is read by its name.
struct TableName {
    expected: usize,
}

impl<'de> DeserializeSeed<'de> for TableName {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for TableName {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a table")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        if BY_NAME.get(self.expected).is_some_and(|table| table.name == name) {
            return Ok(self.expected);
        }
        place(name).ok_or_else(|| E::custom(format_args!("found {name:?}, expected the name of a table")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{SPANS, STEPS};

    fn some() -> RowCounts {
        let mut rows = RowCounts::default();
        rows.add(&SPANS, 3);
        rows.add(&STEPS, 1);
        rows.add(&SPANS, 4);
        rows
    }

    #[test]
    fn tables_are_written_by_name_and_read_in_any_order() {
        let text = serde_json::to_string(&some()).unwrap();
        let names: Vec<&str> = some().iter().map(|(table, _)| table.name).collect();
        assert!(names.is_sorted() && names.len() == TABLES.len(), "{names:?}");
        assert!(text.starts_with(&format!("{{\"{}\":0,", names[0])) && text.contains("\"spans\":7,"), "{text}");
        assert_eq!(serde_json::from_str::<RowCounts>(&text).unwrap(), some());
        // A document that was read already has owned names.
        assert_eq!(serde_json::from_value::<RowCounts>(serde_json::to_value(some()).unwrap()).unwrap(), some());
        let reversed: Vec<String> = names.iter().rev().map(|name| format!("\"{name}\":2")).collect();
        let read: RowCounts = serde_json::from_str(&format!("{{{}}}", reversed.join(","))).unwrap();
        assert!(read.iter().all(|(_, rows)| rows == 2));
    }

    #[test]
    fn what_does_not_fit_the_tables_is_refused_by_name() {
        let text = serde_json::to_string(&some()).unwrap();
        let check = |text: String, want: &str| {
            let error = serde_json::from_str::<RowCounts>(&text).unwrap_err().to_string();
            assert!(error.starts_with(want), "{error}");
        };
        check(text.replace("\"spans\":7,", ""), "missing field `spans`");
        check(text.replace("\"spans\"", "\"other\""), "found \"other\", expected the name of a table");
        check(text.replace("\"spans\":7,", "\"spans\":7,\"spans\":7,"), "duplicate field `spans`");
        check(text.replace(":7,", ":-7,"), "invalid value: integer `-7`");
        check("[]".to_owned(), "invalid type: sequence, expected the rows of every table");
    }

    #[test]
    fn rows_are_counted_by_table() {
        let mut rows = some();
        assert_eq!([&SPANS, &STEPS, &crate::tables::FLOWS].map(|table| rows.of(table)), [7, 1, 0]);
        rows.clear(&SPANS);
        assert_eq!([&SPANS, &STEPS].map(|table| rows.of(table)), [0, 1]);
        let other = Table { name: "other", ..SPANS };
        rows.add(&other, 1);
        assert_eq!(rows.of(&other), 0);
    }
}
