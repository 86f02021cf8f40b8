"""Public and private parts: the draw, dates of reveals, new questions after one, who may submit."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from test_scoring import predictions, write_data

from snellen.core.errors import UsageError
from snellen.core.media import FileSource
from snellen.core.sample import MediaRef, Sample
from snellen.core.secret import Secret
from snellen_hub import reveals
from snellen_hub.accounts.access import account_called, create_account, now
from snellen_hub.boards.feeds import describe_change
from snellen_hub.config import HiddenSplits, HubConfig, SubmissionLimits, parse_config
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import BoardChange, FinalScore, HostedBenchmark, Submission
from snellen_hub.hosting import NewBenchmark, add_benchmark, replace_data
from snellen_hub.hub import Hub
from snellen_hub.intake import NewSubmission, NotConfirmed, take_submission
from snellen_hub.jobs.worker import Worker
from snellen_hub.publishing import PublicationRefused, publish_submission
from snellen_hub.question_parts import draw_parts, read_draw
from snellen_hub.reveals import choose_final, reveal_due, reveal_part, set_dates
from snellen_hub.storage import Storage
from snellen_hub.uploaded_replies import decode_questions


def question(number: int, picture: str = "", unit: str = "", group: str = "") -> Sample:
    media = tuple(MediaRef(name, FileSource(name)) for name in picture.split())
    return Sample(str(number), "choice", "What?", unit=unit, media=media, groups={"category": group})


def test_each_category_is_divided_alike() -> None:
    samples = [question(n, group="abcd"[n % 4]) for n in range(400)]
    parts = draw_parts(samples, 7, 0.3, [1, 2], {})
    by_category = Counter((parts[each.id], each.groups["category"]) for each in samples)
    for group in "abcd":
        sizes = [by_category[part, group] for part in range(3)]
        assert sum(sizes) == 100
        assert all(abs(size - share) <= 2 for size, share in zip(sizes, (30, 35, 35), strict=True))
    assert draw_parts(samples, 7, 0.3, [1, 2], {}) == parts
    assert draw_parts(samples, 8, 0.3, [1, 2], {}) != parts


def test_questions_sharing_an_image_or_unit_stay_together() -> None:
    """Through any one of several pictures; 12 questions in a chain are one unit."""
    chain = [question(n, picture=f"p{n} p{n + 1}") for n in range(12)]
    units = [question(20 + n, unit=f"u{n // 2}") for n in range(40)]
    singles = [question(100 + n) for n in range(60)]
    for seed in range(30):
        parts = draw_parts([*chain, *units, *singles], seed, 0.5, [1], {})
        assert len({parts[each.id] for each in chain}) == 1
        assert all(parts[one.id] == parts[other.id] for one, other in zip(units[::2], units[1::2], strict=True))
        assert 44 <= sum(part == 0 for part in parts.values()) <= 68


def test_known_questions_keep_their_part_and_take_their_unit_along() -> None:
    old = [question(n, picture=f"p{n}") for n in range(40)]
    known = draw_parts(old, 1, 0.3, [1], {})
    new = [question(100 + n, picture=f"p{n}") for n in range(10)]
    fresh = [question(200 + n) for n in range(50)]
    parts = draw_parts([*old, *new, *fresh], 2, 0.3, [2], known)
    assert {name: parts[name] for name in known} == known
    assert [parts[each.id] for each in new] == [known[str(n)] for n in range(10)]
    assert Counter(parts[each.id] for each in fresh) == {0: 15, 2: 35}


def test_too_few_questions_are_refused_in_a_sentence() -> None:
    samples = [question(n, picture="one") for n in range(9)]
    with pytest.raises(UsageError, match=r"9 questions about 1 pictures cannot be divided"):
        draw_parts(samples, 0, 0.3, [1], {})
    with pytest.raises(UsageError, match="fewer dates"):
        draw_parts([question(n) for n in range(4)], 0, 0.25, [1, 2, 3, 4], {})


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    database = Database(f"sqlite:///{tmp_path / 'hub.sqlite'}")
    database.upgrade()
    return hub_with_parts(tmp_path, database)


def hub_with_parts(tmp_path: Path, database: Database) -> Hub:
    opened = Hub(tmp_path, HubConfig(), database, Storage(str(tmp_path / "storage"), Secret("k")))
    with database.writing() as session:
        create_account(session, "ann", "submitter", None)
        create_account(session, "eve", "submitter", None, is_confirmed=False)
        data = write_data(tmp_path / "signs.tsv")
        new = NewBenchmark(name="signs", title="Signs", data=data, is_hidden=True, private_parts=2)
        add_benchmark(session, opened.storage, new)
    return opened


def signs(session: Session) -> HostedBenchmark:
    return session.scalars(select(HostedBenchmark)).one()


def submit(session: Session, hub: Hub, name: str, right: int) -> Submission:
    account = account_called(session, name)
    assert account is not None
    new = NewSubmission(model=f"m{right}", file_name="p.jsonl", content=predictions(right))
    return take_submission(
        session, hub.storage, signs(session), account.id, new, SubmissionLimits(), hidden=hub.config.hidden
    )


def test_only_confirmed_accounts_submit_where_answers_are_hidden(hub: Hub) -> None:
    with hub.database.writing() as session:
        with pytest.raises(NotConfirmed, match="eve signed up without an invitation; verify your"):
            submit(session, hub, "eve", 30)
        open_hub = Hub(hub.folder, HubConfig(hidden=HiddenSplits(confirmed_only=False)), hub.database, hub.storage)
        assert submit(session, open_hub, "eve", 30).status == "queued"
        eve = account_called(session, "eve")
        assert eve is not None
        eve.confirmed = now()
        assert submit(session, hub, "eve", 31).status == "queued"
        assert submit(session, hub, "ann", 32).status == "queued"


def test_parts_are_revealed_at_their_dates(hub: Hub) -> None:
    with hub.database.writing() as session:
        row = signs(session)
        assert read_draw(row).sizes == (18, 21, 21)
        first = submit(session, hub, "ann", 20)
        with pytest.raises(PublicationRefused, match="is not published with its replies"):
            choose_final(session, first)
        with pytest.raises(UsageError, match="has 2 private parts left, and 3 dates are given"):
            set_dates(session, row, [now() + timedelta(days=day) for day in (1, 2, 3)])
        with pytest.raises(UsageError, match="is past; expected a later time"):
            set_dates(session, row, [datetime(2020, 1, 1, tzinfo=UTC)])
        soon = now() + timedelta(seconds=3600)
        set_dates(session, row, [soon + timedelta(days=1), soon])
        assert reveal_due(session) == []
        change = session.scalars(select(BoardChange).order_by(BoardChange.id.desc())).first()
        assert change is not None
        line = describe_change(change.kind, "", change.before, change.after, "Signs")
        assert line.startswith("Signs: next reveals of private questions: 20")
    Worker(hub, print).work(until_empty=True)
    with hub.database.writing() as session:
        publish_submission(session, session.get_one(Submission, first.id))
        row = signs(session)
        row.reveals = [now().isoformat(), row.reveals[1]]
        late = submit(session, hub, "ann", 60)
    # What waits is scored, and the worker reveals what is due before that.
    Worker(hub, print).work(until_empty=True)
    Worker(hub, print).work(until_empty=True)
    with hub.database.writing() as session:
        row = signs(session)
        assert (row.revealed, row.version, len(row.reveals)) == (1, 2, 1)
        (final,) = session.scalars(select(FinalScore))
        # The later one is better, but it was made after the date.
        assert (final.part, final.submission_id) == (1, first.id)
        private = [int(each.name) for each in decode_questions(hub.storage.get(row.ids)) if each.part == 1]
        value = final.summary["headline"]["value"]
        assert value == pytest.approx(100 * sum(n < 20 for n in private) / 21)
        assert session.get_one(Submission, late.id).scores[-1].samples == 39
        row.reveals = []
        assert reveal_part(session, row, now()).part == 2
        with pytest.raises(UsageError, match="has no private part left to reveal"):
            reveal_part(session, row, now())
        assert session.scalars(select(FinalScore).where(FinalScore.part == 1)).all() == [final]


def test_the_next_reveal_needs_new_questions(hub: Hub, tmp_path: Path) -> None:
    with hub.database.writing() as session:
        row = signs(session)
        for _ in range(2):
            reveal_part(session, row, now())
        data = tmp_path / "more.tsv"
        old = (tmp_path / "signs.tsv").read_text()
        new = NewBenchmark(name="signs", title="Signs", data=tmp_path / "signs.tsv", is_hidden=True)
        replace_data(session, hub.storage, row, new)
        with pytest.raises(UsageError, match="has no private part left"):
            reveal_part(session, row, now())
        lines = [f"{n}\tWhat is {n}?\tone\ttwo\tthree\tfour\tA\teven" for n in range(60, 100)]
        data.write_text(old + "\n".join(lines) + "\n")
        new = NewBenchmark(name="signs", title="Signs", data=data, is_hidden=True)
        replace_data(session, hub.storage, row, new)
        assert read_draw(row).sizes == (18 + 12, 21, 21, 28)
        assert reveal_part(session, row, now()).part == 3


def test_questions_that_are_dropped_and_come_back_keep_their_part(hub: Hub, tmp_path: Path) -> None:
    """Whoever saw a public answer must not find it behind a private score, however often data change."""
    lines = (tmp_path / "signs.tsv").read_text().splitlines(keepends=True)
    fewer = tmp_path / "fewer.tsv"
    with hub.database.writing() as session:
        row = signs(session)

        def parts() -> dict[str, int]:
            return {each.name: each.part for each in decode_questions(hub.storage.get(row.ids))}

        def replace_with(text: str) -> None:
            fewer.write_text(text)
            new = NewBenchmark(name="signs", title="Signs", data=fewer, is_hidden=True)
            replace_data(session, hub.storage, row, new)

        first = parts()
        replace_with("".join(lines[:31]))
        assert read_draw(row).removed == {name: first[name] for name in map(str, range(30, 60))}
        replace_with("".join(lines[:1] + lines[21:]))
        assert parts() == {name: first[name] for name in map(str, range(20, 60))}
        replace_with("".join(lines))
        assert parts() == first
        assert read_draw(row).removed == {}


def test_two_workers_reveal_one_part_at_its_date(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = hub_with_parts(tmp_path, database)
    with hub.database.writing() as session:
        signs(session).reveals = [now().isoformat()]
    # Both have found the benchmark due before one of them holds its row, where writers of the
    # database do not wait for each other from the start.
    both = threading.Barrier(2)
    found_due = reveals._due

    def meet(row: HostedBenchmark) -> datetime | None:
        moment = found_due(row)
        with suppress(threading.BrokenBarrierError):
            both.wait(1)
        return moment

    def work(_: int) -> list[str]:
        with hub.database.writing() as session:
            return reveal_due(session)

    monkeypatch.setattr(reveals, "_due", meet)
    with ThreadPoolExecutor(2) as threads:
        lines = [line for done in threads.map(work, range(2)) for line in done]
    assert lines == ["signs: part 1 is revealed, 0 finals"]
    with hub.database.reading() as session:
        assert (signs(session).revealed, list(signs(session).reveals)) == (1, [])


def test_a_setting_of_the_ladder_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`ladder`.*take that line out"):
        parse_config("[hidden]\nladder = true\n", tmp_path)
