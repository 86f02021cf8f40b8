"""Places on the pages in a real browser: over their picture, shown and hidden, from near; and in a
notebook, the terminal and the page of errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browsing import launched
from place_runs import ATTACK, place_records, write_place_run
from playwright import sync_api
from viewing import served

from snellen.analysis.samples.error_samples import draw_wrong_answers
from snellen.api.error_labels import image_urls
from snellen.cli import main
from snellen.report.notebook.samples import sample_html, samples_html
from snellen.report.page.error_page import error_page
from snellen.report.page.html import write_html
from snellen.report.page.samples import describe
from snellen.report.page.thumbnails import read_thumbnail
from snellen.store.runs import RunFolder

expect = sync_api.expect


@pytest.fixture(scope="module")
def browser():
    yield from launched()


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[RunFolder]:
    root = tmp_path_factory.mktemp("places")
    return [write_place_run(root), write_place_run(root, "lab/other")]


@pytest.fixture
def page(browser):
    yield from watched(browser)


@pytest.fixture
def narrow(browser):
    yield from watched(browser, 390)


def watched(browser, width: int = 1280):
    page = browser.new_page(viewport={"width": width, "height": 900})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.said = said
    yield page
    # The made benchmark has no data, so that the original pictures are not there.
    assert [text for text in said if "404" not in text] == []
    assert page.evaluate("window.hurt") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    page.close()


def place_on_screen(page, selector: str) -> list[float]:
    """Left, top, width and height of an element, as shares of the picture below it."""
    return page.evaluate(
        """(selector) => {
          const shape = document.querySelector(selector), canvas = shape.closest(".canvas");
          const image = canvas.querySelector("img"), frame = image.getBoundingClientRect();
          const scale = Math.min(frame.width / image.naturalWidth, frame.height / image.naturalHeight);
          const width = scale * image.naturalWidth, height = scale * image.naturalHeight;
          const left = frame.left + (frame.width - width) / 2, top = frame.top + (frame.height - height) / 2;
          const box = shape.getBBox(), at = shape.getScreenCTM();
          return [(at.a * box.x + at.e - left) / width, (at.d * box.y + at.f - top) / height,
            at.a * box.width / width, at.d * box.height / height];
        }""",
        selector,
    )


@pytest.mark.parametrize(
    ("sample", "size", "gold"),
    [
        (1, (320, 192), (40, 50, 80, 60)),
        (3, (160, 384), (40, 50, 80, 60)),
        (4, (96, 64), (10, 8, 20, 16)),
        (5, (1280, 960), (700, 300, 300, 260)),
    ],
)
def test_boxes_lie_over_what_they_enclose_in_the_page(page, runs, sample, size, gold) -> None:
    page.goto(f"{write_html(runs[0]).as_uri()}#sample-{sample}")
    page.wait_for_function(f"document.querySelector('#sample-{sample} .placed img')?.naturalWidth > 0")
    expected = [gold[0] / size[0], gold[1] / size[1], gold[2] / size[0], gold[3] / size[1]]
    found = place_on_screen(page, f"#sample-{sample} .gold rect.line")
    assert found == pytest.approx(expected, abs=0.012)


def test_the_page_says_both_places_the_overlap_and_the_outcome(page, runs) -> None:
    page.goto(f"{write_html(runs[0]).as_uri()}#sample-1")
    figure = page.locator("#sample-1 .placed")
    expect(figure.locator("svg.places")).to_have_attribute(
        "aria-label", "gold: box 40, 50 – 120, 110; answer: box 48, 54 – 128, 112"
    )
    expect(figure.locator(".place-legend")).to_contain_text("IoU 0.75")
    expect(figure.locator(".verdict")).to_have_text("partly right 72 %")
    said = page.locator("#sample-1 .said").text_content()
    assert said == "answerbox 48, 54 – 128, 112goldbox 40, 50 – 120, 110"
    page.goto("about:blank")
    page.goto(f"{write_html(runs[0]).as_uri()}#sample-11")
    expect(page.locator("#sample-11 .placed .verdict")).to_have_text("other space")
    expect(page.locator("#sample-11 .facts").last).to_contain_text("other space: [0.2, 0.3, 0.4, 0.5]")
    assert page.locator("#sample-11 .answer .line").count() == 0
    expect(page.locator("#sample-11 mark.read")).to_have_text("[0.2, 0.3, 0.4, 0.5]")


def test_no_page_shows_json(page, runs) -> None:
    page.goto(write_html(runs[0]).as_uri())
    page.evaluate("document.querySelectorAll('.sample').forEach((each) => { each.open = true; })")
    page.wait_for_selector("#sample-14 .placed")
    shown = page.evaluate("document.querySelector('main').textContent")
    assert '"boxes"' not in shown
    assert '"extent"' not in shown
    assert ATTACK in shown


def test_sides_are_hidden_and_seen_from_near(page, runs) -> None:
    page.goto(f"{write_html(runs[0]).as_uri()}#sample-5")
    gold = page.locator("#sample-5 .gold rect.line")
    expect(gold).to_be_visible()
    button = page.locator("#sample-5 .side-of-gold")
    button.click()
    expect(gold).to_be_hidden()
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    page.locator("#sample-5 .near").click()
    stage = page.locator("dialog.lightbox")
    shown = stage.locator(".gold rect.line").bounding_box()
    assert 500 < shown["width"] < 1200
    assert abs(shown["x"] + shown["width"] / 2 - 640) < 60
    letter = stage.locator("text").first.bounding_box()
    assert 12 < letter["height"] < 26
    page.keyboard.press("0")
    assert stage.locator(".gold rect.line").bounding_box()["width"] < 400
    page.keyboard.press("a")
    expect(stage.locator(".answer rect.line")).to_be_hidden()
    page.keyboard.press("a")
    page.keyboard.press("z")
    assert stage.locator(".gold rect.line").bounding_box()["width"] > 500


def test_places_fit_a_narrow_page(narrow, runs) -> None:
    narrow.goto(write_html(runs[0]).as_uri())
    narrow.evaluate("document.querySelectorAll('.sample').forEach((each) => { each.open = true; })")
    narrow.wait_for_selector("#sample-14 .placed")
    widths = narrow.evaluate(
        "[...document.querySelectorAll('.placed')].map((each) => each.getBoundingClientRect().right)"
    )
    assert len(widths) == 14
    assert max(widths) <= 390


def test_the_section_of_places_is_on_pages_of_places_alone(page, runs, tmp_path) -> None:
    page.goto(write_html(runs[0]).as_uri())
    headings = page.locator("#places h3").all_text_contents()
    assert headings == ["Size", "Part of the picture", "Across", "Down", "Places asked for", "Label", "Outcome"]
    expect(page.locator("#places tbody tr", has_text="medium, below 96² pixels")).to_contain_text("9")
    from synthetic import build_report, write_run

    report, records, pictures = build_report(count=20)
    other = write_html(write_run(tmp_path, report, records, pictures))
    assert 'id="places"' not in other.read_text()


def test_the_viewer_has_keys_for_places(page, runs) -> None:
    with served(runs[0].path.parent) as server:
        page.goto(server.url)
        page.goto(f"{server.url}#/run/{runs[0].name}?sample=box")
        page.reload()
        gold, answer = page.locator(".detail .gold rect.line"), page.locator(".detail .answer rect.line")
        expect(gold).to_be_visible()
        page.keyboard.press("s")
        expect(gold).to_be_hidden()
        expect(answer).to_be_visible()
        page.keyboard.press("j")
        expect(page.locator(".detail-bar code")).to_have_text("labels")
        expect(page.locator(".detail .gold rect.line").first).to_be_hidden()
        page.keyboard.press("s")
        page.keyboard.press("k")
        expect(gold).to_be_visible()
        page.keyboard.press("a")
        expect(answer).to_be_hidden()
        page.keyboard.press("a")
        page.keyboard.press("z")
        expect(page.locator("dialog.lightbox")).to_be_visible()
        assert page.locator("dialog.lightbox .gold rect.line").bounding_box()["width"] > 500
        page.keyboard.press("Escape")
        page.goto(f"{server.url}#/run/{runs[0].name}/numbers")
        expect(page.locator("#places")).to_contain_text("small, below 32² pixels")
        page.goto(f"{server.url}#/compare/{runs[0].name}/{runs[1].name}?sample=box")
        page.reload()
        expect(page.locator(".side .placed")).to_have_count(2)


def test_the_page_of_errors_draws_places(page, runs, tmp_path) -> None:
    answers = draw_wrong_answers(runs[:1], each=20)
    file = tmp_path / "errors.html"
    file.write_text(error_page(answers, image_urls(answers)))
    page.goto(file.as_uri())
    expect(page.locator(".placed")).to_have_count(len(answers))
    card = page.locator("#samples > li", has_text="point 80, 80")
    expect(card.locator(".said")).to_have_text("point 150, 60")
    card.focus()
    page.keyboard.press("a")
    expect(card.locator(".answer .line")).to_be_hidden()
    page.keyboard.press("z")
    expect(page.locator("dialog.lightbox")).to_be_visible()


def test_a_notebook_shows_the_same_drawing(page, runs, tmp_path) -> None:
    records = list(runs[0].records())
    shown = [sample_html(record, lambda digest: read_thumbnail(runs[0].path, digest)) for record in records]
    file = tmp_path / "cells.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><body>{''.join(shown)}")
    page.goto(file.as_uri())
    assert page.locator("svg[role=img]").count() == len(records)
    frame, line = page.locator("svg.places").first.bounding_box(), page.locator("rect.line").first.bounding_box()
    assert line["x"] - frame["x"] == pytest.approx(40 / 320 * frame["width"], abs=3)
    assert line["width"] == pytest.approx(80 / 320 * frame["width"], abs=6)
    assert "<img src=x" not in "".join(shown)
    table = samples_html(records, len(records), lambda _: None)
    assert "box 40, 50 – 120, 110" in table
    assert "[0.2, 0.3, 0.4, 0.5]" in table
    assert "extent" not in table + "".join(shown)


def test_without_its_picture_a_place_stands_on_an_empty_frame(page, runs, tmp_path) -> None:
    root = Path(tmp_path)
    run = write_place_run(root)
    for file in (run.path / "media").iterdir():
        file.unlink()
    page.goto(f"{write_html(run).as_uri()}#sample-1")
    expect(page.locator("#sample-1 .canvas.empty rect.line").first).to_be_visible()
    assert "aspect-ratio:320/192" in sample_html(next(iter(run.records())), lambda _: None)


def test_descriptions_hold_words_and_drawings() -> None:
    described = {record.id: describe(record) for record, _ in place_records()}
    assert described["box"]["gold"] == ["box 40, 50 – 120, 110"]
    assert described["box"]["passes"][0]["answer"]["value"] == "box 48, 54 – 128, 112"
    assert described["outside"]["passes"][0]["answer"] == {
        "type": "outside",
        "value": "[400, 50, 900, 100]",
        "rule": "numbers in brackets",
    }
    assert described["outside"]["passes"][0]["output"]["text"] == ["", "[400, 50, 900, 100]", ""]
    assert "places" in described["span"]


def test_analyse_places_prints_the_groups(runs, capsys) -> None:
    assert main(["analyse", "places", *(str(run.path) for run in runs), "--json"]) == 0
    tables = {
        table["columns"][1]["name"] if "columns" in table else [*table["rows"][0]][1]: table["rows"]
        for table in json.loads(capsys.readouterr().out)["tables"]
    }
    assert [*tables] == ["size", "part of the picture", "across", "down", "places asked for", "label", "outcome"]
    sizes = [(row["run"], row["size"], row["n"]) for row in tables["size"]]
    assert sizes[1][1:] == ("medium, below 96² pixels", 9)
    assert len(sizes) == 6
    shares = [row["% of questions"] for row in tables["outcome"][:5]]
    assert sum(shares) == pytest.approx(100)


def test_analyse_places_refuses_runs_without(tmp_path, capsys) -> None:
    from synthetic import build_report, write_run

    report, records, pictures = build_report(count=12)
    run = write_run(tmp_path, report, records, pictures)
    assert main(["analyse", "places", str(run.path)]) == 2
    assert "none of the 1 runs asks for places" in capsys.readouterr().err
