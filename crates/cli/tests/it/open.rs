//! `stepscope open`: the address, the answers behind it, and the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::Place;
use crate::profile::copy_profile;

/// The answer to a question, without its headers.
fn get(port: u16, token: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let host = format!("Host: localhost:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close");
    write!(stream, "GET {path} HTTP/1.1\r\n{host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Opens a file, asks once it is read, and ends with Ctrl-C.
fn ask_open(place: &Place, file: &str, run: &str, paths: &[&str]) -> Vec<serde_json::Value> {
    let mut server =
        place.command(&["open", file, "--no-open"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (address, token) = line.trim().split_once("/?token=").unwrap();
    let port = address.strip_prefix("http://127.0.0.1:").unwrap().parse().unwrap();
    let begin = Instant::now();
    loop {
        let session: serde_json::Value = serde_json::from_str(&get(port, token, "/api/session")).unwrap();
        if session["runs"][0]["state"] == "ready" {
            assert_eq!(session["runs"][0]["run"], run);
            break;
        }
        assert!(begin.elapsed() < Duration::from_mins(1), "{session}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let answer = |path: &&str| serde_json::from_str(&get(port, token, &format!("/api/runs/{run}/{path}"))).unwrap();
    let answers = paths.iter().map(answer).collect();
    Command::new("kill").args(["-INT", &server.id().to_string()]).status().unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(0));
    answers
}

#[test]
fn open_prints_its_address_reads_in_the_background_and_stops_on_ctrl_c() {
    let place = Place::new();
    let answers = ask_open(&place, "trace.json", "trace", &["metrics"]);
    assert_eq!(answers[0]["metrics"], place.json(&["metrics", "trace.json"])["metrics"]);
}

/// The pages ask for a timeline before they know what a run is.
#[test]
fn open_shows_a_profile_of_functions() {
    let place = Place::new();
    copy_profile(&place);
    let paths = ["analyses/functions", "analyses/summary", "timeline", "analyses/steps"];
    let answers = ask_open(&place, "small.prof", "small", &paths);
    assert!(answers[0].to_string().contains("fibonacci"), "{}", answers[0]);
    assert!(answers[1].to_string().contains("fibonacci"), "{}", answers[1]);
    assert_eq!((&answers[2]["end_ns"], &answers[2]["tracks"]), (&serde_json::json!(0), &serde_json::json!([])));
    assert!(answers[3].to_string().contains(r#"{"target":{"ask":"functions""#), "{}", answers[3]);
}

#[test]
fn a_path_that_is_not_there_is_told_at_once() {
    let ended = Place::new().run(&["open", "nothing-here.json", "--no-open"]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing-here.json"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}
