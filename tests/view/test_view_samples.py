"""Sample pages, annotations and comparisons of several runs in a real browser."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from browsing import launched
from made_videos import write_video
from playwright import sync_api
from synthetic import build_report, record, write_run
from test_view_browser import CONTRAST, go, opened
from viewing import served

import snellen
from snellen.analysis.comparison.paired import compare
from snellen.core.output import Failure, Generated, ParsedAnswer
from snellen.core.record import Pass, Verdict
from snellen.core.request import Message, Text, user
from snellen.report.format import p_text
from snellen.report.page.html import write_html
from snellen.stats.paired import holm
from snellen.store.annotations import AnnotationChange, append_change, merge_changes, read_changes
from snellen.store.runs import RunFolder
from snellen.view.files import write_pages
from snellen.view.run_view import RunLibrary

expect = sync_api.expect
MODELS = ("one", "two", "three")
SCORES = {
    "0": (1, 1, 1),
    "1": (1, 0, 0),
    "2": (0, 1, 1),
    "3": (0, 0, 0),
    "4": (0.5, 0.2, 0.2),
    "5": (0.5, 0.5, 0.5),
    "6": (0.2, 0.5, 0.5),
}


@pytest.fixture(scope="module")
def browser():
    yield from launched()


def scored_runs(root: Path, models: tuple[str, ...] = MODELS) -> list[RunFolder]:
    """Runs with the scores of `SCORES`, in a shuffled order of finishing."""
    runs = []
    for side, model in enumerate(models):
        report, records, pictures = build_report(model, "made", count=7, troubled=False)
        changed = [
            msgspec.structs.replace(records[at], score=SCORES[str(at)][side], position=at)
            for at in (3, 0, 6, 1, 5, 2, 4)
        ]
        runs.append(write_run(root, report, changed, pictures))
    return runs


def compared(runs: list[RunFolder], query: str = "") -> str:
    return f"#/compare/{'/'.join(run.name for run in runs)}{query}"


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    runs = scored_runs(tmp_path_factory.mktemp("three"))
    with served(runs[0].path.parent) as server:
        yield runs, server.url


@pytest.fixture
def page(browser, three):
    yield from opened(browser, three[1])


def listed(page) -> list[str]:
    """Ids in the list, from top to bottom."""
    texts = page.locator(".row").evaluate_all(
        "(rows) => rows.sort((a, b) => a.dataset.at - b.dataset.at)"
        ".map((row) => row.querySelector('.meta').lastChild.textContent.split(' ')[0])"
    )
    return list(texts)


@pytest.mark.parametrize(
    ("scores", "agreement"),
    [
        ([1, 1], "all right"),
        ([0, 0], "all wrong"),
        ([1, 0], "only 1 right"),
        ([0, 1], "only 2 right"),
        ([0.5, 0], "1 best"),
        ([0.5, 0.5], "same partial score"),
        ([0.2, 1], "2 best"),
        ([-1, 1], "not scored"),
        ([-2, 1], "in some runs only"),
        ([1, 0, 0], "only 1 right"),
        ([1, 0, 1], "only 2 wrong"),
        ([1, 1, 0, 0], "mixed"),
        ([0.5, 0.5, 0], "mixed"),
    ],
)
def test_how_scores_agree(page, scores, agreement):
    go(page, "")
    assert page.evaluate("(scores) => agreementOf(scores)", scores) == agreement
    assert agreement in page.evaluate("(count) => agreementValues(count)", len(scores))


def test_three_runs_are_listed_counted_and_filtered(page, three):
    runs, _ = three
    go(page, compared(runs))
    expect(page.locator(".found")).to_have_text("7 samples")
    # The order of the data, not the one in which samples finished.
    page.wait_for_selector(".row .ask:not(:empty)")
    assert listed(page) == ["0", "1", "2", "3", "4", "5", "6"]
    table = page.locator(".runs-compared tbody tr")
    expect(table).to_have_count(3)
    expect(table.first.locator("td").nth(2)).to_have_text("3")
    chips = page.locator(".chip-button:not(.every)").all_text_contents()
    assert chips == [
        "all right1",
        "only 1 right1",
        "only 1 wrong1",
        "mixed1",
        "1 best1",
        "same partial score1",
        "all wrong1",
    ]
    patterns = page.locator(".patterns tbody tr")
    expect(patterns).to_have_count(5)
    expect(patterns.first).to_contain_text("42.9 %")
    patterns.first.locator("button").click()
    expect(page.locator(".found")).to_have_text("3 of 7 samples")
    assert "pattern=ppp" in page.url
    page.keyboard.press("x")
    page.keyboard.press("d")
    expect(page.locator(".found")).to_have_text("4 of 7 samples")


def test_p_values_are_those_of_the_command(browser, tmp_path):
    runs = []
    for model, every in zip(MODELS, (1, 2, 6), strict=True):
        report, records, pictures = build_report(model, "made", count=20, troubled=False)
        scored = [msgspec.structs.replace(one, score=float(at % every == 0)) for at, one in enumerate(records)]
        runs.append(write_run(tmp_path, report, scored, pictures))
    found = compare(runs, MODELS)
    with served(tmp_path) as server:
        pages = opened(browser, server.url)
        page = next(pages)
        go(page, compared(runs))
        table = page.locator(".runs-compared")
        expect(table.locator("th").nth(8)).to_have_text("p (Holm)")
        for row, pair in enumerate(found.pairs[:2], 1):
            assert p_text(pair.p_holm) != p_text(pair.p)
            cell = table.locator("tbody tr").nth(row).locator("td").nth(7)
            expect(cell).to_have_text(p_text(pair.p_holm))
        assert next(pages, None) is None


def test_the_page_adjusts_and_writes_p_values_as_python_does(page):
    go(page, "")
    several = [0.04, 0.00001, 0.5, 0.000366, 0.012]
    adjusted = page.evaluate("(values) => holm(values)", [*several, None])
    assert adjusted == [*map(pytest.approx, holm(several)), None]
    texts = page.evaluate("(values) => values.map(pText)", several)
    assert texts == [p_text(p) for p in several]


def test_order_is_kept_in_the_address(page, three):
    runs, _ = three
    go(page, compared(runs))
    page.get_by_role("combobox", name="Order").select_option("disagreement")
    expect(page.locator(".found")).to_have_text("7 samples")
    first = listed(page)
    assert set(first[:2]) == {"1", "2"}
    assert "order=disagreement" in page.url
    go(page, "#" + page.url.partition("#")[2])
    expect(page.locator(".found")).to_have_text("7 samples")
    assert listed(page) == first
    page.get_by_role("combobox", name="Order").select_option("low")
    assert listed(page)[0] == "3"


def test_replies_are_side_by_side_and_numbers_select_them(page, three):
    runs, _ = three
    go(page, compared(runs, "?sample=2"))
    sides = page.locator(".pass").first.locator(".side[data-side]")
    expect(sides).to_have_count(3)
    page.keyboard.press("3")
    expect(sides.nth(2)).to_be_focused()
    expect(sides.nth(2)).to_contain_text("three")
    page.keyboard.press("j")
    expect(page.locator(".detail-bar code")).to_have_text("3")
    expect(page.locator(".explorer > [role=status]")).to_have_text(
        "Sample 3, one wrong, two wrong, three wrong, 4 of 7"
    )
    page.keyboard.press("Escape")
    expect(page.locator(".patterns")).to_be_visible()
    assert "sample=" not in page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_and_have_names(page, three, scheme):
    runs, _ = three
    append_change(runs[0].path, AnnotationChange("4", flag=True, note="seen", add=("hard",)))
    page.emulate_media(color_scheme=scheme)
    levels = "[...document.querySelectorAll('#app h1,#app h2,#app h3')].map((e) => +e.tagName[1])"
    for address in (compared(runs), compared(runs, "?sample=4"), f"#/run/{runs[0].name}?sample=4"):
        go(page, address)
        page.wait_for_selector(".row .marks")
        page.wait_for_selector(".pass" if "sample" in address else ".patterns tr")
        assert page.evaluate(CONTRAST) == []
        assert page.locator("img:not([alt])").count() == 0
        found = page.evaluate(levels)
        assert found[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(found))


def test_a_run_can_be_added_and_taken_away(page, three):
    runs, _ = three
    go(page, compared(runs[:2]))
    page.get_by_role("combobox", name="Add a run").select_option(runs[2].name)
    expect(page.locator(".contender")).to_have_count(3)
    page.get_by_role("button", name="Without one").click()
    expect(page.locator(".contender")).to_have_count(2)
    assert page.url.endswith(compared(runs[1:]))


def test_annotations_are_written_shared_and_filtered(browser, tmp_path):
    run = scored_runs(tmp_path, ("one",))[0]
    with served(tmp_path) as server, served(tmp_path) as second:
        for page in opened(browser, server.url):
            for other in opened(browser, second.url):
                go(other, f"#/run/{run.name}")
                go(page, f"#/run/{run.name}?sample=2")
                page.wait_for_selector(".note-box")
                page.keyboard.press("f")
                expect(page.locator(".flag-button").first).to_have_attribute("aria-pressed", "true")
                page.keyboard.press("l")
                page.keyboard.type("gold wrong")
                page.keyboard.press("Enter")
                expect(page.locator(".note-box .label")).to_have_text("gold wrong×")
                page.keyboard.press("Escape")
                page.keyboard.press("n")
                page.keyboard.type("<b>Look</b> again")
                page.keyboard.press("Escape")
                expect(page.locator(".row .marks")).to_have_count(1)
                # The other server tells it to the other page, which looks again by itself.
                expect(other.locator(".row .marks .label")).to_have_text("gold wrong")
                other.get_by_role("combobox", name="Annotations").select_option("label:gold wrong")
                expect(other.locator(".found")).to_have_text("1 of 7 samples")
                assert "noted=label" in other.url
                # The note was sent after the label.
                text, until = "", time.monotonic() + 30
                while "<b>Look</b> again" not in text and time.monotonic() < until:
                    with other.expect_download() as download:
                        other.get_by_role("button", name="Save the annotations as CSV").click()
                    text = Path(download.value.path()).read_text()
                assert "<b>Look</b> again" in text
            page.reload()
            expect(page.locator(".note-box textarea").first).to_have_value("<b>Look</b> again")
    (found,) = merge_changes(read_changes(run.path).changes)
    assert (found.sample, found.flag, found.labels) == ("2", True, ("gold wrong",))


def test_unsaved_annotation_is_kept_with_the_reason(browser, tmp_path):
    run = scored_runs(tmp_path, ("one",))[0]
    with served(tmp_path) as server:
        page = browser.new_page()
        page.goto(f"{server.url}#/run/{run.name}?sample=2")
        page.wait_for_selector(".note-box")
        (run.path / "annotations.jsonl").mkdir()
        page.keyboard.press("n")
        page.keyboard.type("mine")
        page.keyboard.press("Escape")
        expect(page.locator(".note-box [role=status]").first).to_contain_text("cannot write")
        expect(page.locator(".note-box textarea").first).to_have_value("mine")
        page.close()


def test_files_show_annotations_and_take_none(browser, tmp_path):
    run = scored_runs(tmp_path / "runs", ("one",))[0]
    append_change(run.path, AnnotationChange("2", note="seen by eye", add=("hard",)))
    base = write_pages(RunLibrary([run.path]), tmp_path / "out").as_uri()
    for page in opened(browser, base):
        go(page, f"#/run/{run.name}?sample=2")
        expect(page.locator(".note-box p.note")).to_have_text("seen by eye")
        assert page.locator(".note-box input, .note-box textarea, .flag-button").count() == 0
        expect(page.locator(".row .marks .label")).to_have_text("hard")


def dialogue_record(pictures: tuple[str, ...]):
    """Three turns, each judged; the last one failed."""
    sample = record(0, False, pictures)
    asked = user(Text("What is here?"))
    first = Generated("A ring.", reasoning="It is round.")
    told = (asked, Message("assistant", (Text("A ring."),)), user(Text("And its colour?")))
    verdict = Verdict("judge", Generated("Fair. {'Overall': 7}"), values={"Overall": 7.0})
    passes = (
        Pass((asked,), first, ParsedAnswer("A ring.", "whole reply"), verdicts=(verdict,)),
        Pass(told, Failure("timeout", "no answer\nin 60 s", sent=3)),
    )
    return msgspec.structs.replace(sample, kind="open", options={}, gold=("a ring", "red"), passes=passes, score=0.5)


def test_a_dialogue_is_shown_as_turns_with_its_verdicts(browser, tmp_path):
    report, records, pictures = build_report("one", "made", count=3, troubled=False)
    records[0] = dialogue_record(records[0].media)
    run = write_run(tmp_path, report, records, pictures)
    with served(tmp_path) as server:
        for page in opened(browser, server.url):
            go(page, f"#/run/{run.name}?sample=0")
            turns = page.locator(".dialogue > .turn")
            expect(turns).to_have_count(2)
            expect(turns.nth(1)).to_contain_text("And its colour?")
            # What was said before is not shown again.
            expect(turns.nth(1)).not_to_contain_text("What is here?")
            expect(turns.nth(0).locator(".helper summary")).to_have_text("judge: Overall 7")
            turns.nth(0).locator(".helper summary").click()
            expect(turns.nth(0).locator(".helper pre")).to_have_text("Fair. {'Overall': 7}")
            expect(turns.nth(0).locator(".reasoning pre")).to_be_hidden()
            expect(turns.nth(1).locator(".failure")).to_contain_text("timeout, sent 3 times")
            expect(turns.nth(1).locator(".failure pre")).to_have_text("no answer\nin 60 s")


@pytest.mark.parametrize("where", ["server", "report"])
def test_pictures_are_enlarged_one_after_the_other(browser, tmp_path, where):
    report, records, pictures = build_report("one", "made", count=9, troubled=False)
    run = write_run(tmp_path, report, records, pictures)
    # Sample 7 has three pictures.
    with served(tmp_path) as server:
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        if where == "server":
            page.goto(f"{server.url}#/run/{run.name}?sample=7")
        else:
            page.goto(write_html(run).as_uri() + "#sample-8")
        pictures_of = page.locator(".body .pictures .zoom")
        expect(pictures_of).to_have_count(3)
        expect(pictures_of.first.locator("img")).to_have_attribute("alt", "Image 1 of 3 of sample 7")
        pictures_of.first.click()
        box = page.locator("dialog.lightbox")
        expect(box).to_contain_text("1 of 3, 100 %")
        page.keyboard.press("ArrowRight")
        expect(box).to_contain_text("2 of 3, 100 %")
        expect(box.locator("img")).to_have_attribute("alt", "Image 2 of 3 of sample 7")
        page.keyboard.press("+")
        expect(box).to_contain_text("140 %")
        box.locator(".stage").hover()
        page.mouse.wheel(0, -300)
        expect(box).to_contain_text("381 %")
        page.keyboard.press("0")
        expect(box).to_contain_text("100 %")
        page.keyboard.press("Escape")
        expect(box).to_be_hidden()
        expect(pictures_of.first).to_be_focused()
        page.close()


def test_a_video_plays_beside_the_frames_that_were_shown(browser, tmp_path):
    clip = write_video(tmp_path / "clip.webm", 30, fps=10, codec="libvpx")
    clip.with_suffix(".srt").write_text("1\n00:00:00,500 --> 00:00:02,000\nBars <i>appear</i>.\n")
    table = tmp_path / "films.jsonl"
    row = {
        "id": "v1",
        "question": "What is it?",
        "A": "a",
        "B": "b",
        "answer": "A",
        "video": "clip.webm",
        "start": 1,
        "end": 3,
    }
    table.write_text(json.dumps(row) + "\n")
    run = snellen.evaluate("random", f"{table}:frames=2", out=tmp_path / "runs", html=False).runs[0]
    with served(tmp_path / "runs") as server:
        for page in opened(browser, server.url):
            go(page, f"#/run/{run.name}?sample=v1")
            video = page.locator(".body video")
            expect(video).to_have_count(1)
            expect(page.locator("figure.video > figcaption")).to_have_text("The question is about 0:01 to 0:03")
            expect(page.locator(".cues li")).to_have_text("0:00.5–0:02 Bars appear.")
            frames = page.locator("figure[data-digest] figcaption").all_text_contents()
            assert [text.startswith("Frame ") for text in frames] == [True, True]
            page.locator(".body video").evaluate(
                "(e) => new Promise((done) => { if (e.readyState) done(); e.onloadedmetadata = done; })"
            )
            assert video.evaluate("(e) => [e.videoWidth, e.currentTime]") == [64, 1]


class Seconds:
    """Says from when to when."""

    def answer(self, request):
        return "[0.5, 1.6]"


def test_frames_within_the_spans_of_gold_and_answer_are_marked(browser, tmp_path):
    write_video(tmp_path / "clip.webm", 40, fps=10, codec="libvpx")
    (tmp_path / "films.jsonl").write_text(
        json.dumps({"id": "v1", "question": "When?", "span": [1, 3], "duration": 4, "video": "clip.webm"}) + "\n"
    )
    run = snellen.evaluate(Seconds(), f"{tmp_path / 'films.jsonl'}:frames=4", out=tmp_path / "runs", html=False).runs[0]
    with served(tmp_path / "runs") as server:
        for page in opened(browser, server.url):
            go(page, f"#/run/{run.name}?sample=v1")
            expect(page.locator("figure.timed svg.spans")).to_have_attribute(
                "aria-label", "gold: span 1 – 3 s; answer: span 0.5 – 1.6 s"
            )
            expect(page.locator("figure[data-digest] figcaption")).to_have_text(
                [
                    "Frame 1 at 0:00.5, answer",
                    "Frame 2 at 0:01.5, gold, answer",
                    "Frame 3 at 0:02.5, gold",
                    "Frame 4 at 0:03.5",
                ]
            )
            assert page.locator("figure.in-gold").count() == 2


@pytest.mark.release
def test_20_000_samples_are_listed_at_once_and_scrolled(browser, tmp_path):
    report, records, pictures = build_report("one", "made", count=100, troubled=False)
    run = write_run(tmp_path, report, records, pictures)
    with (run.path / "samples.jsonl").open("wb") as file:
        for at in range(20_000):
            each = msgspec.structs.replace(records[at % 100], id=str(at), position=19_999 - at)
            file.write(msgspec.json.encode(each) + b"\n")
    with served(tmp_path) as server:
        page = browser.new_page()
        page.goto(f"{server.url}#/run/{run.name}")
        page.wait_for_selector(".row .ask:not(:empty)")
        # A second on a machine that does nothing else.
        assert page.evaluate("performance.now()") < 4000
        expect(page.locator(".found")).to_have_text("20,000 samples")
        page.locator(".list").evaluate("(e) => { e.scrollTop = e.scrollHeight; }")
        expect(page.locator(".row[data-at='19999'] .meta")).to_contain_text("0 · ")
        assert page.locator(".row").count() < 30
        page.get_by_role("combobox", name="Order").select_option("score")
        assert float(page.locator(".explorer").get_attribute("data-filtered") or "nan") < 500
        page.close()
