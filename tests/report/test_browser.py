"""The page in a real browser: nothing fetched, nothing executed that a model said."""

import os
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from browsing import launched
from playwright import sync_api
from synthetic import build_report, record, write_run

from snellen.core.output import Compared, Drawn, Generated, ParsedAnswer
from snellen.core.record import Pass
from snellen.core.request import Media, Text, user
from snellen.report.page.html import write_html, write_overview
from snellen.store.annotations import AnnotationChange, append_change

ATTACK = "</script><script>window.hurt=1</script><img src=x onerror='window.hurt=1'><!--"


@pytest.fixture(scope="module")
def browser():
    yield from launched()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """A circular run of 700 samples, of which one reply, question, group and name attack."""
    root = tmp_path_factory.mktemp("runs")
    report, records, pictures = build_report(count=700, circular=True, failed=3)
    turn = records[1].passes[0]
    bad = msgspec.structs.replace(
        turn,
        prompt=(user(Text(ATTACK)),),
        output=Generated(f"B {ATTACK}", reasoning=ATTACK),
        options={"A": ATTACK, "B": "b"},
    )
    records[1] = msgspec.structs.replace(
        record(1, True, records[1].media),
        id=ATTACK,
        question=ATTACK,
        score=0.0,
        passes=(bad,),
        groups={ATTACK: ATTACK},
        options={"A": ATTACK},
        answer=ATTACK,
        gold=(ATTACK,),
    )
    summary = msgspec.structs.replace(
        report.summary,
        notices=(ATTACK, *report.summary.notices),
        groups={**report.summary.groups, ATTACK: dict.fromkeys((ATTACK, "b", "c"), report.summary.headline)},
    )
    info = msgspec.structs.replace(report.run, title=ATTACK, command=ATTACK)
    report = msgspec.structs.replace(report, run=info, summary=summary)
    run = write_run(root, report, records, pictures)
    return {"run": write_html(run), "overview": write_overview([(run, run.report())], root / "overview.html")}


@pytest.fixture
def page(browser, pages):
    """The run's page, opened; closing it checks that nothing was fetched, logged or executed."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(pages["run"].as_uri())
    yield page
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    files = {url.partition("#")[0] for url in asked if url.startswith("file:")}
    assert files == {pages["run"].as_uri()}
    assert said == []
    assert page.evaluate("window.hurt") is None
    page.close()


def test_opens_fast_with_500_samples_in_order(page):
    page.wait_for_selector(".sample")
    assert page.locator(".sample").count() == 500
    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
    page.wait_for_function(f"{paint} !== null")
    assert page.evaluate(paint) < 2000
    first = page.locator(".sample .meta").all_text_contents()[1:5]
    assert first == sorted(first, key=lambda text: int(text.split()[0]))
    page.locator(".filters [name=order]").select_option("trouble")
    assert page.locator(".sample .verdict").first.text_content() == "failed"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_model_output_is_shown_as_text_only(page):
    page.evaluate("document.querySelectorAll('.sample').forEach((each) => { each.open = true; })")
    page.wait_for_selector(".pass")
    shown = page.evaluate("[...document.querySelectorAll('pre.reply')].map((e) => e.textContent)")
    assert f"B {ATTACK}" in shown
    assert page.evaluate("document.querySelectorAll('img[onerror]').length") == 0
    assert page.evaluate("document.scripts.length") == 2
    assert page.locator("h1").inner_text() == "snellen/tiny"
    assert page.locator(".eyebrow").inner_text() == ATTACK


def test_filters_and_search(page):
    def shown() -> int:
        return page.locator(".sample:visible").count()

    form = page.locator(".filters")
    form.locator("[name=outcome]").select_option("failed")
    assert shown() == 3
    assert page.locator(".found").inner_text() == "3 of 500 shown"
    form.locator("button").click()
    page.wait_for_function("document.querySelector('.found').textContent === '500 shown'")
    form.locator("[name=result]").select_option("right")
    assert set(page.locator(".sample:visible .verdict").all_text_contents()) == {"right"}
    form.locator("button").click()
    form.locator("[name=text]").fill("triangle IN picture 7?")
    assert shown() == 1
    form.locator("[name=text]").fill("")
    form.locator("[name=group]").select_option(
        label=next(
            text for text in form.locator("[name=group] option").all_inner_texts() if text.startswith("colour (")
        )
    )
    count = shown()
    assert 0 < count < 500
    assert all("colour" in text for text in page.locator(".sample:visible .meta").all_text_contents())


def test_a_sample_shows_pictures_prompt_reply_evidence_and_every_pass(page):
    sample = page.locator(".sample", has=page.locator(".said em", has_text="pass 2")).first
    sample.locator("summary").first.press("Enter")
    passes = sample.locator(".pass")
    # The page fills a sample in when its `toggle` event comes, which is after the key.
    sync_api.expect(passes).to_have_count(2)
    assert passes.nth(0).locator("header h3").inner_text() == "Pass 1 of 4"
    assert "Please select the correct answer" in passes.nth(1).inner_text()
    assert len(passes.nth(1).locator("mark").inner_text()) == 1
    assert "by the rule" in passes.nth(1).inner_text()
    picture = sample.locator(".pictures img").first
    picture.scroll_into_view_if_needed()
    page.wait_for_function("(e) => e.complete && e.naturalWidth > 0", arg=picture.element_handle())
    assert picture.get_attribute("alt")


def test_every_control_has_a_name_and_headings_are_in_order(page):
    unnamed = """[...document.querySelectorAll('button, input, select, [role=img]')].filter((e) =>
        !(e.getAttribute('aria-label') || e.closest('label') || e.textContent.trim()))"""
    assert page.evaluate(f"{unnamed}.map((e) => e.outerHTML)") == []
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((e) => +e.tagName[1])")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


CONTRAST = """() => {
  const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map((v) => {
    v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (c !== 'rgba(0, 0, 0, 0)' && !c.startsWith('color(')) return c; }
    return 'rgb(255, 255, 255)'; };
  const ratio = (e) => { const [a, b] = [light(getComputedStyle(e).color), light(ground(e))];
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); };
  document.querySelectorAll('.sample')[3].open = true;
  return [...document.querySelectorAll('main *')].filter((e) =>
    [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && e.offsetParent
    && !e.closest('svg')).map((e) => [ratio(e), e.className, e.textContent.slice(0, 30)])
    .filter(([r]) => r < 4.5);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_themes(page, scheme):
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []


def test_theme_button_and_narrow_screen(page):
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator(".theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


OVERLAPS = """() => [...document.querySelectorAll('svg.axis')].filter((axis) => {
  const boxes = [...axis.querySelectorAll('text')].map((one) => one.getBoundingClientRect())
    .filter((one) => one.width).sort((one, other) => one.left - other.left);
  return boxes.some((one, at) => at && one.left < boxes[at - 1].right);
}).length"""


@pytest.mark.parametrize("width", [1280, 390])
def test_numbers_of_an_axis_do_not_overlap(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate(OVERLAPS) == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_a_jump_ends_where_it_should(page, pages, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(pages["run"].as_uri() + "#protocol")
    page.wait_for_timeout(1000)
    top = page.evaluate("document.querySelector('#protocol').getBoundingClientRect().top")
    assert 0 <= top < 150


def test_link_to_one_sample_opens_it(page, pages):
    page.goto("about:blank")
    page.goto(pages["run"].as_uri() + "#sample-12")
    page.wait_for_selector("#sample-12[open] .pass")


def test_overview_opens_without_complaint(browser, pages):
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(pages["overview"].as_uri())
    page.locator("tbody a").first.click()
    page.wait_for_selector(".sample")
    assert os.fsdecode(page.url).endswith("report.html")
    assert said == []
    page.close()


def test_annotations_are_shown_with_the_sample(browser, tmp_path):
    run = write_run(tmp_path, *build_report(count=4))
    append_change(run.path, AnnotationChange("2", flag=True, add=("hard",), note=ATTACK, by="ann"))
    page = browser.new_page()
    page.goto(write_html(run).as_uri() + "#sample-3")
    noted = page.locator(".noted")
    assert noted.inner_text().startswith(f"⚑ Noted about the reply: hard; {ATTACK} ann, 20")
    assert page.evaluate("window.hurt") is None
    page.close()


def test_a_drawn_answer_says_which_picture_is_which(browser, tmp_path):
    report, records, pictures = build_report(count=4, circular=False, failed=0)
    drawn, red, blue = list(pictures)[:3]
    shown = user(*(Media("image", digest) for digest in (drawn, red, blue)))
    options = {"A": "red.png", "B": "blue.png"}
    records[0] = msgspec.structs.replace(
        records[0],
        question="Which picture is drawn?",
        media=(red, blue, drawn),
        options=options,
        answer="B",
        passes=(
            Pass((user(Text("A red disc.")),), Drawn((drawn,))),
            Pass((shown,), Compared((0.2, 0.9)), ParsedAnswer("B", "CLIP"), options=options),
        ),
    )
    run = write_run(tmp_path, report, records, pictures)
    page = browser.new_page()
    page.goto(write_html(run).as_uri())
    sample = page.locator(".sample").filter(has_text="Which picture is drawn?")
    sample.locator("summary").first.click()
    sample.locator(".pass").first.wait_for()
    assert sample.locator("figcaption").all_inner_texts() == ["Option A", "Option B", "Drawn"]
    assert "model in pass 2" in sample.locator(".options").inner_text()
    page.close()
