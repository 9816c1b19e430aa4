//! An instance with every kind of content, and a snapshot of all it serves, to compare with another instance.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use e2e::{Client, FormData, Response, Service, picture};
use image::ImageFormat;
use serde_json::Value;

/// The users of an instance and the posts that tests refer to.
pub(crate) struct Users {
    pub(crate) ada: Client,
    pub(crate) bob: Client,
    pub(crate) carol: Client,
    /// The post created with the idempotency key `once`.
    pub(crate) keyed: i64,
    /// The post with the highest id, which is deleted.
    pub(crate) deleted: i64,
}

impl Users {
    /// Three users join, set a profile photo, post, like, unlike and delete.
    pub(crate) fn create(service: &Service) -> Self {
        let anonymous = service.anonymous();
        let [ada, bob, carol] = ["Ada", "bob", "carol"].map(|name| anonymous.join(name));
        let avatar = picture::jpeg(&picture::corners(300, 200));
        ada.put("/me/photo", FormData::photo(&avatar).text("alt", "Avatar")).expect(200);

        let exif = Some(picture::exif(6, "camera description"));
        let turned = picture::with_metadata(&picture::corners(600, 400), ImageFormat::Jpeg, exif, None);
        let form = FormData::photo(&turned)
            .text("message", "Grüße,\n\"Zeilen\" & 🙂\u{2028}")
            .text("alt", "Corners")
            .text("focus", "0.2,0.7")
            .text("share_original", "true");
        let first = ada.post("/posts", form).expect(201).json()["id"].as_i64().unwrap();
        let second = bob.share(&picture::photograph(1_100, 900), "")["id"].as_i64().unwrap();
        let keyed = Self::keyed(&bob);
        for (client, post) in [(&ada, second), (&bob, second), (&carol, second), (&carol, first)] {
            client.post(&format!("/posts/{post}/likes"), e2e::Body::none()).expect(201);
        }
        bob.delete(&format!("/posts/{second}/likes")).expect(200);
        let deleted = carol.share_tiny("to be deleted");
        carol.delete(&format!("/posts/{deleted}")).expect(200);
        Self { ada, bob, carol, keyed, deleted }
    }

    /// Sends the upload with the idempotency key `once`, for the first time or again.
    pub(crate) fn keyed(bob: &Client) -> i64 {
        Self::send_keyed(bob, "once").expect(201).json()["id"].as_i64().unwrap()
    }

    pub(crate) fn send_keyed(bob: &Client, message: &str) -> Response {
        let form =
            FormData::photo(&picture::png(&picture::plain(8, 8, picture::RED))).text("message", message);
        bob.request("POST", "/posts").header("Idempotency-Key", "once").body(form).send()
    }

    pub(crate) fn all(&self) -> [&Client; 3] {
        [&self.ada, &self.bob, &self.carol]
    }
}

/// The responses that each user gets, and the bytes of images and files.
#[derive(PartialEq)]
pub(crate) struct Snapshot {
    /// JSON by username and path.
    responses: BTreeMap<(String, String), Value>,
    images: BTreeMap<String, Vec<u8>>,
    /// The stored files of every photo, by path below `photos`.
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Snapshot {
    /// Uses the sessions that `Users::create` has opened.
    pub(crate) fn take(service: &Service, users: &Users) -> Self {
        let (mut responses, mut images) = (BTreeMap::new(), BTreeMap::new());
        for client in users.all() {
            let client = client.with_base(service.base());
            let name = client.username().to_owned();
            for path in
                ["/me".to_owned(), "/feed?limit=100".to_owned(), format!("/users/{name}/posts?limit=100")]
            {
                responses.insert((name.clone(), path.clone()), client.get(&path).expect(200).json());
            }
        }
        for response in responses.values() {
            for photo in photos(response) {
                for size in ["64x64", "512x512", "fit/300"] {
                    let path = format!("/photos/{photo}/{size}");
                    let image = service.anonymous().get(&path).expect(200).bytes;
                    images.insert(path, image);
                }
            }
        }
        assert!(!images.is_empty(), "the snapshot contains no image");
        let files = files(service.data_dir()).into_iter();
        let files = files.map(|(path, bytes)| (without_checksum(&path), bytes)).collect();
        Self { responses, images, files }
    }

    /// Asserts that `service` serves the same, that every user can log in, that the idempotency key still
    /// works, and that no post id is used twice.
    #[track_caller]
    pub(crate) fn assert_preserved_in(&self, service: &Service, users: &Users) {
        let now = Self::take(service, users);
        assert_eq!(now.responses, self.responses);
        assert!(now.images == self.images, "the images differ");
        // The files of photos in a bucket are not in the data folder.
        if !now.files.is_empty() && !self.files.is_empty() {
            assert_eq!(now.files.keys().collect::<Vec<_>>(), self.files.keys().collect::<Vec<_>>());
            assert!(now.files == self.files, "the stored files differ");
        }

        for client in users.all() {
            service.anonymous().login(client.username()).get("/me").expect(200);
        }
        let bob = users.bob.with_base(service.base());
        assert_eq!(Users::keyed(&bob), users.keyed, "a retried upload creates no second post");
        Users::send_keyed(&bob, "another").expect_error_for(422, Some("Idempotency-Key"));
        let next = users.carol.with_base(service.base()).share_tiny("after");
        assert!(next > users.deleted, "the id {next} was used before");
    }
}

/// The ids of all photos in a response.
fn photos(response: &Value) -> Vec<String> {
    match response {
        Value::Object(users) => {
            let own = users.get("photo").and_then(|photo| photo["id"].as_str()).map(str::to_owned);
            own.into_iter().chain(users.values().flat_map(photos)).collect()
        }
        Value::Array(items) => items.iter().flat_map(photos).collect(),
        _ => Vec::new(),
    }
}

/// The path of a photo's file, such as `512`: its name carries a checksum as well.
#[track_caller]
pub(crate) fn photo_file(data_dir: &Path, photo: &str, name: &str) -> PathBuf {
    let folder = data_dir.join("photos").join(&photo[34..]).join(photo);
    let mut paths = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let path = paths.find(|path| without_checksum(path) == folder.join(name));
    path.unwrap_or_else(|| panic!("{} has no {name}", folder.display()))
}

/// The path of a stored file with only the name of the file: `512` instead of `512-1a2b3c4d`.
pub(crate) fn without_checksum(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap().to_str().unwrap();
    path.with_file_name(name.split_once('-').map_or(name, |(name, _)| name))
}

/// The stored files of every photo. Masters of the whole photo, which can be made again from the original,
/// are left out.
pub(crate) fn files(data_dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let root = data_dir.join("photos");
    let (mut folders, mut files) = (vec![root.clone()], BTreeMap::new());
    while let Some(folder) = folders.pop().filter(|folder| folder.exists()) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.file_name().unwrap().to_str().unwrap().starts_with("fit") {
                let bytes = std::fs::read(&path).unwrap();
                files.insert(path.strip_prefix(&root).unwrap().to_owned(), bytes);
            }
        }
    }
    files
}
