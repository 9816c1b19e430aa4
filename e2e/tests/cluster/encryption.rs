//! The way to PostgreSQL can be encrypted, and then leads to the server that was meant and to no other.

use std::path::Path;
use std::process::Command;

use e2e::cluster::{House, Papers, Postgres};
use e2e::{Service, program};

fn url(server: &Postgres, host: &str, mode: &str) -> String {
    format!("postgres://pinhole@{host}:{}/pinhole?{mode}", server.address().port())
}

fn certified_by(authority: &Path) -> String {
    format!("sslmode=verify-full&sslrootcert={}", authority.display())
}

#[test]
fn who_can_prove_its_name_is_trusted_and_nobody_listens() {
    let server = Postgres::encrypted();
    for mode in [certified_by(server.authority()), "sslmode=require".into(), String::new()] {
        let service = Service::alone(&["--database-url", &url(&server, "localhost", &mode)]);
        let id = service.newcomer("ada").share_tiny("nobody else reads this");
        service.anyone().get(&format!("/posts/{id}")).expect(200);
        let connections =
            "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'pinhole'";
        assert_ne!(server.ask(&format!("SELECT count(*) {connections} AND ssl")), "0");
        assert_eq!(server.ask(&format!("SELECT count(*) {connections} AND NOT ssl")), "0");
    }
}

#[test]
fn who_cannot_prove_its_name_gets_no_word_from_us() {
    let server = Postgres::encrypted();
    let house = House::for_ordinary_people();
    let stranger = Papers::made_in(&house);
    for (host, mode, words) in [
        ("localhost", certified_by(&stranger.certificate), "by sslrootcert"),
        ("127.0.0.1", certified_by(server.authority()), "as its certificate does"),
        ("localhost", certified_by(Path::new("/nowhere.pem")), "/nowhere.pem"),
        ("localhost", "sslmode=disable".into(), "no encryption"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut node = Command::new(program());
        node.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path());
        let output = node.args(["--database-url", &url(&server, host, &mode)]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{host} {mode}: {said}");
    }
}
