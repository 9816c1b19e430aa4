//! A peer: PocketBase, a backend in one binary on SQLite, with users, posts and likes as collections.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::Bench;
use super::load::Requests;
use super::process::{Server, free_address};
use super::wire::{Client, get, request};
use crate::error::{Error, create_folder, write};

/// A tenth of Pinhole's: ids are text, and lists are read through an index, so the number hardly matters.
pub(super) const POSTS: u64 = 100_000;
const AUTHORS: u64 = 10_000;
const LIKES_PER_POST: u32 = 4;

const ADMIN: &str = "bench@example.org";
const PASSWORD: &str = "correct horse battery";
/// Users that sign in.
const USERS: usize = 16;

pub(super) struct PocketBase {
    pub(super) server: Server,
    /// The id and the token of each signed-in user.
    users: Vec<(String, String)>,
}

impl PocketBase {
    /// Filled once and copied for every run, since likes stay.
    pub(super) fn start(bench: &Bench, core: Option<usize>) -> Result<Self, Error> {
        let filled = bench.home.join("filled-pocketbase");
        if !filled.join("complete").exists() {
            if filled.exists() {
                std::fs::remove_dir_all(&filled).map_err(Error::system(filled.display()))?;
            }
            create_folder(&filled)?;
            eprintln!("bench: filling PocketBase with {POSTS} posts");
            set_up(bench, &filled)?;
            fill(&filled.join("data.db")).map_err(Error::measure)?;
            write(&filled.join("complete"), "")?;
        }
        let folder = bench.fresh("pocketbase")?;
        for file in ["data.db", "auxiliary.db"] {
            std::fs::copy(filled.join(file), folder.join(file)).map_err(Error::system(file))?;
        }
        let server = serve(bench, &folder, core)?;
        let mut client = server.client()?;
        let users = (0..USERS).map(|number| sign_in(&mut client, "users", &email(number)));
        let users = users.collect::<Result<_, _>>()?;
        Ok(Self { server, users })
    }

    /// The newest 20 with their authors and the caller's like of each: the collection's rule hides likes of
    /// other users.
    pub(super) fn feed(&self, signed_in: bool) -> Vec<u8> {
        let expand = if signed_in { "user,likes_via_post" } else { "user" };
        let path =
            format!("/api/collections/posts/records?sort=-created&perPage=20&skipTotal=1&expand={expand}");
        let headers = self.users.first().filter(|_| signed_in).map(|(_, token)| ("authorization", &**token));
        get(self.server.address, &path, headers.as_slice())
    }

    /// What a page must look like for the comparison to be one.
    pub(super) fn check(&self) -> Result<(), Error> {
        let page = self.server.client()?.ask(&self.feed(true))?.success()?.json()?;
        let items = page["items"].as_array().map_or(&[][..], Vec::as_slice);
        let authors = items.iter().filter(|item| item["expand"]["user"]["name"].is_string()).count();
        let liked = items.iter().filter(|item| item["expand"]["likes_via_post"].is_array()).count();
        match (items.len(), authors, liked) {
            (20, 20, 1..20) => Ok(()),
            found => Err(Error::measure(format!("PocketBase's page has posts, authors, likes: {found:?}"))),
        }
    }

    /// Each one new: another post, or the same by another user.
    pub(super) fn likes(&self) -> Arc<Requests> {
        let (address, users) = (self.server.address, self.users.clone());
        Requests::new(move |number, out| {
            let (id, token) = &users[number as usize % users.len()];
            // The newest ones are liked already.
            let post = post(number / users.len() as u64 % (POSTS - 100));
            let body = json!({ "user": id, "post": post }).to_string();
            let path = "/api/collections/likes/records";
            let headers = [("authorization", token.as_str())];
            let body = Some(("application/json", body.as_bytes()));
            out.extend(request("POST", address, path, &headers, body));
        })
    }
}

fn program(bench: &Bench) -> Command {
    Command::new(bench.home.join("venv/bin/pocketbase"))
}

pub(super) fn version(bench: &Bench) -> Result<String, Error> {
    let output = program(bench).arg("--version").output().map_err(Error::system("pocketbase"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn serve(bench: &Bench, folder: &Path, core: Option<usize>) -> Result<Server, Error> {
    let address = free_address()?;
    let mut command = program(bench);
    command.args(["serve", "--http", &address.to_string(), "--dir"]).arg(folder);
    // Its other folders would be made beside the program.
    for (flag, name) in
        [("--publicDir", "public"), ("--hooksDir", "hooks"), ("--migrationsDir", "migrations")]
    {
        command.arg(flag).arg(folder.join(name));
    }
    let mut server = Server::start("PocketBase", &command, address, core, &bench.logs())?;
    server.ready("/api/health")?;
    Ok(server)
}

fn set_up(bench: &Bench, folder: &PathBuf) -> Result<(), Error> {
    let mut command = program(bench);
    command.args(["superuser", "upsert", ADMIN, PASSWORD, "--dir"]).arg(folder);
    let made = command.output().map_err(Error::system("pocketbase"))?;
    if !made.status.success() {
        return Err(Error::Peer(String::from_utf8_lossy(&made.stderr).into_owned()));
    }
    let server = serve(bench, folder, None)?;
    let mut client = server.client()?;
    let (_, token) = sign_in(&mut client, "_superusers", ADMIN)?;
    let headers = [("authorization", token.as_str())];
    // The other candidates do not log requests either.
    change(&mut client, "/api/settings", &headers, &json!({ "logs": { "maxDays": 0 } }))?;
    // Authors are public, as in Pinhole.
    let users = json!({ "viewRule": "", "listRule": "" });
    let users = change(&mut client, "/api/collections/users", &headers, &users)?;
    let relation = |name: &str, to: &Value| json!({ "name": name, "type": "relation", "required": true, "maxSelect": 1, "collectionId": to["id"] });
    let posts = json!({
        "name": "posts", "type": "base", "listRule": "", "viewRule": "",
        "fields": [
            relation("user", &users),
            { "name": "message", "type": "text" }, { "name": "photo", "type": "text" },
            { "name": "width", "type": "number" }, { "name": "height", "type": "number" },
            { "name": "placeholder", "type": "text" }, { "name": "like_count", "type": "number" },
            { "name": "created", "type": "autodate", "onCreate": true },
        ],
        "indexes": ["CREATE INDEX posts_by_created ON posts (created)"],
    });
    let posts = client.post("/api/collections", &headers, &posts)?.success()?.json()?;
    let own = "@request.auth.id = user";
    let likes = json!({
        "name": "likes", "type": "base", "listRule": own, "viewRule": own, "createRule": own,
        "fields": [relation("user", &users), relation("post", &posts)],
        "indexes": [
            "CREATE UNIQUE INDEX likes_once ON likes (user, post)",
            "CREATE INDEX likes_by_post ON likes (post)",
        ],
    });
    client.post("/api/collections", &headers, &likes)?.success()?;
    for number in 0..USERS {
        let new = json!({
            "id": format!("m{number:014}"), "email": email(number), "password": PASSWORD,
            "passwordConfirm": PASSWORD, "name": format!("member-{number}"),
        });
        client.post("/api/collections/users/records", &headers, &new)?.success()?;
    }
    Ok(())
}

fn change(client: &mut Client, path: &str, headers: &[(&str, &str)], to: &Value) -> Result<Value, Error> {
    let body = to.to_string();
    let body = Some(("application/json", body.as_bytes()));
    client.ask(&request("PATCH", client.address, path, headers, body))?.success()?.json()
}

fn sign_in(client: &mut Client, collection: &str, email: &str) -> Result<(String, String), Error> {
    let path = format!("/api/collections/{collection}/auth-with-password");
    let answer =
        client.post(&path, &[], &json!({ "identity": email, "password": PASSWORD }))?.success()?.json()?;
    match (answer["record"]["id"].as_str(), answer["token"].as_str()) {
        (Some(id), Some(token)) => Ok((id.to_owned(), token.to_owned())),
        _ => Err(Error::measure("PocketBase rejected the login")),
    }
}

fn email(number: usize) -> String {
    format!("member-{number}@example.org")
}

fn post(index: u64) -> String {
    format!("p{index:014}")
}

/// Written into its database file directly. Every third of the newest posts is liked by the users that
/// sign in.
fn fill(path: &Path) -> rusqlite::Result<()> {
    let mut conn = Connection::open(path)?;
    let tx = conn.transaction()?;
    {
        let author = |number: u64| format!("u{number:014}");
        let mut user = tx.prepare("INSERT INTO users (id, name, tokenKey) VALUES (?1, ?2, ?3)")?;
        for number in 0..AUTHORS {
            user.execute(params![author(number), format!("member-{number:06}"), format!("{number:050}")])?;
        }
        let mut new = tx.prepare(
            "INSERT INTO posts (id, user, message, photo, width, height, placeholder, like_count, created)
             VALUES (?1, ?2, ?3, ?4, 4032, 3024, ?5, ?6, ?7)",
        )?;
        let mut like = tx.prepare("INSERT INTO likes (id, user, post) VALUES (?1, ?2, ?3)")?;
        for place in 0..POSTS {
            let by = place.wrapping_mul(2_654_435_761) % AUTHORS;
            let message = format!("Post {place}: morning light over the harbour, and the town still asleep");
            let photo = format!("0199b1c4-7e2a-7d10-8a55-{place:012}");
            let (hours, minutes, seconds) = (place / 3600 % 24, place / 60 % 60, place % 60);
            let day = place / 86400 + 1;
            let created = format!("2026-01-{day:02} {hours:02}:{minutes:02}:{seconds:02}.000Z");
            let placeholder = format!("{place:034}");
            new.execute(params![
                post(place),
                author(by),
                message,
                photo,
                placeholder,
                LIKES_PER_POST,
                created
            ])?;
            for turn in 0..LIKES_PER_POST {
                let id = format!("l{:014}", place * u64::from(LIKES_PER_POST) + u64::from(turn));
                like.execute(params![id, author((by + u64::from(turn) * 7 + 1) % AUTHORS), post(place)])?;
            }
        }
        for place in (POSTS - 100..POSTS).step_by(3) {
            for number in 0..USERS {
                let id = format!("k{:014}", place * 100 + number as u64);
                like.execute(params![id, format!("m{number:014}"), post(place)])?;
            }
        }
    }
    tx.commit()
}
