"""A competition from its first phase to its final scores, by the pages in a real browser: three
teams, two phases, a reveal."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import uvicorn
from browsing import launched
from hub_browsers import add_accounts
from playwright.sync_api import Browser, Page, expect
from test_api import free_port
from test_scoring import predictions, write_data

from snellen.core.secret import Secret
from snellen_hub import intake, phases, reveals
from snellen_hub.accounts.access import start_sign_in
from snellen_hub.config import HubConfig
from snellen_hub.database import tables
from snellen_hub.database.tables import Account
from snellen_hub.hosting import NewBenchmark, add_benchmark, find_hosted_benchmark
from snellen_hub.hub import Hub, create_hub
from snellen_hub.jobs.worker import Worker
from snellen_hub.reveals import reveal_due
from snellen_hub.storage import Storage
from snellen_hub.uploaded_replies import decode_questions
from snellen_hub.web.app import create_app

TEAMS = {"Alpha": ("ann", "ben"), "Beta": ("cat", "dan"), "Gamma": ("eve",)}
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    made = create_hub(tmp_path / "hub")
    config = HubConfig(title="Contest", url=f"http://127.0.0.1:{free_port()}")
    storage = Storage(str(tmp_path / "hub" / "storage"), Secret("a key of the tests"))
    hub = Hub(made.folder, config, made.database, storage)
    people = [name for names in TEAMS.values() for name in names]
    add_accounts(hub, **dict.fromkeys(["hal", *people], "submitter"), olga="owner")
    data = write_data(tmp_path / "signs.tsv")
    public = write_data(tmp_path / "public.tsv", with_answers=False)
    with hub.database.writing() as session:
        add_benchmark(
            session,
            storage,
            NewBenchmark(name="signs", title="Signs", data=data, is_hidden=True, public_data=public, public_share=0.5),
        )
    port = int(config.url.rpartition(":")[2])
    server = uvicorn.Server(uvicorn.Config(create_app(hub), port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    end = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < end, "the server did not start"
        time.sleep(0.02)
    yield hub
    server.should_exit = True
    thread.join(30)
    hub.close()


class People:
    """A browser page for each account, signed in."""

    def __init__(self, browser: Browser, hub: Hub) -> None:
        self._browser, self._hub = browser, hub
        self._pages: dict[str, Page] = {}

    def __getitem__(self, name: str) -> Page:
        if name not in self._pages:
            with self._hub.database.writing() as session:
                account = session.query(Account).filter_by(name=name).one()
                secret = start_sign_in(session, account, self._hub.config.sessions).secret
            context = self._browser.new_context(base_url=self._hub.config.url)
            context.add_cookies([{"name": "snellen_hub", "value": secret, "url": self._hub.config.url}])
            self._pages[name] = context.new_page()
        return self._pages[name]


def submit(page: Page, file: Path, model: str, right: int) -> None:
    file.write_bytes(predictions(right))
    page.goto("/benchmarks/signs/submit")
    page.get_by_label("Predictions").set_input_files(file)
    page.get_by_label("Model", exact=True).fill(model)
    page.get_by_role("button", name="Submit").click()


def publish(page: Page, model: str) -> None:
    page.goto("/account/submissions")
    page.get_by_role("link", name=model, exact=True).click()
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("It is published")).to_be_visible()


def work(hub: Hub) -> None:
    Worker(hub, print).work(until_empty=True)


@pytest.mark.release
def test_a_competition(browser: Browser, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people, file = People(browser, hub), tmp_path / "predictions.jsonl"
    start = datetime.now(UTC).replace(microsecond=0)
    ahead = timedelta()
    for module in (phases, reveals, intake, tables):
        monkeypatch.setattr(module, "now", lambda: datetime.now(UTC) + ahead)

    # The owner of the hub names a host, who sets two phases.
    page = people["olga"]
    page.goto("/manage/benchmarks")
    page.get_by_role("link", name="Phases and hosts").click()
    page.get_by_label("Name of the account").fill("hal")
    page.get_by_role("button", name="Add a host").click()
    expect(page.get_by_text("The hosts are changed")).to_be_visible()
    host = people["hal"]
    host.goto("/account")
    host.get_by_role("link", name="Signs").click()
    for row, (name, opens, closes, most) in enumerate((("Public", -1, 1, "2"), ("Final", 1, 2, "1")), start=1):
        host.get_by_label(f"Name of phase {row}").fill(name)
        for label, hours in (("Opens", opens), ("Closes", closes)):
            moment = (start + hours * HOUR).strftime("%Y-%m-%dT%H:%M:%S")
            host.get_by_label(f"{label}, {row}").fill(moment)
        host.get_by_label(f"Submissions of a team, {row}").fill(most)
    host.get_by_label("Final, 2").check()
    host.get_by_role("button", name="Save the phases").click()
    expect(host.get_by_text("The phases are changed")).to_be_visible()

    # Three teams, whose other members come by links.
    for team, (founder, *others) in TEAMS.items():
        page = people[founder]
        page.goto("/benchmarks/signs/team")
        page.get_by_label("Name of the team").fill(team)
        page.get_by_role("button", name="Make the team").click()
        for other in others:
            page.get_by_role("button", name="Invite somebody").click()
            people[other].goto(str(page.locator("code.secret").text_content()))
            people[other].get_by_role("button", name="Join the team").click()
            expect(people[other].get_by_text(f"{founder} (founder), {other}")).to_be_visible()

    # The public phase: a third submission of a team is refused, whoever sends it.
    for name, model, right in (("ann", "a1", 30), ("ben", "a2", 45), ("cat", "b1", 20), ("eve", "c1", 60)):
        submit(people[name], file, model, right)
        expect(people[name].get_by_text("The file is taken")).to_be_visible()
    submit(people["ann"], file, "a3", 60)
    refusal = "2 submissions in the phase Public are all that an account or its team may make"
    expect(people["ann"].get_by_role("alert")).to_contain_text(refusal)
    work(hub)
    for name, model in (("ann", "a1"), ("ann", "a2"), ("dan", "b1"), ("eve", "c1")):
        publish(people[name], model)

    # The final phase: Beta sends another one, Alpha chooses its worse one.
    ahead = 1.5 * HOUR
    submit(people["dan"], file, "b2", 50)
    work(hub)
    publish(people["cat"], "b2")
    people["ben"].goto("/account/submissions")
    people["ben"].get_by_role("link", name="a1", exact=True).click()
    people["ben"].get_by_role("button", name="Choose for the reveal").click()
    expect(people["ben"].get_by_text("It is chosen").first).to_be_visible()
    host.goto("/manage/benchmarks/signs")
    for team, first, final in (("Alpha", 2, 0), ("Beta", 1, 1), ("Gamma", 1, 0)):
        cells = host.get_by_role("row", name=team).get_by_role("cell")
        expect(cells.nth(1)).to_have_text(str(first))
        expect(cells.nth(2)).to_have_text(str(final))
    anybody = browser.new_context(base_url=hub.config.url).new_page()
    anybody.goto("/benchmarks/signs?table=final-1")
    expect(anybody.get_by_text("Final scores", exact=True)).to_have_count(0)

    # After it, nothing is taken, and each team has one final score.
    ahead = 3 * HOUR
    submit(people["eve"], file, "c2", 60)
    expect(people["eve"].get_by_role("alert")).to_contain_text("its last phase is over")
    with hub.database.writing() as session:
        assert reveal_due(session) == ["signs: part 1 is revealed, 3 finals"]
    work(hub)
    with hub.database.reading() as session:
        ids = find_hosted_benchmark(session, "signs").ids
    private = [int(each.name) for each in decode_questions(hub.storage.get(ids)) if each.part == 1]
    assert 0 < len(private) < 60
    anybody.goto("/benchmarks/signs?table=final-1")
    rows = anybody.locator("#board tbody tr[data-tier]")
    expect(rows).to_have_count(3)
    expected = (("c1", "Gamma", 60), ("b2", "Beta", 50), ("a1", "Alpha", 30))
    for place, (model, team, right) in enumerate(expected):
        share = 100 * sum(number < right for number in private) / len(private)
        expect(rows.nth(place)).to_contain_text(model)
        expect(rows.nth(place)).to_contain_text(re.compile(rf"{team}\s+{share:.1f}"))
