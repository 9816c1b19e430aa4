//! An instance full of all there is, and everything that can be seen of it, to be held against another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use e2e::{Client, Form, Service, picture};
use image::ImageFormat;
use serde_json::Value;

/// The people of an instance.
pub(crate) struct People {
    pub(crate) ada: Client,
    pub(crate) bob: Client,
    pub(crate) carol: Client,
    /// The post that an upload with the key `once` made.
    pub(crate) keyed: i64,
    /// The newest post there was; it is deleted.
    pub(crate) deleted: i64,
}

impl People {
    /// They join, show themselves, post, like, and take some of it back.
    pub(crate) fn settle(service: &Service) -> Self {
        let anyone = service.anyone();
        let [ada, bob, carol] = ["Ada", "bob", "carol"].map(|name| anyone.join(name));
        let face = picture::jpeg(&picture::corners(300, 200));
        ada.put("/me/photo", Form::photo(&face).text("alt", "A face")).expect(200);

        let exif = Some(picture::exif(6, "what the camera knew"));
        let turned = picture::with_metadata(&picture::corners(600, 400), ImageFormat::Jpeg, exif, None);
        let form =
            Form::photo(&turned).text("message", "Grüße,\n\"Zeilen\" & 🙂\u{2028}").text("alt", "Corners");
        let first = ada.post("/posts", form).expect(201).json()["id"].as_i64().unwrap();
        let second = bob.share(&picture::photograph(1_100, 900), "")["id"].as_i64().unwrap();
        let keyed = Self::keyed(&bob);
        for (person, post) in [(&ada, second), (&bob, second), (&carol, second), (&carol, first)] {
            person.post(&format!("/posts/{post}/likes"), e2e::Body::none()).expect(201);
        }
        bob.delete(&format!("/posts/{second}/likes")).expect(200);
        let deleted = carol.share_tiny("will be gone");
        carol.delete(&format!("/posts/{deleted}")).expect(200);
        Self { ada, bob, carol, keyed, deleted }
    }

    /// The upload that is sent again and again.
    pub(crate) fn keyed(bob: &Client) -> i64 {
        let form = Form::photo(&picture::tiny()).text("message", "once");
        let sent = bob.request("POST", "/posts").header("Idempotency-Key", "once").body(form).send();
        sent.expect(201).json()["id"].as_i64().unwrap()
    }

    pub(crate) fn all(&self) -> [&Client; 3] {
        [&self.ada, &self.bob, &self.carol]
    }
}

/// What everybody sees, and the pictures' bytes.
#[derive(PartialEq)]
pub(crate) struct Snapshot {
    /// By who looks and where.
    answers: BTreeMap<(String, String), Value>,
    images: BTreeMap<String, Vec<u8>>,
    /// What is kept of each photo, by its path below `photos`.
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Snapshot {
    /// With the sessions that the people have had all along.
    pub(crate) fn take(service: &Service, people: &People) -> Self {
        let (mut answers, mut images) = (BTreeMap::new(), BTreeMap::new());
        for person in people.all() {
            let person = person.moved_to(service.base());
            let name = person.username().to_owned();
            for path in
                ["/me".to_owned(), "/feed?limit=100".to_owned(), format!("/users/{name}/posts?limit=100")]
            {
                answers.insert((name.clone(), path.clone()), person.get(&path).expect(200).json());
            }
        }
        for answer in answers.values() {
            for photo in photos(answer) {
                for side in [64, 512] {
                    let path = format!("/photos/{photo}/{side}x{side}");
                    let image = service.anyone().get(&path).expect(200).bytes;
                    images.insert(path, image);
                }
            }
        }
        assert!(!images.is_empty(), "a service without pictures proves nothing");
        Self { answers, images, files: files(service.data_dir()) }
    }

    /// The same, and everybody can come in again, and what is done once stays done once.
    #[track_caller]
    pub(crate) fn assert_lives_on_in(&self, service: &Service, people: &People) {
        let now = Self::take(service, people);
        assert_eq!(now.answers, self.answers);
        assert!(now.images == self.images, "other images");
        // Photos that are or were in a bucket have their files there.
        if !now.files.is_empty() && !self.files.is_empty() {
            assert_eq!(now.files.keys().collect::<Vec<_>>(), self.files.keys().collect::<Vec<_>>());
            assert!(now.files == self.files, "other bytes");
        }

        for person in people.all() {
            service.anyone().login(person.username()).get("/me").expect(200);
        }
        let bob = people.bob.moved_to(service.base());
        assert_eq!(People::keyed(&bob), people.keyed, "an upload sent again");
        let next = people.carol.moved_to(service.base()).share_tiny("after");
        assert!(next > people.deleted, "the id {next} was handed out before");
    }
}

/// Every photo that an answer speaks of.
fn photos(answer: &Value) -> Vec<String> {
    match answer {
        Value::Object(members) => {
            let own = members.get("photo").and_then(|photo| photo["id"].as_str()).map(str::to_owned);
            own.into_iter().chain(members.values().flat_map(photos)).collect()
        }
        Value::Array(items) => items.iter().flat_map(photos).collect(),
        _ => Vec::new(),
    }
}

/// What is kept of every photo.
pub(crate) fn files(data_dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let root = data_dir.join("photos");
    let (mut folders, mut files) = (vec![root.clone()], BTreeMap::new());
    while let Some(folder) = folders.pop().filter(|folder| folder.exists()) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                files.insert(path.strip_prefix(&root).unwrap().to_owned(), bytes);
            }
        }
    }
    files
}
