//! Reading by shapes gives what the general scan gives.

use stepscope_testkit::Random;

use super::{MAX_CHILDREN, MAX_NODES, PAUSE_EVENTS, Shapes};
use crate::chrome::record::Record;
use crate::chrome::scan::ScanLimits;

const LIMITS: ScanLimits = ScanLimits { max_depth: 4, max_string_bytes: 20 };

/// Reads events one after the other, as the reader does, and compares each with what the general scan says of it.
#[derive(Default)]
struct Comparison {
    shapes: Shapes,
    by_shape: Record,
    general: Record,
    fitted: usize,
}

impl Comparison {
    #[track_caller]
    fn check(&mut self, text: &str) -> Option<u32> {
        let length = self.shapes.scan(text, LIMITS, &mut self.by_shape);
        let wanted = self.general.scan(text, LIMITS, false);
        if length.is_none() {
            if wanted.is_ok() {
                self.shapes.learn(text, &self.general.path);
            }
            return None;
        }
        self.fitted += 1;
        assert_eq!(length, wanted.ok(), "{text}");
        assert_eq!(self.by_shape.fields, self.general.fields, "{text}");
        assert_eq!(self.by_shape.args, self.general.args, "{text}");
        assert!(!self.general.saw_bad_value && !self.by_shape.is_lenient, "{text}");
        self.by_shape.shape
    }
}

/// One of a few forms, so that most of them come again.
fn any_event(random: &mut Random) -> String {
    // The first choice is the usual one.
    let mut pick = |choices: &[&str]| choices[random.below(200).saturating_sub(200 - choices.len())].to_owned();
    let mut event = pick(&["{", "{ ", "{\n  "]);
    let mut comma = "";
    for key in ["ph", "cat", "name", "ts", "dur", "pid", "tid", "id", "bp", "args"] {
        let key = pick(&[key, "", "id2", "args"]);
        if key.is_empty() {
            continue;
        }
        event += comma;
        comma = ", ";
        let colon = pick(&[": ", ":", ":  "]);
        let value = pick(&[
            "17",
            "-2.5",
            "\"\"",
            "\"a\\\"b\"",
            "\"a very long text of many\"",
            "[1, [\"a\"]]",
            "[[[[1]]]]",
            "null",
            "NaN",
            "",
            "x",
            "{}",
            "\"a\nb\"",
            "[\"\t\"]",
            "12:",
        ]);
        let (first, second) = (pick(&["a", "b", "\\u0061"]), pick(&["b", "a"]));
        let end = pick(&["}", ",}", " }"]);
        let member = match (&*key, &*pick(&["object", "any"])) {
            ("args", "object") => format!("\"args\"{colon}{{\"{first}\": {value}, \"{second}\"{colon}7{end}"),
            _ => format!("\"{key}\"{colon}{value}"),
        };
        event += &member;
    }
    event + &pick(&["}", "\n}", ",}", "", "}}"])
}

#[test]
fn random_events_and_one_byte_changes_are_read_as_by_the_general_scan() {
    let mut random = Random::new(5);
    let mut fitted = 0;
    for _ in 0..1000 {
        let mut comparison = Comparison::default();
        let events = [any_event(&mut random), any_event(&mut random)];
        for _ in 0..20 {
            let event = &events[random.below(events.len())];
            comparison.check(event);
            comparison.check(&event[..event.floor_char_boundary(random.below(event.len() + 1))]);
            let mut changed = event.clone().into_bytes();
            let at = random.below(changed.len());
            changed[at] = b"{}[],:\"\\ 0a\n"[random.below(12)];
            comparison.check(&String::from_utf8_lossy(&changed));
            comparison.check(&(String::from_utf8_lossy(&changed) + ", {\"ph\": \"X\"}]"));
        }
        fitted += comparison.fitted;
    }
    assert!(fitted > 10_000, "{fitted}");
}

#[test]
fn shapes_are_numbered_by_their_keys() {
    let mut comparison = Comparison::default();
    let mut check = |text: &str, want: Option<u32>| assert_eq!(comparison.check(text), want, "{text}");
    check(r#"{"ph": "X", "args": {"a": 1, "b": 2}}"#, None);
    check(r#"{"ph": "B", "args": {"a": [3], "b": "x"}}, "#, Some(0));
    check(r#"{"ph": "X", "args": {"a": 1}}"#, None);
    check(r#"{"ph": "X", "args": {"a": 1}}"#, Some(1));
    check(r#"{"ph": "X", "args": {}}"#, None);
    check(r#"{"ph": "X", "args": {}}"#, Some(2));
    check(r#"{"ph": "X", "args": {"a": 1, "b": 2}}"#, Some(0));
    // A space more, an argument list that is none, a bad value, another key.
    for text in [
        r#"{"ph":  "X", "args": {"a": 1}}"#,
        r#"{"ph": "X", "args": 1}"#,
        r#"{"ph": "X", "args": {"a": NaN}}"#,
        r#"{"ph": "X", "args": {"c": 1}}"#,
    ] {
        check(text, None);
    }
}

#[test]
fn the_tree_is_bounded_and_rests_when_nothing_fits() {
    let mut comparison = Comparison::default();
    for key in 0..100_000 {
        comparison.check(&format!(r#"{{"ph": "X", "{}": 1, "{key}": 2}}"#, key % 12));
    }
    let shapes = &comparison.shapes;
    assert!(shapes.nodes.len() <= MAX_NODES);
    assert!(shapes.nodes.iter().all(|node| usize::from(node.child_count) <= MAX_CHILDREN));
    assert!(comparison.fitted < 1000);
    assert!((0..=PAUSE_EVENTS).any(|_| { comparison.check(r#"{"ph": "X", "0": 1, "0": 2}"#).is_some() }));
}
