"""The page on which people review a data set, served to this machine alone.

Who may do what is said by the token of a link: annotators see their own decisions only, and in a
blind review neither keys nor replies; an adjudicator sees everything. The tokens are kept in the
review's folder, so that links and open pages stay valid when the server is started again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from snellen.api.run_images import content_type
from snellen.core.errors import SnellenError, StorageError, UsageError, storage_errors
from snellen.core.media import check_image
from snellen.core.sample import MediaRef
from snellen.data_sets.decisions import Decision, Evidence
from snellen.data_sets.items import Item, item_kind
from snellen.report.page.embedded import escape_json
from snellen.report.page.layout import page_layout, template_environment
from snellen.settings import max_image_pixels
from snellen.view.local_server import HTML, JSON, LocalServer, NoSuchAddress, PageAnswer, PageRequest
from snellen.view.sample_source import describe_parts, read_video_part, video_subtitles
from snellen.view.server import SUBTITLES
from snellen_curate.review.board import ReviewBoard, blind_changes
from snellen_curate.review.edits import answer_choices, changes_before_and_after, item_fields
from snellen_curate.review.entries import DROP_REASONS, MAX_NAME, MAX_TEXT, ItemReviews, ReviewEntry, Role, check_name
from snellen_curate.review.queue import MAX_REPLY, QueuedItem, evidence_of

PAGE_SLACK = 0.01
"""Of the decisions of a large review that the measures on the page need not count yet."""
SHORT = 160
"""Characters of a question in the list."""


def page_constants(board: ReviewBoard) -> dict[str, Any]:
    """What the page knows of the review before anybody opens a link: none of its data."""
    settings = board.settings
    return {
        "blind": settings.blind,
        "annotators": settings.annotators,
        "mismatch": settings.mismatch,
        "reasons": list(DROP_REASONS.items()),
        "maxText": MAX_TEXT,
        "maxName": MAX_NAME,
    }


def describe_item(board: ReviewBoard, name: str, by: str, role: Role) -> dict[str, Any]:
    """An item with what this person may know of it."""
    queued = board.queue.items[name]
    sample = queued.item.sample
    reviews = board.reviews(name)
    sees_key = role == "adjudicator" or not board.settings.blind
    described: dict[str, Any] = {
        "id": name,
        "position": list(board.queue.items).index(name),
        "kind": item_kind(queued.item),
        "question": sample.question,
        "hint": sample.hint,
        "choices": list(answer_choices(queued.item).items()),
        "option_images": {label: ref.digest for label, ref in sample.option_images.items()},
        "media": [_describe_medium(ref) for ref in sample.media],
        "source": _source(queued),
        "own": _own(reviews, by, role),
        "comments": [
            {"by": entry.by, "text": entry.comment, "at": entry.at}
            for entry in reviews.comments()
            if role == "adjudicator" or (entry.by == by and entry.role == role)
        ],
        "abilities": list(board.queue.abilities.parents),
        "ability_column": board.queue.abilities.column,
    }
    if sees_key:
        described |= {
            "gold": list(sample.gold),
            "groups": dict(sample.groups),
            "cells": dict(queued.item.cells),
            "fields": list(item_fields(queued.item).items()),
            "problem": queued.item.problem,
            "flags": [_flag(each) for each in queued.flags],
            "replies": [_reply(each) for each in (*queued.replies, *evidence_of(queued.flags))],
            "pairs": [_describe_pair(item) for item in queued.pairs],
        }
    if role == "adjudicator":
        described |= _describe_outcome(board, name, reviews)
    return described


def _describe_pair(item: Item) -> dict[str, Any]:
    """An item beside the one that is reviewed."""
    return {
        "id": item.id,
        "kind": item_kind(item),
        "question": item.sample.question,
        "choices": list(answer_choices(item).items()),
        "option_images": {},
        "gold": list(item.sample.gold),
        "pictures": [ref.digest for ref in item.sample.media if ref.kind == "image"],
    }


def _describe_outcome(board: ReviewBoard, name: str, reviews: ItemReviews) -> dict[str, Any]:
    """Where the review of an item stands, and what the decisions about it say."""
    queued, outcome, figures = board.queue.items[name], board.outcome(name), board.figures(PAGE_SLACK)
    warnings = {each.annotator: each.warning for each in figures.annotators}
    decisions = []
    for entry in reviews.last_decisions():
        blind = entry.action == "answer"
        changes = blind_changes(queued, entry, board.queue.abilities) if blind else dict(entry.changes)
        changed = [[field, *texts] for field, texts in changes_before_and_after(queued.item, changes).items()]
        warning = warnings.get(entry.by, "") if entry.role == "annotator" else ""
        own = {"role": entry.role, "changed": changed, "changes": changes}
        decisions.append({"warning": warning, **msgspec.to_builtins(entry), **own})
    return {
        "outcome": {name: getattr(outcome, name) for name in ("status", "action", "reason", "by")},
        "decisions": decisions,
        "chances": figures.chances.get(name, {}),
        "right": f"{queued.gold.action} {queued.gold.answer}" if queued.gold else "",
    }


def _describe_medium(ref: MediaRef) -> dict[str, str]:
    """A medium; of an image that a model could not be given, why. Browsers draw parts of some."""
    problem = ""
    if ref.kind == "image":
        try:
            check_image(ref.source.read(), max_image_pixels())
        except (SnellenError, OSError) as error:
            problem = str(error)
    return {"digest": ref.digest, "kind": ref.kind, "problem": problem}


def _source(queued: QueuedItem) -> dict[str, Any] | None:
    try:
        return describe_parts(queued.item.sample, queued.item.sample)
    except (SnellenError, OSError):
        return None


def _own(reviews: ItemReviews, by: str, role: Role) -> dict[str, Any] | None:
    """The person's own decision."""
    entry = reviews.resolution() if role == "adjudicator" else reviews.decisions().get(by)
    return None if entry is None else msgspec.to_builtins(entry)


def _flag(decision: Decision) -> dict[str, Any]:
    """Why a step flagged the item, and what it changed, such as a question to its translation."""
    return {
        "step": decision.step,
        "rule": decision.rule,
        "reason": decision.reason,
        "changed": [[field, *texts] for field, texts in decision.changes.items()],
    }


def _reply(evidence: Evidence) -> dict[str, Any]:
    return {
        "model": evidence.model,
        "reply": evidence.reply[:MAX_REPLY],
        "verdict": evidence.verdict,
        "score": evidence.score,
    }


def describe_rows(board: ReviewBoard, by: str, role: Role, show: str, text: str) -> list[dict[str, Any]]:
    """The rows of the list. `show`: "all", "todo", "mine", or for an adjudicator a status."""
    needle = text.casefold().strip()
    rows = []
    for position, (name, outcome, reviews) in enumerate(board.rows()):
        sample = board.queue.items[name].item.sample
        if needle and needle not in f"{name} {sample.question}".casefold():
            continue
        own = _own(reviews, by, role)
        row = {
            "id": name,
            "position": position,
            "question": sample.question[:SHORT],
            "own": own["action"] if own else "",
            "media": [ref.digest for ref in sample.media if ref.kind == "image"][:1],
        }
        if role == "adjudicator":
            row |= {"status": outcome.status, "action": outcome.action, "reason": outcome.reason}
        if show == ("mine" if own else "todo") or show in ("all", row.get("status")):
            rows.append(row)
    return rows


PORT = 8421
"""Used if no port is named and it is free."""
MAX_ROWS = 200
"""Items of the list in one answer at most."""
LINKS_FILE = ".review-links.json"
HOME = ("snellen_curate.review", "snellen.view")
STYLES = ("page.css", "review.css")
SCRIPTS = (
    "theme.js",
    "sample.js",
    "places.js",
    "lightbox.js",
    "source.js",
    "review-store.js",
    "review-item.js",
    "review-forms.js",
    "review-lists.js",
    "review.js",
)


class ReviewLink(Struct, frozen=True, omit_defaults=True):
    """Who opens the page by a link."""

    role: Role
    token: str
    name: str = ""
    """The only name that the link is valid for; empty if the page asks for one."""


def read_links(folder: Path, names: Sequence[str] = ()) -> list[ReviewLink]:
    """The links of a review, made with its first start: one for annotators, one for adjudicators,
    and one for each of `names`, who alone can then annotate. Raises UsageError and StorageError."""
    path = folder / LINKS_FILE
    try:
        links = msgspec.json.decode(path.read_bytes(), type=list[ReviewLink])
    except FileNotFoundError:
        links = []
    except (OSError, msgspec.DecodeError) as error:
        raise StorageError(f"cannot read {path}: {error}; delete it to have new links") from error
    annotators = [ReviewLink("annotator", "", check_name(name)) for name in names or ()]
    wanted = [*(annotators or [ReviewLink("annotator", "")]), ReviewLink("adjudicator", "")]
    known = {(link.role, link.name): link for link in links}
    every = [known.get((link.role, link.name)) or replace(link, token=secrets.token_urlsafe(16)) for link in wanted]
    missing = [link for link in every if link not in links]
    if missing:
        _write_links(path, [*links, *missing])
    return every


def _write_links(path: Path, links: list[ReviewLink]) -> None:
    """Only the owner may read the file: whoever has a token may decide."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with storage_errors("write", path):
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123
            file.write(msgspec.json.encode(links))
        part.replace(path)


class ReviewServer(LocalServer):
    """Serves the page of a review."""

    def __init__(self, board: ReviewBoard, links: Sequence[ReviewLink], port: int | None = None) -> None:
        self.board = board
        self.links = links
        self.shell = render_review_page(board).encode()
        # The same for all links, and with each start: pages that are open stay valid.
        self.read_token = hashlib.sha256(f"page {links[-1].token}".encode()).hexdigest()[:22]
        super().__init__(port, PORT)

    def address(self, link: ReviewLink) -> str:
        """The address that a person opens: with the token of the page, which becomes a cookie, and
        with the link's in its fragment, which browsers send to no server."""
        name = f"&as={quote(link.name)}" if link.name else ""
        return f"{self.url}#key={link.token}{name}"

    def tokens(self) -> tuple[str, ...]:
        return tuple(link.token for link in self.links)

    def find_action(self, path: str) -> Callable[[PageRequest], Any] | None:
        action = _ACTIONS.get(path)
        return None if action is None else lambda request: action(self.board, *self._who(request))

    def read(self, request: PageRequest) -> PageAnswer:
        if request.path == "/":
            return PageAnswer(HTML, self.shell)
        for start, send in (("/media/", self._image), ("/video/", self._video)):
            if request.path.startswith(start):
                return send(request, request.path.removeprefix(start))
        route = _ROUTES.get(request.path)
        if route is None:
            raise NoSuchAddress
        try:
            content = route(self.board, *self._who(request))
        except (KeyError, ValueError) as error:
            raise UsageError(f"the address {request.path} lacks something: {error}") from error
        return PageAnswer(JSON, msgspec.json.encode(content))

    def _who(self, request: PageRequest) -> tuple[Person, PageRequest]:
        """Raises UsageError for a page without a valid link."""
        token = request.token.encode()
        links = [each for each in self.links if hmac.compare_digest(token, each.token.encode())]
        if not links:
            raise UsageError("this link is not valid; open the one that snellen curate review printed")
        name = links[0].name or request.query.get("by", "")
        return Person(check_name(name) if name else "", links[0].role), request

    def _image(self, request: PageRequest, digest: str) -> PageAnswer:
        """`/media/DIGEST?item=ID`. A page cannot send the link's token with an image; the cookie of
        the page comes with it."""
        ref = self._medium(request, digest)
        if ref.kind != "image":
            raise NoSuchAddress
        data = ref.source.read()
        kind = content_type(data)
        if not kind.startswith("image/"):
            raise NoSuchAddress
        return PageAnswer(kind, data)

    def _video(self, request: PageRequest, digest: str) -> PageAnswer:
        """`/video/DIGEST?item=ID`: a part of a video; with `subtitles=1` its subtitles."""
        ref = self._medium(request, digest)
        if "subtitles" in request.query:
            text = video_subtitles(ref)
            if text is None:
                raise NoSuchAddress
            return PageAnswer(SUBTITLES, text.encode())
        part = read_video_part(ref, request.start) if ref.kind == "video" else None
        if part is None or not part.data:
            raise NoSuchAddress
        return PageAnswer(part.kind, part.data, (part.start, part.size))

    def _medium(self, request: PageRequest, digest: str) -> MediaRef:
        queued = self.board.queue.items.get(request.query.get("item", ""))
        if queued is None:
            raise NoSuchAddress
        sample = queued.item.sample
        beside = (ref for item in queued.pairs for ref in item.sample.media)
        for ref in (*sample.media, *sample.option_images.values(), *beside):
            if ref.digest == digest:
                return ref
        raise NoSuchAddress


class Person(NamedTuple):
    """Who asks."""

    name: str
    """Empty before the page knows it."""
    role: Role


def render_review_page(board: ReviewBoard) -> str:
    """The page. It holds nothing of the data, which its scripts fetch with the link's token."""
    return (
        template_environment(HOME)
        .get_template("review.html")
        .render(
            **page_layout(STYLES, SCRIPTS, HOME, with_server=True),
            known=escape_json(msgspec.json.encode(page_constants(board))).decode(),
        )
    )


def _state(board: ReviewBoard, person: Person, request: PageRequest) -> dict[str, Any]:
    progress = board.progress(person.name)
    return {
        "role": person.role,
        "name": person.name,
        "items": progress.items,
        "own": progress.own,
        "statuses": progress.by_status,
        "unreadable": board.log.unreadable[:5],
    }


def _next(board: ReviewBoard, person: Person, request: PageRequest) -> dict[str, Any]:
    found = board.next_item(_require_name(person), request.query.get("after", ""), person.role)
    item = None if found.item is None else describe_item(board, found.item, *person)
    return {"item": item, "waiting": found.waiting, "state": _state(board, person, request)}


def _item(board: ReviewBoard, person: Person, request: PageRequest) -> dict[str, Any]:
    name, step = request.query["id"], int(request.query.get("step", "0"))
    board.reviews(name)
    item = describe_item(board, board.neighbour(name, step), *person)
    return {"item": item, "state": _state(board, person, request)}


def _rows(board: ReviewBoard, person: Person, request: PageRequest) -> dict[str, Any]:
    query = request.query
    rows = describe_rows(board, *person, query.get("show", "all"), query.get("text", ""))
    start = int(query.get("from", "0"))
    return {"rows": rows[start : start + MAX_ROWS], "found": len(rows), "state": _state(board, person, request)}


def _agreement(board: ReviewBoard, person: Person, request: PageRequest) -> dict[str, Any]:
    if person.role != "adjudicator":
        raise UsageError("agreement is for the adjudicator's link")
    people = board.figures(PAGE_SLACK).annotators
    return {"fields": board.agreement(), "annotators": people, "state": _state(board, person, request)}


def _decide(board: ReviewBoard, person: Person, request: PageRequest) -> dict[str, Any]:
    try:
        asked = msgspec.json.decode(request.body, type=dict[str, Any])
        own = {"by": _require_name(person), "role": person.role, "at": ""}
        if not own.keys().isdisjoint(asked):
            raise UsageError("this is no decision: who decides, and when, is not for a page to say")
        entry = msgspec.convert(asked | own, ReviewEntry)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"this is no decision: {error}") from error
    board.decide(entry)
    return {"state": _state(board, person, request)}


def _undo(board: ReviewBoard, person: Person, request: PageRequest) -> dict[str, Any]:
    name = board.undo(_require_name(person), person.role)
    item = None if name is None else describe_item(board, name, *person)
    return {"item": item, "state": _state(board, person, request)}


def _require_name(person: Person) -> str:
    if not person.name:
        raise UsageError("enter your name first")
    return person.name


Route = Callable[[ReviewBoard, Person, PageRequest], Any]
_ROUTES: dict[str, Route] = {
    "/api/state": _state,
    "/api/next": _next,
    "/api/item": _item,
    "/api/rows": _rows,
    "/api/agreement": _agreement,
}
_ACTIONS: dict[str, Route] = {"/api/decide": _decide, "/api/undo": _undo}
