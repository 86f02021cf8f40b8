"""The pages in a real browser, from the server and from files: what they show and never run."""

import re
from itertools import pairwise

import msgspec
import pytest
from browsing import launched
from playwright import sync_api
from synthetic import build_report, record, write_run
from viewing import going_on, made_run, real_runs, served, set_status, viewed

from snellen.core.output import Generated, ParsedAnswer
from snellen.core.request import Text, user
from snellen.report.page.samples import in_data_order
from snellen.view.files import write_pages
from snellen.view.run_view import RunLibrary

ATTACK = "</script><script>window.hurt=1</script><img src=x onerror='window.hurt=1'><!--"
expect = sync_api.expect


@pytest.fixture(scope="module")
def browser():
    yield from launched()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return real_runs(tmp_path_factory.mktemp("real"), circular="early")


@pytest.fixture(scope="module", params=["server", "files"])
def base(request, runs, tmp_path_factory):
    """The same pages, once from a server and once as files."""
    folder = runs[0].path.parent
    if request.param == "files":
        yield write_pages(RunLibrary([folder]), tmp_path_factory.mktemp("pages") / "out").as_uri()
        return
    with served(folder) as server:
        yield server.url


@pytest.fixture
def page(browser, base):
    """A page that must not complain, nor ask anything of another machine."""
    yield from opened(browser, base)


def opened(browser, base, **options):
    page = browser.new_page(**{"viewport": {"width": 1400, "height": 900}, **options})
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.base = base
    yield page
    home = base.removesuffix("index.html")
    assert [url for url in asked if not url.startswith((home.partition("?")[0], "data:"))] == []
    assert said == []
    assert page.evaluate("window.hurt") is None
    page.close()


def go(page, address: str) -> None:
    page.goto("about:blank")
    page.goto(page.base + address)


def to_run(page, run, leaf: str = "") -> None:
    go(page, f"#/run/{run.name}{leaf}")
    expect(page.locator(".found")).to_contain_text("60 samples")


def test_the_first_page_leads_to_a_run_and_to_a_comparison(page, runs):
    go(page, "")
    expect(page.locator("h1")).to_have_text("Runs")
    value = runs[1].report().summary.headline.value
    row = page.locator("tbody tr", has_text="snellen/tiny")
    expect(row.locator("a.score")).to_have_text(f"{value:.1f}")
    row.locator("a.score").click()
    expect(page.locator("h1")).to_have_text("snellen/tiny (circular, limit 60)")
    assert page.title() == "snellen/tiny (circular, limit 60) on eyechart – Snellen"
    page.go_back()
    page.locator("nav a", has_text="List").click()
    compare = page.locator("button.compare")
    expect(compare).to_be_disabled()
    page.locator("tbody input").first.check()
    page.locator("tbody input").last.check()
    compare.click()
    page.wait_for_url(re.compile("#/compare/"))
    expect(page.locator(".difference b")).to_be_visible()
    page.go_back()
    expect(page.locator("nav a[aria-current=page]")).to_have_text("List")


def test_a_page_that_is_left_while_it_loads_does_not_take_the_address_back(page, runs):
    """A browser changes the address at once and says so later; in between a page may still draw."""
    to_run(page, runs[1])
    page.evaluate("""() => { location.hash = "#/"; page.explorer.update(); }""")
    expect(page.locator("h1")).to_have_text("Runs")
    assert page.url.endswith("#/")
    assert page.title() == "Snellen"


def test_filters_search_and_their_address(page, runs):
    records = list(runs[1].records())
    wrong = [each for each in records if each.score == 0]
    to_run(page, runs[1])
    page.locator(".chip-button.wrong").click()
    expect(page.locator(".found")).to_have_text(f"{len(wrong)} of 60 samples")
    assert "result=wrong" in page.url
    page.get_by_role("combobox", name="l2-category").select_option("counting")
    both = [each for each in wrong if each.groups["l2-category"] == "counting"]
    expect(page.locator(".found")).to_have_text(f"{len(both)} of 60 samples")
    address = page.url.partition("#")[2]
    go(page, "#" + address)
    expect(page.locator(".found")).to_have_text(f"{len(both)} of 60 samples")
    page.keyboard.press("x")
    expect(page.locator(".found")).to_have_text("60 samples")
    page.keyboard.press("/")
    page.keyboard.type("which PICTURE")
    found = [each for each in records if "which picture" in msgspec.json.encode(each).decode().lower()]
    expect(page.locator(".found")).to_have_text(f"{len(found)} of 60 samples")
    assert 0 < len(found) < 60
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.tagName") == "BODY"


def test_keys_walk_through_the_samples(page, runs):
    records = in_data_order(runs[1].records())
    to_run(page, runs[1])
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".detail-bar code")).to_have_text(records[1].id)
    expect(page.locator(".row[aria-selected=true]")).to_contain_text(records[1].id)
    assert f"sample={records[1].id}" in page.url
    page.keyboard.press("G")
    expect(page.locator(".detail-bar")).to_contain_text("60 of 60")
    page.keyboard.press("k")
    expect(page.locator(".detail-bar code")).to_have_text(records[58].id)
    page.locator(".list").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".detail-bar code")).to_have_text(records[57].id)
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()


def test_a_link_to_a_sample_opens_it_with_its_passes_and_pictures(page, runs):
    record = next(each for each in runs[1].records() if len(each.passes) > 1)
    go(page, f"#/run/{runs[1].name}?sample={record.id}")
    detail = page.locator(".detail")
    expect(detail.locator(".pass")).to_have_count(len(record.passes))
    expect(detail.locator("pre.reply").first).to_have_text(record.passes[0].output.text)
    expect(detail.locator(".question")).to_have_text(record.question)
    picture = detail.locator(".pictures img").first
    expect(picture).to_be_visible()
    handle = picture.element_handle()
    assert handle.evaluate("(e) => e.decode().then(() => e.naturalWidth)") > 0


def test_the_place_of_an_open_sample_follows_the_filters(page, runs):
    to_run(page, runs[1])
    page.keyboard.press("j")
    where = page.locator(".detail-bar .soft")
    expect(where).to_have_text("1 of 60")
    first = in_data_order(runs[1].records())[0]
    other = "wrong" if first.score else "right"
    kept = sum(bool(each.score) == bool(first.score) for each in runs[1].records())
    page.locator(f".chip-button.{other}").click()
    expect(where).to_have_text("outside the filter")
    page.keyboard.press("x")
    expect(where).to_have_text("1 of 60")
    page.locator(f".chip-button.{'right' if first.score else 'wrong'}").click()
    expect(where).to_have_text(f"1 of {kept}")


def test_only_what_is_visible_is_in_the_page(page, runs):
    to_run(page, runs[1])
    expect(page.locator(".row .ask").first).not_to_have_text("")
    assert page.locator(".row").count() < 25
    page.locator(".list").evaluate("(e) => { e.scrollTop = e.scrollHeight; }")
    last = in_data_order(runs[1].records())[-1]
    expect(page.locator(".row").last).to_contain_text(last.id)
    expect(page.locator(".row[data-at='59'] .ask")).to_have_text(last.question)


def test_two_runs_side_by_side(page, runs):
    one, other = ({each.id: each for each in run.records()} for run in runs)
    names = [each.id for each in in_data_order(runs[0].records())]
    won = [name for name in names if one[name].score == 0 and other[name].score == 1]
    go(page, f"#/compare/{runs[0].name}/{runs[1].name}?agreement=only+2+right")
    expect(page.locator(".found")).to_have_text(f"{len(won)} of 60 samples")
    difference = runs[1].report().summary.headline.value - runs[0].report().summary.headline.value
    expect(page.locator(".difference b")).to_have_text(f"+{difference:.1f}")
    page.keyboard.press("j")
    expect(page.locator(".detail-bar code")).to_have_text(won[0])
    sides = page.locator(".detail .pass").first.locator(".side")
    expect(sides.nth(0)).to_contain_text("random")
    expect(sides.nth(1).locator(".verdict")).to_contain_text("right")
    expect(sides.nth(1).locator("pre.reply")).to_have_text(other[won[0]].passes[0].output.text)
    page.keyboard.press("x")
    page.keyboard.press("d")
    differ = sum(one[name].score != other[name].score for name in one)
    expect(page.locator(".found")).to_have_text(f"{differ} of 60 samples")
    page.locator("a.swap").click()
    expect(page.locator(".difference b")).to_have_text(f"–{difference:.1f}")


def test_numbers_and_protocol(page, runs):
    go(page, f"#/run/{runs[1].name}/numbers")
    expect(page.locator(".leaf")).to_contain_text("By group")
    expect(page.locator(".leaf .matrix").first).to_be_visible()
    page.locator(".leaves a", has_text="Protocol").click()
    expect(page.locator(".leaf")).to_contain_text(runs[1].info.data.digest)


def test_every_control_has_a_name_and_headings_are_in_order(page, runs):
    unnamed = """[...document.querySelectorAll('button, input, select, [role=img], [role=listbox]')]
        .filter((e) => !(e.getAttribute('aria-label') || e.closest('label')?.textContent.trim()
        || e.textContent.trim())).map((e) => e.outerHTML)"""
    levels = "[...document.querySelectorAll('#app h1,#app h2,#app h3')].map((e) => +e.tagName[1])"
    pair = f"#/compare/{runs[0].name}/{runs[1].name}"
    for address in ("", f"#/run/{runs[1].name}", f"#/run/{runs[1].name}/numbers", pair):
        go(page, address)
        page.wait_for_selector("h1", state="attached")
        if "compare" in address or address.endswith(runs[1].name):
            page.wait_for_selector(".row .ask:not(:empty)")
            page.keyboard.press("j")
            page.wait_for_selector(".detail .pass")
        assert page.evaluate(unnamed) == []
        found = page.evaluate(levels)
        assert found[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(found))


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
    && !e.closest('svg') && !e.disabled && e.tagName !== 'OPTION')
    .map((e) => [ratio(e), e.className, e.textContent.slice(0, 30)]).filter(([r]) => r < 4.5);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_themes(page, runs, scheme):
    page.emulate_media(color_scheme=scheme)
    for address in ("", f"#/run/{runs[1].name}", f"#/compare/{runs[0].name}/{runs[1].name}"):
        go(page, address)
        if address:
            page.wait_for_selector(".row .ask:not(:empty)")
            page.keyboard.press("j")
            page.wait_for_selector(".detail .pass")
        page.wait_for_selector("h1", state="attached")
        assert page.evaluate(CONTRAST) == []


def test_on_a_narrow_screen_list_and_sample_take_turns(page, runs):
    page.set_viewport_size({"width": 400, "height": 800})
    to_run(page, runs[1])
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.locator(".row").first.click()
    expect(page.locator(".detail")).to_be_visible()
    expect(page.locator(".list")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.locator(".back").click()
    expect(page.locator(".list")).to_be_visible()
    go(page, "")
    expect(page.locator("h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_long_names_stay_inside_a_narrow_screen(browser, tmp_path):
    names = [f"an-organisation/a-model-with-a-long-name-{size}B-Instruct-2507" for size in (3, 7)]
    runs = [made_run(tmp_path, name, count=20) for name in names]
    with served(tmp_path) as server:
        for page in opened(browser, server.url, viewport={"width": 390, "height": 844}):
            for address in ("", f"#/compare/{runs[0].name}/{runs[1].name}"):
                go(page, address)
                page.wait_for_selector(".difference b" if address else "tbody th a")
                assert page.evaluate("document.documentElement.scrollWidth") <= 390
            both = page.locator("select[aria-label$=outcome]")
            assert [one.get_attribute("aria-label") for one in both.all()] == ["1: outcome", "2: outcome"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Two runs of which one reply, question, option, group and name attack."""
    root = tmp_path_factory.mktemp("hostile")
    for model, words in (("one", "the cat sat on the old mat"), ("two", "the cat lay on a mat")):
        report, records, pictures = build_report(model, count=30)
        records[1] = msgspec.structs.replace(
            record(1, False, ()),
            id=ATTACK,
            question=ATTACK,
            groups={ATTACK: ATTACK},
            options={"A": ATTACK},
            answer=ATTACK,
            gold=(ATTACK,),
            score=0.0,
            passes=(
                msgspec.structs.replace(
                    records[1].passes[0],
                    prompt=(user(Text(ATTACK)),),
                    output=Generated(f"{ATTACK} {words}", reasoning=ATTACK),
                    answer=ParsedAnswer("A", "label_alone", (0, len(ATTACK))),
                ),
            ),
        )
        info = msgspec.structs.replace(report.run, title=ATTACK, command=ATTACK)
        summary = msgspec.structs.replace(report.summary, notices=(ATTACK,))
        write_run(root, msgspec.structs.replace(report, run=info, summary=summary), records, pictures)
    return root


@pytest.mark.parametrize("way", ["server", "files"])
@pytest.mark.attack("markup and scripts in replies", "shown as text; nothing runs")
def test_model_output_is_shown_as_text_only(browser, hostile, tmp_path, way):
    def look(base):
        for page in opened(browser, base):
            go(page, "")
            expect(page.locator(".notices, tbody").first).to_be_visible()
            for key in ("one--eyechart--0123abcd", "two--eyechart--0123abcd"):
                for leaf in ("", "/numbers", "/protocol"):
                    go(page, f"#/run/{key}{leaf}")
                    expect(page.locator("h1").first).to_be_visible()
                    expect(page.locator(".notices").first).to_contain_text(ATTACK)
            go(page, "#/run/one--eyechart--0123abcd")
            page.wait_for_selector(".row .ask:not(:empty)")
            # Ids sort in place of positions: this one begins with a sign.
            page.keyboard.press("j")
            expect(page.locator(".question")).to_have_text(ATTACK)
            go(page, "#/compare/one--eyechart--0123abcd/two--eyechart--0123abcd")
            page.wait_for_selector(".row .ask:not(:empty)")
            # Ids sort in place of positions: this one begins with a sign.
            page.keyboard.press("j")
            expect(page.locator(".question")).to_have_text(ATTACK)
            marked = [
                [text.strip() for text in side.locator("mark.differs").all_inner_texts()]
                for side in page.locator(".pass .side").all()[:2]
            ]
            assert marked == [["sat", "the", "old"], ["lay", "a"]]
            texts = page.locator("pre.reply").all_text_contents()
            assert texts == [f"{ATTACK} the cat sat on the old mat", f"{ATTACK} the cat lay on a mat"]
            assert page.locator("mark.read").first.inner_text() == "</script><script>window.hurt=1</script><img"
            assert page.evaluate("document.querySelectorAll('img[onerror]').length") == 0

    if way == "files":
        look(write_pages(RunLibrary([hostile]), tmp_path / "out").as_uri())
        return
    with served(hostile) as server:
        look(server.url)


def test_page_follows_an_active_run(browser, tmp_path):
    run = real_runs(tmp_path)[1]
    rest = going_on(run, 10)
    with served(tmp_path) as server:
        for page in opened(browser, server.url):
            go(page, f"#/run/{run.name}")
            expect(page.locator(".found")).to_have_text("10 samples")
            expect(page.locator(".run-head .live")).to_contain_text("10 of 60")
            page.keyboard.press("j")
            expect(page.locator(".detail-bar")).to_contain_text("1 of 10")
            with (run.path / "samples.jsonl").open("ab") as file:
                file.write(b"".join(rest))
            expect(page.locator(".found")).to_have_text("60 samples")
            set_status(run.path, "complete")
            expect(page.locator(".run-head .live")).to_have_count(0)
            expect(page.locator(".quote")).to_contain_text("n = 60", timeout=15_000)


def test_page_reports_stopped_server(browser, tmp_path):
    run = made_run(tmp_path, count=20)
    going_on(run, 5)
    page = browser.new_page()
    with viewed(str(tmp_path), "--port", "0") as (process, url):
        page.goto(f"{url}#/run/{run.name}")
        expect(page.locator(".found")).to_have_text("5 samples")
        process.terminate()
        process.wait(60)
        expect(page.locator("#complaint")).to_contain_text("start it again and reload")
    page.close()


def test_bits_are_read_as_they_are_written(browser, tmp_path):
    """Searches of a growing run go on where the last one ended: in the midst of a byte."""
    run = real_runs(tmp_path)[1]
    rest = going_on(run, 13)
    with served(tmp_path) as server:
        for page in opened(browser, server.url):
            go(page, f"#/run/{run.name}?text=in+which")
            records = list(run.records())
            holds = [b"in which" in msgspec.json.encode(each).lower() for each in records]
            expect(page.locator(".found")).to_have_text(f"{sum(holds)} of 13 samples")
            with (run.path / "samples.jsonl").open("ab") as file:
                file.write(b"".join(rest))
            holds = [b"in which" in msgspec.json.encode(each).lower() for each in run.records()]
            expect(page.locator(".found")).to_have_text(f"{sum(holds)} of 60 samples")
