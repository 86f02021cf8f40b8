"""The review's page in a real browser: two annotators at once, an adjudicator, kill -9, keys."""

from __future__ import annotations

import json
import os
import re
import signal
from itertools import pairwise

import av
import pytest
from browsing import launched
from PIL import Image
from playwright import sync_api
from reviewing import ATTACK, ROWS, decide, link_of, opened, read_lines, serving, start_serving, write_data

from snellen_curate.review.entries import REVIEWS_FILE
from snellen_curate.review.opening import open_review

expect = sync_api.expect


@pytest.fixture(scope="module")
def browser():
    yield from launched()


class Tab:
    """A page of one person, in a browser profile of their own."""

    def __init__(self, browser, address, name="", **options):
        self.context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **options})
        self.page = self.context.new_page()
        self.asked, self.said = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.home = address.partition("?")[0]
        self.page.goto(address)
        if name:
            self.page.get_by_label("Your name").fill(name)
            self.page.keyboard.press("Enter")
            expect(self.page.locator(".item-head, .empty")).to_be_visible()

    @property
    def title(self):
        return self.page.locator("h1")

    @property
    def item(self):
        return self.page.locator(".item-head code")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def close(self):
        assert [url for url in self.asked if not url.startswith((self.home, "data:"))] == []
        assert self.said == []
        assert self.page.evaluate("window.hurt") is None
        self.context.close()


@pytest.fixture
def tabs(browser):
    """Opens tabs, which must not complain, nor ask anything of another machine."""
    made = []

    def tab(server, name="", role="annotator", **options):
        made.append(Tab(browser, server.address(link_of(server, role)), name, **options))
        return made[-1]

    yield tab
    for each in made:
        each.close()


def test_two_annotators_at_once_and_an_adjudicator(tmp_path, tabs):
    review = opened(tmp_path, annotators=2)
    with serving(review) as server:
        ann, ben = tabs(server, "ann"), tabs(server, "ben")
        for tab in (ann, ben):
            expect(tab.item).to_have_text("c1")
        ann.press("k")
        expect(ann.item).to_have_text("c2")
        expect(ann.page.get_by_role("status")).to_have_text("Saved: keep c1. Next: item 2.")
        ben.press("d", "3", "Enter")
        expect(ben.item).to_have_text("c2")
        for tab in (ann, ben):
            tab.press("f")
            tab.page.get_by_label("Answer").select_option("B")
            tab.press("Control+Enter")
            expect(tab.item).to_have_text("y1")
        judy = tabs(server, "judy", "adjudicator")
        expect(judy.item).to_have_text("c1")
        expect(judy.page.locator(".said .reason")).to_contain_text("ann: keep; ben: drop")
        expect(judy.page.locator(".said .chances")).to_contain_text("keep")
        judy.page.set_viewport_size({"width": 390, "height": 800})
        expect(judy.page.locator(".said")).to_be_visible()
        judy.press("2")
        expect(judy.title).to_have_text("Nothing to resolve")
        judy.press("a")
        expect(judy.page.locator("tbody").first).to_contain_text("Cohen's kappa, ann and ben")
    outcomes = dict(review.board.outcomes())
    assert (outcomes["c1"].status, outcomes["c1"].action) == ("resolved", "drop")
    assert (outcomes["c2"].status, dict(outcomes["c2"].changes)) == ("agreed", {"answer": "B"})


def test_one_decision_per_item_divides_the_queue(tmp_path, tabs):
    with serving(opened(tmp_path, annotators=1)) as server:
        ann, ben = tabs(server, "ann"), tabs(server, "ben")
        seen = []
        for _ in ROWS[::2]:
            for tab in (ann, ben):
                before = tab.item.text_content()
                seen.append(before)
                tab.press("k")
                expect(tab.page.get_by_role("status")).to_contain_text(f"Saved: keep {before}")
        assert sorted(seen) == sorted(row["index"] for row in ROWS)
        expect(ben.title).to_have_text("Done, thank you")
        ann.press("r")
        expect(ann.title).to_have_text("Done, thank you")


def test_blind_annotators_see_no_key_and_choose_with_keys(tmp_path, tabs):
    review = opened(tmp_path, blind=True)
    with serving(review) as server:
        ann = tabs(server, "ann")
        expect(ann.page.locator(".options, .replies, .why, .more")).to_have_count(0)
        ann.press("Enter")
        expect(ann.page.locator(".problem")).to_have_text("choose an answer, or drop the item")
        ann.press("2", "Enter")
        expect(ann.page.locator(".problem")).to_contain_text("choose the ability")
        ann.page.get_by_label("Ability it tests").select_option("colour")
        ann.press("Enter")
        expect(ann.item).to_have_text("c2")
        ann.press("u")
        expect(ann.item).to_have_text("c1")
        ann.press("1", "t")
        ann.page.keyboard.type("col")
        ann.press("Enter")
        expect(ann.item).to_have_text("c2")
    (line,) = list(read_lines(review.folder / REVIEWS_FILE)[2:])
    assert (line["answer"], line["ability"]) == ("A", "colour")


def test_a_fix_that_breaks_the_item_is_refused_on_the_page(tmp_path, tabs):
    with serving(opened(tmp_path)) as server:
        tab = tabs(server, "ann")
        tab.press("f")
        tab.page.get_by_label("Option B").fill(" RED ")
        tab.press("Control+Enter")
        problem = tab.page.locator(".problem")
        expect(problem).to_have_text("options A and B of item c1 would be the same")
        tab.page.get_by_role("button", name="Add an option").click()
        tab.page.get_by_label("Option B").fill("blue")
        tab.page.get_by_label("Option C").fill("green")
        tab.page.get_by_label("Answer").select_option("C")
        tab.press("Control+Enter")
        expect(tab.item).to_have_text("c2")


def test_a_half_written_fix_survives_a_reload(tmp_path, tabs):
    with serving(opened(tmp_path)) as server:
        tab = tabs(server, "ann")
        tab.press("f")
        tab.page.get_by_role("textbox", name="Question").fill("Which colour has the ball?")
        tab.page.reload()
        expect(tab.page.get_by_role("textbox", name="Question")).to_have_value("Which colour has the ball?")
        tab.page.get_by_label("Comment (optional)").fill("clearer")
        tab.press("Control+Enter")
        expect(tab.item).to_have_text("c2")


def test_kill_9_loses_nothing_and_open_pages_go_on(tmp_path, browser):
    data = write_data(tmp_path / "data")
    words = (str(data), "--out", str(tmp_path / "out"), "--items", "all", "--limits", "annotators=2")
    first = start_serving(*words, "--port", "0")
    port = re.search(r":(\d+)/", first.links["annotator"])[1]
    tabs = [Tab(browser, first.links["annotator"], name) for name in ("ann", "ben")]
    try:
        for tab in tabs:
            tab.press("k")
            expect(tab.item).to_have_text("c2")
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.communicate()
        assert len(read_lines(tmp_path / "out" / REVIEWS_FILE)) == 2
        tabs[0].press("d", "2", "Enter")
        expect(tabs[0].page.locator(".problem")).to_contain_text("not saved: the server does not answer")
        again = start_serving(*words, "--port", port)
        try:
            assert again.links == first.links
            tabs[0].page.get_by_role("button", name="Drop it").click()
            expect(tabs[0].item).to_have_text("y1")
            tabs[1].page.reload()
            expect(tabs[1].item).to_have_text("c2")
            expect(tabs[1].page.locator(".progress-line")).to_contain_text("1 of 6 items decided")
            lines = read_lines(tmp_path / "out" / REVIEWS_FILE)
            assert [(each["item"], each["by"]) for each in lines] == [("c1", "ann"), ("c1", "ben"), ("c2", "ann")]
        finally:
            again.process.terminate()
            again.process.communicate()
    finally:
        for tab in tabs:
            tab.close()


def test_a_link_of_a_name_asks_for_none_and_no_link_shows_nothing(tmp_path, browser):
    with serving(opened(tmp_path), ["ann"]) as server:
        tab = Tab(browser, server.address(server.links[0]))
        expect(tab.item).to_have_text("c1")
        assert "key=" not in tab.page.url
        tab.close()
        page = browser.new_page()
        page.goto(server.url)
        expect(page.get_by_role("alert").first).to_contain_text("this link is not valid")
        assert "Which colour" not in page.content()
        page.close()


@pytest.mark.attack(
    "questions, options, ids and comments of data under review hold markup and scripts", "the page shows them as text"
)
def test_nothing_in_the_data_is_run(tmp_path, tabs):
    row = {
        "index": ATTACK,
        "question": ATTACK,
        "hint": ATTACK,
        "A": ATTACK,
        "B": "b",
        "answer": "A",
        "category": ATTACK,
        "source": ATTACK,
    }
    data = write_data(tmp_path / "data", [row, ROWS[0]])
    review = open_review(data, tmp_path / "out", {"queue": "all"})
    decide(review, ATTACK, "ann", "comment", comment=ATTACK)
    with serving(review) as server:
        for name, role in (("ann", "annotator"), (ATTACK[:60], "adjudicator")):
            tab = tabs(server, name, role)
            tab.press("l")
            expect(tab.page.locator(".rows .ask").first).to_have_text(ATTACK)
            tab.page.locator(".rows a").first.click()
            expect(tab.page.locator(".question")).to_have_text(ATTACK)
            tab.page.locator(".more summary").click()
            tab.press("f")
            expect(tab.page.get_by_role("textbox", name="Question")).to_have_value(ATTACK)


STATES = (
    ((), "Item 1 of 6"),
    (("f",), "Item 1 of 6"),
    (("Escape", "d"), "Item 1 of 6"),
    (("Escape", "c"), "Item 1 of 6"),
    (("Escape", "l"), "The queue"),
    (("a",), "Agreement"),
    (("?",), "Agreement"),
)
"""Keys from one state of the adjudicator's page to the next, and the title there."""


def test_every_control_has_a_name_and_headings_are_in_order(tmp_path, tabs):
    unnamed = """[...document.querySelectorAll('button, input, select, textarea, progress, a')]
        .filter((e) => !(e.getAttribute('aria-label') || e.closest('label')?.textContent.trim()
        || e.textContent.trim())).map((e) => e.outerHTML)"""
    levels = """[...document.querySelectorAll('main h1, main h2')].filter((e) => e.offsetParent)
        .map((e) => +e.tagName[1])"""
    review = opened(tmp_path, annotators=2)
    decide(review, "c1", "ann", "keep", comment="fine")
    decide(review, "c1", "ben", "fix", changes={"answer": "B"})
    with serving(review) as server:
        judy = tabs(server, "judy", "adjudicator")
        for keys, title in STATES:
            judy.press(*keys)
            expect(judy.title).to_have_text(title)
            assert judy.page.evaluate(unnamed) == []
            found = judy.page.evaluate(levels)
            assert found[0] == 1
            assert all(after <= before + 1 for before, after in pairwise(found))


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (360, "dark"),
        pytest.param(360, "light", marks=pytest.mark.release),
        pytest.param(800, "dark", marks=pytest.mark.release),
        pytest.param(1400, "light", marks=pytest.mark.release),
    ],
)
def test_nothing_is_wider_than_the_window_and_text_has_contrast(tmp_path, tabs, width, scheme):
    review = opened(tmp_path, annotators=2)
    decide(review, "c1", "ann", "keep", comment="fine")
    decide(review, "c1", "ben", "fix", changes={"answer": "B"})
    with serving(review) as server:
        tab = tabs(server, "judy", "adjudicator", color_scheme=scheme, viewport={"width": width, "height": 800})
        for keys, title in STATES[:-1]:
            tab.press(*keys)
            expect(tab.title).to_have_text(title)
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
            assert tab.page.evaluate(CONTRAST) == []


CONTRAST = """() => {
  const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map((v) => {
    v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (/^rgb\\(/.test(c)) return c; }
    return 'rgb(255, 255, 255)'; };
  const ratio = (e) => { const [a, b] = [light(getComputedStyle(e).color), light(ground(e))];
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); };
  return [...document.querySelectorAll('main *')].filter((e) =>
    [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && e.offsetParent
    && e.tagName !== 'OPTION')
    .map((e) => [ratio(e), e.className, e.textContent.slice(0, 30)]).filter(([r]) => r < 4.5);
}"""


def test_a_video_is_played_by_a_key(tmp_path, tabs):
    folder = tmp_path / "data"
    folder.mkdir()
    with av.open(str(folder / "clip.webm"), "w") as clip:
        stream = clip.add_stream("libvpx-vp9", rate=10)
        stream.width, stream.height = 96, 64
        for step in range(5):
            image = Image.new("RGB", (96, 64), (12 * step, 80, 80))
            clip.mux(stream.encode(av.VideoFrame.from_image(image)))
        clip.mux(stream.encode())
    row = {
        "index": "v",
        "question": "What changes?",
        "A": "the colour",
        "B": "the form",
        "answer": "A",
        "video_path": "clip.webm",
    }
    (folder / "data.jsonl").write_text(json.dumps(row) + "\n")
    with serving(open_review(folder / "data.jsonl", tmp_path / "out", {"queue": "all"})) as server:
        tab = tabs(server, "ann")
        video = tab.page.locator("video")
        expect(video).to_have_js_property("readyState", 4)
        tab.press("Space")
        expect(video).to_have_js_property("ended", True)
        tab.press("k")
        expect(tab.title).to_have_text("Done, thank you")


def test_the_data_of_the_page_is_json_alone(tmp_path, tabs):
    with serving(opened(tmp_path)) as server:
        tab = tabs(server, "ann")
        known = json.loads(tab.page.locator("#known").text_content())
        assert (known["annotators"], known["blind"]) == (1, False)


def test_options_that_are_boxes_are_drawn_under_their_letters(tmp_path, tabs):
    folder = tmp_path / "data"
    folder.mkdir()
    Image.new("RGB", (200, 100), "white").save(folder / "white.png")
    boxes = {"A": "[10, 20, 60, 70]", "B": "[110, 20, 160, 70]"}
    outside = {"A": "[10, 20, 60, 70]", "B": "[110, 20, 160, 700]"}
    rows = [
        {"index": name, "image_path": "white.png", "question": "Where?", "answer": "A", **options}
        for name, options in (("boxes", boxes), ("outside", outside))
    ]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(opened(tmp_path)) as server:
        tab = tabs(server, "ann")
        expect(tab.page.locator("svg.boxes text")).to_have_text(["A", "B"])
        left, right = (box.bounding_box() for box in tab.page.locator("svg.boxes rect").all())
        image = tab.page.locator(".pictures img").bounding_box()
        scale = image["width"] / 200
        for box, x in ((left, 10), (right, 110)):
            assert abs(box["x"] - image["x"] - x * scale) < 3
            assert abs(box["width"] - 50 * scale) < 6
        tab.press("n")
        expect(tab.item).to_have_text("outside")
        expect(tab.page.locator(".pictures img")).to_have_js_property("complete", True)
        expect(tab.page.locator("svg.boxes")).to_have_count(0)
