use crate::command::Place;

#[track_caller]
fn check(arguments: &[&str], code: i32, said: &[&str]) -> String {
    let ended = Place::new().run(arguments);
    assert_eq!(ended.code, code, "{arguments:?}: {}", ended.stderr);
    assert_eq!(ended.stdout, "", "{arguments:?}: errors go to standard error");
    for words in said {
        assert!(ended.stderr.contains(words), "{arguments:?} does not say {words:?}: {}", ended.stderr);
    }
    ended.stderr
}

#[test]
fn nothing_asked() {
    check(&[], 2, &["Usage: stepscope", "Commands:"]);
}

#[test]
fn a_path_alone_is_its_summary() {
    let place = Place::new();
    assert_eq!(place.stdout(&["trace.json"]), place.stdout(&["summary", "trace.json"]));
    assert_eq!(place.stdout(&["--color", "never", "trace.json"]), place.stdout(&["summary", "trace.json"]));
    insta::assert_snapshot!(check(&["nope.json"], 2, &[]), @r"
    error: found neither a command nor a file: nope.json
    hint: use `stepscope COMMAND PATH`; `stepscope --help` lists the commands
    ");
}

#[test]
fn a_misspelled_command() {
    check(&["schem"], 2, &["unrecognized subcommand 'schem'", "'schema'"]);
}

#[test]
fn what_only_the_python_package_can_do() {
    for arguments in [&["run"][..], &["run", "train.py"], &["run", "--profiling.wait", "1", "train.py", "-x"]] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(check(arguments, 2, &[]), @r"
            error: recording a script needs the Python package
            hint: install the package, then put no option before `run`: `stepscope run train.py`
            ");
        }
    }
    assert!(Place::new().stdout(&["run", "--help"]).contains("needs the Python package"));
}

#[test]
fn options_that_make_no_sense() {
    check(&["tracks"], 2, &["<PATH>"]);
    check(&["ingest", "trace.json"], 2, &["--store <DIR>"]);
    check(&["tracks", "trace.json", "--limit", "many"], 2, &["--limit", "expected a number of rows; 0 shows all"]);
    check(&["tracks", "trace.json", "--memory-limit", "2XB"], 2, &["expected KB, MB, GB, TB (powers of 1000)"]);
    check(&["tracks", "trace.json", "--threads", "0"], 2, &["--threads"]);
    check(&["tracks", "trace.json", "-f", "yaml"], 2, &["possible values: table, json, csv"]);
    check(&["sql", "trace.json", "SELECT 1", "--file", "query.sql"], 2, &["cannot be used with"]);
    check(&["sql", "-"], 2, &["expected the statement as an argument"]);
    check(&["sql", "trace.json", "  ; "], 2, &["the statement is empty"]);
}

#[test]
fn many_tables_have_no_rows_to_pick() {
    for option in [["--sort", "name"], ["--limit", "3"], ["--columns", "name"]] {
        check(
            &["summary", "trace.json", option[0], option[1]],
            2,
            &[&format!("summary prints several tables, so {} does not apply", option[0]), "`stepscope ops PATH`"],
        );
    }
    for format in ["csv", "arrow", "parquet"] {
        check(
            &["summary", "trace.json", "-f", format],
            2,
            &[&format!("{format} holds one"), "pass `-f json` or `-f md`"],
        );
    }
    let help = Place::new().stdout(&["summary", "--help"]);
    assert!(!help.contains("--sort") && !help.contains("--limit") && !help.contains("csv"), "{help}");
}

#[test]
fn an_unknown_format_names_the_others() {
    check(&["tracks", "trace.json", "-f", "xml"], 2, &["invalid value 'xml'", "parquet"]);
}

#[test]
fn a_table_that_does_not_exist() {
    check(&["schema", "span"], 2, &["found no table or view: span", "did you mean spans?"]);
}

#[test]
fn a_rules_file_that_does_not_fit() {
    check(&["diagnose", "trace.json", "--rules", "nope.json"], 3, &["cannot read the rules", "--> nope.json"]);
    check(&["diagnose", "trace.json", "--rules", "trace.json"], 2, &["expected an object such as", "stepscope rules"]);
    check(&["ops", "trace.json", "--rules", "nope.json"], 2, &["ops has no findings, so --rules does not apply"]);
    let help = |command: &str| Place::new().stdout(&[command, "--help"]);
    assert!(help("summary").contains("--rules") && !help("ops").contains("--rules"));
}

#[test]
fn a_statement_file_that_does_not_exist() {
    check(&["sql", "trace.json", "--file", "nope.sql"], 3, &["cannot read the statement", "--> nope.sql"]);
}

#[test]
fn color_when_asked_for() {
    let plain = check(&["tracks", "nope"], 3, &["error: "]);
    assert!(!plain.contains('\u{1b}'), "a pipe gets no color: {plain}");
    check(&["--color", "always", "tracks", "nope"], 3, &["\u{1b}[1;31merror:\u{1b}[0m "]);
    let place = Place::new();
    let output = place.command(&["tracks", "nope"]).env("NO_COLOR", "1").output().unwrap();
    assert!(!String::from_utf8(output.stderr).unwrap().contains('\u{1b}'));
}
