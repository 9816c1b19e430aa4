//! The web client's server side: HTML pages rendered from templates, and the assets they load. Pages read
//! through the same use cases as the API; everything that a page changes goes through the public API.

pub(super) mod accent;
pub(super) mod archive_page;
pub(super) mod assets;
pub(super) mod atom;
mod cards;
mod community_templates;
mod empty;
pub(super) mod error_page;
mod layout;
mod locale;
mod members;
mod message;
pub(super) mod oembed;
mod placeholder;
mod preferences;
mod response;
pub(super) mod shared;
pub(super) mod site_files;
mod size;
mod templates;

use std::sync::Arc;

use app::{Actor, Sources};
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use futures_util::FutureExt;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, SET_COOKIE};
use model::{Cursor, FeedPage, FeedStart, Limit, PostFilter, PostId, Role, Tag, Username};

use crate::http::error::ApiError;
use crate::http::extract::path::PathId;
use crate::http::handlers::feed::parameter;
use crate::http::state::Http;
use crate::links;
use cards::{Avatar, Card};
use community_templates::{AboutTemplate, AdminTemplate, AuditItem, InvitationItem, ReportItem};
use empty::{Empty, LeftOut};
use layout::{PageRequest, Reader};
use members::Members;
use preferences::View;
use shared::Part;
use templates::{
    AuthForm, AuthTemplate, CardTemplate, ComposeTemplate, FeedTemplate, PostListTemplate, PostTemplate,
    ProfileTemplate, SessionItem, SettingsTemplate, TagTemplate, TileListTemplate,
};

pub(super) use error_page::offline;

/// Per page of a profile or a tag: a multiple of their three columns.
const PROFILE_PAGE_SIZE: &str = "30";

/// Further posts of the author below a post; one more is read, because the post itself may be among them.
const MORE_SHOWN: usize = 6;
const MORE_BY_AUTHOR: &str = "7";

/// Hidden posts per page of the settings.
const HIDDEN_SHOWN: usize = 12;

/// Members per page of their list.
const MEMBERS_PAGE_SIZE: &str = "50";

/// Entries of the audit log on the page of moderators.
const AUDIT_ENTRIES: usize = 30;

pub(crate) async fn home(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    let chosen = parameter(&request.query, "view").and_then(|name| View::by_name(&name));
    let view = chosen.unwrap_or(request.preferences.view);
    let (after, limit) = (after(&request)?, page_size(&request, view.page_size()));
    let (http, request) = (&http, &request);
    let render = |sources: Arc<Sources>, reader: Reader| {
        async move {
            let (client, caller, filter) = (request.client(), reader.caller.as_ref(), PostFilter::Any);
            let instance = http.app.read_instance(&sources).await?;
            let page =
                http.app.read_feed(&sources, client, caller, filter.clone(), start(after), limit).await?;
            let layout = request.layout_for(http, &reader, &instance, Some("feed.js"));
            let cards = reader.cards(&page.posts, layout.locale, request.part.is_some());
            let next_page = link(&page, |cursor| format!("/?after={cursor}"));
            if request.part.is_some() {
                return response::render(&PostListTemplate { layout: &layout, cards, view, next_page });
            }
            let empty = if !is_empty(&page, after) {
                None
            } else if http.app.is_emptied(client, caller, filter).await? {
                Some(Empty::left_out(layout.locale))
            } else {
                Some(Empty::feed(&layout))
            };
            response::render(&FeedTemplate {
                cards,
                empty,
                next_page,
                older: after.is_some(),
                view,
                intro: layout.me.is_none() && after.is_none() && !request.preferences.is_introduced,
                layout: &layout,
            })
        }
        .boxed()
    };
    let mut response = request.shared(http, (view, after, true), render).await?;
    if let Some(view) = chosen {
        response.headers_mut().append(SET_COOKIE, view.set_cookie());
    }
    Ok(response)
}

pub(crate) async fn post(
    State(http): State<Http>,
    PathId(id): PathId<PostId>,
    request: PageRequest,
) -> Result<Response, ApiError> {
    let (http, request) = (&http, &request);
    let render = |sources: Arc<Sources>, reader: Reader| {
        async move {
            let caller = reader.caller.as_ref();
            let instance = http.app.read_instance(&sources).await?;
            let post = http.app.read_post(&sources, caller, id).await?;
            let layout = request.layout_for(http, &reader, &instance, Some("post.js"));
            let large = !matches!(request.part, Some(Part::Posts(_)));
            let p = Card::new(&post, layout.locale, large);
            if request.part.is_some() {
                let sizes = request.preferences.view.sizes();
                return response::render(&CardTemplate { layout: &layout, p, large, sizes });
            }
            let (title, description) = p.title_and_description(layout.locale);
            let (filter, limit) = (PostFilter::By(post.user.id), limit(MORE_BY_AUTHOR));
            let others =
                http.app.read_feed(&sources, request.client(), caller, filter, start(None), limit).await?;
            let more = others.posts.iter().filter(|other| other.id != id);
            let more = more.take(MORE_SHOWN).map(|other| Card::new(other, layout.locale, false)).collect();
            let left_out = match caller {
                Some(caller) if http.app.has_blocked(caller, post.user.id).await? => {
                    Some(LeftOut::author(layout.locale, &p.author.name))
                }
                Some(caller) if http.app.has_hidden(caller, id).await? => {
                    Some(LeftOut::post(layout.locale, id))
                }
                _ => None,
            };
            response::render(&PostTemplate { layout: &layout, p, title, description, more, left_out })
        }
        .boxed()
    };
    request.shared(http, (View::List, None, false), render).await
}

pub(crate) async fn profile(
    State(http): State<Http>,
    PathId(name): PathId<Username>,
    request: PageRequest,
) -> Result<Response, ApiError> {
    let (after, limit) = (after(&request)?, page_size(&request, PROFILE_PAGE_SIZE));
    let (http, request, name) = (&http, &request, &name);
    let render = |sources: Arc<Sources>, reader: Reader| {
        async move {
            let caller = reader.caller.as_ref();
            let instance = http.app.read_instance(&sources).await?;
            let user = http.app.read_user(&sources, caller, name).await?;
            let filter = PostFilter::By(user.id);
            let page = http
                .app
                .read_feed(&sources, request.client(), caller, filter.clone(), start(after), limit)
                .await?;
            let owner = Avatar::of(&user);
            let cards = Card::list(&page.posts, request.locale, request.part.is_some());
            let next_page = link(&page, |cursor| format!("{}?after={cursor}", owner.url));
            if request.part.is_some() {
                return response::render(&TileListTemplate { cards, next_page });
            }
            let own = caller.is_some_and(|caller| caller.user.id == user.id);
            let is_blocked = match caller {
                Some(caller) => http.app.has_blocked(caller, user.id).await?,
                None => false,
            };
            let layout = request.layout_for(http, &reader, &instance, Some("profile.js"));
            let empty = if !is_empty(&page, after) {
                None
            } else if is_blocked {
                Some(Empty::blocked(layout.locale, &owner.name))
            } else if http.app.is_emptied(request.client(), caller, filter).await? {
                Some(Empty::left_out(layout.locale))
            } else if own && http.app.has_posts(user.id).await? {
                Some(Empty::moderated(layout.locale))
            } else if own {
                Some(Empty::own_profile(layout.locale))
            } else {
                Some(Empty::profile(layout.locale, &owner.name))
            };
            response::render(&ProfileTemplate {
                post_count: http.app.shown_post_count(&sources, request.client(), caller, user.id).await?,
                is_blocked,
                empty,
                cards,
                next_page,
                older: after.is_some(),
                layout: &layout,
                owner,
                user,
                own,
            })
        }
        .boxed()
    };
    request.shared(http, (View::List, after, false), render).await
}

pub(crate) async fn tag(
    State(http): State<Http>,
    PathId(tag): PathId<Tag>,
    request: PageRequest,
) -> Result<Response, ApiError> {
    let (after, limit) = (after(&request)?, page_size(&request, PROFILE_PAGE_SIZE));
    let filter = PostFilter::Tagged(tag.clone());
    let page = http.app.feed(request.client(), request.caller.as_ref(), filter, start(after), limit).await?;
    let url = links::tag(&tag);
    let next_page = link(&page, |cursor| format!("{url}?after={cursor}"));
    let layout = request.layout(&http, Some("tag.js"));
    let cards = Card::list(&page.posts, layout.locale, request.part.is_some());
    if request.part.is_some() {
        return layout.respond(&request, &TileListTemplate { cards, next_page });
    }
    let older = after.is_some();
    let empty = if !is_empty(&page, after) {
        None
    } else if http
        .app
        .is_emptied(request.client(), request.caller.as_ref(), PostFilter::Tagged(tag.clone()))
        .await?
    {
        Some(Empty::left_out(layout.locale))
    } else {
        Some(Empty::tag(layout.locale, &tag))
    };
    layout.respond(&request, &TagTemplate { layout: &layout, tag, url, cards, empty, next_page, older })
}

pub(crate) async fn join(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    auth_form(&http, &request, AuthForm::Join)
}

pub(crate) async fn login(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    auth_form(&http, &request, AuthForm::Login)
}

pub(crate) async fn recovery(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    auth_form(&http, &request, AuthForm::Recovery)
}

pub(crate) async fn settings(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    let Some(caller) = &request.caller else {
        return Ok(Redirect::to("/login?next=/settings").into_response());
    };
    let layout = request.layout(&http, Some("settings.js"));
    let sessions = http.app.sessions(caller).await?;
    let account = http.app.account(caller).await?;
    let blocked = http.app.blocked_users(caller).await?;
    let hidden_after = cursor(&request, "hidden_after")?;
    let (hidden, hidden_next) = http.app.hidden_post_page(caller, hidden_after, HIDDEN_SHOWN).await?;
    let profile = caller.user.profile.as_deref().cloned().unwrap_or_default();
    let page = SettingsTemplate {
        display_name: profile.display_name.map(|text| text.to_string()).unwrap_or_default(),
        bio: profile.bio.map(|text| text.to_string()).unwrap_or_default(),
        link: profile.link.map(|text| text.to_string()).unwrap_or_default(),
        name: caller.user.username.to_string(),
        sessions: sessions.into_iter().map(|session| SessionItem::new(session, layout.locale)).collect(),
        recovery_codes: http.app.recovery_codes(caller).await?,
        min_password: http.app.min_password(),
        blocked: blocked.iter().map(|user| (user.id.0, user.username.to_string())).collect(),
        hidden: Card::list(&hidden, layout.locale, false),
        hidden_next,
        hidden_older: hidden_after.is_some(),
        account,
        language: request.preferences.language.map(|locale| locale.tag.as_str()),
        is_importing: http.app.import_status(caller).await.is_ok_and(|status| status.is_running),
        layout: &layout,
    };
    let mut response = layout.respond(&request, &page)?;
    // It is not shown again after a logout.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// What the instance says about itself.
pub(crate) async fn about(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    let (layout, version) = (request.layout(&http, None), env!("CARGO_PKG_VERSION"));
    layout.respond(&request, &AboutTemplate { layout: &layout, instance: &request.instance, version })
}

/// The page of moderators and owners.
pub(crate) async fn admin(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    let Some(caller) = &request.caller else {
        return Ok(Redirect::to("/login?next=/admin").into_response());
    };
    caller.check_role(Role::Moderator)?;
    let layout = request.layout(&http, Some("admin.js"));
    let most = limit("100");
    let (reports, _) = http.app.reports(caller, false, None, most).await?;
    let actor = Actor::new(caller, request.address, Role::Moderator)?;
    let invitations = http.app.usable_invitations(&actor).await?;
    let (audit, _) = http.app.audit_log(None, AUDIT_ENTRIES).await?;
    let page = AdminTemplate {
        reports: reports.iter().map(|report| ReportItem::new(report, layout.locale)).collect(),
        members: Members::read(&http, caller, &request, after(&request)?, limit(MEMBERS_PAGE_SIZE)).await?,
        invitations: invitations.into_iter().map(|item| InvitationItem::new(item, caller)).collect(),
        audit: audit.iter().map(|row| AuditItem::new(row, layout.locale)).collect(),
        instance: (caller.role == Role::Owner).then_some(&*request.instance),
        layout: &layout,
    };
    let mut response = layout.respond(&request, &page)?;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Join, login and recovery share one template. A signed-in user is redirected to the feed.
fn auth_form(http: &Http, request: &PageRequest, form: AuthForm) -> Result<Response, ApiError> {
    if request.caller.is_some() {
        return Ok(Redirect::to("/").into_response());
    }
    let layout = request.layout(http, Some("auth-form.js"));
    let (min_password, instance) = (http.app.min_password(), &request.instance);
    let is_invited = parameter(&request.query, "invitation").is_some();
    layout.respond(request, &AuthTemplate { layout: &layout, form, min_password, instance, is_invited })
}

pub(crate) async fn compose(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    if request.caller.is_none() {
        return Ok(Redirect::to("/login?next=/new").into_response());
    }
    let layout = request.layout(&http, Some("compose.js"));
    let max_upload = http.app.max_upload();
    layout.respond(&request, &ComposeTemplate { layout: &layout, max_upload })
}

/// The share target. The service worker keeps the photo of a POST, and sends a GET here to learn whether the
/// CSRF check accepts it. A POST that reaches the server has no worker, so the photo is lost and the composer
/// says so.
pub(crate) async fn share() -> Redirect {
    Redirect::to("/new?shared")
}

/// The cursor in the query: pagination links for browsers without scripts carry it.
fn after(request: &PageRequest) -> Result<Option<Cursor>, ApiError> {
    cursor(request, "after")
}

fn cursor(request: &PageRequest, name: &'static str) -> Result<Option<Cursor>, ApiError> {
    let parsed = parameter(&request.query, name).map(|cursor| cursor.parse()).transpose();
    parsed.map_err(|rule: model::ValidationError| ApiError::invalid(name, rule))
}

/// Whether a list has no posts at all. A page without posts may have a next one, if very many are left out.
fn is_empty(page: &FeedPage, after: Option<Cursor>) -> bool {
    page.posts.is_empty() && page.next.is_none() && after.is_none()
}

fn start(after: Option<Cursor>) -> FeedStart {
    after.map_or(FeedStart::Offset(0), FeedStart::After)
}

/// How many posts a list has, or the part that is wanted of it.
fn page_size(request: &PageRequest, default: &str) -> Limit {
    match request.part {
        Some(Part::Posts(limit)) => limit,
        _ => limit(default),
    }
}

fn limit(number: &str) -> Limit {
    number.parse().expect("the page sizes are valid limits")
}

/// The link to the next page; empty on the last page.
fn link(page: &FeedPage, url: impl Fn(Cursor) -> String) -> String {
    page.next.map(url).unwrap_or_default()
}
