"""A session through the generated client."""

import io
import os
import sys
from datetime import datetime, timezone
from http import HTTPStatus
from uuid import UUID

from pinhole_client import AuthenticatedClient, Client
from pinhole_client.api.accounts import join, login, me
from pinhole_client.api.feed import feed
from pinhole_client.api.likes import like
from pinhole_client.api.photos import image
from pinhole_client.api.posts import append_upload, create_post, delete_post, edit_post, get_post
from pinhole_client.models import Credentials, Error, NewPost, PostEdit, User
from pinhole_client.types import File


def main(base_url: str, photo_file: str) -> None:
    username = f"python-{os.getpid()}"
    credentials = Credentials(username=username, password="correct horse")
    anonymous = Client(base_url=base_url)

    joined = join.sync_detailed(client=anonymous, body=credentials)
    assert joined.status_code == HTTPStatus.CREATED, joined
    assert isinstance(joined.parsed, User), joined
    assert (joined.parsed.username, joined.parsed.photo) == (username, None), joined.parsed
    client = AuthenticatedClient(base_url=base_url, token=joined.headers["X-Auth-Token"])

    assert login.sync(client=anonymous, body=credentials).id == joined.parsed.id
    assert me.sync(client=client).username == username

    with open(photo_file, "rb") as file:
        photo = File(payload=io.BytesIO(file.read()), file_name="photo", mime_type="application/octet-stream")
    created = create_post.sync(client=client, body=NewPost(photo=photo, message="from Python"))
    assert created.message == "from Python", created

    newest = feed.sync(client=anonymous, limit=1).data[0]
    assert (newest.id, newest.is_liked) == (created.id, False), newest

    assert like.sync_detailed(created.id, client=client).status_code == HTTPStatus.CREATED
    again = like.sync_detailed(created.id, client=client)
    assert again.status_code == HTTPStatus.CONFLICT, again
    assert isinstance(again.parsed, Error), again
    read = get_post.sync(created.id, client=client)
    assert (read.is_liked, read.like_count) == (True, 1), read

    edited = edit_post.sync(created.id, client=client, body=PostEdit(message="edited"))
    assert edited.message == "edited", edited

    picture = image.sync(UUID(str(created.photo.id)), 16, 16, client=anonymous)
    assert isinstance(picture, File), picture
    assert picture.payload.read(3) == b"\xff\xd8\xff", "a JPEG"

    # The documented way to parse a time.
    created_at = datetime.strptime(created.created_at, "%Y-%m-%dT%H:%M:%S%z")
    assert abs((datetime.now(timezone.utc) - created_at).total_seconds()) < 3600, created.created_at

    start = {"Upload-Complete": "?0", "Content-Type": "multipart/form-data; boundary=b"}
    upload = client.get_httpx_client().post("/posts", headers=start).headers["Location"].split("/")[-1]
    with open(photo_file, "rb") as file:
        form = b'--b\r\nContent-Disposition: form-data; name="photo"\r\n\r\n' + file.read() + b"\r\n--b--\r\n"

    def append(start: int, piece: bytes, complete: str):
        body = File(payload=io.BytesIO(piece))
        return append_upload.sync_detailed(
            UUID(upload), client=client, body=body, upload_offset=start, upload_complete=complete
        )

    stored = append(0, form[:100], "?0")
    assert (stored.status_code, stored.headers["Upload-Offset"]) == (HTTPStatus.NO_CONTENT, "100"), stored
    in_pieces = append(100, form[100:], "?1").parsed
    assert delete_post.sync_detailed(in_pieces.id, client=client).status_code == HTTPStatus.OK

    assert delete_post.sync_detailed(created.id, client=client).status_code == HTTPStatus.OK
    assert get_post.sync_detailed(created.id, client=client).status_code == HTTPStatus.NOT_FOUND
    print("Python: join, login, upload, feed, like, edit, image, upload in pieces and delete work")


main(*sys.argv[1:])
