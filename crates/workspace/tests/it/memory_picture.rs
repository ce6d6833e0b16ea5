//! What a page draws of memory snapshots agrees with what their analysis says.

use std::fs;

use stepscope_model::{Cell, DeviceMemory, MemoryTimeline, Part, Report, SegmentMap};
use stepscope_testkit::corpus;
use stepscope_workspace::{ANALYSES, Question};

use crate::harness::open;

/// The figures of a device in a table of the report, row by row.
fn figures(report: &Report, table: &str, device: i64, name: &str) -> Vec<i64> {
    let is_it = |part: &&Part| matches!(part, Part::Table(known) if known.name == table);
    let Some(Part::Table(table)) = report.parts.iter().find(is_it) else { return Vec::new() };
    let place = |name: &str| table.columns.iter().position(|column| column.name == name).unwrap();
    let (of_device, of_figure) = (place("device_id"), place(name));
    let number = |row: &Vec<Cell>| match row[of_figure] {
        Cell::Int(number) => Some(number),
        _ => None,
    };
    table.rows.iter().filter(|row| row[of_device] == Cell::Int(device)).filter_map(number).collect()
}

/// The one that there is.
fn figure(report: &Report, table: &str, device: i64, name: &str) -> Option<i64> {
    figures(report, table, device, name).first().copied()
}

fn check_segments(name: &str, report: &Report, device: &DeviceMemory) {
    assert_eq!(device.segments_left_out, 0, "{name}");
    let sum = |figure: fn(&SegmentMap) -> i64| device.segments.iter().map(figure).sum::<i64>();
    let number = device.device_id;
    if let Some(reserved) = figure(report, "devices", number, "reserved_bytes") {
        assert_eq!(sum(|segment| segment.total_bytes), reserved, "{name}");
        assert_eq!(Some(sum(|segment| segment.allocated_bytes)), figure(report, "devices", number, "allocated_bytes"));
    }
    for segment in &device.segments {
        let mut end = 0;
        for block in &segment.blocks {
            assert_eq!(block.offset_bytes, end, "{name}: blocks follow each other");
            end += block.size_bytes;
            assert!(block.owner.is_none_or(|owner| owner < device.owners.len()), "{name}");
        }
        assert_eq!(end, segment.total_bytes, "{name}: blocks fill their segment");
    }
    assert!(device.segments.windows(2).all(|pair| pair[0].total_bytes >= pair[1].total_bytes), "{name}");
}

fn check_timeline(name: &str, report: &Report, device: &DeviceMemory, timeline: &MemoryTimeline) {
    let figure = |figure_name: &str| figure(report, "history", device.device_id, figure_name);
    assert_eq!(Some(timeline.active_bytes[timeline.peak]), figure("peak_active_bytes"), "{name}");
    if !timeline.is_relative {
        assert_eq!(timeline.active_bytes.last().copied(), figure("end_active_bytes"), "{name}");
    }
    assert!(timeline.at.is_sorted() && timeline.at.len() <= 602, "{name}");
    for (place, active) in timeline.active_bytes.iter().enumerate() {
        let held: i64 = timeline.stacks.iter().map(|stack| stack.bytes[place]).sum();
        assert_eq!(held + timeline.other_bytes[place], *active, "{name}");
        assert!(timeline.is_relative || timeline.other_bytes[place] >= 0, "{name} at {place}");
    }
    // What a stack holds at the peak is what the table says of it.
    let mut want = figures(report, "rows", device.device_id, "bytes");
    want.truncate(timeline.stacks.len());
    let found: Vec<i64> = timeline.stacks.iter().map(|stack| stack.bytes[timeline.peak]).collect();
    assert!(found == want || timeline.is_relative, "{name}: {found:?}, {want:?}");
}

#[test]
#[ignore = "needs the corpus"]
fn pictures_of_snapshots_agree_with_their_analysis() {
    let folder = corpus().trace("memory_snapshots");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pickle"));
    assert!(paths.len() > 10);
    for path in paths {
        let name = path.display().to_string();
        let workspace = open(&[path]).unwrap();
        let memory = ANALYSES.iter().find(|analysis| analysis.name == "memory").unwrap();
        let report = workspace.analyze(memory, &Question::default()).unwrap();
        let picture = workspace.memory_picture(&Question::default()).unwrap();
        assert!(!picture.devices.is_empty(), "{name}");
        // Some have no times, some no state, some no history: each analysis says something of all.
        for analysis in ANALYSES {
            let answer = workspace.analyze(analysis, &Question::default());
            assert!(answer.is_ok(), "{name}: {}: {:?}", analysis.name, answer.err());
        }
        for device in &picture.devices {
            check_segments(&name, &report, device);
            if let Some(timeline) = &device.timeline {
                check_timeline(&name, &report, device, timeline);
            }
        }
    }
}
