//! A damaged database: it is not served, and the operator is told.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use e2e::{Body, Client, FormData, Service, eventually};
use rusqlite::Connection;

use crate::doctor::{finding, run_doctor};
use crate::metrics::{metric, with_metrics_in};
use crate::start::{assert_contains, run_failing};

/// The roots of a table and its indexes.
const ROOTS: &str = "SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'TABLE' AND rootpage > 0";

/// The interior pages of the index of usernames, without its root.
const INTERIOR: &str =
    "SELECT pageno FROM dbstat WHERE name = 'sqlite_autoindex_users_1' AND pagetype = 'internal'
    AND path <> '/'";

/// A stopped instance with a post of ada, and with enough users for interior pages.
struct Instance {
    folder: tempfile::TempDir,
    ada: Client,
    post: i64,
    photo: String,
}

impl Instance {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::start_in(folder.path(), &[]);
        let ada = service.new_user("ada");
        let post = ada.share(&e2e::picture::tiny(), "a #tag");
        service.terminate();
        service.assert_clean_exit();
        let database = Connection::open(folder.path().join("pinhole.db")).unwrap();
        let users = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10000)
            INSERT INTO users (username, username_key, password_hash, created_at)
            SELECT printf('filler%055d', n), printf('filler%055d', n), '', 1 FROM r";
        database.execute_batch(users).unwrap();
        let (post, photo) = (post["id"].as_i64().unwrap(), post["photo"]["id"].as_str().unwrap().to_owned());
        Self { folder, ada, post, photo }
    }

    /// A copy, to damage.
    fn copy(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        let copied = std::process::Command::new("cp")
            .args(["-r", "--"])
            .arg(self.folder.path().join("."))
            .arg(copy.path())
            .status()
            .unwrap();
        assert!(copied.success());
        copy
    }

    /// The offsets of pages in the database file.
    fn pages(&self, query: &str) -> Vec<u64> {
        let database = Connection::open(self.folder.path().join("pinhole.db")).unwrap();
        let size: i64 = database.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
        let mut pages = database.prepare(query).unwrap();
        let pages = pages.query_map([], |row| row.get::<_, i64>(0)).unwrap();
        let offsets: Vec<u64> = pages.map(|page| ((page.unwrap() - 1) * size) as u64).collect();
        assert!(!offsets.is_empty(), "no page: {query}");
        offsets
    }

    fn roots(&self, table: &str) -> Vec<u64> {
        self.pages(&ROOTS.replace("TABLE", table))
    }
}

fn database(folder: &Path) -> PathBuf {
    folder.join("pinhole.db")
}

fn damage(folder: &Path, offsets: &[u64]) {
    let file = fs::File::options().write(true).open(database(folder)).unwrap();
    for offset in offsets {
        // The first byte is that of no page type.
        let bytes: Vec<u8> = (0..4096).map(|n| if n == 0 { 0x5a } else { fastrand::u8(..) }).collect();
        file.write_all_at(&bytes, *offset).unwrap();
    }
}

#[test]
fn a_start_on_a_damaged_database_is_refused_with_what_to_do() {
    let instance = Instance::new();
    let tables = ["sessions", "users", "posts", "likes", "photos", "audit_log", "post_tags"];
    let mut damages: Vec<(String, Vec<u64>)> =
        tables.map(|table| (format!("a root of {table}"), vec![instance.roots(table)[0]])).into();
    damages.push(("an interior page".into(), vec![instance.pages(INTERIOR)[0]]));
    for (what, offsets) in damages {
        let copy = instance.copy();
        damage(copy.path(), &offsets);
        let before = fs::read(database(copy.path())).unwrap();
        let folder = copy.path().to_str().unwrap();
        let printed = run_failing(&["--listen", "127.0.0.1:0", "--data-dir", folder], &[]);
        assert_contains(&printed, &["is damaged", "pinhole doctor", "pinhole restore"]);
        assert_eq!(
            fs::read(database(copy.path())).unwrap(),
            before,
            "{what}: a refused start changes nothing"
        );
        let (_, findings) = run_doctor(copy.path(), &[]);
        assert_eq!(finding(&findings, "database")["level"], "problem", "{what}");
    }
}

#[test]
fn damage_that_a_request_meets_makes_the_service_not_ready() {
    let instance = Instance::new();
    let (like, photo) =
        (format!("/posts/{}/likes", instance.post), format!("/photos/{}/7x7", instance.photo));
    let post = format!("/posts/{}", instance.post);
    let filler = format!("/users/filler{:055}", 5000);
    // Each with a write elsewhere, after which connections read their pages again. It may meet the damage
    // itself.
    let like = |ada: &Client| drop(ada.post(&like, Body::none()));
    let edit = |ada: &Client| {
        let form = FormData::new().text("display_name", "Ada");
        drop(ada.request("PATCH", "/me").body(form).send());
    };
    // A session that no cache has.
    let unknown = "A".repeat(43);
    type Case<'a> = (&'a str, Vec<u64>, &'a dyn Fn(&Client), &'a str);
    let cases: [Case<'_>; 6] = [
        ("sessions", instance.roots("sessions"), &like, "/me"),
        ("users", instance.roots("users"), &like, &filler),
        ("an interior page", instance.pages(INTERIOR), &like, &filler),
        ("photos", instance.roots("photos"), &like, &photo),
        ("post_tags", instance.roots("post_tags"), &edit, "/tags/tag/posts"),
        ("posts", instance.roots("posts"), &edit, &post),
    ];
    for (what, offsets, write, path) in cases {
        let copy = instance.copy();
        let (service, admin) = with_metrics_in(copy.path(), &[]);
        let ada = instance.ada.with_base(service.base());
        ada.get("/me").expect(200);
        service.assert_ready();
        assert_eq!(metric(&admin, "pinhole_database_damaged"), 0.0);

        damage(copy.path(), &offsets);
        write(&ada);
        let reader = if what == "sessions" {
            service.anonymous().with_session("unknown", e2e::AuthMethod::Bearer, &unknown)
        } else {
            service.anonymous()
        };
        eventually(&format!("a request meets the damage of {what}"), Duration::from_secs(30), || {
            reader.get(path);
            (service.anonymous().get("/readyz").status == 503).then_some(())
        });
        for _ in 0..3 {
            write(&ada);
            reader.get(path);
        }
        let response = service.wait_for_readiness(503);
        assert!(response.json()["error"]["message"].as_str().unwrap().contains("damaged"), "{response}");
        assert_eq!(metric(&admin, "pinhole_database_damaged"), 1.0, "{what}");
        service.assert_logged(&["the service is not ready until a check finds it intact", "pinhole restore"]);
        let told = service.log().iter().filter(|line| line.contains("not ready until a check")).count();
        assert_eq!(told, 1, "{what}: the log tells it once");
        assert!(service.anonymous().get("/livez").status == 200, "a restart would not help");
    }
}
