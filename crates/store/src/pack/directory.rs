//! Which tables a pack has, and where.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use stepscope_model::{Table, tables};

use super::tail::Tail;
use super::{ALIGNMENT, MAGIC, hash, is_sums};

/// Members that a pack may have; a source has at most one per table and 64 for its collectives.
const MEMBERS_MAX: usize = 4096;

/// One Parquet file in a pack.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its table.
    pub table: &'static Table,
    /// Its partition, for a table that is spread by what is in a row.
    pub partition: Option<u32>,
    /// Where it begins.
    pub offset: u64,
    /// Its length.
    pub length: u64,
    /// Its rows.
    pub rows: u64,
    /// xxh3-64 of its bytes.
    pub xxh3: u64,
}

impl Member {
    /// Where it is in the pack.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.length
    }

    /// Whether these are its bytes.
    #[must_use]
    pub fn holds(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.length && hash(bytes) == self.xxh3
    }
}

/// A member as it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    table: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition: Option<u32>,
    offset: u64,
    length: u64,
    rows: u64,
    /// Hexadecimal: most readers of JSON round large numbers.
    xxh3: String,
}

pub(super) fn to_bytes(members: &[Member]) -> Result<Vec<u8>, serde_json::Error> {
    let line = |member: &Member| Line {
        table: member.table.name.to_owned(),
        partition: member.partition,
        offset: member.offset,
        length: member.length,
        rows: member.rows,
        xxh3: format!("{:016x}", member.xxh3),
    };
    serde_json::to_vec(&members.iter().map(line).collect::<Vec<_>>())
}

/// Reads a directory. Afterwards its members are inside of the pack, in order, without overlaps, each once, and sums are
/// where the tail says.
pub(super) fn parse(bytes: &[u8], tail: Tail) -> Result<Vec<Member>, String> {
    let lines: Vec<Line> = serde_json::from_slice(bytes).map_err(|error| format!("its directory: {error}"))?;
    if lines.len() > MEMBERS_MAX {
        return Err(format!("its directory has {} members, expected at most {MEMBERS_MAX}", lines.len()));
    }
    let mut names = BTreeSet::new();
    let mut from = MAGIC.len() as u64;
    let mut members = Vec::with_capacity(lines.len());
    for line in lines {
        let member = member(&line, tail, from)?;
        if !names.insert((member.table.name, member.partition)) {
            return Err(format!("its directory names the table {} twice", member.table.name));
        }
        from = member.range().end;
        members.push(member);
    }
    Ok(members)
}

fn member(line: &Line, tail: Tail, from: u64) -> Result<Member, String> {
    let Some(table) = tables::table(&line.table) else {
        return Err(format!("its directory names an unknown table: {:?}", line.table));
    };
    let end = line.offset.checked_add(line.length).filter(|end| *end <= tail.record_offset);
    let Some(end) = end.filter(|_| line.offset >= from && line.offset.is_multiple_of(ALIGNMENT)) else {
        return Err(format!("the table {} is not inside of it", table.name));
    };
    let is_placed = if is_sums(table) { line.offset >= tail.sums_offset } else { end <= tail.sums_offset };
    if !is_placed {
        return Err(format!("the table {} is on the wrong side of the sums", table.name));
    }
    let is_hash = line.xxh3.len() == 16;
    let Some(xxh3) = u64::from_str_radix(&line.xxh3, 16).ok().filter(|_| is_hash) else {
        return Err(format!("the table {} has no checksum", table.name));
    };
    let Line { partition, offset, length, rows, .. } = *line;
    Ok(Member { table, partition, offset, length, rows, xxh3 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_directories_are_refused_by_name() {
        let tail = Tail { sums_offset: 64, record_offset: 128, directory_offset: 200, checksum: 0 };
        let check = |text: &str, want: Result<usize, &str>| match (parse(text.as_bytes(), tail), want) {
            (Ok(members), Ok(count)) => assert_eq!(members.len(), count, "{text}"),
            (Err(said), Err(want)) => assert!(said.starts_with(want), "{text}: {said}"),
            (found, _) => panic!("{text}: {found:?}"),
        };
        let line = |table: &str, offset: u64, length: u64| {
            format!(r#"{{"table":"{table}","offset":{offset},"length":{length},"rows":1,"xxh3":"00000000000000ff"}}"#)
        };
        let two = |a: &str, b: &str| format!("[{a},{b}]");
        check("[]", Ok(0));
        check(&two(&line("spans", 8, 50), &line("steps", 64, 64)), Ok(2));
        check("{", Err("its directory: "));
        check("[1]", Err("its directory: "));
        check(&format!("[{}]", line("nothing", 8, 8)), Err("its directory names an unknown table: \"nothing\""));
        check(&format!("[{}]", line("spans", 0, 8)), Err("the table spans is not inside of it"));
        check(&format!("[{}]", line("spans", 9, 8)), Err("the table spans is not inside of it"));
        check(&format!("[{}]", line("steps", 64, 65)), Err("the table steps is not inside of it"));
        check(&format!("[{}]", line("steps", 64, u64::MAX)), Err("the table steps is not inside of it"));
        check(&format!("[{}]", line("spans", 8, 57)), Err("the table spans is on the wrong side of the sums"));
        check(&format!("[{}]", line("steps", 8, 8)), Err("the table steps is on the wrong side of the sums"));
        check(&two(&line("spans", 16, 8), &line("flows", 16, 8)), Err("the table flows is not inside of it"));
        check(&two(&line("spans", 8, 8), &line("spans", 16, 8)), Err("its directory names the table spans twice"));
        check(&format!("[{}]", line("spans", 8, 8).replace("ff\"", "xx\"")), Err("the table spans has no checksum"));
        check(&format!("[{}]", line("spans", 8, 8).replace("00ff\"", "ff\"")), Err("the table spans has no checksum"));
    }
}
