//! Who may ask a worker: tokens, certificates, versions, stores.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use stepscope_cluster::client::{CertificateFiles, ClientTlsFiles};
use stepscope_cluster::{ClientOptions, Worker, WorkerError, WorkerOptions};
use stepscope_engine::{Engine, EngineOptions, QueryOptions, Runner};
use stepscope_store::Store;

use crate::cluster::{Cluster, anywhere};
use crate::engine_fixture::{RUN, small_store};

const SQL: &str = "SELECT kind, count(*) AS n FROM spans GROUP BY kind ORDER BY kind";

/// An authority, and what it signed.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
    file: PathBuf,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = folder.join(format!("{name}.ca.pem"));
        fs::write(&file, issuer.pem()).unwrap();
        Self { issuer, folder: folder.join(name), file }
    }

    fn sign(&self, name: &str) -> CertificateFiles {
        fs::create_dir_all(&self.folder).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "workers.test".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let place = |end: &str| self.folder.join(format!("{name}.{end}"));
        let files = CertificateFiles { cert: place("pem"), key: place("key") };
        fs::write(&files.cert, certificate.pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }
}

/// Asks a cluster; says where the answer came from, and what was noted.
fn asked(store: &Store, cluster: Cluster) -> (u64, String) {
    let cluster = Arc::new(cluster);
    let runner: Arc<dyn Runner> = Arc::<Cluster>::clone(&cluster);
    let options = EngineOptions { memory_limit_bytes: 256 << 20, threads: 2, spill_dir: None };
    let engine = Engine::open_with(&store.catalog(RUN).unwrap(), &options, runner).unwrap();
    let result = engine.query(SQL, &QueryOptions::default()).unwrap();
    // Wherever it ran, it is right.
    assert_eq!(result.num_rows(), 5);
    (cluster.runner.answered_by_workers(), cluster.notes.lock().unwrap().join("\n"))
}

struct Scene {
    folder: tempfile::TempDir,
    store: Store,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        Self { store: small_store(&root), folder }
    }

    fn options(&self) -> WorkerOptions {
        WorkerOptions { threads: 1, ..WorkerOptions::new(anywhere(), self.store.root().display().to_string()) }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        fs::write(&file, text).unwrap();
        file
    }

    /// What two workers answer whom a client asks.
    #[track_caller]
    fn check(&self, options: &WorkerOptions, change: impl FnOnce(&mut ClientOptions), on_workers: u64, expected: &str) {
        let cluster = Cluster::of(&[options.clone(), options.clone()], change);
        let (answered, notes) = asked(&self.store, cluster);
        assert_eq!(answered, on_workers, "{notes}");
        assert!(
            if expected.is_empty() { notes.is_empty() } else { notes.contains(expected) },
            "{notes:?}, expected {expected:?}"
        );
    }
}

#[test]
fn tokens() {
    let scene = Scene::new();
    let token = scene.file("token", "a token of the workers 0123456789".replace(' ', "-").as_str());
    let wrong = scene.file("wrong", "another-token-0123456789");
    let worker = WorkerOptions { token_file: Some(token.clone()), ..scene.options() };
    scene.check(&worker, |client| client.token_file = Some(token.clone()), 1, "");
    scene.check(&worker, |_| {}, 0, "not_allowed: found no token");
    scene.check(&worker, |client| client.token_file = Some(wrong), 0, "not_allowed: found another token");
}

#[test]
fn versions_and_stores() {
    let scene = Scene::new();
    let old = WorkerOptions { version: "0.0.1/1/1".to_owned(), ..scene.options() };
    scene.check(&old, |_| {}, 0, "other_version: found version 0.0.1/1/1, expected ");
    // One of two is enough to go on.
    let cluster = Cluster::of(&[old, scene.options(), scene.options()], |_| {});
    assert_eq!(asked(&scene.store, cluster), (1, String::new()));
    let elsewhere = tempfile::tempdir().unwrap();
    let other = small_store(elsewhere.path());
    let worker = WorkerOptions { store: other.root().display().to_string(), ..scene.options() };
    scene.check(&worker, |_| {}, 0, "the query runs here");
    scene.check(&scene.options(), |client| client.min_workers = 3, 0, "found 2 workers, expected at least 3");
}

#[test]
fn certificates() {
    let scene = Scene::new();
    let (ours, theirs) = (Authority::new(scene.folder.path(), "ours"), Authority::new(scene.folder.path(), "theirs"));
    let worker =
        WorkerOptions { tls: Some(ours.sign("worker")), client_ca: Some(ours.file.clone()), ..scene.options() };
    let tls = |ca: &Authority, own: Option<CertificateFiles>| {
        let tls = ClientTlsFiles { ca: Some(ca.file.clone()), own, name: None };
        move |client: &mut ClientOptions| client.tls = tls
    };
    scene.check(&worker, tls(&ours, Some(ours.sign("client"))), 1, "");
    // The wrong authority, no certificate, a certificate of somebody else, no TLS.
    scene.check(&worker, tls(&theirs, Some(ours.sign("client"))), 0, "invalid peer certificate");
    scene.check(&worker, tls(&ours, None), 0, "worker_lost: ");
    scene.check(&worker, tls(&ours, Some(theirs.sign("client"))), 0, "worker_lost: ");
    scene.check(&worker, |_| {}, 0, "worker_lost: ");
    // The name in the certificate.
    let named = |name: &str| {
        let mut tls = ClientTlsFiles { ca: Some(ours.file.clone()), own: Some(ours.sign("client")), name: None };
        tls.name = Some(name.to_owned());
        move |client: &mut ClientOptions| client.tls = tls
    };
    scene.check(&worker, named("workers.test"), 1, "");
    scene.check(&worker, named("elsewhere.test"), 0, "certificate not valid for name");
    // A token over TLS, without certificates of clients.
    let token = scene.file("token", "0123456789abcdef");
    let worker = WorkerOptions {
        client_ca: None,
        token_file: Some(token.clone()),
        peers: ClientTlsFiles { ca: Some(ours.file.clone()), own: None, name: None },
        ..worker
    };
    let without = tls(&ours, None);
    scene.check(
        &worker,
        |client| {
            without(client);
            client.token_file = Some(token);
        },
        1,
        "",
    );
    scene.check(&worker, tls(&ours, None), 0, "not_allowed: found no token");
}

#[test]
fn no_open_doors() {
    let scene = Scene::new();
    let ours = Authority::new(scene.folder.path(), "ours");
    let token = scene.file("token", "0123456789abcdef");
    let open = WorkerOptions { listen: ([0, 0, 0, 0], 0).into(), ..scene.options() };
    let check = |options: &WorkerOptions, missing: &str| {
        let refused = Worker::start(options).map(|worker| worker.address());
        match refused {
            Err(error @ WorkerError::Open { .. }) => assert!(error.to_string().contains(missing), "{error}"),
            other => panic!("{other:?}"),
        }
    };
    check(&open, "--tls-cert and --tls-key");
    check(&WorkerOptions { token_file: Some(token.clone()), ..open.clone() }, "--tls-cert and --tls-key");
    let encrypted = WorkerOptions { tls: Some(ours.sign("worker")), ..open.clone() };
    check(&encrypted, "--client-ca or --token-file");
    check(&WorkerOptions { token_file: Some(token), ..encrypted.clone() }, "--ca");
    let closed = WorkerOptions { client_ca: Some(ours.file.clone()), ..encrypted };
    assert!(Worker::start(&closed).is_ok());
    let missing = WorkerOptions { token_file: Some("/no/such/token".into()), ..scene.options() };
    assert!(Worker::start(&missing).is_err_and(|error| error.to_string().contains("/no/such/token")));
}

#[test]
fn a_renewed_certificate_is_shown_to_the_next_who_connects() {
    let scene = Scene::new();
    let (old, new) = (Authority::new(scene.folder.path(), "old"), Authority::new(scene.folder.path(), "new"));
    let shown = old.sign("worker");
    let worker = Worker::start(&WorkerOptions {
        tls: Some(shown.clone()),
        token_file: Some(scene.file("token", "0123456789abcdef")),
        ..scene.options()
    })
    .unwrap();
    let can_connect = |authority: &Authority| {
        let mut client = ClientOptions::new(vec![worker.address().to_string().parse().unwrap()]);
        client.tls.ca = Some(authority.file.clone());
        let notes = Arc::new(std::sync::Mutex::new(String::new()));
        let kept = Arc::clone(&notes);
        let runner = client.runner(Arc::new(move |note: &str| kept.lock().unwrap().push_str(note))).unwrap();
        let options = EngineOptions { memory_limit_bytes: 256 << 20, threads: 2, spill_dir: None };
        let engine = Engine::open_with(&scene.store.catalog(RUN).unwrap(), &options, Arc::new(runner)).unwrap();
        engine.query(SQL, &QueryOptions::default()).unwrap();
        // The token is not there: who is refused for that has seen a certificate that it trusts.
        let said = notes.lock().unwrap().clone();
        said.contains("not_allowed")
    };
    assert!(can_connect(&old) && !can_connect(&new));
    let renewed = new.sign("worker");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    for (from, to) in [(&renewed.key, &shown.key), (&renewed.cert, &shown.cert)] {
        fs::copy(from, to).unwrap();
        fs::File::options().write(true).open(to).unwrap().set_modified(later).unwrap();
    }
    assert!(can_connect(&new) && !can_connect(&old));
}
