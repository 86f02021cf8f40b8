"""The first page in a real browser: what it shows, its address, keys, and for screen readers."""

import re

import msgspec
import pytest
from benchmarks.perf.thousands_of_runs import write_made_runs
from browsing import launched
from playwright import sync_api
from viewing import going_on, made_run, served, set_status

from snellen.view.files import write_pages
from snellen.view.run_catalog import RunCatalog
from snellen.view.run_view import RunLibrary

expect = sync_api.expect
COUNT = 400


@pytest.fixture(scope="module")
def browser():
    yield from launched()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Made-up runs, and one folder that is damaged."""
    root = write_made_runs(tmp_path_factory.mktemp("home") / "runs", COUNT - 1)
    going_on = sorted(root.iterdir())[0]
    set_status(going_on, "running")
    (going_on / "report.json").unlink(missing_ok=True)
    damaged = root / "lost--mmmu--00000000"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    return root


@pytest.fixture(scope="module")
def rows(folder):
    catalog = RunCatalog([folder])
    catalog.refresh()
    catalog.finish()
    return dict(catalog.rows())


@pytest.fixture(scope="module")
def base(folder, rows):
    with served(folder) as server:
        yield server.url


@pytest.fixture
def page(browser, base):
    yield from opened(browser, base)


def opened(browser, base, **options):
    page = browser.new_page(**{"viewport": {"width": 1400, "height": 900}, **options})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.base = base
    yield page
    assert said == []
    page.close()


def go(page, address: str = "") -> None:
    page.goto("about:blank")
    page.goto(page.base + ("#/?" + address if address else ""))
    expect(page.locator(".found")).to_contain_text("run")
    page.wait_for_selector("tbody tr[data-at]")


def test_a_cell_has_the_newest_complete_run_of_the_columns_setting(page, rows):
    go(page, "cell=interval,n")
    cell = page.locator("td.cell:not(.other)", has=page.locator("button.more")).first
    key = cell.locator("a.score").get_attribute("href").removeprefix("#/run/")
    row = rows[key]
    expect(cell.locator(".soft").first).to_have_text(f"{row.low:.1f}–{row.high:.1f}")
    expect(cell).to_contain_text(f"n {row.n:,}")
    alike = [
        other
        for other in rows.values()
        if (other.model, other.benchmark) == (row.model, row.benchmark) and other.identity == row.identity
    ]
    expect(cell.locator("button.more")).to_have_text(f"1 of {len(alike)}")
    newest = max(
        (
            other
            for other in alike
            if other.setting == row.setting and other.value is not None and other.status == "complete"
        ),
        key=lambda other: other.created,
    )
    assert row == newest
    cell.locator("button.more").click()
    dialog = page.locator("dialog[open]")
    expect(dialog.locator("tbody tr")).to_have_count(len(alike))
    expect(dialog).to_contain_text(f"{row.model} on {row.benchmark}")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(1)  # that of the keys is closed, not gone


def test_incomparable_scores_are_in_brackets_and_named(page, rows):
    go(page)
    for cell in page.locator("td.cell.other").all()[:6]:
        assert re.fullmatch(r"\(.+\)|–", cell.locator("a.score").inner_text())
        flags = [flag.inner_text() for flag in cell.locator(".flag.differs").all()]
        assert flags
        assert all(flag.startswith("≠ ") for flag in flags)
    assert page.locator("td.cell:not(.other) .flag.differs").count() == 0
    limited = next(row for row in rows.values() if row.flags and row.flags[0][0] == "limit")
    go(page, f"text={limited.name}")
    # Alone, its own setting is that of the column: it is named above, not in the cell.
    expect(page.locator("thead .flag")).to_have_text([limited.flags[0][1]])
    expect(page.locator("td.cell.other")).to_have_count(0)


def test_settings_that_may_differ_make_cells_comparable(page):
    go(page)
    before = page.locator("td.cell.other").count()
    page.locator("summary", has_text="Comparable").click()
    page.locator(".menu-box label", has_text=re.compile("^limit$")).locator("input").check()
    expect(page.locator(".flag.differs.limit")).to_have_count(0)
    assert "alike=limit" in page.url
    assert page.locator("td.cell.other").count() < before


def test_the_setting_of_a_column_can_be_chosen(page):
    go(page, "benchmark=mmmu&benchmark=pope")
    page.locator("button.settings").first.click()
    dialog = page.locator("dialog[open]")
    dialog.locator("input[type=radio]").nth(1).check()
    dialog.get_by_role("button", name="Close").click()
    assert "setting=mmmu" in page.url
    assert page.locator("td.cell.other").count() > 0
    page.reload()
    page.wait_for_selector("tbody tr[data-at]")
    page.locator("button.settings").first.click()
    expect(page.locator("dialog[open] input[type=radio]").nth(1)).to_be_checked()


def test_baselines_are_rows_once_for_each_benchmark(page, rows):
    go(page, "benchmark=mmmu&benchmark=docvqa")
    names = page.locator("tr.baseline th")
    expect(names).to_have_text(["chance baseline", "most frequent answer baseline"])
    expect(page.locator("tr.baseline.chance td:not(.gap)")).to_have_text(["", "26.8"])
    marks = [
        mark.evaluate("(e) => getComputedStyle(e).borderLeftStyle") for mark in page.locator("tr.baseline .mark").all()
    ]
    assert len(set(marks)) == 2
    expect(page.locator("tbody tr[data-at] th", has_text="baseline")).to_have_count(0)


def test_two_models_of_one_name_say_in_what_they_differ(page, rows):
    go(page, "model=random")
    expect(page.locator("tbody tr[data-at] th .differs-in")).to_have_count(2)
    texts = page.locator("tbody tr[data-at] th .differs-in").all_inner_texts()
    assert sorted(texts) == ["seed 0", "seed 7"]


def test_search_says_how_much_it_found_and_back_leads_to_the_earlier_one(page, rows):
    go(page, "view=list")
    page.keyboard.press("/")
    page.keyboard.type("qwen docvqa")
    found = sum("qwen" in row.model.lower() and row.benchmark == "docvqa" for row in rows.values())
    expect(page.locator(".found")).to_have_text(f"{found} of {COUNT} runs")
    assert found > 0
    assert page.locator(".found").get_attribute("role") == "status"
    assert "text=qwen+docvqa" in page.url
    page.keyboard.press("Escape")
    page.locator("nav a", has_text="Matrix").click()
    expect(page.locator("table.matrix")).to_be_visible()
    page.go_back()
    expect(page.locator("table.list-of-runs")).to_be_visible()
    expect(page.locator("input[type=search]").first).to_have_value("qwen docvqa")
    page.go_back()
    expect(page.locator("input[type=search]").first).to_have_value("")
    expect(page.locator(".found")).to_have_text(f"{COUNT} runs")
    page.go_forward()
    expect(page.locator(".found")).to_have_text(f"{found} of {COUNT} runs")
    page.keyboard.press("x")
    expect(page.locator(".found")).to_have_text(f"{COUNT} runs")


COLUMN_TEXTS = "(name) => [...document.querySelectorAll('td.c-' + name)].map((e) => e.textContent)"


@pytest.mark.parametrize(
    ("name", "key"), [("score", float), ("n", lambda text: int(text.replace(",", ""))), ("benchmark", str)]
)
def test_click_sorts_the_list_and_shows_the_order(page, name, key):
    go(page, "view=list&status=complete&flag=none")
    heading = page.locator(f"th.c-{name}")
    for _ in range(2):
        heading.locator("button").click()
        order = heading.get_attribute("aria-sort")
        values = [key(text) for text in page.evaluate(COLUMN_TEXTS, name) if text not in ("", "–")]
        assert len(values) > 10
        assert values == sorted(values, reverse=order == "descending")
    assert f"sort={'' if order == 'ascending' else '-'}{name}" in page.url


def test_a_column_of_the_matrix_sorts_what_is_comparable_first(page):
    go(page, "benchmark=mmmu")
    page.locator("th.benchmark .sort").click()
    texts = page.locator("td.cell a.score").all_inner_texts()
    plain = [float(text) for text in texts if re.fullmatch(r"[\d.]+", text)]
    assert len(plain) > 3
    assert plain == sorted(plain, reverse=True)
    assert [text.startswith("(") for text in texts] == sorted(text.startswith("(") for text in texts)


def test_filters_count_and_groups_fold(page, rows):
    go(page, "view=list")
    page.locator("summary", has_text="Flag").click()
    box = page.locator(".menu-box label", has_text="control")
    controlled = sum(any(code == "control" for code, *_ in row.flags) for row in rows.values())
    expect(box.locator("b")).to_have_text(str(controlled))
    box.locator("input").check()
    expect(page.locator(".found")).to_have_text(f"{controlled} of {COUNT} runs")
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Group by").select_option("provider")
    groups = page.locator("tr.group button")
    expect(groups.first).to_have_attribute("aria-expanded", "true")
    shown = page.locator("tbody tr[data-at]").count()
    groups.first.click()
    expect(groups.first).to_have_attribute("aria-expanded", "false")
    assert page.locator("tbody tr[data-at]").count() < shown
    assert "group=provider" in page.url


def test_columns_and_parts_of_cells_are_chosen(page):
    go(page, "view=list")
    page.locator("summary", has_text="Columns").click()
    page.locator(".menu-box label", has_text="tokens").locator("input").check()
    expect(page.locator("th.c-tokens")).to_be_visible()
    go(page, "cell=")
    assert page.locator("td.cell .score-bar").count() == 0
    assert page.locator("td.cell time").count() == 0


def test_the_board_ranks_models_that_have_every_column(page, rows):
    go(page, "view=board&benchmark=mmmu&benchmark=pope")
    heads = page.locator("thead th").all_inner_texts()
    assert [text.strip() for text in heads][-2:] == ["mmmu", "pope"]
    lines = [
        [cell.strip() for cell in row.locator("td").all_inner_texts()]
        for row in page.locator("tbody tr[data-at]").all()
    ]
    complete = [line for line in lines if line[2] == ""]
    missing = [line for line in lines if line[2] != ""]
    assert lines == [*complete, *missing]
    assert len(complete) > 1
    values = [[float(line[at]) for line in complete] for at in (3, 4)]
    for at, line in enumerate(complete):
        ranks = [1 + sum(other > column[at] for other in column) for column in values]
        assert float(line[0]) == pytest.approx(sum(ranks) / 2, abs=0.51)
        assert float(line[1]) == pytest.approx(sum(column[at] for column in values) / 2, abs=0.06)
    assert all(line[0] == "–" for line in missing)
    page.get_by_role("combobox", name="Suite").select_option("openvlm-reasoning")
    expect(page.locator("thead th.member")).to_have_count(6)
    assert "suite=openvlm-reasoning" in page.url


FOCUSED = """(() => { const at = document.activeElement;
    return at.closest('[data-column]')?.dataset.column + ' ' + at.closest('tr')?.dataset.at; })()"""
STOPS = """new Set([...document.querySelectorAll('tbody :is(a, button, input)')]
    .filter((e) => e.tabIndex === 0).map((e) => e.closest('tr').dataset.at)).size"""


def test_the_keys_walk_through_cells_and_open_a_run(page):
    go(page, "cell=n")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED) == "0 0"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED) == "1 2"
    page.keyboard.press("End")
    assert page.evaluate(FOCUSED).endswith(" 2")
    assert page.locator(".table-box").evaluate("(e) => e.scrollLeft") > 0
    page.keyboard.press("G")
    last = page.evaluate(FOCUSED).split()[1]
    count = page.locator("table.virtual").evaluate("(e) => Number(e.ariaRowCount)")
    # Without the row of headings and two of baselines.
    assert int(last) == count - 3 - 1
    # One control of the table's body is in the order of focus, and its own cell's.
    assert page.evaluate(STOPS) <= 1
    page.keyboard.press("g")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator("table.list-of-runs")).to_be_visible()
    page.keyboard.press("m")
    expect(page.locator("table.matrix")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()


def test_a_run_appears_and_a_view_is_saved(browser, tmp_path):
    going_on(made_run(tmp_path, "one", count=5), 2)
    with served(tmp_path) as server:
        for page in opened(browser, server.url):
            go(page, "view=list&text=o")
            expect(page.locator(".live")).to_have_text("2 of 5")
            made_run(tmp_path, "two", count=5)
            expect(page.locator("tbody tr[data-at]")).to_have_count(2, timeout=30_000)
            page.locator("summary", has_text="Views").click()
            page.get_by_role("textbox", name="Name of the view").fill("Those with an o")
            page.get_by_role("button", name="Save this view").click()
            link = page.locator(".saved a")
            expect(link).to_have_attribute("href", "#/?view=list&text=o")
            expect(link).to_have_attribute("aria-current", "true")
            page.keyboard.press("Escape")
            page.goto(server.url + "#/")
            page.locator("summary", has_text="Views").click()
            link.click()
            expect(page.locator("table.list-of-runs")).to_be_visible()
            assert page.url.endswith("#/?view=list&text=o")
            page.get_by_role("button", name="delete the view Those with an o").click()
            expect(page.locator(".saved")).to_contain_text("There are no saved views yet.")


def test_reports_damaged_and_missing_folders(page, browser, tmp_path):
    go(page)
    page.get_by_role("link", name="1 folder cannot be read").click()
    row = page.locator("tr.damaged")
    expect(row).to_contain_text("lost--mmmu--00000000")
    expect(row.locator(".problem")).to_contain_text("run.json is not what Snellen writes there")
    expect(row.locator("input")).to_be_disabled()
    with served(tmp_path) as server:
        for empty in opened(browser, server.url):
            empty.goto(server.url)
            expect(empty.locator(".nothing")).to_contain_text("There are no runs yet")


def test_files_have_the_same_first_page(browser, tmp_path):
    for name in ("one", "two"):
        made_run(tmp_path / "runs", name, count=20)
    url = write_pages(RunLibrary([tmp_path / "runs"]), tmp_path / "pages").as_uri()
    for page in opened(browser, url):
        go(page)
        expect(page.locator("tbody tr[data-at]")).to_have_count(2)
        page.locator("summary", has_text="Views").click()
        expect(page.locator(".menu-box form").first).to_be_hidden()
        page.keyboard.press("Escape")
        page.locator("nav a", has_text="Board").click()
        expect(page.locator("thead th.member")).to_have_text(["made"])


ACCESSIBILITY = {
    "controls without a name": """
        [...document.querySelectorAll('#app :is(a, button, input, select, summary, [role])')]
        .filter((e) => e.checkVisibility() && !(e.getAttribute('aria-label')
        || e.closest('label')?.textContent.trim() || e.textContent.trim()))""",
    "headings without a scope": """
        [...document.querySelectorAll('#app th')].filter((e) => !e.scope)""",
    "tables without a caption": """
        [...document.querySelectorAll('#app table')].filter((e) => !e.caption?.textContent)""",
    "rows without a heading": """
        [...document.querySelectorAll('#app tr[data-at]')].filter((e) => !e.querySelector('th'))""",
    "a positive tabindex": """
        [...document.querySelectorAll('[tabindex]')].filter((e) => e.tabIndex > 0)""",
    "the same id twice": """
        [...document.querySelectorAll('[id]')]
        .filter((e) => document.querySelectorAll('#' + CSS.escape(e.id)).length > 1)""",
    "controls in what is hidden": """
        [...document.querySelectorAll('[aria-hidden=true] :is(a, button, input)')]""",
    "something else in a list": """
        [...document.querySelectorAll('#app ul > :not(li), #app dl > :not(dt, dd)')]""",
}
"""What axe-core looks for first: elements that offend."""

CONTRAST = """() => {
  const light = (c) => {
    const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map((v) => {
      v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (/^rgb\\(/.test(c)) return c; }
    return 'rgb(255, 255, 255)'; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)];
    return (Math.max(x, y) + .05) / (Math.min(x, y) + .05); };
  const seen = (selector) =>
    [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility() && !e.disabled);
  const texts = seen('main *').filter((e) => e.tagName !== 'OPTION'
    && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
    .map((e) => [ratio(getComputedStyle(e).color, ground(e)), e.className, e.textContent]);
  const edges = seen('main :is(input[type=search], select, summary)')
    .map((e) => [ratio(getComputedStyle(e).borderTopColor, ground(e.parentElement)), e.tagName]);
  return [...texts.filter(([r]) => r < 4.5), ...edges.filter(([r]) => r < 3)];
}"""
"""Texts below 4.5 to 1, and edges of controls below 3 to 1 (WCAG 2.2, AA)."""

OUTLINE = """(() => { const at = document.activeElement, style = getComputedStyle(at);
    return [at.tagName, style.outlineStyle, parseFloat(style.outlineWidth)]; })()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["matrix", "list", "board"])
def test_everyone_can_use_it(page, view, scheme):
    page.emulate_media(color_scheme=scheme)
    go(page, f"view={view}&group=family")
    page.locator("summary", has_text="Legend").click()
    for what, expression in ACCESSIBILITY.items():
        offending = page.evaluate(f"{expression}.map((e) => e.outerHTML.slice(0, 120))")
        assert offending == [], what
    assert page.evaluate(CONTRAST) == []
    page.keyboard.press("Escape")
    # Every stop of the Tab key shows that it is in focus.
    page.locator("input[type=search]").first.focus()
    stops = []
    while len(stops) < 40:
        page.keyboard.press("Tab")
        stop = page.evaluate(OUTLINE)
        if stop[0] == "BODY":
            break
        stops.append(stop)
    assert len(stops) > 8
    assert [stop for stop in stops if stop[1] == "none" or stop[2] < 2] == []


def test_no_animation_with_reduced_motion(page):
    page.emulate_media(reduced_motion="reduce")
    go(page, "view=list&status=running")
    live = page.locator(".live").first
    assert live.evaluate("(e) => getComputedStyle(e, '::before').animationName") == "none"


@pytest.mark.parametrize("width", [360, 900, 1500])
@pytest.mark.parametrize("view", ["matrix", "list", "board"])
def test_home_page_fits_every_window(page, view, width):
    page.set_viewport_size({"width": width, "height": 760})
    go(page, f"view={view}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator(".table-box").bounding_box()
    assert box["y"] + box["height"] <= 760
    assert box["height"] > 300


ATTACK = "</script><img src=x onerror='window.hurt=1'>"


@pytest.mark.attack("markup in the names of runs, flags and saved views", "shown as text; nothing runs")
def test_run_names_are_shown_as_text_only(browser, tmp_path):
    run = made_run(tmp_path, "one", count=5)
    info = msgspec.json.decode((run.path / "run.json").read_bytes())
    info |= {"model": ATTACK, "benchmark": ATTACK, "title": ATTACK}
    info["config"] |= {"benchmark": ATTACK, "version": ATTACK, "parameters": {ATTACK: ATTACK}}
    (run.path / "run.json").write_bytes(msgspec.json.encode(info))
    (tmp_path / "snellen-views.json").write_bytes(msgspec.json.encode([{"name": ATTACK, "address": f"text={ATTACK}"}]))
    with served(tmp_path) as server:
        for page in opened(browser, server.url):
            for view in ("matrix", "list", "board"):
                go(page, f"view={view}")
                expect(page.locator("tbody tr[data-at] th").first).to_contain_text(ATTACK)
                page.locator("summary", has_text="Views").click()
                expect(page.locator(".saved a")).to_have_text(ATTACK)
            assert page.evaluate("window.hurt") is None
            assert page.locator("img").count() == 0
