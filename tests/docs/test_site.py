"""The documentation site in a browser: its search, its tabs and the groups of its menu."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import launched
from playwright.sync_api import Browser, expect

ROOT = Path(__file__).parents[2]


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True)
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.mark.parametrize(
    ("query", "title"), [("unparsed", "Outcomes"), ("torchrun", "Commands"), ("none of the options", "Error messages")]
)
def test_search_finds_a_page(browser: Browser, site: str, query: str, title: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/search.html?q={query}")
    page.wait_for_selector("#mkdocs-search-results h3", timeout=30_000)
    titles = [found.inner_text() for found in page.query_selector_all("h3")]
    page.close()
    assert any(title in found for found in titles), titles


def test_link_into_a_tab_opens_it(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/getting-started.html#what-it-will-cost")
    expect(page.locator("#what-it-will-cost")).to_be_visible()
    expect(page.locator("#run-something")).to_be_hidden()
    page.get_by_role("tab", name="On the command line").click()
    expect(page.locator("#run-something")).to_be_visible()
    expect(page.locator("#what-it-will-cost")).to_be_hidden()
    page.close()


def test_all_sections_are_visible_without_scripts(browser: Browser, site: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{site}/getting-started.html")
    for section in ("run-something", "a-first-number", "what-it-will-cost"):
        expect(page.locator(f"#{section}")).to_be_visible()
    page.close()


def test_menu_opens_the_group_of_the_page(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/reports.html")
    menu = page.locator(".wy-menu-vertical")
    expect(menu.get_by_role("link", name="Looking at runs")).to_be_visible()
    expect(menu.get_by_role("link", name="Operating a hub")).to_be_hidden()
    menu.get_by_role("button", name="Hold a leaderboard").click()
    expect(menu.get_by_role("link", name="Operating a hub")).to_be_visible()
    page.close()
