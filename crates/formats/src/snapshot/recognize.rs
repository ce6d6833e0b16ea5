//! Whether a file is a pickle, and which.

use memchr::memmem;

use super::fault::Fault;
use super::opcode::{Opcode, Opcodes};
use crate::registry::{Confidence, HEAD_BYTES};

/// How sure it is that `head` begins a memory snapshot. Any pickle is possible: the machine then says what is wrong.
pub(super) fn sniff(head: &[u8]) -> Confidence {
    let holds = |text: &str| memmem::find(head, text.as_bytes()).is_some();
    if !is_pickle(head) || names_line_stats(head) {
        Confidence::No
    } else if holds("segments") || holds("device_traces") || (holds("blocks") && holds("total_size")) {
        Confidence::Certain
    } else {
        Confidence::Possible
    }
}

/// Whether it names the class of a line profile. A member of that class, behind a dot, is no profile's.
fn names_line_stats(head: &[u8]) -> bool {
    const CLASS: &[u8] = b"LineStats";
    memmem::find_iter(head, CLASS).any(|place| head.get(place + CLASS.len()) != Some(&b'.'))
}

/// Protocols from 2 on begin with a mark of their own; the others with an opcode, which is a letter or a bracket.
fn is_pickle(head: &[u8]) -> bool {
    match head {
        [0x80, ..] => true,
        [b']' | b'}', rest @ ..] => rest.first() == Some(&b'p') || begins_with_opcode(rest),
        [b'(', b'd' | b'l' | b't', next, ..] => b"pqr(])}.SIVKJXUN".contains(next) || *next >= 0x80,
        [b'(', b'c', rest @ ..] | [b'c', rest @ ..] => is_global(rest),
        [b'(', b'a'..=b'z' | b' ', ..] => false,
        [b'(', rest @ ..] => begins_with_opcode(rest),
        _ => is_all_opcodes(head),
    }
}

fn begins_with_opcode(bytes: &[u8]) -> bool {
    !matches!(Opcodes::new(bytes, HEAD_BYTES).next(), Err(Fault::Broken | Fault::Cut))
}

/// The names of a module and of something in it, a line each, and then something that is no word.
fn is_global(bytes: &[u8]) -> bool {
    let mut lines = bytes.splitn(3, |&byte| byte == b'\n');
    let is_name = |line: &[u8]| line.iter().all(|&byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte));
    let (Some(module), Some(name), Some(rest)) = (lines.next(), lines.next(), lines.next()) else { return false };
    let goes_on = match rest {
        [b'(' | b')' | b'0' | b']' | b'}' | b'.' | 0x80.., ..] | [] => true,
        [b'p', digit, ..] => digit.is_ascii_digit(),
        [b'S', quote, ..] => b"'\"".contains(quote),
        [b'q' | b'X', length, ..] => *length < b' ',
        _ => false,
    };
    !module.is_empty() && is_name(module) && is_name(name) && goes_on
}

/// Whether nothing but opcodes are here, to the end of the file or of what is known of it. A text that reads as opcodes by
/// chance is told by its lack of lines and of bytes above ASCII.
fn is_all_opcodes(head: &[u8]) -> bool {
    // Most texts and binary files end here.
    if !head.first().is_some_and(|first| b"PNKJMXUSVILFGT)\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x95".contains(first)) {
        return false;
    }
    let is_whole = head.len() < HEAD_BYTES;
    let mut rest = head;
    if let [b'P', line @ ..] = head {
        let Some(end) = memchr::memchr(b'\n', line) else { return false };
        rest = &line[end + 1..];
    }
    let mut opcodes = Opcodes::new(rest, HEAD_BYTES);
    let is_end = loop {
        match opcodes.next() {
            Ok(Opcode::Stop) => break opcodes.window.has(1).is_ok_and(|has_more| !has_more),
            Ok(_) => {}
            Err(fault) => break !is_whole && matches!(fault, Fault::Cut),
        }
    };
    is_end && (head.ends_with(b"\n.") || head.iter().any(|&byte| byte >= 0x80))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &[u8], want: Confidence) {
        assert_eq!(sniff(head), want, "{}", head.escape_ascii());
    }

    #[test]
    fn snapshots() {
        check(b"\x80\x04\x95\0\0\0\0\0\0\0\0}\x94(\x8c\x08segments\x94]\x94(", Confidence::Certain);
        check(b"}q\x00(U\x0ddevice_tracesq\x01]", Confidence::Certain);
        check(b"(lp0\n(dp1\nVtotal_size\np2\nI5\nsVblocks\np3\n", Confidence::Certain);
    }

    #[test]
    fn other_pickles() {
        for pickle in [
            b"\x80\x04\x95".as_slice(),
            b"\x80\xff",
            b"cos\nsystem\n(S'true'\ntR.",
            b"cantigravity\n\n0}",
            b"(cos\nsystem\nS'true'\no.",
            b"(S'true'\nios\nsystem\n.",
            b"(]S'x'\no.",
            b"])R.",
            b"}Na.",
            b"((((((",
            b"Pwhatever\n.",
            b"\x87.",
            b"}p999999999999999999999999999999\n.",
        ] {
            check(pickle, Confidence::Possible);
        }
    }

    #[test]
    fn everything_else() {
        check(b"\x80\x05\x8c\x1bline_profiler.line_profiler\x94\x8c\x09LineStats", Confidence::No);
        check(b"\x80\x04\x8c\x1bline_profiler.line_profiler\x8c\x12LineStats.__init__\x93.", Confidence::Possible);
        for text in [
            "",
            "hello",
            "hello.",
            "Python 3.12.",
            "cpu usage\n",
            "cpu\nmemory\ndisk\n",
            "(this is the list of segments)",
            "(list)",
            "N.",
            "{\"segments\": []}",
            "[{\"blocks\": 1, \"total_size\": 2}]",
            "main;work 12\n",
            "CMDLINE python train.py",
            "PAR1",
            "PK\x03\x04",
            "import os\n.",
        ] {
            check(text.as_bytes(), Confidence::No);
        }
    }
}
