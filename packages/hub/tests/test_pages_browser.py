"""Pages of boards in a real browser, where there is one: with JavaScript and without, three widths,
dark and light, both languages.

`SNELLEN_AXE=PATH/axe.min.js` runs axe-core on every page too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from board_hub import open_board_hub
from browsing import launched
from playwright.sync_api import Browser, Page, expect
from test_api import free_port
from test_pages import HIDDEN, OPEN, PAGES
from test_view_home import CONTRAST, OUTLINE

from snellen_hub.web.app import create_app

WIDTHS = (390, 820, 1440)
BOARD = f"/benchmarks/{OPEN}"
AXE = os.environ.get("SNELLEN_AXE", "")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with filled boards."""
    hub = open_board_hub(tmp_path_factory.mktemp("browsed"))
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(create_app(hub), port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    end = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < end, "the server did not start"
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)
    hub.close()


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    """A page that may load from the hub alone, and whose scripts make no mistakes."""
    context = browser.new_context(base_url=url, viewport={"width": 1440, "height": 900})
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on(
        "request",
        lambda request: None if request.url.startswith((url, "data:")) else problems.append(f"asks for {request.url}"),
    )
    opened.on(
        "console",
        lambda message: (
            problems.append(message.text) if message.type == "error" and "404" not in message.text else None
        ),
    )
    yield opened
    context.close()
    assert problems == []


def by_release(*values: Any) -> list[Any]:
    """Parameters that a release runs."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.release) for value in values
    ]


def models(page: Page) -> list[str]:
    return page.locator("table.board tbody tr th.model a").all_inner_texts()


def plain_models(browser: Browser, url: str) -> list[str]:
    """The order that the server gives, without JavaScript."""
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(url)
    found = models(plain)
    context.close()
    return found


@pytest.mark.parametrize(
    "key", ["score", "released", *by_release("model", "size", "weights", "category.logical-reasoning")]
)
def test_sorting_at_once_gives_the_order_of_the_server(page: Page, browser: Browser, key: str) -> None:
    page.goto(BOARD)
    expect(page.locator("html")).to_have_class("quick")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for _ in range(2):
        page.locator(f"th[data-key='{key}'] a").click()
        sorting = page.locator(f"th[data-key='{key}']").get_attribute("aria-sort")
        assert sorting in ("ascending", "descending")
        assert requests == []
        # The address is that of the same view by the server.
        assert models(page) == plain_models(browser, page.url), page.url


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("size", "..4"),
        ("organisation", "Alibaba"),
        *by_release(("weights", "closed"), ("since", "2024"), ("evidence", "reported"), ("route", "API")),
    ],
)
def test_filters_at_once_keep_what_the_server_keeps(page: Page, browser: Browser, field: str, value: str) -> None:
    page.goto(BOARD)
    page.locator(".menu > summary", has_text="Filter").click()
    page.locator(f"select[name={field}]").select_option(value)
    expect(page.locator("#count")).not_to_have_text("40 of 40 models")
    assert models(page) == plain_models(browser, page.url)
    # A page that came filtered gets the others when the filter is taken off.
    page.reload()
    page.locator(".menu > summary", has_text="Filter").click()
    page.locator(f"select[name={field}]").select_option("")
    expect(page.locator("#count")).to_have_text("40 of 40 models")
    assert models(page) == plain_models(browser, page.url)


def test_a_text_is_searched_for_while_it_is_typed(page: Page) -> None:
    page.goto(BOARD)
    page.locator("input[name=text]").press_sequentially("deepseek")
    expect(page.locator("#count")).to_have_text("2 of 40 models")
    chip = page.locator("ul.applied button")
    expect(chip).to_have_text("Text: deepseek ×")
    chip.click()
    expect(page.locator("#count")).to_have_text("40 of 40 models")
    expect(page.locator("ul.applied")).to_be_hidden()


def test_everything_works_without_javascript(browser: Browser, url: str) -> None:
    context = browser.new_context(base_url=url, java_script_enabled=False)
    page = context.new_page()
    page.goto(BOARD)
    page.locator(".menu > summary", has_text="Filter").click()
    page.locator("select[name=size]").select_option("..4")
    page.locator("details[open] button", has_text="Apply").click()
    expect(page).to_have_url(f"{url}{BOARD}?size=..4")
    assert len(models(page)) == 3
    page.locator("th[data-key='model'] a").click()
    assert models(page) == sorted(models(page))
    page.locator(".menu > summary", has_text="Columns").click()
    page.locator("input[name=columns][value=organisation]").check()
    page.locator("details[open] button", has_text="Apply").click()
    expect(page.locator("th[data-key='organisation']")).to_be_visible()
    for box in page.locator(".pick input").all()[:2]:
        box.check()
    page.locator("#compare-button").click()
    expect(page.locator("svg.radar .shape")).to_have_count(2)
    page.locator("select[name=s]").select_option(index=0)
    page.get_by_role("button", name="Add").click()
    expect(page.locator("ol.series-key li")).to_have_count(3)
    context.close()


def test_menus_are_for_the_keyboard_too(page: Page) -> None:
    page.goto(BOARD)
    summary = page.locator(".menu > summary", has_text="Columns")
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator("input[name=columns]").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("input[name=columns]").first).to_be_hidden()
    expect(summary).to_be_focused()
    button = page.locator("#compare-button")
    expect(button).to_be_disabled()
    for box in page.locator(".pick input").all()[:2]:
        box.focus()
        page.keyboard.press("Space")
    expect(button).to_be_enabled()


@pytest.mark.release
@pytest.mark.parametrize("path", [BOARD, "/", f"/submissions/0001{0:012x}"])
def test_every_stop_of_the_tab_key_shows(page: Page, path: str) -> None:
    page.goto(path)
    stops = []
    for _ in range(60):
        page.keyboard.press("Tab")
        stop = page.evaluate(OUTLINE)
        if stop[0] == "BODY":
            break
        stops.append(stop)
    assert len(stops) > 8
    assert [stop for stop in stops if stop[1] == "none" or stop[2] < 2] == []


@pytest.mark.release
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_every_window(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for path in PAGES:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


@pytest.mark.release
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_sufficient_contrast(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for path in PAGES:
        page.goto(path)
        assert page.evaluate(CONTRAST) == [], path


def test_the_head_and_the_models_stay_while_the_table_moves(page: Page) -> None:
    page.set_viewport_size({"width": 820, "height": 900})
    page.goto(BOARD)
    box = page.locator(".board-box")
    before = page.locator("th.model").nth(1).bounding_box()
    box.evaluate("(each) => each.scrollTo(400, 600)")
    head = page.locator("thead th.model").bounding_box()
    frame = box.bounding_box()
    assert head is not None
    assert frame is not None
    assert before is not None
    assert abs(head["y"] - frame["y"]) < 3
    assert abs(head["x"] - before["x"]) < 3


def test_page_of_a_hidden_split_reports_it(page: Page) -> None:
    page.goto(f"/benchmarks/{HIDDEN}")
    expect(page.locator(".tag", has_text="answers hidden")).to_be_visible()
    expect(page.locator(".notice").first).to_contain_text("Scores are of 18 public questions")


if AXE:

    @pytest.mark.parametrize("language", ["en-US", "zh-CN"])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("width", WIDTHS)
    def test_axe_finds_nothing(browser: Browser, url: str, width: int, scheme: str, language: str) -> None:
        context = browser.new_context(
            base_url=url,
            locale=language,
            bypass_csp=True,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page = context.new_page()
        source = Path(AXE).read_text()
        for path in PAGES:
            page.goto(path)
            page.add_script_tag(content=source)
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == [], path
        context.close()


def test_bars_are_beside_the_numbers_on_a_phone(page: Page) -> None:
    """And on one scale: all begin at the same place."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(BOARD)
    places = page.evaluate(
        """() => [...document.querySelectorAll(".board .with-bar")].map(cell => {
            const box = node => { const range = document.createRange();
                                  range.selectNodeContents(node);
                                  return range.getBoundingClientRect(); };
            const texts = [...cell.querySelectorAll(".value, .range")];
            return [Math.max(...texts.map(text => box(text).right)),
                    cell.querySelector("svg.ci").getBoundingClientRect().left]; })"""
    )
    assert len(places) > 30
    assert all(text < bar for text, bar in places)
    assert len({round(bar) for _, bar in places}) == 1
