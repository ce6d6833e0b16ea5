//! Values of a pickle as JSON text, for what is passed on as it was recorded.

use std::fmt::Write as _;

use super::arena::{Arena, Value};

/// Bytes of one text. A few references can stand for any number of values.
const MAX_JSON_BYTES: usize = 64 << 10;

/// What remains to be written.
enum Part {
    Value(Value),
    Key(Value),
    Text(&'static str),
}

/// The value as JSON; `None` if that is longer than the limit.
pub(super) fn to_json(arena: &Arena, value: Value) -> Option<String> {
    let mut json = String::new();
    let mut parts = vec![Part::Value(value)];
    while let Some(part) = parts.pop() {
        match part {
            Part::Text(text) => json.push_str(text),
            Part::Key(key) => match arena.as_text(key) {
                Some(text) => quote(&mut json, text),
                None => quote(&mut json, &scalar(arena, key).unwrap_or_default()),
            },
            Part::Value(value) => match value {
                Value::List(list) | Value::Tuple(list) => {
                    let items = &arena.list(list).items;
                    open(&mut parts, "]", items.len())?;
                    for (place, &item) in items.iter().enumerate().rev() {
                        parts.push(Part::Value(item));
                        parts.extend((place > 0).then_some(Part::Text(",")));
                    }
                    json.push('[');
                }
                Value::Dict(dict) => {
                    let pairs = &arena.dict(dict).pairs;
                    open(&mut parts, "}", pairs.len())?;
                    for (place, &(key, value)) in pairs.iter().enumerate().rev() {
                        parts.extend([Part::Value(value), Part::Text(":"), Part::Key(key)]);
                        parts.extend((place > 0).then_some(Part::Text(",")));
                    }
                    json.push('{');
                }
                other => match arena.as_text(other) {
                    Some(text) => quote(&mut json, text),
                    None => json.push_str(scalar(arena, other).as_deref().unwrap_or("null")),
                },
            },
        }
        if json.len() > MAX_JSON_BYTES {
            return None;
        }
    }
    Some(json)
}

/// A value that is no text and no container; `None` for one that JSON has no word for.
pub(super) fn scalar(arena: &Arena, value: Value) -> Option<String> {
    Some(match value {
        Value::None => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) if number.is_finite() => format!("{number:?}"),
        Value::LargeInt(number) => arena.digits(number).to_owned(),
        _ => return None,
    })
}

/// Begins a container of so many parts, unless they are more than can be written.
fn open(parts: &mut Vec<Part>, end: &'static str, length: usize) -> Option<()> {
    parts.push(Part::Text(end));
    (length <= MAX_JSON_BYTES && parts.len() <= MAX_JSON_BYTES * 8).then_some(())
}

fn quote(json: &mut String, text: &str) {
    json.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => json.extend(['\\', letter]),
            '\0'..='\u{1f}' => {
                let _ = write!(json, "\\u{:04x}", u32::from(letter));
            }
            _ => json.push(letter),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_json() {
        let mut arena = Arena::default();
        let (list, dict) = (arena.new_list().unwrap(), arena.new_dict(0).unwrap());
        let text = arena.text("a \"b\"\n").unwrap();
        arena.extend_list(list, &[Value::Int(-1), Value::Float(1.0), Value::Float(f64::NAN), Value::Bytes]).unwrap();
        arena.extend_dict(dict, &[text, Value::Tuple(list), Value::Int(7), Value::Bool(true)]).unwrap();
        let want = r#"{"a \"b\"\u000a":[-1,1.0,null,null],"7":true}"#;
        assert_eq!(to_json(&arena, Value::Dict(dict)).as_deref(), Some(want));
    }

    #[test]
    fn a_few_references_do_not_become_a_long_text() {
        let mut arena = Arena::default();
        let mut value = Value::None;
        for _ in 0..60 {
            let list = arena.new_list().unwrap();
            arena.extend_list(list, &[value; 10]).unwrap();
            value = Value::List(list);
        }
        assert_eq!(to_json(&arena, value), None);
        // Cycles, too.
        let list = arena.new_list().unwrap();
        arena.extend_list(list, &[Value::List(list)]).unwrap();
        assert_eq!(to_json(&arena, Value::List(list)), None);
    }
}
