"""Samples of public splits: stored, searched, compared; data with pictures; versions; flags."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import select
from test_scoring import LIMITS, QUESTIONS, predictions, score_of, submit, work, write_data

from snellen.core.errors import DataError, UsageError
from snellen.core.secret import Secret
from snellen.data_sets.items import open_items
from snellen_curate.review.entries import ReviewEntry
from snellen_curate.review.opening import open_review
from snellen_hub.accounts.access import create_account
from snellen_hub.config import HubConfig
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import Account, HostedBenchmark, HostedItem, HostedMedium, Submission, WrongLabelFlag
from snellen_hub.hosting import NewBenchmark, Protocol, add_benchmark, replace_data, rescore
from snellen_hub.hub import Hub
from snellen_hub.samples.browsing import (
    ItemsPage,
    NoSuchItem,
    SampleQuery,
    count_categories,
    find_medium,
    read_item,
    read_page,
    read_replies,
)
from snellen_hub.samples.flags import FLAGS_PER_DAY, TooManyFlags, raise_flag, read_flags
from snellen_hub.samples.replies import MAX_REPLY, RepliesReader
from snellen_hub.samples.review_folder import write_review_folder
from snellen_hub.samples.versions import score_history
from snellen_hub.storage import Storage


@pytest.fixture
def hub(database: Database, tmp_path: Path) -> Hub:
    storage = Storage(str(tmp_path / "storage"), Secret("a key of the tests"))
    opened = Hub(tmp_path, HubConfig(submissions=LIMITS), database, storage)
    with database.writing() as session:
        create_account(session, "ann", "submitter", "a long password")
        for name, hidden in (("open-signs", False), ("hidden-signs", True)):
            data = write_data(tmp_path / f"{name}.tsv")
            add_benchmark(session, storage, NewBenchmark(name=name, title=name, data=data, is_hidden=hidden))
    return opened


def publish(hub: Hub, *submissions: int) -> None:
    with hub.database.writing() as session:
        for each in submissions:
            row = session.get_one(Submission, each)
            row.visibility = "published"


def page_of(hub: Hub, name: str = "open-signs", **asked: object) -> ItemsPage:
    with hub.database.reading() as session:
        row = benchmark(session, name)
        return read_page(session, RepliesReader(hub.storage), row, SampleQuery(**asked))


def benchmark(session, name: str) -> HostedBenchmark:
    return session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == name)).one()


def public_id(hub: Hub, submission: int) -> str:
    with hub.database.reading() as session:
        return session.get_one(Submission, submission).public_id


def picture(color: str, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (24, 24), color).save(file, kind)
    return file.getvalue()


def test_questions_are_found_by_text_category_and_result(hub: Hub) -> None:
    good, bad = submit(hub, "open-signs", predictions(45)), submit(hub, "open-signs", predictions(10))
    work(hub)
    publish(hub, good, bad)
    everything = page_of(hub)
    assert (everything.total, everything.pages, len(everything.items)) == (QUESTIONS, 2, 50)
    assert [each.score for each in everything.submissions] == [75.0, pytest.approx(16.67, abs=0.1)]
    first, last = everything.items[0], page_of(hub, page=2).items[-1]
    assert (first.name, first.right, first.wrong) == ("0", 2, 0)
    assert (last.name, last.right, last.wrong) == ("59", 0, 2)
    assert first.content.gold == ("A",)
    assert page_of(hub, category="odd").total == 30
    assert [item.name for item in page_of(hub, search="IS 1?").items] == ["1"]
    assert page_of(hub, search="What is 1", category="odd").total == 6
    assert page_of(hub, search="100%_").total == 0
    mine = public_id(hub, good)
    wrong = page_of(hub, submission=mine, result="wrong")
    assert [item.name for item in wrong.items] == [str(n) for n in range(45, 60)]
    assert page_of(hub, submission=mine, result="right", category="odd").total == 22
    assert page_of(hub, page=99).query.page == 2
    with hub.database.reading() as session:
        row = benchmark(session, "open-signs")
        assert count_categories(session, row) == {"even": 30, "odd": 30}


def test_a_question_is_shown_with_every_reply(hub: Hub) -> None:
    rows = [
        {"index": n, "prediction": f"I think it is (B). {'x' * 30_000}" if n == 2 else "none"} for n in range(QUESTIONS)
    ]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    submission = submit(hub, "open-signs", content)
    private = submit(hub, "open-signs", predictions(5))
    work(hub)
    publish(hub, submission)
    with hub.database.reading() as session:
        row = benchmark(session, "open-signs")
        reader = RepliesReader(hub.storage)
        shown = read_item(session, reader, row, "2")
        ((_, reply),) = shown.replies
        assert (shown.before, shown.after) == ("1", "3")
        assert reply is not None
        turn = reply.passes[0]
        assert (reply.outcome, reply.answer) == ("answered", "B")
        assert (turn.answer, bool(turn.rule), len(turn.reply)) == ("B", True, MAX_REPLY)
        assert turn.length == len("I think it is (B). ") + 30_000
        assert private not in [each.public_id for each, _ in shown.replies]
        page = read_page(session, reader, row, SampleQuery())
        replies = read_replies(reader, page)[public_id(hub, submission)]
        assert replies[0].passes[0].reply == "none"
        with pytest.raises(NoSuchItem, match="has no item '60'"):
            read_item(session, reader, row, "60")


@pytest.mark.attack(
    "asking a hub for samples, pictures and flags of a hidden split, by id and by digest",
    "one sentence, whatever is named",
)
def test_nothing_of_a_hidden_split_is_shown(hub: Hub) -> None:
    submission = submit(hub, "hidden-signs", predictions(45))
    work(hub)
    publish(hub, submission)
    assert score_of(hub, submission).replies is None
    sentences = set()
    with hub.database.writing() as session:
        row = benchmark(session, "hidden-signs")
        account = session.scalars(select(Account)).one()
        assert session.scalars(select(HostedItem).where(HostedItem.benchmark_id == row.id)).all() == []
        reader = RepliesReader(hub.storage)
        for name in ("0", "1", "no such item"):
            for ask in (
                lambda name=name: read_item(session, reader, row, name),
                lambda: read_page(session, reader, row, SampleQuery()),
                lambda name=name: find_medium(session, row, name * 64),
                lambda name=name: raise_flag(session, row, account.id, name, "ambiguous", "why"),
            ):
                with pytest.raises(NoSuchItem) as refused:
                    ask()
                sentences.add(str(refused.value))
    assert sentences == {"the answers of hidden-signs are hidden, and so are its samples"}
    with pytest.raises(UsageError, match="are hidden"):
        write_review_folder(hub, "hidden-signs", hub.folder / "flags")


def write_pictures(folder: Path) -> Path:
    """Data with relative pictures, one of them twice and one missing."""
    (folder / "images").mkdir(parents=True)
    rows = ["index\tquestion\tA\tB\tanswer\tcategory\timage_path"]
    for number, color in enumerate(["red", "blue", "red", "lost"]):
        name = f"images/{number % 3}-{color}.png"
        if color != "lost":
            (folder / name).write_bytes(picture(color))
        rows.append(f"{number}\tWhat colour?\tred\tblue\t{'AB'[number % 2]}\tcolour\t{name}")
    path = folder / "colours.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_images_beside_the_data_are_stored_once_and_not_read_for_scoring(hub: Hub, tmp_path: Path) -> None:
    path = write_pictures(tmp_path / "colours")
    with hub.database.writing() as session:
        row = add_benchmark(session, hub.storage, NewBenchmark(name="colours", title="Colours", data=path))
        media = session.scalars(select(HostedMedium).where(HostedMedium.benchmark_id == row.id)).all()
        # Two files hold the same picture; it is stored once, and the download has both.
        assert sorted(each.paths for each in media) == [["images/0-red.png", "images/2-red.png"], ["images/1-blue.png"]]
        assert {each.content_type for each in media} == {"image/png"}
        assert row.scoring_data is not None
    items = page_of(hub, "colours").items
    assert [bool(item.content.media[0].digest) for item in items] == [True, True, True, False]
    rows = [{"index": n, "prediction": "A"} for n in range(4)]
    submission = submit(hub, "colours", "".join(json.dumps(row) + "\n" for row in rows).encode())
    work(hub)
    assert score_of(hub, submission).headline == 50.0


@pytest.mark.parametrize("hidden", [False, True])
def test_workers_get_no_pictures(hub: Hub, tmp_path: Path, hidden: bool) -> None:
    lines = ["index\tquestion\tA\tB\tanswer\timage"]
    for number in range(40):
        cell = base64.b64encode(picture("red" if number % 2 else "blue")).decode()
        lines.append(f"{number}\tWhat colour?\tred\tblue\t{'BA'[number % 2]}\t{cell}")
    path = tmp_path / "inline.tsv"
    path.write_text("\n".join(lines) + "\n")
    with hub.database.writing() as session:
        row = add_benchmark(
            session, hub.storage, NewBenchmark(name="inline", title="Inline", data=path, is_hidden=hidden)
        )
        scored_with = hub.storage.get(row.data if hidden else row.scoring_data)
        count = len(session.scalars(select(HostedMedium).where(HostedMedium.benchmark_id == row.id)).all())
    names = {str(json.loads(line)["image_path"]) for line in scored_with.splitlines()}
    assert len(names) == 2
    assert all(len(line) < 200 for line in scored_with.splitlines())
    assert len(scored_with.splitlines()) == 40
    # The pictures of a hidden split are not even stored.
    assert count == (0 if hidden else 2)
    rows = [{"index": n, "prediction": "A" if n % 2 else "no idea"} for n in range(40)]
    submission = submit(hub, "inline", "".join(json.dumps(row) + "\n" for row in rows).encode())
    work(hub)
    # Questions about one picture are all in the public part, or none of them.
    assert score_of(hub, submission).headline in ((0.0, 100.0) if hidden else (50.0,))


def test_a_picture_outside_of_the_data_folder_is_refused(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.png").write_bytes(picture("red"))
    folder = tmp_path / "data"
    folder.mkdir()
    path = folder / "d.tsv"
    path.write_text(f"index\tquestion\tanswer\timage_path\n1\tWhat?\tred\t{tmp_path}/elsewhere.png\n")
    with hub.database.writing() as session, pytest.raises(UsageError, match="outside of the folder of the data"):
        add_benchmark(session, hub.storage, NewBenchmark(name="x", title="X", data=path))


def test_both_numbers_are_kept_with_what_changed(hub: Hub, tmp_path: Path) -> None:
    submission = submit(hub, "open-signs", predictions(45))
    hidden = submit(hub, "hidden-signs", predictions(45))
    work(hub)
    for name in ("open-signs", "hidden-signs"):
        text = (tmp_path / f"{name}.tsv").read_text()
        lines = text.replace(
            "1\tWhat is 1?\tone\ttwo\tthree\tfour\tD", "1\tWhat is 1?\tone\ttwo\tthree\tfour\tA"
        ).splitlines()
        lines[-1] = lines[-1].replace("59\t", "60\t", 1)
        path = tmp_path / "mended.tsv"
        path.write_text("\n".join(lines) + "\n")
        with hub.database.writing() as session:
            row = benchmark(session, name)
            new = NewBenchmark(name=name, title=name, data=path, is_hidden=row.is_hidden)
            assert replace_data(session, hub.storage, row, new) == 1
    work(hub)
    with hub.database.reading() as session:
        new, old = score_history(session, session.get_one(Submission, submission))
        secret, _ = score_history(session, session.get_one(Submission, hidden))
    assert (new.version, new.is_current, old.version, old.is_current) == (2, True, 1, False)
    assert old.score.headline.value == 75.0
    assert new.score.headline.value == pytest.approx(44 / 60 * 100)
    assert new.reason == "data"
    assert new.changes.changed_items == {"1": ("gold",)}
    assert (new.changes.added_items, new.changes.removed_items) == (("60",), ("59",))
    counts = (secret.changes.added, secret.changes.removed, secret.changes.changed)
    assert counts == (1, 1, 1)
    assert secret.changes.changed_items == {}
    assert secret.changes.added_items == ()


def test_new_scoring_code_scores_everything_again(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    submission = submit(hub, "open-signs", predictions(45))
    work(hub)
    with hub.database.writing() as session:
        row = benchmark(session, "open-signs")
        assert rescore(session, row, always=False) == 0
        assert row.version == 1
        session.get_one(Submission, submission).scores[0].scored_by = "0.1"
    with hub.database.writing() as session:
        row = benchmark(session, "open-signs")
        assert rescore(session, row, always=False) == 1
    work(hub)
    publish(hub, submission)
    with hub.database.reading() as session:
        new, old = score_history(session, session.get_one(Submission, submission))
    assert (new.reason, old.snellen) == ("scoring", "0.1")
    assert new.snellen != "0.1"
    assert new.score.headline == old.score.headline
    page = page_of(hub)
    assert (page.total, len(page.submissions)) == (QUESTIONS, 1)


@pytest.mark.parametrize(
    ("kind", "reason", "sentence"),
    [
        ("rude", "why", "the kind of the flag is 'rude'"),
        ("ambiguous", " \n ", "the reason has 0 characters"),
        ("ambiguous", "x" * 501, "the reason has 501 characters"),
    ],
)
def test_a_flag_with_a_mistake_is_refused(hub: Hub, kind: str, reason: str, sentence: str) -> None:
    with hub.database.writing() as session, pytest.raises(UsageError, match=sentence):
        raise_flag(session, benchmark(session, "open-signs"), 1, "0", kind, reason)


def test_flags_are_one_an_item_and_limited_a_day(hub: Hub, tmp_path: Path) -> None:
    data = tmp_path / "many.tsv"
    data.write_text("index\tquestion\tanswer\n" + "".join(f"{n}\tq{n}\ta\n" for n in range(99)))
    with hub.database.writing() as session:
        add_benchmark(session, hub.storage, NewBenchmark(name="many", title="M", data=data))
    for number in range(FLAGS_PER_DAY):
        with hub.database.writing() as session:
            row = benchmark(session, "many")
            raise_flag(session, row, 1, str(number), "ambiguous", "two\nlines \x07")
    for item, error in (("0", UsageError), ("98", TooManyFlags), ("none", NoSuchItem)):
        with hub.database.writing() as session, pytest.raises(error):
            raise_flag(session, benchmark(session, "many"), 1, item, "ambiguous", "why")
    with hub.database.reading() as session:
        flags = read_flags(session)
        assert len(flags) == FLAGS_PER_DAY
        assert flags[0].flags[0].reason == "two lines"


def test_flags_are_reviewed_and_closed_by_the_reviewed_data(hub: Hub, tmp_path: Path) -> None:
    path = write_pictures(tmp_path / "colours")
    with hub.database.writing() as session:
        add_benchmark(session, hub.storage, NewBenchmark(name="colours", title="C", data=path))
    rows = [{"index": n, "prediction": "A"} for n in range(4)]
    submission = submit(hub, "colours", "".join(json.dumps(row) + "\n" for row in rows).encode())
    work(hub)
    with hub.database.writing() as session:
        ben = create_account(session, "ben", "viewer", "a long password")
        row = benchmark(session, "colours")
        raise_flag(session, row, 1, "2", "wrong-answer", "it is blue")
        raise_flag(session, row, ben.id, "2", "ambiguous", "both")
        raise_flag(session, row, 1, "3", "broken-image", "no picture")
        raise_flag(session, row, 1, "0", "text-only", "easy")
    written = write_review_folder(hub, "colours", tmp_path / "flagged")
    assert written == (4, 3, 4)
    review = open_review(tmp_path / "flagged", tmp_path / "reviewed")
    # The item with most flags is not before the others: the queue is in the order of the data.
    assert set(review.board.queue.items) == {"0", "2", "3"}
    flag = review.board.queue.items["2"].flags[0]
    assert [each.model for each in flag.evidence] == ["ann", "ben"]
    assert "the answer is wrong (1)" in flag.reason
    review.board.decide(ReviewEntry("2", "olga", "fix", changes={"answer": "B"}, comment="blue"))
    review.board.decide(ReviewEntry("3", "olga", "drop", reason="unanswerable"))
    review.board.decide(ReviewEntry("0", "olga", "keep"))
    assert review.finish().fixed == 1
    with hub.database.writing() as session:
        row = benchmark(session, "colours")
        new = NewBenchmark(name="colours", title="C", data=tmp_path / "reviewed")
        replace_data(session, hub.storage, row, new)
        assert read_flags(session, row.id) == []
        outcomes = {flag.item: flag.outcome for flag in session.scalars(select(WrongLabelFlag))}
    assert outcomes["2"] == "a reviewer fixed the item: blue"
    assert outcomes["3"].startswith("a reviewer took the item out: cannot be answered")
    assert outcomes["0"] == "a reviewer kept the item as it is"
    work(hub)
    with hub.database.reading() as session:
        new, old = score_history(session, session.get_one(Submission, submission))
    assert (old.score.headline.value, new.score.headline.value) == (50.0, pytest.approx(33.3, 0.01))
    assert new.changes.changed_items == {"2": ("gold",)}
    assert new.changes.removed_items == ("3",)
    # The pictures of the reviewed data are those of before.
    assert page_of(hub, "colours").items[0].content.media[0].digest
    assert len(list(open_items(tmp_path / "reviewed"))) == 3


def test_an_open_split_needs_no_public_copy(hub: Hub, tmp_path: Path) -> None:
    path = write_data(tmp_path / "d.tsv")
    new = NewBenchmark(name="x", title="X", data=path, public_data=path)
    with hub.database.writing() as session, pytest.raises(UsageError, match="add --hidden"):
        add_benchmark(session, hub.storage, new)
    named = NewBenchmark(name="x", title="X", data=tmp_path)
    with hub.database.writing() as session, pytest.raises(UsageError, match="no data set folder"):
        add_benchmark(session, hub.storage, named)
    answers = NewBenchmark(name="x", title="X", data=path, answers=path, protocol=Protocol(columns={"question": "q"}))
    with hub.database.writing() as session, pytest.raises(UsageError, match="leave out --benchmark"):
        add_benchmark(session, hub.storage, answers)
    wrong = NewBenchmark(name="x", title="X", data=path, answers=path)
    with hub.database.writing() as session, pytest.raises(DataError, match="no file of answers"):
        add_benchmark(session, hub.storage, wrong)
