"""Answers to requests that name what they have already (RFC 9110, Section 13)."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from fastapi import Request, Response


def validators(etag: str, modified: datetime | None = None) -> dict[str, str]:
    """The headers by which a client asks again; `etag` with its quotes."""
    headers = {"ETag": etag}
    if modified is not None:
        headers["Last-Modified"] = format_datetime(modified.astimezone(UTC), usegmt=True)
    return headers


def not_modified(request: Request, etag: str, modified: datetime | None = None) -> Response | None:
    """The answer 304 if the client has this already; None if it must be sent."""
    if _has_it(request, etag, modified):
        return Response(status_code=304, headers=validators(etag, modified))
    return None


def _has_it(request: Request, etag: str, modified: datetime | None) -> bool:
    named = request.headers.get("if-none-match")
    if named is not None:
        # A date is not looked at if there is a tag.
        tags = {tag.strip().removeprefix("W/") for tag in named.split(",")}
        return "*" in tags or etag.removeprefix("W/") in tags
    since = request.headers.get("if-modified-since")
    if since is None or modified is None:
        return False
    try:
        known = parsedate_to_datetime(since)
    except ValueError:
        return False
    if known.tzinfo is None:
        known = known.replace(tzinfo=UTC)
    return modified.replace(microsecond=0) <= known
