//! Writes JSON as a pickle, in any of the ways that a pickle can be written.

use std::collections::HashMap;

use serde_json::Value as Json;

/// How a pickle is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pickler {
    /// 0 to 5.
    pub(crate) protocol: u8,
    /// Strings and lists of frames that come again are fetched from the memo.
    pub(crate) is_memoized: bool,
    /// Items that are appended at once; 1 uses `APPEND` and `SETITEM`.
    pub(crate) batch: usize,
    /// Members come from the last to the first.
    pub(crate) is_reversed: bool,
    /// Containers are made from what is on the stack, by `LIST` and `DICT`.
    pub(crate) is_from_inside: bool,
}

impl Pickler {
    /// The pickle of a value.
    pub(crate) fn pickle(self, value: &Json) -> Vec<u8> {
        let mut writing = Writing { how: self, bytes: Vec::new(), slots: HashMap::new(), next_slot: 0 };
        if self.protocol >= 2 {
            writing.bytes.extend([0x80, self.protocol]);
        }
        writing.value(value, "");
        writing.bytes.push(b'.');
        writing.bytes
    }
}

struct Writing {
    how: Pickler,
    bytes: Vec<u8>,
    /// Slots by the text of what they hold.
    slots: HashMap<String, u32>,
    next_slot: u32,
}

impl Writing {
    fn value(&mut self, value: &Json, key: &str) {
        let is_shared = self.how.is_memoized && (value.is_string() || key == "frames");
        if let Some(&slot) = self.slots.get(&value.to_string()).filter(|_| is_shared) {
            return self.get(slot);
        }
        match value {
            Json::Null => self.bytes.push(b'N'),
            Json::Bool(value) if self.how.protocol >= 2 => self.bytes.push(0x88 + u8::from(!value)),
            Json::Bool(value) => self.bytes.extend(format!("I0{}\n", u8::from(*value)).bytes()),
            Json::Number(number) => self.number(number.as_i64().expect("an integer")),
            Json::String(text) => self.text(text),
            Json::Array(items) => {
                let items: Vec<(Option<&str>, &Json)> = items.iter().map(|item| (None, item)).collect();
                self.container([b'l', b']', b'a', b'e'], &items);
            }
            Json::Object(members) => {
                let mut members: Vec<(Option<&str>, &Json)> =
                    members.iter().map(|(key, value)| (Some(key.as_str()), value)).collect();
                if self.how.is_reversed {
                    members.reverse();
                }
                self.container([b'd', b'}', b's', b'u'], &members);
            }
        }
        if value.is_string() || value.is_array() || value.is_object() {
            let slot = self.put();
            if is_shared {
                self.slots.insert(value.to_string(), slot);
            }
        }
    }

    fn container(&mut self, [from_inside, empty, one, several]: [u8; 4], items: &[(Option<&str>, &Json)]) {
        let write = |writing: &mut Self, items: &[(Option<&str>, &Json)]| {
            for (key, value) in items {
                if let Some(key) = key {
                    writing.value(&Json::from(*key), "");
                }
                writing.value(value, key.unwrap_or_default());
            }
        };
        if self.how.is_from_inside {
            self.bytes.push(b'(');
            write(self, items);
            return self.bytes.push(from_inside);
        }
        self.bytes.extend(if self.how.protocol == 0 { vec![b'(', from_inside] } else { vec![empty] });
        for batch in items.chunks(self.how.batch) {
            self.bytes.extend((self.how.batch > 1).then_some(b'('));
            write(self, batch);
            self.bytes.push(if self.how.batch > 1 { several } else { one });
        }
    }

    fn number(&mut self, number: i64) {
        match (self.how.protocol, u8::try_from(number), i32::try_from(number)) {
            (0, ..) => self.bytes.extend(format!("L{number}L\n").bytes()),
            (_, Ok(number), _) => self.bytes.extend([b'K', number]),
            (_, _, Ok(number)) => self.bytes.extend([b"J", number.to_le_bytes().as_slice()].concat()),
            (1, ..) => self.bytes.extend(format!("I{number}\n").bytes()),
            _ => self.bytes.extend([b"\x8a\x08", number.to_le_bytes().as_slice()].concat()),
        }
    }

    fn text(&mut self, text: &str) {
        let length = text.len() as u32;
        match self.how.protocol {
            0 => self.bytes.extend(format!("V{}\n", escaped(text)).bytes()),
            4.. if length < 256 => self.bytes.extend([0x8c, length as u8]),
            _ => self.bytes.extend([b"X", length.to_le_bytes().as_slice()].concat()),
        }
        if self.how.protocol > 0 {
            self.bytes.extend(text.bytes());
        }
    }

    fn put(&mut self) -> u32 {
        let slot = self.next_slot;
        match (self.how.is_memoized, self.how.protocol) {
            (false, _) => {}
            (_, 0) => self.bytes.extend(format!("p{slot}\n").bytes()),
            (_, 1..4) => self.bytes.extend([b"r", slot.to_le_bytes().as_slice()].concat()),
            _ => self.bytes.push(0x94),
        }
        self.next_slot += 1;
        slot
    }

    fn get(&mut self, slot: u32) {
        match self.how.protocol {
            0 => self.bytes.extend(format!("g{slot}\n").bytes()),
            _ => self.bytes.extend([b"j", slot.to_le_bytes().as_slice()].concat()),
        }
    }
}

/// As Python writes texts in protocol 0.
fn escaped(text: &str) -> String {
    let escape = |letter: char| match letter {
        '\\' | '\n' | '\u{100}'.. => format!("\\U{:08x}", u32::from(letter)),
        _ => letter.to_string(),
    };
    let text: String = text.chars().map(escape).collect();
    assert!(text.is_ascii(), "Latin-1 is not written");
    text
}
