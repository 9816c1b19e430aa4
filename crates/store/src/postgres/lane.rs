//! A connection that writes. It commits in groups: everything that is waiting shares one transaction and one sync of
//! the server's disk, and everyone is answered after it.
//!
//! Jobs hardly ever fail, so a group has no savepoints. If one does fail after all, or gets in the way of another
//! node's writes, the whole group is rolled back and each job runs again by itself. What counts is what is certain:
//! nothing is done again unless the server has undone it or has never been asked to commit it, and a commit that was
//! not answered is told to everyone in it as such.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::job::Job;
use super::link::{Link, PATIENCE, Reach};
use super::session::{Fate, Keep};
use crate::holds::Holds;
use crate::tx::Tx;
use crate::{Error, Listener};

/// Writes that share one commit at most: what they hold, others wait for.
const GROUP: usize = 256;

/// How often a job is run that others get in the way of.
const ATTEMPTS: usize = 4;

/// For a group that has to be written one by one. Whoever has not had their turn by then is told so.
const GROUP_TIME: Duration = Duration::from_secs(10);

/// For one job to be done. More than the server gives its statements, so that as a rule it is the server who ends it.
const JOB_TIME: Duration = Duration::from_secs(20);

pub(super) struct Lane {
    reach: Reach,
    tx: Option<Tx>,
    /// A commit that was not answered in time, on a connection that lives: the server may be waiting for its standby. To
    /// leave it and connect anew would leave one more behind for every group, until the server takes no more.
    unanswered: Option<JoinHandle<()>>,
    listener: Arc<Listener>,
}

impl Lane {
    pub(super) fn new(link: Arc<Link>, listener: Arc<Listener>) -> Self {
        Self { reach: Reach::new(link, PATIENCE), tx: None, unanswered: None, listener }
    }

    pub(super) async fn run(mut self, mut queue: Receiver<Box<dyn Job>>) {
        let mut group = Vec::new();
        while queue.recv_many(&mut group, GROUP).await > 0 {
            // They all wait at the same time, so any order is as good to them; for the locks there is but one.
            group.sort_by(|a, b| a.holds().cmp(b.holds()));
            // Likes come to their posts' rows last of all, other writes in the middle: together they would be out of order.
            let likes = group.partition_point(|job| job.holds().is_like());
            let others = group.split_off(likes);
            self.write(std::mem::take(&mut group)).await;
            self.write(others).await;
        }
    }

    async fn write(&mut self, mut group: Vec<Box<dyn Job>>) {
        if group.is_empty() {
            return;
        }
        if self.unanswered.as_ref().is_some_and(|commit| !commit.is_finished()) {
            let error = Error::Unavailable("an earlier commit is still not answered".into());
            return settle(group, &Err(error));
        }
        let mut fate = self.attempt(&mut group).await;
        // Lost before the commit was asked for. Once more, on a fresh connection.
        if let Fate::Undone(Error::Unavailable(cause)) = &fate {
            tracing::warn!(%cause, writes = group.len(), "a group of writes was lost on the way; it is done again");
            fate = self.attempt(&mut group).await;
        }
        match fate {
            Fate::Committed => settle(group, &Ok(())),
            Fate::Undone(error @ Error::Unavailable(_)) => settle(group, &Err(error)),
            Fate::Unknown(error) => {
                tracing::error!(%error, writes = group.len(), "a commit was not answered; nobody in it was acknowledged");
                settle(group, &Err(error));
            }
            Fate::Undone(error @ Error::Conflict(_)) => {
                tracing::info!(%error, writes = group.len(), "a group of writes met another's");
                self.write_each(group).await;
            }
            // There is nobody else whose fault it could be.
            Fate::Undone(error) if group.len() == 1 => settle(group, &Err(error)),
            Fate::Undone(_) => self.write_each(group).await,
        }
    }

    /// Each in a transaction of its own, so that one that fails fails alone.
    async fn write_each(&mut self, group: Vec<Box<dyn Job>>) {
        let (mut stuck, mut lost): (Option<Holds>, Option<Error>) = (None, None);
        let until = Instant::now() + GROUP_TIME;
        for mut job in group {
            if let Some(error) = &lost {
                job.settle(Err(error.clone()));
                continue;
            }
            if Instant::now() >= until {
                job.settle(Err(Error::Busy));
                continue;
            }
            // They are in order: whoever wants what somebody would not let go of comes right behind.
            if stuck.as_ref().is_some_and(|stuck| stuck.meets(job.holds())) {
                job.settle(Err(Error::Busy));
                continue;
            }
            let fate = self.attempt_again(&mut job).await;
            match &fate {
                Err(Error::Busy) => stuck = Some(job.holds().clone()),
                Err(error @ Error::Unavailable(_)) => lost = Some(error.clone()),
                _ => {}
            }
            job.settle(fate);
        }
    }

    async fn attempt_again(&mut self, job: &mut Box<dyn Job>) -> Result<(), Error> {
        let mut attempt = 1;
        loop {
            match self.attempt(std::slice::from_mut(job)).await {
                Fate::Committed => return Ok(()),
                Fate::Undone(Error::Conflict(_) | Error::Unavailable(_)) if attempt < ATTEMPTS => {
                    attempt += 1
                }
                Fate::Undone(error) | Fate::Unknown(error) => return Err(error),
            }
        }
    }

    /// One transaction with all of them; whatever it comes to, none is answered yet.
    async fn attempt(&mut self, group: &mut [Box<dyn Job>]) -> Fate {
        let mut tx = match self.tx.take() {
            Some(tx) if !tx.is_lost() => tx,
            _ => match self.reach.connect(Instant::now()).await {
                Ok(session) => Tx::on_postgres(session),
                Err(error) => return Fate::Undone(error),
            },
        };
        if let Err(error) = run(&mut tx, group).await {
            drop(tx.take_changes());
            // One that cannot be rolled back any more is let go, which comes to the same.
            if !matches!(error, Error::Unavailable(_)) && tx.session().roll_back().await {
                self.tx = Some(tx);
            }
            return Fate::Undone(error);
        }
        let fate = tx.session().commit().await;
        let changes = tx.take_changes();
        // Even after a commit that was not answered, which may have held: to forget what is still right costs one read.
        if !matches!(fate, Fate::Undone(_)) && !changes.is_empty() {
            (self.listener)(&changes);
        }
        let fit = match fate {
            Fate::Committed => true,
            Fate::Undone(_) => tx.session().roll_back().await,
            // Whatever it is still doing, it shall not do it with us.
            Fate::Unknown(_) => false,
        };
        if fit {
            self.tx = Some(tx);
        } else if matches!(fate, Fate::Unknown(_)) && !tx.is_lost() {
            self.unanswered = Some(tokio::spawn(async move { tx.session().settled().await }));
        }
        fate
    }
}

/// All of them, from the beginning up to but without the commit.
async fn run(tx: &mut Tx, group: &mut [Box<dyn Job>]) -> Result<(), Error> {
    let late = |_| Error::Unavailable("a write was not answered in time".into());
    timeout(JOB_TIME, tx.session().begin()).await.map_err(late)??;
    let mut posts: Vec<i64> = group.iter().filter_map(|job| Some(job.holds().post()?.0)).collect();
    posts.dedup();
    let keep = if group.iter().any(|job| job.holds().is_like()) { Keep::Together } else { Keep::Alone };
    timeout(JOB_TIME, tx.session().hold(&posts, keep)).await.map_err(late)??;
    for job in group {
        timeout(JOB_TIME, job.run(tx)).await.map_err(late)??;
    }
    timeout(JOB_TIME, tx.session().add_up()).await.map_err(late)?
}

fn settle(group: Vec<Box<dyn Job>>, fate: &Result<(), Error>) {
    for job in group {
        job.settle(fate.clone());
    }
}
