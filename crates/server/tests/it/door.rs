//! Who is not let in: the same cases as functions and over a socket.

use std::io::Read as _;

use axum::http::Method;
use flate2::read::GzDecoder;
use stepscope_server::Request;

use crate::harness::{Inside, Outside, PORT, app, set, small_trace, status, token};

/// A session asked for with other headers than the right ones; a header without a value is left out.
const REFUSED: [(&str, &str, u16); 14] = [
    // A name that was made to lead here.
    ("host", "evil.example:PORT", 403),
    ("host", "127.0.0.1.evil.example:PORT", 403),
    ("host", "127.0.0.1", 403),
    ("host", "127.0.0.1:1", 403),
    ("host", "127.0.0.1:PORT:PORT", 403),
    ("host", "evil.example@127.0.0.1:PORT", 403),
    ("host", "", 403),
    // A page of somebody else.
    ("origin", "http://evil.example", 403),
    ("origin", "https://127.0.0.1:PORT", 403),
    ("origin", "http://127.0.0.1:1", 403),
    ("origin", "null", 403),
    // No token, or a wrong one.
    ("authorization", "", 401),
    ("authorization", "Bearer 00000000000000000000000000000000", 401),
    ("authorization", "Bearer ", 401),
];

#[test]
fn strangers_are_refused() {
    let inside = Inside::new(&small_trace());
    let outside = Outside::new(app(&small_trace()));
    for (name, value, want) in REFUSED {
        let mut request = inside.request(Method::GET, "/api/session");
        request.headers.remove(name);
        if !value.is_empty() {
            set(&mut request, name, &value.replace("PORT", &PORT.to_string()));
        }
        let answer = inside.door.answer(&inside.app, &request);
        assert_eq!(answer.status, want, "{name}: {value}");
        assert!(String::from_utf8_lossy(&answer.body).contains(r#"{"error":{"#), "{name}: {value}");

        let value = value.replace("PORT", &outside.port.to_string());
        let title = format!("{}{}:", name[..1].to_uppercase(), &name[1..]);
        let header = if value.is_empty() { title } else { format!("{title} {value}") };
        let answer = outside.send(outside.text("GET /api/session HTTP/1.1", &[&header], "").as_bytes());
        // Without a Host the connection itself is refused.
        assert!([want, 400].contains(&status(&answer)), "{header}: {answer}");
    }
    let answer = outside.send(outside.text("GET /api/session HTTP/1.1", &[], "").as_bytes());
    assert_eq!(status(&answer), 200, "{answer}");
}

#[test]
fn every_route_is_behind_the_door() {
    let inside = Inside::new(&small_trace());
    for target in ["/", "/index.html", "/api/session", "/api/runs/job/metrics", "/api/nonsense", "/nonsense"] {
        let mut request = Request::new(Method::GET, target).unwrap();
        set(&mut request, "host", &format!("localhost:{PORT}"));
        assert_eq!(inside.door.answer(&inside.app, &request).status, 401, "{target}");
    }
}

#[test]
fn the_token_is_exchanged_for_a_cookie() {
    let inside = Inside::new(&small_trace());
    let ask = |target: &str, headers: &[(&str, &str)]| {
        let mut request = Request::new(Method::GET, target).unwrap();
        set(&mut request, "host", &format!("localhost:{PORT}"));
        for (name, value) in headers {
            set(&mut request, name, value);
        }
        inside.door.answer(&inside.app, &request)
    };
    let url = inside.door.url();
    let token = token(&url);
    assert_eq!(token.len(), 32);
    let answer = ask(&format!("/?token={token}&page=a%26b"), &[]);
    let header = |name: &str| answer.headers.iter().find(|(known, _)| *known == name).unwrap().1.clone();
    assert_eq!((answer.status.as_u16(), header("location")), (303, "./?page=a%26b".to_owned()));
    let cookie = header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(ask("/api/session", &[("cookie", &format!("other=1; {cookie}"))]).status, 200);
    let own = format!("http://localhost:{PORT}");
    assert_eq!(ask("/api/session", &[("cookie", cookie), ("origin", &own)]).status, 200);
    assert_eq!(ask("/?token=0123", &[]).status, 401);
    // Only the page takes a token from the address.
    assert_eq!(ask(&format!("/api/session?token={token}"), &[]).status, 401);
    assert_eq!(ask("/api/session", &[("cookie", "stepscope-1=x")]).status, 401);
}

#[test]
fn no_two_servers_share_a_token() {
    let inside = Inside::new(&small_trace());
    let other = stepscope_server::Door::new(PORT).unwrap();
    assert_ne!(inside.door.url(), other.url());
}

#[test]
fn no_path_reaches_the_file_system() {
    let outside = Outside::new(app(&small_trace()));
    for path in [
        "/../Cargo.toml",
        "/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/assets/../../../../etc/passwd",
        "/index.html%00.js",
        "/api/runs/..%2f..%2fetc/metrics",
        "/api/runs/%2e%2e/metrics",
        "/..%5c..%5cwindows",
    ] {
        let answer = outside.send(outside.text(&format!("GET {path} HTTP/1.1"), &[], "").as_bytes());
        assert!([400, 404].contains(&status(&answer)), "{path}: {answer}");
        assert!(!answer.contains("root:"), "{path}");
    }
}

#[test]
fn oversized_and_malformed_requests_are_refused() {
    let outside = Outside::new(app(&small_trace()));
    let json_type = "Content-Type: application/json";
    let check = |bytes: &[u8], want: &[u16], about: &str| {
        let answer = outside.send(bytes);
        assert!(want.contains(&status(&answer)), "{about}: {}", answer.chars().take(300).collect::<String>());
    };
    let large = format!(r#"{{"statement": "{}"}}"#, "x".repeat(2 << 20));
    check(outside.text("POST /api/runs/job/sql HTTP/1.1", &[json_type], &large).as_bytes(), &[413], "body");
    let long = format!("GET /api/session?x={} HTTP/1.1", "x".repeat(9_000));
    check(outside.text(&long, &[], "").as_bytes(), &[414], "address");
    let longer = format!("GET /api/session?x={} HTTP/1.1", "x".repeat(1 << 20));
    check(outside.text(&longer, &[], "").as_bytes(), &[414, 431], "very long address");
    let header = format!("X-Long: {}", "x".repeat(1 << 20));
    check(outside.text("GET /api/session HTTP/1.1", &[&header], "").as_bytes(), &[431], "header");
    check(outside.text("GET /%zz HTTP/1.1", &[], "").as_bytes(), &[400], "escape");
    check(outside.text("GET /api/session?q=%ff HTTP/1.1", &[], "").as_bytes(), &[400], "UTF-8");
    check(outside.text("BREW /api/session HTTP/1.1", &[], "").as_bytes(), &[405], "method");
    check(outside.text("DELETE / HTTP/1.1", &[], "").as_bytes(), &[405], "method of a page");
    check(outside.text("POST /api/runs/job/sql HTTP/1.1", &[json_type], "{").as_bytes(), &[400], "JSON");
    check(b"nonsense\r\n\r\n", &[400], "no HTTP");
    check(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", &[400, 403], "two hosts");
    // Still there.
    check(outside.text("GET /api/session HTTP/1.1", &[], "").as_bytes(), &[200], "session");
}

#[test]
fn every_answer_is_closed_to_others() {
    let outside = Outside::new(app(&small_trace()));
    for (line, want) in
        [("GET /api/session", 200), ("GET /", 200), ("GET /nonsense", 404), ("BREW /", 405), ("GET /%zz", 400)]
    {
        let answer = outside.send(outside.text(&format!("{line} HTTP/1.1"), &[], "").as_bytes());
        assert_eq!(status(&answer), want, "{answer}");
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self';",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
        ] {
            assert!(answer.contains(header), "{line}: {answer}");
        }
    }
}

#[test]
fn large_answers_are_compressed() {
    let outside = Outside::new(app(&small_trace()));
    let text = outside.text("GET /api/runs/job/analyses/schema HTTP/1.1", &["Accept-Encoding: gzip"], "");
    let mut answer = Vec::new();
    outside.connect(text.as_bytes()).read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    assert!(String::from_utf8_lossy(&answer[..head]).contains("content-encoding: gzip"));
    let mut plain = String::new();
    GzDecoder::new(&answer[head..]).read_to_string(&mut plain).unwrap();
    assert!(plain.starts_with(r#"{"name":"schema""#));
}
