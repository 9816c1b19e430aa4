//! Seeds the demo with users, posts and likes, through the use cases of `app` like any request.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use app::{App, Caller, Client, Draft, Error, Join, Posted, SessionClient, Upload};
use futures_util::future::try_join_all;
use model::{Alt, Clock, Focus, Message, PostContent, PostId};

use super::error::DemoError;
use super::photos::EmbeddedPhoto;
use super::seed_data::{Person, Post, SeedData};

/// Retries of an operation while a queue is full: the settings may make the queues short.
const MAX_RETRIES: usize = 200;
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The service itself.
const CLIENT: Client = Client::LOCAL;

pub(super) async fn seed(app: &App, clock: &Clock, data: &SeedData) -> Result<(), DemoError> {
    let (started, now) = (Clock::monotonic(), Clock::system().now());
    let accounts = data.people.iter().map(|person| create_account(app, person, &data.password));
    let callers: HashMap<&str, Caller> = try_join_all(accounts).await?.into_iter().collect();
    let caller = |name: &str| {
        callers.get(name).ok_or_else(|| DemoError::SeedData(format!("{name} is not in `people`")))
    };
    // Sequentially, so that the ids are in the order of the times.
    for post in &data.posts {
        clock.advance_to(now.minus(post.age()));
        let id = create_post(app, caller(&post.author)?, post).await?;
        try_join_all(post.likes.iter().map(async |name| like(app, caller(name)?, id).await)).await?;
    }
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(people = callers.len(), posts = data.posts.len(), took_ms, "demo data created");
    Ok(())
}

async fn create_account<'a>(
    app: &App,
    person: &'a Person,
    password: &str,
) -> Result<(&'a str, Caller), DemoError> {
    let name = person.username.as_str();
    let from = SessionClient::new(Ipv4Addr::LOCALHOST.into(), Some("pinhole"));
    let login = retry_while_busy(
        || format!("{name} joins"),
        async || {
            app.join(
                &from,
                Join { username: name.to_owned(), password: password.to_owned(), ..Join::default() },
            )
            .await
        },
    );
    let token = login.await?.token;
    let caller = retry_while_busy(
        || format!("{name} authenticates"),
        async || app.authenticate(Client::LOCAL, &token).await?.ok_or(Error::WrongCredentials),
    );
    let caller = caller.await?;
    retry_while_busy(
        || format!("{name} sets a profile photo"),
        async || app.set_profile_photo(&caller, upload(app, person.photo, None).await?).await,
    )
    .await?;
    Ok((name, caller))
}

async fn create_post(app: &App, author: &Caller, post: &Post) -> Result<PostId, DemoError> {
    let operation = || format!("{} posts {}", post.author, post.photo.name);
    let posted = retry_while_busy(operation, async || {
        let message = Message::parse(post.message.clone()).map_err(|rule| Error::invalid("message", rule))?;
        let alt = Alt::parse(post.alt.clone()).map_err(|rule| Error::invalid("alt", rule))?;
        let upload = upload(app, post.photo, alt).await?;
        app.create_post(author, Draft::new(upload, PostContent::of_message(message))).await
    });
    match posted.await? {
        Posted::New { post, .. } | Posted::Replayed(post) => Ok(post.id),
    }
}

async fn like(app: &App, caller: &Caller, post: PostId) -> Result<(), DemoError> {
    retry_while_busy(|| format!("{} likes", caller.user.username), async || app.like(caller, post).await)
        .await
}

async fn upload(app: &App, photo: EmbeddedPhoto, alt: Option<Alt>) -> Result<Upload, Error> {
    let mut spool = app.spool().await?;
    spool.write(photo.bytes).await?;
    Ok(Upload { photo: spool.finish().await?, alt, focus: Focus::CENTRE, client: CLIENT })
}

/// Retries while a queue is full: before the service is ready, only seeding fills the queues.
async fn retry_while_busy<T>(
    operation: impl FnOnce() -> String,
    work: impl AsyncFn() -> Result<T, Error>,
) -> Result<T, DemoError> {
    let mut tries = 0;
    loop {
        match work().await {
            Err(Error::Busy(_)) if tries < MAX_RETRIES => {
                tries += 1;
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            outcome => return outcome.map_err(|cause| DemoError::Seed { operation: operation(), cause }),
        }
    }
}
