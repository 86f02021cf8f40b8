"""Pages of boards as a browser without JavaScript gets them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from board_hub import ATTACK, LONG, OTHER, SOURCE, open_board_hub
from fastapi import FastAPI
from fastapi.testclient import TestClient
from html_reader import Element, read_html
from sqlalchemy import event, select, update
from sqlalchemy.orm import Session

from snellen_hub.accounts.access import start_sign_in
from snellen_hub.boards.changes import note_change
from snellen_hub.config import SessionLimits
from snellen_hub.database.tables import Account, Submission
from snellen_hub.hub import Hub
from snellen_hub.publishing import withdraw_submission
from snellen_hub.web.app import create_app

OPEN, HIDDEN, VERSIONS = "mmbench-dev-en", "mmbench-test-en", "seed-images"
PRIVATE = f"0001{41:012x}"
HTML = {"accept": "text/html"}
PAGES = (
    "/",
    f"/benchmarks/{OPEN}",
    f"/benchmarks/{OPEN}?size=..10&weights=open&sort=released",
    f"/benchmarks/{OPEN}?text=no+such+model",
    f"/benchmarks/{HIDDEN}",
    f"/benchmarks/{VERSIONS}",
    "/benchmarks/empty",
    "/suites/core",
    "/suites/core/history",
    f"/benchmarks/{HIDDEN}/protocol",
    f"/benchmarks/{OPEN}/history",
    "/benchmarks/empty/history",
    f"/submissions/0001{0:012x}",
    f"/submissions/0001{3:012x}",
    f"/submissions/0002{0:012x}",
    f"/submissions/0003{0:012x}",
    f"/compare?s=0001{0:012x}&s=0001{1:012x}&s=0001{3:012x}&s=0001{7:012x}",
    f"/compare?s=0002{0:012x}&s=0002{1:012x}&s=0001{0:012x}",
    "/compare",
    "/nothing-here",
)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    opened = open_board_hub(tmp_path_factory.mktemp("boards"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def app(hub: Hub) -> FastAPI:
    return create_app(hub)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, headers=HTML) as opened:
        yield opened


def page(client: TestClient, path: str, status: int = 200, **headers: str) -> Element:
    response = client.get(path, headers=headers)
    assert response.status_code == status, response.text[:500]
    assert response.headers["content-type"].startswith("text/html")
    return read_html(response.text)


def sign_in(client: TestClient, hub: Hub, name: str) -> None:
    with hub.database.writing() as session:
        account = session.scalars(select(Account).where(Account.name == name)).one()
        made = start_sign_in(session, account, SessionLimits())
    client.cookies.set("snellen_hub", made.secret)


def board_rows(document: Element) -> list[Element]:
    return document.one("table", class_="board").one("tbody").all("tr")


def names(document: Element) -> list[str]:
    return [row.one("th").all("a")[0].text for row in board_rows(document)]


def values(document: Element, key: str) -> list[str]:
    heads = document.one("table", class_="board").one("thead").all("th")
    at = next(index for index, head in enumerate(heads) if head.attributes.get("data-key") == key)
    cells = [row.all("td") + row.all("th") for row in board_rows(document)]
    assert cells
    rows = [[each for each in row.parts if isinstance(each, Element)] for row in board_rows(document)]
    return [row[at].attributes["data-v"] for row in rows]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_is_well_formed_and_can_be_read_aloud(client: TestClient, path: str, language: str) -> None:
    status = 404 if "nothing" in path else 200
    document = page(client, path, status, **{"accept-language": language})
    assert document.one("html").attributes["lang"] == ("zh-Hans" if language == "zh" else "en")
    assert len(document.all("h1")) == 1
    assert document.one("main").attributes["id"] == "main"
    assert document.all("a", class_="skip")[0].attributes["href"] == "#main"
    ids = [each.attributes["id"] for each in document.all() if "id" in each.attributes]
    assert sorted(ids) == sorted(set(ids))
    for table in document.all("table"):
        assert table.one("caption").text
        assert all(head.attributes.get("scope") in ("col", "row") for head in table.all("th"))
    for each in document.all():
        # The pages allow no styles and scripts in markup.
        assert "style" not in each.attributes
        assert not [name for name in each.attributes if name.startswith("on")]
        for name in ("aria-labelledby", "aria-describedby", "for"):
            for target in each.attributes.get(name, "").split():
                assert target in ids
        label = "aria-label" in each.attributes or bool(each.text)
        if each.tag in ("a", "button", "summary"):
            assert label, each.attributes
        if each.tag in ("input", "select") and each.attributes.get("type") != "hidden":
            named = "aria-label" in each.attributes or each.attributes.get("id") in [
                one.attributes.get("for") for one in document.all("label")
            ]
            assert named or _ancestor(each, "label").text
    scripts = document.all("script")
    assert all(one.attributes["src"].startswith("/static/") and not one.text for one in scripts)
    assert not document.all("style")


def _ancestor(element: Element, tag: str) -> Element:
    at: Element | None = element
    while at is not None and at.tag != tag:
        at = at.parent
    assert at is not None
    return at


@pytest.mark.parametrize("path", PAGES)
def test_every_link_and_form_leads_somewhere(client: TestClient, path: str) -> None:
    document = page(client, path, 404 if "nothing" in path else 200)
    targets = {each.attributes["href"] for each in document.all("a")}
    later = ("/settings",)
    for target in sorted(targets):
        if target.startswith("#"):
            assert document.all(id=target[1:]), target
        elif target.startswith("https://"):
            assert target in (SOURCE["url"], "https://example.org/model")
        elif not any(part in target for part in later):
            assert client.get(target).status_code == 200, target
    for form in document.all("form"):
        assert form.attributes["method"] in ("get", "post")


def test_the_board_is_in_the_order_of_its_ranks(client: TestClient) -> None:
    document = page(client, f"/benchmarks/{OPEN}")
    scores = [float(value) for value in values(document, "score")]
    assert len(scores) == 40
    assert scores == sorted(scores, reverse=True)
    heads = document.one("table", class_="board").all("th", aria_sort="descending")
    assert [head.attributes["data-key"] for head in heads] == ["score"]
    assert names(document)[0] == "GPT-4o (2024-05-13)"
    assert LONG in names(document)
    assert "an unpublished model" not in names(document)


@pytest.mark.parametrize(
    ("query", "key", "ascending"),
    [
        ("sort=score&order=up", "score", True),
        ("sort=size", "size", False),
        ("sort=size&order=up", "size", True),
        ("sort=released", "released", False),
        ("sort=model", "model", True),
        ("sort=category.logical-reasoning", "category.logical-reasoning", False),
    ],
)
def test_links_sort_without_javascript(client: TestClient, query: str, key: str, ascending: bool) -> None:
    document = page(client, f"/benchmarks/{OPEN}?{query}")
    found = values(document, key)
    present = [value for value in found if value]
    order: Any = str if key in ("released", "model") else float
    assert present == sorted(present, key=order, reverse=not ascending)
    # What has no value comes last in either direction.
    assert found[: len(present)] == present
    head = document.one("th", data_key=key)
    assert head.attributes["aria-sort"] == ("ascending" if ascending else "descending")
    # The link of the same head turns the order.
    turned = values(page(client, head.one("a").attributes["href"]), key)
    assert [value for value in turned if value] == sorted(present, key=order, reverse=ascending)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("size=..3", {"DeepSeek-VL-1.3B", "PaliGemma-3B-mix-448", "Kosmos-2"}),
        ("weights=closed", {"GPT-4o (2024-05-13)", "Gemini 1.5 Pro", "Claude 3.5 Sonnet", "Qwen-VL-Max", "WeMM"}),
        ("text=INTERNLM", {"InternLM-XComposer2-VL-7B"}),
        ("organisation=KAUST", {"MiniGPT-4 (Vicuna-13B)"}),
        ("since=2024-09", {"Qwen2-VL-72B-Instruct"}),
        ("evidence=reported&size=50..", {"Qwen2-VL-72B-Instruct"}),
    ],
)
def test_the_filter_form_works_without_javascript(client: TestClient, query: str, expected: set[str]) -> None:
    document = page(client, f"/benchmarks/{OPEN}?{query}")
    assert set(names(document)) == expected
    chips = document.one("ul", class_="applied").all("a")
    assert len(chips) == query.count("=") + 1
    # Each filter in use is chosen in the form, so that a second one adds to it.
    form = document.one("form", id="filter")
    for name, value in (pair.split("=") for pair in query.split("&")):
        field = form.one(name=name)
        options = [one for one in field.all("option") if "selected" in one.attributes]
        chosen = options[0] if field.tag == "select" else field
        assert chosen.attributes["value"] == value
    assert set(names(page(client, chips[-1].attributes["href"]))) > expected


def test_a_form_leads_to_the_shortest_address_of_its_view(client: TestClient) -> None:
    sent = client.get(
        f"/benchmarks/{OPEN}?text=&size=..10&weights=&evidence=&columns=score&columns=size&sort=score",
        follow_redirects=False,
    )
    assert (sent.status_code, sent.headers["location"]) == (303, f"/benchmarks/{OPEN}?size=..10&columns=score,size")
    columns = [
        each.attributes["value"]
        for each in page(client, f"/benchmarks/{OPEN}").all("input", name="columns")
        if "checked" in each.attributes
    ]
    usual = client.get(f"/benchmarks/{OPEN}?{'&'.join(f'columns={key}' for key in columns)}", follow_redirects=False)
    assert usual.headers["location"] == f"/benchmarks/{OPEN}"


def test_columns_are_chosen_by_the_address(client: TestClient) -> None:
    document = page(client, f"/benchmarks/{OPEN}?columns=organisation,score")
    heads = document.one("table", class_="board").one("thead").all("th")
    keys = [head.attributes.get("data-key") for head in heads]
    assert keys == [None, None, "model", "score", "organisation"]


def test_numbers_come_with_their_interval(client: TestClient) -> None:
    row = board_rows(page(client, f"/benchmarks/{OPEN}"))[0]
    cell = row.one("td", class_="lead-column")
    assert re.fullmatch(r"80\.4 ?78\.0–82\.6", cell.text)
    ends = [line.attributes["x1"] for line in cell.one("svg").all("line")]
    low, at = (float(end.rstrip("%")) for end in ends[1:])
    assert 0 < low < at < 100


def test_inseparable_models_form_bands(client: TestClient) -> None:
    document = page(client, f"/benchmarks/{OPEN}")
    rows = board_rows(document)
    starts = [row for row in rows if "starts" in row.attributes["class"].split()]
    tiers = [row.attributes["data-tier"] for row in starts]
    assert len(tiers) > 3
    assert tiers == sorted(set(tiers), key=int)
    assert "flat" not in document.one("table", class_="board").attributes["class"]
    turned = page(client, f"/benchmarks/{OPEN}?sort=model")
    assert "flat" in turned.one("table", class_="board").attributes["class"]


def test_numbers_of_another_protocol_have_a_mark(client: TestClient) -> None:
    document = page(client, f"/benchmarks/{OPEN}")
    row = next(row for row in board_rows(document) if "Qwen-VL-Max" in row.text)
    assert row.one("td", class_="rank").text == "–"
    (link, *_) = row.one("td", class_="lead-column").one("sup").all("a")
    note = document.one("li", id=link.attributes["href"][1:])
    assert OTHER in note.text


def test_evidence_is_shown_in_words(client: TestClient) -> None:
    document = page(client, f"/benchmarks/{OPEN}")
    words = {row.all("span", class_="evidence")[0].text for row in board_rows(document)}
    assert words == {"↑submitted", "◌reported"}


def test_hidden_split_explains_which_questions_are_scored(client: TestClient) -> None:
    board = f"/benchmarks/{HIDDEN}"
    for path in (board, f"{board}/protocol"):
        text = page(client, path).text
        assert "Scores are of 18 public questions, which count as given away" in text
        assert "42 private questions are scored at a reveal" in text
        assert "the date is not set." in text


def test_a_comparison_has_a_radar_and_the_same_numbers_in_a_table(client: TestClient) -> None:
    path = f"/compare?s=0001{0:012x}&s=0001{1:012x}&s=0001{3:012x}"
    document = page(client, path)
    assert len(document.one("svg", class_="radar").all("polygon", class_="shape")) == 2
    assert len(document.one("svg", class_="radar").all("polyline", class_="shape")) == 1
    table = document.one("table", class_="numbers")
    heads = [head.text for head in table.one("thead").all("th")]
    assert heads == ["Name", "GPT-4o (2024-05-13)", "Gemini 1.5 Pro", "Qwen2-VL-72B-Instruct"]
    first, second = document.all("table")[0].one("tbody").all("tr")
    cells = [part.text for part in first.parts if isinstance(part, Element)]
    assert re.fullmatch(r"–\d\.\d –\d\.\d to \+\d\.\d 0\.\d+", " ".join(cells[1:4]))
    assert (cells[0], cells[4]) == ("Gemini 1.5 Pro", "paired, sample by sample")
    assert "reported: there are no replies to compare" in second.text
    without = document.one("ol", class_="series-key").all("a", class_="remove")[0]
    assert without.attributes["href"] == f"/compare?s=0001{1:012x}&s=0001{3:012x}"


def test_a_submission_shows_every_version_and_where_it_is_from(client: TestClient) -> None:
    document = page(client, f"/submissions/0003{0:012x}")
    versions = [row.one("th").text for row in _body_rows(document, "Numbers by version")]
    assert versions == ["2 (present)", "1"]
    reported = page(client, f"/submissions/0001{3:012x}")
    assert SOURCE["title"] in reported.text
    assert "qwen2-vl:7b" in reported.text
    outside = [each for each in reported.all("a") if each.attributes["href"].startswith("http")]
    assert {each.attributes["rel"] for each in outside} == {"nofollow noopener ugc"}


def stored(session: Session, public_id: str) -> Submission:
    return session.scalars(select(Submission).where(Submission.public_id == public_id)).one()


def _body_rows(document: Element, caption: str) -> list[Element]:
    tables = (each for each in document.all("table") if caption in each.one("caption").text)
    return next(tables).one("tbody").all("tr")


def test_the_protocol_card_says_how_numbers_are_made(client: TestClient) -> None:
    text = page(client, f"/benchmarks/{HIDDEN}/protocol").text
    for part in ("count as wrong", "public questions, which count as given away", "5 times in 24 hours"):
        assert part in text
    assert "given away" not in page(client, f"/benchmarks/{OPEN}/protocol").text


def test_the_history_has_a_chart_and_the_same_in_a_table(client: TestClient) -> None:
    document = page(client, f"/benchmarks/{OPEN}/history")
    rows = document.one("table").one("tbody").all("tr")
    chart = document.one("svg", class_="timeline")
    assert len(chart.all("circle")) == len(rows) == 35
    best = [row for row in rows if row.all("td")[-1].text == "yes"]
    assert len(best) == len(chart.all("circle", class_="record"))
    # Sorted by day, the latest first; the best so far only rise.
    assert [row.all("td")[0].text for row in rows] == sorted((row.all("td")[0].text for row in rows), reverse=True)
    scores = [float(row.all("td")[1].text) for row in best]
    assert scores == sorted(scores, reverse=True)


def test_the_history_of_a_suite_is_of_its_averages_and_members(client: TestClient) -> None:
    links = [link.attributes.get("href") for link in page(client, "/suites/core").all("a")]
    assert "/suites/core/history" in links
    history = page(client, "/suites/core/history")
    rows = history.one("table").one("tbody").all("tr")
    assert len(rows) == len(history.one("svg", class_="timeline").all("circle")) > 3
    links = [link.attributes.get("href", "") for link in history.all("a")]
    assert {"/suites/core", "/suites/core/feed.xml"} <= set(links)
    members = {link for link in links if link.startswith("/benchmarks/")}
    assert {f"/benchmarks/{OPEN}", f"/benchmarks/{HIDDEN}"} & members


def test_home_has_the_first_group_of_each_board(client: TestClient) -> None:
    document = page(client, "/")
    card = next(each for each in document.all("li", class_="card") if "MMBench dev" in each.text)
    best = [each.text for each in card.one("ol", class_="best").all("a", class_="who")]
    board = board_rows(page(client, f"/benchmarks/{OPEN}"))
    first = [row.one("th").all("a")[0].text for row in board if row.attributes["data-tier"] == "1"]
    assert best == first[:5]
    assert "answers public" in card.text
    assert "Nothing has been published here yet." in document.text
    assert len(document.one("ul", class_="changes").all("li")) == 12


@pytest.mark.attack(
    "markup in a model's name, a script as its link, on every page of the boards",
    "shown as text; links lead to web pages only",
)
def test_text_of_strangers_is_shown_as_text(client: TestClient, hub: Hub) -> None:
    with hub.database.writing() as session:
        row = session.scalars(select(Submission).where(Submission.public_id == f"0001{38:012x}")).one()
        assert row.model == ATTACK
        row.facts = {"link": "javascript:alert(1)", "organisation": ATTACK, "notes": ATTACK, "route": ATTACK}
        row.run = {"model": ATTACK, "versions": {ATTACK: ATTACK}}
        row.source = {"title": ATTACK, "url": "javascript:alert(1)"}
        note_change(session, row, "scored")
    for path in (
        "/",
        f"/benchmarks/{OPEN}",
        f"/submissions/0001{38:012x}",
        f"/benchmarks/{OPEN}/history?by=published",
        f"/compare?s=0001{38:012x}&s=0001{0:012x}",
        f"/benchmarks/{OPEN}?text=%3Cscript%3E",
    ):
        document = page(client, path)
        assert ATTACK in document.text
        assert not document.all("img")
        assert all(not each.text for each in document.all("script"))
        assert not [each for each in document.all("a") if not re.match(r"[/#]|https?://", each.attributes["href"])]


def test_a_private_submission_is_seen_by_its_owner_alone(client: TestClient, hub: Hub) -> None:
    path = f"/submissions/{PRIVATE}"
    assert page(client, path, 404).one("h1").text == "Nothing here"
    sign_in(client, hub, "bob")
    page(client, path, 404)
    sign_in(client, hub, "ann")
    response = client.get(path)
    assert "an unpublished model" in response.text
    assert response.headers["cache-control"] == "no-store"
    client.cookies.clear()
    page(client, path, 404)
    page(client, f"/compare?s={PRIVATE}", 404)


def test_pages_are_kept_until_a_board_changes(client: TestClient, hub: Hub) -> None:
    path = f"/benchmarks/{OPEN}"
    first = client.get(path)
    tag = first.headers["etag"]
    again = client.get(path, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    # What is not noted as a change is not looked for: the page came from memory.
    with hub.database.writing() as session:
        session.execute(
            update(Submission).where(Submission.public_id == f"0001{1:012x}").values(model="a name nobody noted")
        )
    assert client.get(path).text == first.text
    with hub.database.writing() as session:
        row = session.scalars(select(Submission).where(Submission.public_id == f"0001{2:012x}")).one()
        withdraw_submission(session, row)
    changed = client.get(path, headers={"if-none-match": tag})
    assert changed.status_code == 200
    assert "InternVL2-Llama3-76B" not in names(read_html(changed.text))
    assert "a name nobody noted" in changed.text


def test_readers_at_once_share_one_reading_and_one_drawing(app: FastAPI, hub: Hub) -> None:
    """200 readers behind a write read the database once, and behind a change draw the page once."""
    path = f"/benchmarks/{OPEN}"
    statements: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        statements.append(statement)

    async def ask(readers: int) -> set[str]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://hub.example", headers=HTML) as browser:
            answers = await asyncio.gather(*(browser.get(path) for _ in range(readers)))
        assert {answer.status_code for answer in answers} == {200}
        return {answer.text for answer in answers}

    def drawings() -> int:
        """Statements that read submissions: only who draws a page does so."""
        found = sum("submissions" in statement for statement in statements)
        statements.clear()
        return found

    asyncio.run(ask(1))
    event.listen(hub.database.engine, "before_cursor_execute", note)
    try:
        with hub.database.writing() as session:
            session.execute(update(Submission).where(Submission.public_id == f"0001{1:012x}").values(problem=""))
        statements.clear()
        started = time.monotonic()
        assert len(asyncio.run(ask(200))) == 1
        readings = sum("FROM board_changes" in statement for statement in statements)
        # One for the write, and those of a slow machine: the state is read four times a second.
        assert 1 <= readings <= 2 + 4 * (time.monotonic() - started)
        assert drawings() == 0
        with hub.database.writing() as session:
            row = session.scalars(select(Submission).where(Submission.public_id == f"0001{4:012x}")).one()
            note_change(session, row, "published")
        statements.clear()
        asyncio.run(ask(1))
        one_drawing = drawings()
        assert one_drawing > 0
        with hub.database.writing() as session:
            note_change(session, row, "published")
        statements.clear()
        assert len(asyncio.run(ask(200))) == 1
        assert drawings() == one_drawing
    finally:
        event.remove(hub.database.engine, "before_cursor_execute", note)


def test_pages_of_one_reader_do_not_reach_another(client: TestClient, hub: Hub) -> None:
    path = f"/benchmarks/{OPEN}"
    anonymous = client.get(path)
    english = anonymous.text
    chinese = client.get(path, headers={"accept-language": "zh-CN"})
    assert chinese.headers["etag"] != anonymous.headers["etag"]
    sign_in(client, hub, "ann")
    own = client.get(path)
    assert "ann</a>" in own.text
    assert 'name="csrf"' in own.text
    assert own.headers["etag"] != anonymous.headers["etag"]
    client.cookies.clear()
    assert client.get(path).text == english
    assert "csrf" not in english


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/benchmarks/nothing",
        "/suites/nothing",
        "/submissions/0123456789abcdef",
        f"/benchmarks/{OPEN}?table=nothing",
    ],
)
def test_errors_are_pages_for_browsers_and_json_for_programs(client: TestClient, path: str) -> None:
    document = page(client, path, 404)
    assert document.one("h1").text == "Nothing here"
    program = client.get(path, headers={"accept": "application/json"})
    assert program.status_code == 404
    assert set(program.json()) == {"detail"}


def test_mistake_in_the_address_gives_one_sentence(client: TestClient) -> None:
    document = page(client, f"/benchmarks/{OPEN}?size=huge", 422)
    assert "expected billions of parameters" in document.text
    for path in (f"/benchmarks/{OPEN}?as-of=@999999", f"/benchmarks/{OPEN}/history?by=rank"):
        page(client, path, 422)


def test_a_mistake_of_the_hub_is_a_page_too(hub: Hub) -> None:
    app = create_app(hub)

    @app.get("/mistake")
    def mistake() -> None:
        raise ZeroDivisionError("secret detail")

    with TestClient(app, headers=HTML, raise_server_exceptions=False) as client:
        document = page(client, "/mistake", 500)
        assert document.one("h1").text == "Something went wrong"
        assert "secret detail" not in document.text
        program = client.get("/mistake", headers={"accept": "application/json"})
        assert (program.status_code, set(program.json())) == (500, {"detail"})
