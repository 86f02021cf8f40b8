"""Account pages in a real browser, where there is one: with and without scripts, at three widths.

`SNELLEN_AXE=PATH/axe.min.js` runs axe-core on every page too.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from browsing import launched
from hub_browsers import PASSWORD
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect
from prepared_hub import prepare_hub
from test_api import free_port
from test_scoring import predictions

from snellen.core.secret import Secret
from snellen_hub.hub import Hub, open_hub
from snellen_hub.jobs.worker import Worker
from snellen_hub.storage import Storage
from snellen_hub.web.app import create_app

AXE = os.environ.get("SNELLEN_AXE", "")
OWN_PAGES = [
    "/account",
    "/account/password",
    "/account/delete",
    "/account/tokens",
    "/account/submissions",
    "/benchmarks/signs/submit",
    "/benchmarks/signs/team",
]
OWNER_PAGES = [
    "/manage",
    "/manage/accounts",
    "/manage/accounts/1",
    "/manage/invitations",
    "/manage/benchmarks",
    "/manage/benchmarks/signs",
    "/manage/jobs",
    "/manage/audit",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("browsed") / "hub"
    prepare_hub(folder)
    opened = open_hub(folder)
    config = replace(opened.config, url=f"http://127.0.0.1:{free_port()}", sign_up=True)
    storage = Storage(str(folder / "storage"), Secret("a key of the tests"))
    hub = Hub(folder, config, opened.database, storage)
    port = int(config.url.rpartition(":")[2])
    server = uvicorn.Server(uvicorn.Config(create_app(hub), port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    end = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < end, "the server did not start"
        time.sleep(0.02)
    yield hub
    server.should_exit = True
    thread.join(30)
    hub.close()


def sign_in(page: Page, name: str) -> None:
    page.goto("/account")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/account$"))


@pytest.mark.parametrize("has_scripts", [True, False])
def test_from_signing_in_to_a_published_score(browser: Browser, hub: Hub, tmp_path: Path, has_scripts: bool) -> None:
    context = browser.new_context(base_url=hub.config.url, java_script_enabled=has_scripts)
    page = context.new_page()
    sign_in(page, "bob")
    file = tmp_path / "predictions.jsonl"
    file.write_bytes(predictions(45))
    page.goto("/benchmarks/signs/submit")
    page.get_by_label("Predictions").set_input_files(file)
    page.get_by_label("Model", exact=True).fill("my-model")
    page.get_by_label("Released").fill("May")
    page.get_by_label("Notes").fill("two\nlines")
    page.get_by_role("button", name="Submit").click()
    mistake = page.get_by_role("link", name=re.compile("Released: the date is"))
    expect(mistake).to_be_visible()
    mistake.click()
    expect(page.get_by_label("Released")).to_be_focused()
    expect(page.get_by_label("Notes")).to_have_value("two\nlines")
    page.get_by_label("Released").fill("2024-05")
    page.get_by_label("Predictions").set_input_files(file)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("waiting for its score")).to_be_visible()
    Worker(hub, print).work(until_empty=True)
    # The page looks again by itself: its script each second, without one every five.
    expect(page.get_by_text("75.0 %").first).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("It is published")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    context.close()


def test_a_new_account_makes_a_token(browser: Browser, hub: Hub) -> None:
    context = browser.new_context(base_url=hub.config.url)
    page = context.new_page()
    page.goto("/sign-up")
    page.get_by_label("Name").fill("zoe")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password once more").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()
    page.get_by_role("link", name="Tokens").click()
    page.get_by_label("What it is for").fill("laptop")
    page.get_by_role("button", name="Make the token").click()
    expect(page.locator("code.secret")).to_have_text(re.compile("^snl_"))
    context.close()


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 360),
        ("dark", 1280),
        *(
            pytest.param(scheme, width, marks=pytest.mark.release)
            for scheme, width in (("light", 768), ("light", 1280), ("dark", 360), ("dark", 768))
        ),
    ],
)
def test_pages_fit_and_have_no_violations(browser: Browser, hub: Hub, width: int, scheme: str) -> None:
    problems = []
    for name, paths in (("", ["/sign-in", "/sign-up"]), ("ann", OWN_PAGES), ("olga", OWNER_PAGES)):
        context = browser.new_context(
            base_url=hub.config.url,
            viewport={"width": width, "height": 800},
            color_scheme="dark" if scheme == "dark" else "light",
            bypass_csp=bool(AXE),
        )
        page = context.new_page()
        if name:
            sign_in(page, name)
        for path in paths:
            answer = page.goto(path)
            assert answer is not None
            assert answer.status == 200
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                problems.append(f"{path} is wider than the window")
            if not page.get_by_role("navigation", name="Main").is_visible():
                problems.append(f"{path} hides the navigation")
            if AXE:
                page.evaluate(Path(AXE).read_text())
                found = page.evaluate("axe.run()")["violations"]
                problems += [f"{path}: {each['id']} {each['nodes'][0]['html']}" for each in found]
        context.close()
    assert problems == []
