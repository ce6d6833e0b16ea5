//! Critical paths and what changes save, of a trace worked out by hand.

use stepscope_model::Report;
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{AskedChange, Question, Workspace};

use super::{ask, by, cells, in_step, reason, sentence, table, texts};
use crate::harness::{answer, lines, open_text};

/// One thread and one stream, bound by the device, in microseconds. Three operators launch a kernel each:
///
/// - `aten::a` 5–15 with a call at 10, `aten::b` 16–26 with a call at 20, `aten::c` 27–37 with a call at 30;
/// - kernels `a` 16–40, `b` 42–60, `c` 62–90, each 2 after the one before.
///
/// A launch takes 6, a gap 2. The step ends with `c`, at 90.
fn device_bound() -> TraceBuilder {
    TraceBuilder::new()
        .annotation("ProfilerStep#3", 1, "0", "40")
        .op("aten::a", 1, "5", "10")
        .op("aten::b", 1, "16", "10")
        .op("aten::c", 1, "27", "10")
        .runtime("cudaLaunchKernel", 1, "10", "2", 1)
        .kernel("a", 0, 7, "16", "24", 1)
        .runtime("cudaLaunchKernel", 1, "20", "2", 2)
        .kernel("b", 0, 7, "42", "18", 2)
        .runtime("cudaLaunchKernel", 1, "30", "2", 3)
        .kernel("c", 0, 7, "62", "28", 3)
}

#[track_caller]
fn check(question: &Question, name: &str, columns: &str, want: &str) {
    let report = ask(&open_text(&device_bound().finish()), "critical", question);
    assert_eq!(cells(table(&report, name), columns), lines(want), "{name}: {columns}");
}

#[test]
fn the_path_is_split_by_class_operator_and_kernel() {
    let all = Question::default();
    let classes = "kernel 70000
                   launch_delay 6000
                   cpu_exec 5000
                   other 5000
                   device_gap 4000";
    check(&all, "classes", "class path_ns", classes);
    let operators = "aten::a 35000 24000 5000 6000
                     aten::c 30000 28000 0 2000
                     aten::b 20000 18000 0 2000
                     (no operator) 5000 0 5000 0";
    check(&all, "rows", "name path_ns device_per_step_ns host_per_step_ns delay_per_step_ns", operators);
    check(&all, "kernels", "name class path_ns pieces", "c kernel 28000 1\na kernel 24000 1\nb kernel 18000 1");
    let names = "kernel c 28000
                 kernel a 24000
                 kernel b 18000
                 launch_delay aten::a 6000
                 cpu_exec aten::a 5000
                 other - 5000
                 device_gap aten::b 2000
                 device_gap aten::c 2000";
    check(&by(&["name"]), "rows", "class name path_ns", names);
}

#[test]
fn a_step_is_shown_piece_by_piece() {
    let pieces = "0 5000 other - -
                  5000 5000 cpu_exec aten::a aten::a
                  10000 6000 launch_delay aten::a aten::a
                  16000 24000 kernel a aten::a
                  40000 2000 device_gap aten::b aten::b
                  42000 18000 kernel b aten::b
                  60000 2000 device_gap aten::c aten::c
                  62000 28000 kernel c aten::c";
    check(&in_step(3), "rows", "from_step_start_ns dur_ns class name operator", pieces);
}

#[test]
fn sql_has_the_pieces_and_they_add_up_to_the_step() {
    let workspace = open_text(&device_bound().finish());
    let pieces = "0 0 0 0 other 0 5000 -
                  0 0 0 1 cpu_exec 5000 5000 aten::a
                  0 0 0 2 launch_delay 10000 6000 aten::a
                  0 0 0 3 kernel 16000 24000 a
                  0 0 0 4 device_gap 40000 2000 aten::b
                  0 0 0 5 kernel 42000 18000 b
                  0 0 0 6 device_gap 60000 2000 aten::c
                  0 0 0 7 kernel 62000 28000 c";
    let columns = "rank, \"window\", step, piece, class, start_ns, dur_ns, name";
    assert_eq!(answer(&workspace, &format!("SELECT {columns} FROM critical_path ORDER BY piece")), lines(pieces));
    // A piece of device work leads to its event.
    let events = "SELECT path.name, spans.name, spans.dur_ns FROM critical_path AS path JOIN spans USING (rank, \"window\", span_id)
                  WHERE class = 'kernel' ORDER BY piece";
    assert_eq!(answer(&workspace, events), lines("a a 24000\nb b 18000\nc c 28000"));
    let sums = "SELECT sum(path.dur_ns), max(steps.dur_ns) FROM critical_path AS path JOIN steps USING (rank, \"window\", step)";
    assert_eq!(answer(&workspace, sums), "90000 90000");
    assert_eq!(answer(&workspace, "SELECT count(*) FROM critical_path WHERE rank = 1"), "0");
    assert_eq!(answer(&open_text("{\"traceEvents\": []}"), "SELECT count(*) FROM critical_path"), "0");
}

#[test]
fn the_headline_says_what_bounds_the_step() {
    let report = ask(&open_text(&device_bound().finish()), "critical", &Question::default());
    let said = sentence(&report);
    assert!(
        said.starts_with("Step 90") && said.contains("kernels, ") && said.ends_with("operators on the host."),
        "{said}"
    );
    let facts = &texts(&report)[1];
    assert!(facts.starts_with("1 step · model error 0") && facts.contains("unexplained"), "{facts}");
}

#[test]
fn a_trace_without_a_complete_step_has_no_path() {
    let report = ask(&open_text("{\"traceEvents\": []}"), "critical", &Question::default());
    assert_eq!(reason(&report, "path"), Some("no complete step"));
    assert_eq!(sentence(&report), "No critical path: no complete step.");
}

fn whatif(workspace: &Workspace, changes: &[(&str, Option<&str>)]) -> Report {
    let changes: Vec<AskedChange> =
        changes.iter().map(|(name, value)| AskedChange::new(name, *value).unwrap()).collect();
    workspace.whatif(&changes, &Question::default()).unwrap()
}

#[test]
fn changes_are_replayed_alone_and_together() {
    let workspace = open_text(&device_bound().finish());
    // b takes 9 less.
    let changes = [
        ("scale", Some("kernel:B=1/2")),
        // 10 less on the host, and b with one gap less on the device: c begins at 42.
        ("remove", Some("op:aten::b")),
        // Two gaps less.
        ("fuse", Some("kernel:*")),
        ("no_sync", None),
    ];
    let report = whatif(&workspace, &changes);
    let want = "scale kernel:B=1/2 1 9000 9000 9000 estimate
                remove op:aten::b 1 20000 20000 20000 estimate
                fuse kernel:* 3 4000 4000 4000 at least
                no-sync - 0 0 0 at most";
    let got = cells(table(&report, "rows"), "change matched saving_ns low_ns high_ns bound");
    let (alone, together) = got.rsplit_once('\n').unwrap();
    assert_eq!(alone, lines(want));
    // Without b there is one gap to save, and the launch of c.
    assert!(together.starts_with("together - 22000 "), "{together}");
    assert!(sentence(&report).starts_with("A step takes "), "{}", sentence(&report));
}

#[test]
fn a_change_that_saves_nothing_says_so() {
    let report = whatif(&open_text(&device_bound().finish()), &[("no_sync", None)]);
    assert!(sentence(&report).ends_with("nothing is saved."), "{}", sentence(&report));
    let nothing = whatif(&open_text(&device_bound().finish()), &[("scale", Some("kernel:none=1/2"))]);
    assert!(texts(&nothing).iter().any(|text| text.contains("matches no work")), "{:?}", texts(&nothing));
}

#[test]
fn a_change_to_a_device_that_is_not_there_has_no_answer() {
    let host = TraceBuilder::new().annotation("ProfilerStep#3", 1, "0", "40").op("aten::a", 1, "5", "10");
    let report = whatif(&open_text(&host.finish()), &[("no_sync", None), ("host_half", None)]);
    assert_eq!(reason(&report, "rows[0].saving_ns"), Some("no device events"));
    // Half of 40; the other answer stays.
    assert_eq!(cells(table(&report, "rows"), "change saving_ns"), lines("no-sync -\nhost-half 20000\ntogether 20000"));
}
