//! The window is made small, so that every look ahead and every scan meets the end of what is in memory.

use super::read_in_blocks;
use crate::event::{Event, Value};
use crate::registry::Limits;
use crate::sink::{TraceSink, Warning};

#[derive(Default)]
struct Lines(Vec<String>);

impl TraceSink for Lines {
    fn header(&mut self, key: &str, value: &Value<'_>) {
        self.0.push(format!("{key}: {value:?}"));
    }

    fn event(&mut self, event: &Event<'_>) {
        self.0.push(format!("{event:?}"));
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        self.0.push(format!("{} {:?} {}", warning.code.code, warning.position, warning.offset_bytes));
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

fn read(mut bytes: &[u8], block_bytes: usize) -> (Vec<String>, String) {
    let mut lines = Lines::default();
    let outcome = read_in_blocks(&mut bytes, block_bytes, &Limits::default(), &mut lines);
    (lines.0, format!("{outcome:?}"))
}

#[test]
fn blocks_of_any_size_give_the_same() {
    let documents = [
        r#"{"a": 1, "traceEvents": [{"ph": "X", "args": {"a": [1, 2], "b": "c\n"}}, {"ts": 12.5}], "f": {"g": -0}}"#,
        r#"[{"ph": "X"}, {"name": "say "hi" to"}, {"ts": oops}  {"ts": 3}] , {"ts": 4}, 5, "six", [7], NaN"#,
        r#"{"traceEvents": [{"ts": 1} , "traceName": "a", "x": {"b" 2}, "with_stack": 1} and more"#,
        r#"{"traceEvents": [{"ts": 1}, x "ph": 2, "args": {}}, {"ts": 3]}, {"ph": "}, {"ts": 5}]  }  "#,
        "{\"traceEvents\" : x {\"ts\": 1}: {\"ts\": \u{FFFD}}, {\"name\": \"é😀\", \"dur\": , \"args\": {\"a\": [,]}} ] }",
    ];
    for document in documents {
        let whole = read(document.as_bytes(), 1 << 20);
        for block_bytes in 1..40 {
            assert_eq!(read(document.as_bytes(), block_bytes), whole, "{document} in blocks of {block_bytes}");
        }
    }
}
