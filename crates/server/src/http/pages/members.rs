//! The list of members on the page of moderators: its filter, its rows and the link to the next page.

use std::time::Duration;

use app::{Caller, UserRecord};
use model::{Cursor, Limit, Role, Status, UserFilter};

use super::cards::Avatar;
use super::layout::PageRequest;
use crate::http::error::ApiError;
use crate::http::handlers::moderation::{given, user_filter};
use crate::http::state::Http;

/// The parameters of the filter: those of `GET /admin/users`, but `joined` instead of `since`, in hours.
const PARAMETERS: [&str; 5] = ["query", "status", "role", "network", JOINED];
pub(super) const JOINED: &str = "joined";

pub(super) struct Members {
    parameters: Vec<(&'static str, String)>,
    pub(super) rows: Vec<MemberItem>,
    /// How many match the filter, from this page on.
    pub(super) total: u64,
    /// The link to the next page.
    pub(super) next: Option<String>,
    pub(super) is_network_refused: bool,
    /// How many accounts wait for approval; empty if none does.
    pub(super) waiting: String,
}

/// A row of the list.
pub(super) struct MemberItem {
    pub(super) id: i64,
    pub(super) avatar: Avatar,
    pub(super) role: Role,
    pub(super) status: &'static str,
    pub(super) joined: String,
    pub(super) network: Option<String>,
    pub(super) posts: u64,
    pub(super) likes: u64,
    pub(super) is_self: bool,
    /// Whether the viewer may decide about the account.
    pub(super) is_selectable: bool,
}

impl Members {
    /// A page of the members who match the filter of a request.
    pub(super) async fn read(
        http: &Http,
        caller: &Caller,
        request: &PageRequest,
        after: Option<Cursor>,
        limit: Limit,
    ) -> Result<Self, ApiError> {
        let raw = request.query.as_str();
        let parameters = PARAMETERS.into_iter();
        let parameters = parameters.filter_map(|name| Some((name, given(raw, name)?.into_owned()))).collect();
        let pending = UserFilter { status: Some(Status::Pending), ..UserFilter::default() };
        let (waiting, more_waiting) = http.app.users(pending, None, limit).await?;
        let waiting = match waiting.len() {
            0 => String::new(),
            count => format!("{count}{}", if more_waiting.is_some() { "+" } else { "" }),
        };
        let mut members =
            Self { parameters, rows: Vec::new(), total: 0, next: None, is_network_refused: false, waiting };
        let mut filter = match user_filter(raw) {
            Ok(filter) => filter,
            Err(error) if error.field() == Some("network") => {
                members.is_network_refused = true;
                return Ok(members);
            }
            Err(error) => return Err(error),
        };
        if let Some(hours) = given(raw, JOINED) {
            let hours: u64 =
                hours.parse().map_err(|_| ApiError::invalid(JOINED, "joined must be a number of hours"))?;
            let span = Duration::from_secs(hours.saturating_mul(60 * 60));
            filter.since = Some(http.clock.now().minus(span));
        }
        let (records, next) = http.app.users(filter.clone(), after, limit).await?;
        members.total = records.len() as u64;
        if let Some(cursor) = next {
            members.total += http.app.count_users(filter, cursor).await?;
            members.next = Some(members.link(cursor));
        }
        members.rows = records.iter().map(|record| MemberItem::new(record, caller)).collect();
        Ok(members)
    }

    /// The value of a parameter of the filter; empty if it is not given.
    pub(super) fn parameter(&self, name: &str) -> &str {
        let found = self.parameters.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    pub(super) fn is_chosen(&self, name: &str, value: &str) -> bool {
        self.parameter(name) == value
    }

    pub(super) fn is_filtered(&self) -> bool {
        !self.parameters.is_empty()
    }

    fn link(&self, next: Cursor) -> String {
        let mut url = form_urlencoded::Serializer::for_suffix("/admin?".to_owned(), 7);
        url.extend_pairs(&self.parameters).append_pair("after", &next.to_string()).finish()
    }
}

impl MemberItem {
    fn new(record: &UserRecord, viewer: &Caller) -> Self {
        let user = &record.user;
        let is_self = user.id == viewer.user.id;
        Self {
            id: user.id.0,
            avatar: Avatar::of(user),
            role: user.role,
            status: user.status.as_str(),
            joined: user.created_at.to_string(),
            network: record.network.map(|network| network.to_string()),
            posts: record.posts,
            likes: record.likes,
            is_self,
            is_selectable: !is_self && (viewer.role == Role::Owner || user.role < viewer.role),
        }
    }
}
