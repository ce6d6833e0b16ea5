//! The same against a server of others, which judges races: `moto_server -p 5000`, then
//! `STEPSCOPE_S3_ENDPOINT=127.0.0.1:5000 cargo test -p stepscope-objects -- --ignored`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use stepscope_objects::{Conditions, Put, UNWATCHED};

use crate::server::{open, settings};

/// A server with a bucket; `None` if none is named.
fn judge() -> Option<SocketAddr> {
    let Ok(address) = std::env::var("STEPSCOPE_S3_ENDPOINT") else {
        eprintln!("skipped: STEPSCOPE_S3_ENDPOINT names no server");
        return None;
    };
    let address: SocketAddr = address.parse().unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    write!(socket, "PUT /judge HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    socket.read_to_end(&mut Vec::new()).unwrap();
    Some(address)
}

#[test]
#[ignore = "needs a server"]
fn a_judge_sees_one_winner_and_the_same_answers() {
    let Some(address) = judge() else { return };
    let bucket = open(&format!("s3://judge/{}", std::process::id()), &settings(address));
    assert_eq!(bucket.conditions("stepscope.json", b"{}").unwrap(), Conditions::Kept);
    for round in 0..6 {
        let key = format!("manifest/{round}.json");
        let create = |writer: usize| bucket.put_new(&key, format!("writer {writer:02}"));
        let outcomes: Vec<Put> = thread::scope(|scope| {
            let racers: Vec<_> = (0..16).map(|writer| scope.spawn(move || create(writer))).collect();
            racers.into_iter().map(|racer| racer.join().unwrap().unwrap()).collect()
        });
        let winners = outcomes.iter().filter(|put| **put == Put::Created).count();
        assert_eq!(winners, 1, "{outcomes:?}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![7; 65 << 20]).unwrap();
    assert_eq!(bucket.put_parts("large.pack", file.path(), UNWATCHED).unwrap(), Put::Created);
    assert_eq!(bucket.get_range("large.pack", (65 << 20) - 2..65 << 20).unwrap(), &[7, 7][..]);
    let keys: Vec<String> = bucket.list("", UNWATCHED).unwrap().into_iter().map(|entry| entry.key).collect();
    assert_eq!((keys.len(), keys[0].as_str()), (8, "large.pack"));
    bucket.delete("large.pack").unwrap();
    assert_eq!(bucket.head("large.pack").unwrap(), None);

    let missing = open("s3://missing-bucket", &settings(address));
    let error = missing.put_new("x", "1").unwrap_err();
    assert_eq!(error.to_string(), "cannot create an object: HTTP 404 NoSuchBucket: s3://missing-bucket/x");
}
