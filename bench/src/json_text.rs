//! JSON as text: where the members of an object and the elements of a list lie, with numbers left as they are written.
//!
//! It is for documents that are known to be valid; what it notices to be broken is an error, the rest is copied.

use anyhow::{Result, bail};

/// Members of an object in their order, keys without their quotes; of equal keys the last value counts.
pub(crate) fn members(object: &str) -> Result<Vec<(&str, &str)>> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    let mut at = open(object, b'{')?;
    while !is_closed(object, at, b'}') {
        let key_end = value_end(object, at)?;
        let key = object[at..key_end].trim_matches('"');
        let colon = skip_space(object, key_end);
        if object.as_bytes().get(colon) != Some(&b':') {
            bail!("no colon behind the key {key:?}");
        }
        let start = skip_space(object, colon + 1);
        let end = value_end(object, start)?;
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some(member) => member.1 = &object[start..end],
            None => found.push((key, &object[start..end])),
        }
        at = skip_comma(object, end);
    }
    Ok(found)
}

/// Elements of a list in their order.
pub(crate) fn elements(list: &str) -> Result<Vec<&str>> {
    let mut found = Vec::new();
    let mut at = open(list, b'[')?;
    while !is_closed(list, at, b']') {
        let end = value_end(list, at)?;
        found.push(&list[at..end]);
        at = skip_comma(list, end);
    }
    Ok(found)
}

/// Appends a value with the white space that Python's `json.dumps` writes: one space behind commas and colons.
pub(crate) fn push_spaced(out: &mut Vec<u8>, value: &str) -> Result<()> {
    let bytes = value.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(value, at)?;
                out.extend_from_slice(&bytes[at..end]);
                at = end;
                continue;
            }
            b',' | b':' => out.extend_from_slice(&[*byte, b' ']),
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => out.push(*byte),
        }
        at += 1;
    }
    Ok(())
}

fn open(text: &str, bracket: u8) -> Result<usize> {
    let at = skip_space(text, 0);
    if text.as_bytes().get(at) != Some(&bracket) {
        bail!("expected {:?} at byte {at}", char::from(bracket));
    }
    Ok(skip_space(text, at + 1))
}

fn is_closed(text: &str, at: usize, bracket: u8) -> bool {
    text.as_bytes().get(at) == Some(&bracket)
}

fn skip_space(text: &str, mut at: usize) -> usize {
    while text.as_bytes().get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

fn skip_comma(text: &str, at: usize) -> usize {
    let at = skip_space(text, at);
    if text.as_bytes().get(at) == Some(&b',') { skip_space(text, at + 1) } else { at }
}

fn value_end(text: &str, start: usize) -> Result<usize> {
    let bytes = text.as_bytes();
    match bytes.get(start) {
        None => bail!("the document ends where a value should begin"),
        Some(b'"') => return string_end(text, start),
        Some(b'{' | b'[') => {}
        Some(_) => {
            let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b':' | b']' | b'}');
            let length = bytes[start..].iter().position(is_end).unwrap_or(bytes.len() - start);
            if length == 0 {
                bail!("expected a value at byte {start}");
            }
            return Ok(start + length);
        }
    }
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Ok(at);
        }
    }
    bail!("the value at byte {start} has no end")
}

fn string_end(text: &str, start: usize) -> Result<usize> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return Ok(at + 1);
        }
        at += 2;
    }
    bail!("the text at byte {start} has no end")
}

#[cfg(test)]
mod tests {
    use super::{elements, members, push_spaced};

    #[test]
    fn members_and_elements_are_found_as_written() {
        let object = r#" { "a" : 1.50 , "b\"c":[1, {"d":"}"}],"a":2 } "#;
        assert_eq!(members(object).unwrap(), [("a", "2"), (r#"b\"c"#, r#"[1, {"d":"}"}]"#)]);
        assert_eq!(elements("[ ]").unwrap(), Vec::<&str>::new());
        assert_eq!(elements(r#"[1 , "],", [2]]"#).unwrap(), ["1", r#""],""#, "[2]"]);
        assert!(members(r#"{"a" 1}"#).is_err());
        assert!(elements("[1, [2").is_err());
    }

    #[test]
    fn spaces_are_those_of_python() {
        let mut out = Vec::new();
        push_spaced(&mut out, "{\n\"a\":[1,\t2 ],\"b, :\":{}}").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"a": [1, 2], "b, :": {}}"#);
    }
}
