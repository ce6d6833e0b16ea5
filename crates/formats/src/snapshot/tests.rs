//! Opcodes with their arguments, and what the machine makes of them.

use super::arena::Value;
use super::fault::Fault;
use super::json::to_json;
use super::machine::Machine;
use super::memo::Fetched;
use super::opcode::{Opcode, Opcodes};
use super::teller::Teller;
use super::{Silence, second_pass};

/// The result as JSON, or why there is none.
fn run(bytes: &[u8]) -> String {
    let mut fetched = Fetched::default();
    let mut opcodes = Opcodes::new(bytes, 1000);
    while let Ok(opcode) = opcodes.next() {
        if let Opcode::Get(slot) = opcode {
            fetched.insert(slot).unwrap();
        }
    }
    let mut silence = Silence;
    let mut machine = Machine::new(fetched, 64, Teller::new(&mut silence));
    match second_pass(&mut Opcodes::new(bytes, 1000), &mut machine, 0) {
        Ok(value) => to_json(&machine.arena, value).expect("it is short"),
        Err(fault) => format!("{fault:?}"),
    }
}

#[track_caller]
fn check(bytes: &[u8], want: &str) {
    assert_eq!(run(bytes), want, "{}", bytes.escape_ascii());
}

#[test]
fn scalars() {
    for (bytes, want) in [
        (b"N.".as_slice(), "null"),
        (b"\x88.", "true"),
        (b"I00\n.", "false"),
        (b"I-7\n.", "-7"),
        (b"L123456789012345678901234567890L\n.", "123456789012345678901234567890"),
        (b"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.", "18446744073709551615"),
        (b"\x8b\x01\0\0\0\xfe.", "-2"),
        (b"J\xff\xff\xff\xff.", "-1"),
        (b"M\xff\xff.", "65535"),
        (b"F1.5\n.", "1.5"),
        (b"G\x3f\xf0\0\0\0\0\0\0.", "1.0"),
        (b"S'a\\'b'\n.", "\"a'b\""),
        (b"T\x01\0\0\0\xe9.", "\"\u{e9}\""),
        (b"Va\\u0394\n.", "\"aΔ\""),
        (b"\x8d\x02\0\0\0\0\0\0\0ab.", "\"ab\""),
        (b"C\x02ab.", "null"),
    ] {
        check(bytes, want);
    }
}

#[test]
fn containers_and_the_memo() {
    for (bytes, want) in [
        (b"(K\x01K\x02l.".as_slice(), "[1,2]"),
        (b"(](K\x01e(K\x02et.", "[[1,2]]"),
        (b"(K\x01N\x85t.", "[1,[null]]"),
        (b"(U\x01aK\x01U\x01bK\x02d.", "{\"a\":1,\"b\":2}"),
        (b"}U\x01aK\x01sU\x01b)s.", "{\"a\":1,\"b\":[]}"),
        (b"K\x07q\x00r\xff\xff\xff\xff0h\x00j\xff\xff\xff\xff\x86.", "[7,7]"),
        (b"K\x07\x94K\x08p5\n\x94K\x0900h\x02.", "8"),
        (b"(](N1K\x05at.", "[[5]]"),
        (b"]2a.", "Recursive"),
    ] {
        check(bytes, want);
    }
}

#[test]
fn faults() {
    for bytes in [b"".as_slice(), b"N", b"K", b"J\0", b"\x8c\x05ab", b"X\xff\xff\xff\xff", b"T\xff\xff\xff\xff", b"I12"]
    {
        check(bytes, "Cut");
    }
    for bytes in [
        b"\xff".as_slice(),
        b".",
        b"(.",
        b"t",
        b"Na",
        b"e",
        b"}]Ns.",
        b"}(Nu.",
        b"h\x00",
        b"Ix\n",
        b"Sab\n",
        b"p-1\n",
        b"N\x86",
        b"(N\x86",
        &[b"\x8a\x21".as_slice(), &[0; 40]].concat(),
        &[b"X\xe9\x03\0\0".as_slice(), &[b'a'; 1001]].concat(),
    ] {
        check(bytes, "Broken");
    }
    check(&[b"N".as_slice(), &[0x85; 65], b"."].concat(), "TooDeep");
    check(b"\x80\x06", "Protocol(6)");
    check(b"]\x8f", "Refused(\"EMPTY_SET\")");
}

#[test]
fn marks_are_no_values() {
    let mut silence = Silence;
    let mut machine = Machine::new(Fetched::default(), 64, Teller::new(&mut silence));
    assert!(matches!(machine.step(Opcode::Mark, 0), Ok(None)));
    assert!(matches!(machine.step(Opcode::Dup, 0), Err(Fault::Broken)));
    assert!(matches!(machine.step(Opcode::Memoize, 0), Err(Fault::Broken)));
    assert_eq!(machine.close().unwrap(), None::<Value>);
}
