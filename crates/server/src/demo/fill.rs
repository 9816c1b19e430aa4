//! Fills the demo through the use cases that requests go through.

use std::collections::HashMap;
use std::time::Duration;

use app::{App, Caller, Draft, Error, Posted, Upload};
use futures_util::future::try_join_all;
use model::{Alt, Clock, Message, PostContent, PostId};

use super::cast::{Cast, Person, Post};
use super::error::DemoError;
use super::photos::Embedded;

/// How often an operation is retried while a queue is full, and after how long: the settings may make it
/// short.
const TRIES: usize = 200;
const PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn fill(app: &App, clock: &Clock, cast: &Cast) -> Result<(), DemoError> {
    let (began, now) = (Clock::monotonic(), Clock::system().now());
    let people = try_join_all(cast.people.iter().map(|person| join(app, person, &cast.password))).await?;
    let people: HashMap<&str, Caller> = people.into_iter().collect();
    let who = |name: &str| {
        people.get(name).ok_or_else(|| DemoError::Cast(format!("{name} is not one of the people")))
    };
    // One after the other: their ids are to be in the order of their times.
    for post in &cast.posts {
        clock.turn_to(now.minus(post.age()));
        let id = share(app, who(&post.author)?, post).await?;
        try_join_all(post.likes.iter().map(async |name| like(app, who(name)?, id).await)).await?;
    }
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(people = people.len(), posts = cast.posts.len(), took_ms, "the demo is filled");
    Ok(())
}

async fn join<'a>(app: &App, person: &'a Person, password: &str) -> Result<(&'a str, Caller), DemoError> {
    let name = person.username.as_str();
    let entrance =
        retry_while_busy(|| format!("{name} joins"), async || app.join(name, password.to_owned()).await);
    let token = entrance.await?.token;
    let caller = retry_while_busy(
        || format!("{name} comes in"),
        async || app.authenticate(&token).await?.ok_or(Error::WrongCredentials),
    );
    let caller = caller.await?;
    retry_while_busy(
        || format!("{name} shows a photo of themselves"),
        async || app.set_profile_photo(&caller, upload(app, person.photo, None).await?).await,
    )
    .await?;
    Ok((name, caller))
}

async fn share(app: &App, author: &Caller, post: &Post) -> Result<PostId, DemoError> {
    let operation = || format!("{} posts {}", post.author, post.photo.name);
    let posted = retry_while_busy(operation, async || {
        let message = Message::parse(post.message.clone()).map_err(|rule| Error::invalid("message", rule))?;
        let alt = Alt::parse(post.alt.clone()).map_err(|rule| Error::invalid("alt", rule))?;
        let upload = upload(app, post.photo, alt).await?;
        app.create_post(author, Draft::new(upload, PostContent::of_message(message))).await
    });
    match posted.await? {
        Posted::New { post, .. } | Posted::Before(post) => Ok(post.id),
    }
}

async fn like(app: &App, fan: &Caller, post: PostId) -> Result<(), DemoError> {
    retry_while_busy(|| format!("{} likes", fan.user.username), async || app.like(fan, post).await).await
}

async fn upload(app: &App, photo: Embedded, alt: Option<Alt>) -> Result<Upload, Error> {
    let mut spool = app.spool().await?;
    spool.write(photo.bytes).await?;
    Ok(Upload { photo: spool.finish().await?, alt })
}

/// Retries while the service is busy, which here can only be with the demo itself.
async fn retry_while_busy<T>(
    operation: impl FnOnce() -> String,
    work: impl AsyncFn() -> Result<T, Error>,
) -> Result<T, DemoError> {
    let mut tries = 0;
    loop {
        match work().await {
            Err(Error::Busy(_)) if tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            outcome => return outcome.map_err(|cause| DemoError::Fill { operation: operation(), cause }),
        }
    }
}
