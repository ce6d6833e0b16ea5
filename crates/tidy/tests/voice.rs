//! How Stepscope speaks: the rules of STYLE.md about words that a program can check.

use std::path::{Path, PathBuf};

use stepscope_tidy::prose::{Words, prose, python_strings, rust_strings, typescript_strings};
use stepscope_tidy::{file, files, text};

/// British endings and words, and what is said instead.
const BRITISH: [(&str, &str); 34] = [
    ("analyse", "analyze"),
    ("analysed", "analyzed"),
    ("analysing", "analyzing"),
    ("artefact", "artifact"),
    ("behaviour", "behavior"),
    ("cancelled", "canceled"),
    ("cancelling", "canceling"),
    ("catalogue", "catalog"),
    ("centre", "center"),
    ("centred", "centered"),
    ("colour", "color"),
    ("colours", "colors"),
    ("defence", "defense"),
    ("favour", "favor"),
    ("favourite", "favorite"),
    ("grey", "gray"),
    ("honour", "honor"),
    ("initialise", "initialize"),
    ("initialised", "initialized"),
    ("judgement", "judgment"),
    ("labelled", "labeled"),
    ("licence", "license"),
    ("modelling", "modeling"),
    ("neighbour", "neighbor"),
    ("neighbours", "neighbors"),
    ("optimise", "optimize"),
    ("optimised", "optimized"),
    ("organise", "organize"),
    ("recognise", "recognize"),
    ("signalled", "signaled"),
    ("synchronisation", "synchronization"),
    ("synchronise", "synchronize"),
    ("utilisation", "utilization"),
    ("whilst", "while"),
];

/// What is counted, and what it is counted per.
const COUNTED: [&str; 15] = [
    "ms", "µs", "ns", "bytes", "row", "file", "trace", "number", "bar", "column", "line", "span", "reading", "times",
    "GB",
];
const COUNTED_PER: [&str; 11] =
    ["step", "rank", "second", "event", "span", "collective", "call", "operator", "kernel", "thread", "device"];

/// Phrases to avoid, and what to say instead.
const AVOIDED: [(&str, &str); 31] = [
    ("tell", "show, report, print"),
    ("tells", "shows, reports, prints"),
    ("told", "shown, reported, printed"),
    ("telling", "showing"),
    ("foretell", "predict"),
    ("stand", "is"),
    ("stands", "is"),
    ("stood", "was"),
    ("lie", "is"),
    ("lies", "is"),
    ("behind", "after"),
    ("anew", "again"),
    ("somebody", "name the actor, or use the passive"),
    ("nobody", "name the actor, or use the passive"),
    ("everybody", "name the actor, or use the passive"),
    ("says otherwise", "changes it"),
    ("at hand", "available"),
    ("as it is", "unmodified"),
    ("as they are", "unmodified"),
    ("of its own", "separate"),
    ("of their own", "separate"),
    ("of your own", "separate"),
    ("comes to", "reaches"),
    ("come to", "reach"),
    ("texts", "strings"),
    ("question", "query"),
    ("questions", "queries"),
    ("is no", "is not a"),
    ("are no", "are not"),
    ("profile of functions", "cProfile profile"),
    ("profiler of regions", "region profiler"),
];

/// Where an avoided phrase may stay: file, phrase, why.
const ALLOWED: [(&str, &str, &str); 0] = [];

const LONGEST_ERROR: usize = 25;

fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// Whether a file holds text of ours.
fn is_text(path: &Path) -> bool {
    let endings = ["rs", "md", "py", "pyi", "ts", "tsx", "mjs", "css", "html", "sql", "toml", "txt", "snap", "yaml"];
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| endings.contains(&ending))
}

/// Every text file of the repository but licenses, fixtures and this one, which lists what is not said.
fn text_files() -> Vec<PathBuf> {
    let folders = ["crates", "docs", "python", "ui/src", "ui/e2e", "bench"];
    let mut found: Vec<PathBuf> = folders.iter().flat_map(|folder| files(folder)).collect();
    found.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "STYLE.md"].map(PathBuf::from));
    found.retain(|path| is_text(path) && !path.ends_with("tidy/tests/voice.rs"));
    assert!(found.len() > 700, "only {} text files were found", found.len());
    found
}

/// The lines of a file, from 1.
fn lines(content: &str) -> impl Iterator<Item = (usize, &str)> {
    content.lines().enumerate().map(|(index, line)| (index + 1, line))
}

fn content(path: &Path) -> String {
    file(&path.to_string_lossy())
}

/// The strings or the prose of files of one kind below a folder.
fn words_of(folder: &str, endings: &[&str], read: fn(&str) -> Vec<Words>, at_least: usize) -> Vec<(String, Words)> {
    let mut found = Vec::new();
    for path in files(folder) {
        let name = path.to_string_lossy().into_owned();
        let is_test = name.contains("/tests/") || name.contains("/tests.rs") || name.contains(".test.");
        let is_dev_only = name.starts_with("crates/tidy") || name.starts_with("crates/testkit");
        let is_fixed = name.starts_with("docs/adr");
        if endings.iter().any(|ending| name.ends_with(ending)) && !is_test && !is_dev_only && !is_fixed {
            found.extend(read(&content(&path)).into_iter().map(|words| (name.clone(), words)));
        }
    }
    assert!(found.len() > at_least, "only {} strings were found in {folder}", found.len());
    found
}

/// Words in lowercase, without signs at their ends.
fn plain(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.split_whitespace().map(|word| word.trim_matches(|c| !is_word(c)).to_lowercase()).collect()
}

/// Whether the text has the phrase; `there is no` and `is no longer` are what people say, other than `is no number`.
fn has(text: &[String], phrase: &str) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let is_there = |at: usize| at > 0 && text[at - 1] == "there";
    let is_denial = phrase.last() == Some(&"no");
    let is_longer = |at: usize| text.get(at + phrase.len()).is_some_and(|next| next == "longer");
    let is_usual = |at: usize| is_denial && (is_there(at) || is_longer(at));
    text.windows(phrase.len()).enumerate().any(|(at, window)| window == phrase && !is_usual(at))
}

/// No string may have a phrase to avoid.
fn avoid(found: &[(String, Words)]) {
    let mut problems = Vec::new();
    for (path, words) in found {
        let text = plain(&words.text);
        for (phrase, instead) in AVOIDED {
            let is_allowed = ALLOWED.iter().any(|(file, allowed, _)| path == file && *allowed == phrase);
            if has(&text, phrase) && !is_allowed {
                problems.push(format!("{path}:{}: `{phrase}`, say: {instead}: {}", words.line, words.text));
            }
        }
    }
    report(&problems);
}

#[test]
fn spelling_is_american() {
    let mut problems = Vec::new();
    for path in text_files() {
        for (number, line) in lines(&content(&path)) {
            for word in line.split(|c: char| !c.is_alphabetic()) {
                if let Some((_, american)) = BRITISH.iter().find(|(british, _)| word.eq_ignore_ascii_case(british)) {
                    problems.push(format!("{}:{number}: {word}, say: {american}", path.display()));
                }
            }
        }
    }
    report(&problems);
}

#[test]
fn units_say_per() {
    let mut problems = Vec::new();
    for path in text_files() {
        for (number, line) in lines(&content(&path)) {
            let words: Vec<&str> = line.split_whitespace().collect();
            for three in words.windows(3) {
                let [what, article, of] = three else { continue };
                let of = of.trim_end_matches(|c: char| !c.is_alphabetic());
                if COUNTED.contains(what) && ["a", "an"].contains(article) && COUNTED_PER.contains(&of) {
                    problems.push(format!("{}:{number}: {what} {article} {of}, say: per", path.display()));
                }
            }
        }
    }
    report(&problems);
}

#[test]
fn errors_are_short_and_have_no_period() {
    let mut count = 0;
    let mut problems = Vec::new();
    for path in files("crates").iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
        for (number, line) in lines(&text(&stepscope_tidy::root().join(path))) {
            let Some(rest) = line.trim_start().strip_prefix("#[error(\"") else { continue };
            let message = rest.split_once('"').map_or(rest, |(message, _)| message);
            count += 1;
            let words = message.split_whitespace().count();
            let mut letters = message.chars();
            let is_capitalized =
                letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase);
            let is_sentence = message.ends_with('.') || is_capitalized;
            if words > LONGEST_ERROR || is_sentence {
                problems.push(format!("{}:{number}: {words} words: {message}", path.display()));
            }
        }
    }
    assert!(count > 40, "only {count} errors were found");
    report(&problems);
}

#[test]
fn limits_are_called_limits() {
    let pages = files("docs").into_iter().filter(|path| is_text(path) && !path.starts_with("docs/adr"));
    let mut count = 0;
    let mut problems = Vec::new();
    for path in pages {
        for (number, line) in lines(&content(&path)).filter(|(_, line)| line.starts_with('#')) {
            count += 1;
            if line.to_lowercase().contains("what it is not") {
                problems.push(format!("{}:{number}: {line}, say: Limits", path.display()));
            }
        }
    }
    assert!(count > 100, "only {count} headings were found");
    report(&problems);
}

#[test]
fn rust_strings_avoid_some_words() {
    avoid(&words_of("crates", &[".rs"], rust_strings, 3_000));
}

#[test]
fn sql_descriptions_avoid_some_words() {
    let comments = |source: &str| -> Vec<Words> {
        let comments = lines(source).filter_map(|(line, text)| Some((line, text.strip_prefix("-- ")?)));
        comments.map(|(line, text)| Words { line, text: text.to_owned() }).collect()
    };
    avoid(&words_of("crates/engine/src/sql", &[".sql"], comments, 150));
}

#[test]
fn help_avoids_some_words() {
    let comments = |source: &str| -> Vec<Words> {
        let comments = lines(source).filter_map(|(line, text)| Some((line, text.trim_start().strip_prefix("/// ")?)));
        comments.map(|(line, text)| Words { line, text: text.to_owned() }).collect()
    };
    avoid(&words_of("crates/cli/src", &[".rs"], comments, 100));
}

#[test]
fn ui_strings_avoid_some_words() {
    avoid(&words_of("ui/src", &[".ts", ".tsx"], typescript_strings, 1_000));
}

#[test]
fn python_strings_avoid_some_words() {
    avoid(&words_of("python/stepscope", &[".py", ".pyi"], python_strings, 1_000));
}

#[test]
fn docs_avoid_some_words() {
    let mut found = words_of("docs", &[".md"], prose, 1_000);
    found.extend(prose(&file("README.md")).into_iter().map(|words| ("README.md".to_owned(), words)));
    avoid(&found);
}
