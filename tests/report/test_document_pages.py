"""Long texts, records and pages of documents on the pages in a real browser, in notebooks and on the
page of errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browsing import launched
from document_runs import ATTACK, made_record, write_document_run
from playwright import sync_api
from viewing import served

from snellen.analysis.samples.error_samples import draw_wrong_answers
from snellen.core.page import Block, Page
from snellen.report.notebook.samples import sample_html, samples_html
from snellen.report.page.error_page import error_page
from snellen.report.page.html import write_html
from snellen.store.runs import RunFolder

expect = sync_api.expect
WIDTHS = (400, 900, 1400)


@pytest.fixture(scope="module")
def browser():
    yield from launched()


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[RunFolder]:
    root = tmp_path_factory.mktemp("documents")
    return [write_document_run(root), write_document_run(root, "lab/other")]


@pytest.fixture(params=WIDTHS)
def page(browser, request):
    page = browser.new_page(viewport={"width": request.param, "height": 900})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    assert [text for text in said if "404" not in text] == []
    assert page.evaluate("window.hurt") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= request.param
    page.close()


_LEFT_OF = """(element, word) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const at = walker.currentNode.data.indexOf(word);
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + word.length);
        return range.getBoundingClientRect().left;
    }
}"""
"""Where a word of an element begins on the screen, in pixels from the left."""


def sample_at(page, run: RunFolder, name: str):
    """The open row of a sample of the report."""
    page.goto(write_html(run).as_uri())
    row = page.locator("details.sample", has=page.locator(".meta", has_text=re.compile(f"^{name} · ")))
    row.evaluate("(row) => { row.open = true; }")
    expect(row.locator("figure.beside")).to_be_visible()
    return row


def test_the_report_shows_fields_with_their_verdicts(page, runs) -> None:
    row = sample_at(page, runs[0], "record")
    expect(row.locator(".field.wrong")).to_contain_text("items[].price")
    expect(row.locator(".field.missing .verdict")).to_have_text("missing")
    expect(row.locator(".field.invented .of-answer")).to_have_text(ATTACK)
    row.locator(".side-of-answer").click()
    expect(row.locator(".field.wrong .of-answer")).to_be_hidden()
    row.locator(".side-of-answer").click()
    page.keyboard.press("s")
    expect(row.locator(".field.wrong .of-gold")).to_be_hidden()


def test_long_texts_are_folded_and_differences_found_by_key(page, runs) -> None:
    row = sample_at(page, runs[0], "long")
    side = row.locator(".of-gold.tall")
    assert side.bounding_box()["height"] < 500
    page.keyboard.press("w")
    expect(row.locator("mark.current")).to_have_text("sheets are")
    page.keyboard.press("z")
    assert side.bounding_box()["height"] > 5_000
    expect(row.locator(".fold")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("z")
    assert side.bounding_box()["height"] < 500


def test_the_report_draws_blocks_and_tables(page, runs) -> None:
    row = sample_at(page, runs[0], "page")
    expect(row.locator(".block")).to_have_count(6)
    expect(row.locator(".block.table table.drawn")).to_have_count(2)
    expect(row.locator(".block.formula .of-gold pre")).to_have_text(r"\frac{120}{200} = 0.6")
    assert row.locator("img[src=x], [onclick], script").count() == 0


def test_a_paragraph_runs_in_the_direction_of_its_letters(page, tmp_path) -> None:
    hebrew = "עולם page 42."
    gold = Page((Block("<table><tr><td>עולם page 42.</td></tr></table>", "table"), Block(hebrew, order=2)))
    run = write_document_run(tmp_path, records=[made_record("hebrew", "page", gold.text(), hebrew, 0.5)])
    row = sample_at(page, run, "hebrew")
    for text in (".block.text .of-gold pre", ".block.table .of-gold td", "pre.reply"):
        first, last = (row.locator(text).first.evaluate(_LEFT_OF, word) for word in ("עולם", "42"))
        assert last < first, text


def test_sides_are_below_each_other_where_there_is_no_room(page, runs) -> None:
    row = sample_at(page, runs[0], "letter")
    gold, answer = (row.locator(f".of-{side}").bounding_box() for side in ("gold", "answer"))
    is_narrow = page.viewport_size["width"] == 400
    assert (answer["y"] > gold["y"] + 20) == is_narrow
    assert (answer["x"] > gold["x"] + 100) != is_narrow


def test_the_viewer_shows_the_same_and_compares(page, runs) -> None:
    with served(runs[0].path.parent) as server:
        page.goto(server.url)
        page.goto(f"{server.url}#/run/{runs[0].name}?sample=letter")
        page.reload()
        figure = page.locator(".detail figure.beside")
        expect(figure.locator(".of-answer mark").first).to_have_text("tree")
        page.keyboard.press("a")
        expect(figure.locator(".of-answer")).to_be_hidden()
        page.keyboard.press("a")
        page.goto(f"{server.url}#/compare/{runs[0].name}/{runs[1].name}?sample=record")
        page.reload()
        expect(page.locator(".side figure.beside")).to_have_count(2)


def test_the_page_of_errors_shows_the_fields(page, runs, tmp_path) -> None:
    answers = draw_wrong_answers(runs[:1], each=20)
    file = tmp_path / "errors.html"
    file.write_text(error_page(answers, {}))
    page.goto(file.as_uri())
    card = page.locator("#samples > li", has_text="unread")
    expect(card.locator(".field.missing")).to_have_count(7)
    card.focus()
    page.keyboard.press("s")
    expect(card.locator(".field.missing .of-gold").first).to_be_hidden()


def test_a_notebook_shows_the_same(page, runs, tmp_path) -> None:
    records = list(runs[0].records())
    shown = "".join(sample_html(record, lambda _: None) for record in records)
    file = Path(tmp_path) / "cells.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><body>{shown}")
    page.goto(file.as_uri())
    expect(page.locator("figure[role=group]")).to_have_count(len(records) - 1)
    assert "<img src=x" not in shown
    table = samples_html(records, len(records), lambda _: None)
    assert "company: Corner Shop Ltd; date: 2024-03-05" in table


def test_the_report_has_a_section_of_documents(page, runs) -> None:
    page.goto(write_html(runs[0]).as_uri())
    headings = page.locator("#documents h3").all_text_contents()
    assert headings[:2] == ["Language", "Length of the gold"]
    assert {"Kind of block", "Kind of value", "Outcome"} <= set(headings)
