"""Pages of questions with what the published submissions replied: by search, category and result.

Which questions are meant is decided by their positions: those that the database finds, and those
that the index of a submission's replies says were right or wrong. Texts are read for one page only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, joinedload

from snellen_hub.boards.published import latest_scores
from snellen_hub.database.tables import HostedBenchmark, HostedItem, HostedMedium, Submission
from snellen_hub.errors import NotThere
from snellen_hub.samples.content import ItemContent, read_content
from snellen_hub.samples.replies import RESULTS, RepliesReader, ReplyResult, StoredReply, shorten

PER_PAGE = 50
MAX_SUBMISSIONS = 100
"""Submissions that a page compares: those of the highest scores."""
MAX_REPLIES = 20
"""Submissions whose replies to a page of questions are read at once."""
MAX_PREVIEW = 2_000
"""Characters of a reply beside other questions."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
Ask = Literal["right", "wrong", ""]


class NoSuchItem(NotThere):
    """An item, or a benchmark with items to show, that is not there."""


class SampleQuery(Struct, frozen=True):
    """Which questions are shown."""

    search: str = ""
    """A text that question, options, answer or id hold, in any case."""
    category: str = ""
    submission: str = ""
    """Public id of the submission that `result` is of."""
    result: Ask = ""
    """`wrong` includes what is partly right, and replies that could not be read."""
    page: int = 1


class ComparedSubmission(NamedTuple):
    """A published submission whose replies are shown."""

    public_id: str
    model: str
    score: float | None
    """What the board shows."""
    replies: str
    """Key of the file of its replies."""


class ItemOnPage(NamedTuple):
    """A question, and how the submissions answered it."""

    position: int
    name: str
    category: str
    content: ItemContent
    right: int
    wrong: int
    results: Mapping[str, ReplyResult]
    """By public id of the submission."""


class ItemsPage(NamedTuple):
    """A page of questions."""

    query: SampleQuery
    total: int
    """Questions that the query finds."""
    pages: int
    items: Sequence[ItemOnPage]
    submissions: Sequence[ComparedSubmission]
    left_out: int
    """Published submissions beyond `MAX_SUBMISSIONS`, or not scored on these data yet."""


class ItemReplies(NamedTuple):
    """A question with the reply of each submission."""

    item: ItemOnPage
    replies: Sequence[tuple[ComparedSubmission, StoredReply | None]]
    left_out: int
    before: str | None
    """Id of the question before it in the data."""
    after: str | None


def check_public(benchmark: HostedBenchmark) -> None:
    """Raises NoSuchItem if the samples of a benchmark are not shown, whichever is asked for."""
    if benchmark.is_hidden:
        raise NoSuchItem(f"the answers of {benchmark.name} are hidden, and so are its samples")


def read_page(session: Session, reader: RepliesReader, benchmark: HostedBenchmark, query: SampleQuery) -> ItemsPage:
    """A page of questions. Raises NoSuchItem for a hidden split and for an unknown submission,
    StorageError."""
    check_public(benchmark)
    submissions, left_out = compared_submissions(session, benchmark)
    positions = _positions(session, reader, benchmark, query, submissions)
    pages = max(1, -(-len(positions) // PER_PAGE))
    number = min(max(query.page, 1), pages)
    wanted = positions[(number - 1) * PER_PAGE : number * PER_PAGE]
    rows = session.scalars(
        select(HostedItem)
        .where(HostedItem.benchmark_id == benchmark.id, HostedItem.position.in_(wanted.tolist()))
        .order_by(HostedItem.position)
    ).all()
    results = {each.public_id: reader.results(each.replies) for each in submissions}
    return ItemsPage(
        msgspec.structs.replace(query, page=number),
        len(positions),
        pages,
        [_item(row, results) for row in rows],
        submissions,
        left_out,
    )


def read_item(session: Session, reader: RepliesReader, benchmark: HostedBenchmark, name: str) -> ItemReplies:
    """A question with every reply to it. Raises NoSuchItem and StorageError."""
    check_public(benchmark)
    row = find_item(session, benchmark, name)
    submissions, left_out = compared_submissions(session, benchmark)
    results = {each.public_id: reader.results(each.replies) for each in submissions}
    replies = [(each, reader.replies(each.replies, [row.position]).get(row.position)) for each in submissions]
    neighbours = session.execute(
        select(HostedItem.position, HostedItem.name).where(
            HostedItem.benchmark_id == benchmark.id, HostedItem.position.in_([row.position - 1, row.position + 1])
        )
    ).all()
    names = {each[0]: each[1] for each in neighbours}
    return ItemReplies(_item(row, results), replies, left_out, names.get(row.position - 1), names.get(row.position + 1))


def read_replies(reader: RepliesReader, page: ItemsPage) -> Mapping[str, Mapping[int, StoredReply]]:
    """The beginnings of the replies to the questions of a page, by public id and position: of the
    submission that the query names, and of the best others. Raises StorageError."""
    positions = [item.position for item in page.items]
    first = sorted(page.submissions, key=lambda each: each.public_id != page.query.submission)
    replies = {}
    for each in first[:MAX_REPLIES]:
        read = reader.replies(each.replies, positions)
        replies[each.public_id] = {position: shorten(reply, MAX_PREVIEW) for position, reply in read.items()}
    return replies


def find_item(session: Session, benchmark: HostedBenchmark, name: str) -> HostedItem:
    """Raises NoSuchItem, for a hidden split whichever item is asked for."""
    check_public(benchmark)
    query = select(HostedItem).where(HostedItem.benchmark_id == benchmark.id, HostedItem.name == name)
    # No database takes a text with this character.
    row = None if "\x00" in name else session.scalar(query)
    if row is None:
        raise NoSuchItem(f"{benchmark.name} has no item {name[:80]!r}")
    return row


def find_medium(session: Session, benchmark: HostedBenchmark, digest: str) -> HostedMedium:
    """A medium of a public split by its digest. Raises NoSuchItem: for a hidden split whatever the
    digest, so that nobody can find out whether it holds a picture."""
    check_public(benchmark)
    query = select(HostedMedium).where(HostedMedium.benchmark_id == benchmark.id, HostedMedium.digest == digest)
    # No database takes a text with the character 0.
    row = session.scalar(query) if _DIGEST.fullmatch(digest) else None
    if row is None:
        raise NoSuchItem(f"{benchmark.name} has no picture or video of this digest")
    return row


def count_categories(session: Session, benchmark: HostedBenchmark) -> dict[str, int]:
    """Number of questions by category, in alphabetical order."""
    query = (
        select(HostedItem.category, func.count())
        .where(HostedItem.benchmark_id == benchmark.id)
        .group_by(HostedItem.category)
        .order_by(HostedItem.category)
    )
    return {row[0]: row[1] for row in session.execute(query) if row[0]}


def compared_submissions(session: Session, benchmark: HostedBenchmark) -> tuple[list[ComparedSubmission], int]:
    """The published submissions with replies to the present data, the highest first, and how many
    are left out."""
    query = (
        select(Submission)
        .where(
            Submission.benchmark_id == benchmark.id, Submission.visibility == "published", Submission.file.is_not(None)
        )
        .options(joinedload(Submission.benchmark))
    )
    published = session.scalars(query).all()
    scores = latest_scores(session, [each.id for each in published])
    found = []
    for each in published:
        score = scores.get(each.id)
        if score is not None and score.version == benchmark.version and score.replies is not None:
            found.append(ComparedSubmission(each.public_id, each.model, score.headline, score.replies))
    found.sort(key=lambda each: (each.score is None, -(each.score or 0.0), each.model))
    shown = found[:MAX_SUBMISSIONS]
    return shown, len(published) - len(shown)


def _positions(
    session: Session,
    reader: RepliesReader,
    benchmark: HostedBenchmark,
    query: SampleQuery,
    submissions: Sequence[ComparedSubmission],
) -> NDArray[np.int64]:
    """Positions of the questions that are meant, in order."""
    found: Select[Any] = select(HostedItem.position).where(HostedItem.benchmark_id == benchmark.id)
    if query.category:
        found = found.where(HostedItem.category == query.category)
    if query.search:
        found = found.where(HostedItem.text.contains(query.search.lower().replace("\x00", ""), autoescape=True))
    if query.category or query.search:
        rows = session.scalars(found.order_by(HostedItem.position)).all()
        positions = np.array(rows, dtype=np.int64)
    else:
        # Positions have no gaps, and the last one is found at once.
        last = session.scalar(select(func.max(HostedItem.position)).where(HostedItem.benchmark_id == benchmark.id))
        positions = np.arange(0 if last is None else last + 1)
    if not query.submission or not query.result:
        return positions
    named = next((each for each in submissions if each.public_id == query.submission), None)
    if named is None:
        raise NoSuchItem(f"no published submission {query.submission} has replies to these data")
    results = reader.results(named.replies)
    is_right = results == RESULTS.index("right")
    mask = is_right if query.result == "right" else ~is_right
    positions = positions[positions < len(mask)]
    kept: NDArray[np.int64] = positions[mask[positions]]
    return kept


def _item(row: HostedItem, results: Mapping[str, NDArray[np.uint8]]) -> ItemOnPage:
    own: dict[str, ReplyResult] = {
        name: RESULTS[codes[row.position]] if row.position < len(codes) else "none" for name, codes in results.items()
    }
    right = sum(result == "right" for result in own.values())
    known = sum(result not in ("none", "unscored") for result in own.values())
    return ItemOnPage(row.position, row.name, row.category, read_content(row), right, known - right, own)
