//! The marker of a store: made once, the same for all writers, refused by name if it is of another format.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use stepscope_model::Hint;
use stepscope_objects::{Bucket, Place, Settings, UNWATCHED};
use stepscope_store::marker::{MARKER, Marker, MarkerError, ensure, read};
use stepscope_testkit::{Fault, FaultPlan, FaultProxy, S3Server};

const CONDITIONAL: Marker = Marker { is_conditional: true };

fn settings(address: std::net::SocketAddr) -> Settings {
    Settings { first_wait: Duration::from_millis(5), ..Settings::new(S3Server::environment(address)) }
}

fn open(place: &str, settings: &Settings) -> Bucket {
    Bucket::open_with(&Place::parse(place).unwrap(), settings).unwrap()
}

/// Checks a bucket of a server, and a folder.
fn on_both(check: fn(&Bucket)) {
    let server = S3Server::start().unwrap();
    check(&open("s3://traces/a/prefix", &settings(server.address())));
    let folder = tempfile::tempdir().unwrap();
    check(&open(&folder.path().join("not/there/yet").to_string_lossy(), &settings(server.address())));
}

#[test]
fn the_first_writer_makes_it_and_the_others_find_it() {
    on_both(|bucket| {
        assert_eq!(read(bucket).unwrap(), None);
        assert_eq!(ensure(bucket).unwrap(), CONDITIONAL);
        assert_eq!(ensure(bucket).unwrap(), CONDITIONAL);
        assert_eq!(read(bucket).unwrap(), Some(CONDITIONAL));
        assert_eq!(bucket.get(MARKER, UNWATCHED).unwrap(), "{\"format\":1,\"conditional\":true}\n");
        assert_eq!(bucket.list("", UNWATCHED).unwrap().len(), 1);
    });
}

#[test]
fn writers_that_begin_together_agree() {
    on_both(|bucket| {
        thread::scope(|scope| {
            let writers: Vec<_> = (0..12).map(|_| scope.spawn(|| ensure(bucket).unwrap())).collect();
            for writer in writers {
                assert_eq!(writer.join().unwrap(), CONDITIONAL);
            }
        });
        assert_eq!(bucket.get(MARKER, UNWATCHED).unwrap(), "{\"format\":1,\"conditional\":true}\n");
    });
}

#[test]
fn what_a_killed_writer_did_not_try_is_not_promised_and_the_next_one_tries() {
    on_both(|bucket| {
        bucket.put(MARKER, "{\"format\":1}\n").unwrap();
        assert_eq!(read(bucket).unwrap(), Some(Marker { is_conditional: false }));
        assert_eq!(ensure(bucket).unwrap(), CONDITIONAL);
        assert_eq!(read(bucket).unwrap(), Some(CONDITIONAL));
        // What a later version adds is not in the way, and an answer stays as it is.
        let later = "{\"format\":1,\"conditional\":false,\"more\":[1]}";
        bucket.put(MARKER, later).unwrap();
        assert_eq!(ensure(bucket).unwrap(), Marker { is_conditional: false });
        assert_eq!(bucket.get(MARKER, UNWATCHED).unwrap(), later);
    });
}

#[test]
fn other_formats_and_other_things_are_refused_by_name() {
    on_both(|bucket| {
        let check = |content: &str, want: &str, hint: &str| {
            bucket.put(MARKER, content.to_owned()).unwrap();
            let at = format!("{}/{MARKER}", bucket.place());
            for error in [ensure(bucket).unwrap_err(), read(bucket).unwrap_err()] {
                let words = error.to_string();
                assert!(words.starts_with(want) && words.ends_with(&at), "{words}");
                assert!(error.hint().unwrap().contains(hint), "{words}: {:?}", error.hint());
            }
            assert_eq!(bucket.get(MARKER, UNWATCHED).unwrap(), content);
        };
        check("{\"format\":2}", "found a store of format 2, expected 1: ", "update");
        check("{\"format\":0}", "found a store of format 0, expected 1: ", "another prefix");
        check("{}", "not the marker of a store: it has no format: ", "another prefix");
        check("text", "not the marker of a store: ", "another prefix");
        check("{\"format\":1,\"conditional\":3}", "not the marker of a store: ", "another prefix");
    });
}

#[test]
fn answers_that_are_lost_change_nothing() {
    let server = S3Server::start().unwrap();
    for (number, fault) in [Fault::BusyStored, Fault::ResetStored, Fault::Conflict, Fault::Busy].into_iter().enumerate()
    {
        let plan = FaultPlan { percent: 50, faults: vec![fault], ..FaultPlan::none() };
        let proxy = FaultProxy::start(server.address(), plan).unwrap();
        let bucket = open(&format!("s3://traces/{number}"), &settings(proxy.address()));
        assert_eq!(ensure(&bucket).unwrap(), CONDITIONAL, "{fault:?}");
        assert!(!proxy.broken().is_empty());
    }
    let error = ensure(&open("s3://missing", &settings(server.address()))).unwrap_err();
    assert!(matches!(error, MarkerError::Object(_)), "{error}");
}

/// A server of others that ignores conditions; ends with this.
struct Ignoring(Child);

impl Drop for Ignoring {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Needs `npm install s3rver@3.7.1` in a folder, and its name in `STEPSCOPE_S3RVER`.
#[test]
#[ignore = "needs s3rver"]
fn a_store_that_ignores_conditions_is_marked_so() {
    let Ok(folder) = std::env::var("STEPSCOPE_S3RVER") else {
        eprintln!("skipped: STEPSCOPE_S3RVER names no folder");
        return;
    };
    let program = format!("{folder}/node_modules/.bin/s3rver");
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("traces")).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Command::new(program)
        .args(["-d", &folder.path().to_string_lossy(), "-p", &port.to_string(), "-s", "--configure-bucket", "traces"])
        .stdout(Stdio::null())
        .spawn();
    let _server = Ignoring(server.unwrap());
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let started = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(100));
        std::net::TcpStream::connect(address).is_ok()
    });
    assert!(started);
    let mut settings = settings(address);
    settings.environment.insert("AWS_ACCESS_KEY_ID".to_owned(), "S3RVER".to_owned());
    settings.environment.insert("AWS_SECRET_ACCESS_KEY".to_owned(), "S3RVER".to_owned());
    let bucket = open("s3://traces/p", &settings);
    assert_eq!(ensure(&bucket).unwrap(), Marker { is_conditional: false });
    assert_eq!(ensure(&bucket).unwrap(), Marker { is_conditional: false });
    assert_eq!(bucket.get(MARKER, UNWATCHED).unwrap(), "{\"format\":1,\"conditional\":false}\n");
    let race = open("s3://traces/race", &settings);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..8).map(|_| scope.spawn(|| ensure(&race).unwrap())).collect();
        for writer in writers {
            assert!(!writer.join().unwrap().is_conditional);
        }
    });
}
