"""A session through the generated client."""

import io
import os
import sys
from http import HTTPStatus
from uuid import UUID

from pinhole_client import AuthenticatedClient, Client
from pinhole_client.api.accounts import join, login, me
from pinhole_client.api.feed import feed
from pinhole_client.api.likes import like
from pinhole_client.api.photos import image
from pinhole_client.api.posts import create_post, delete_post, edit_post, get_post
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

    assert delete_post.sync_detailed(created.id, client=client).status_code == HTTPStatus.OK
    assert get_post.sync_detailed(created.id, client=client).status_code == HTTPStatus.NOT_FOUND
    print("Python: join, login, upload, feed, like, edit, image and delete work")


main(*sys.argv[1:])
