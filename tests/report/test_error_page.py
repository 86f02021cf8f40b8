"""Why answers are wrong: drawn, labelled in a real browser, saved, counted; and judged."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from playwright import sync_api

from snellen import evaluate
from snellen.analysis.samples.error_samples import (
    ERROR_TYPES,
    ErrorLabel,
    ErrorLabels,
    distribution,
    draw_wrong_answers,
    label_agreement,
    read_error_labels,
    write_error_labels,
)
from snellen.api.error_labels import image_urls, parse_error_types, propose_labels
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.request import Generate, Media
from snellen.report.findings.errors import sampled_errors
from snellen.report.page.error_page import error_page
from snellen.stats.agreement import cohen_kappa
from snellen.stats.intervals import wilson
from snellen.store.runs import RunFolder, find_runs

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunFolder]:
    out = tmp_path_factory.mktemp("runs")
    variant = Variant(circular="full")
    evaluate(["random"], ["eyechart"], out=out, limit=90, variant=variant, html=False)
    return find_runs(out)


def test_few_of_each_subtask_and_the_same_again(runs: list[RunFolder]) -> None:
    first = draw_wrong_answers(runs, each=2, seed=7)
    counts = Counter(one.subtask for one in first)
    assert max(counts.values()) == 2
    assert len(counts) == 9
    wrong = Counter(one.groups["category"] for one in runs[0].records() if one.score == 0)
    assert {one.subtask: one.wrong_count for one in first} == wrong
    assert all(one.record.score == 0.0 and one.answer not in one.gold for one in first)
    assert [one.record.id for one in draw_wrong_answers(runs, each=2, seed=7)] == [one.record.id for one in first]
    assert [one.record.id for one in draw_wrong_answers(runs, each=2, seed=8)] != [one.record.id for one in first]
    with pytest.raises(UsageError, match="--each is 0"):
        draw_wrong_answers(runs, each=0)


def test_the_page_says_how_many_wrong_answers_there_are(runs: list[RunFolder]) -> None:
    drawn = draw_wrong_answers(runs, each=1)
    wrong = sum(record.score == 0 for record in runs[0].records())
    assert wrong > len(drawn) == 9
    assert f"9 of {wrong} wrong answers of 1 model" in error_page(drawn, {})
    (table,) = sampled_errors(drawn, "errors.html").tables
    assert [column.name for column in table.columns] == ["model", "subtasks", "to label", "wrong answers"]
    assert [tuple(row) for row in table.rows] == [("random", 9, 9, wrong)]
    every = draw_wrong_answers(runs, each=1000)
    assert f">{wrong} wrong answers of 1 model" in error_page(every, {})


def test_people_label_and_save(runs: list[RunFolder], tmp_path: Path, capsys) -> None:
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    page = tmp_path / "errors.html"
    folder = str(runs[0].path.parent)
    assert main(["analyse", "errors", folder, "--sheet", str(page), "--each", "1"]) == 0
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=browser, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        tab = opened.new_page()
        said: list[str] = []
        asked: list[str] = []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(page.as_uri())
        cards = tab.locator("#samples > li")
        assert cards.count() == 9
        widths = tab.locator("#samples img").evaluate_all("all => all.map(i => i.naturalWidth)")
        assert len(widths) >= 9
        assert all(widths)
        cards.nth(0).get_by_label("reasoning error").check()
        cards.nth(0).get_by_label("perception error").check()
        cards.nth(1).focus()
        tab.keyboard.press("7")
        tab.get_by_label("your name").fill("Ada")
        cards.nth(1).locator(".note").fill('two, "or" three')
        sync_api.expect(tab.locator("#progress")).to_have_text("2 of 9 labelled", timeout=20_000)
        tab.locator("#show").focus()
        tab.locator("#show").select_option("open")
        assert cards.filter(visible=True).count() == 7
        tab.locator("#show").select_option("all")
        for name in ("json", "csv"):
            with tab.expect_download() as download:
                tab.locator(f"#{name}").click()
            download.value.save_as(tmp_path / f"labels.{name}")
        tab.wait_for_timeout(500)  # what a page stores reaches the browser a moment later
        tab.reload()
        sync_api.expect(tab.locator("#progress")).to_have_text("2 of 9 labelled", timeout=20_000)
        opened.close()
    assert not said
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
    first, second = (read_error_labels(tmp_path / f"labels.{name}") for name in ("json", "csv"))
    assert first == second
    assert first.labeller == "Ada"
    assert first.samples[0].labels == ("perception", "reasoning")
    assert first.samples[1].labels == ("annotation",)
    assert first.samples[1].note == 'two, "or" three'
    assert all(one.wrong >= 1 for one in first.samples)
    capsys.readouterr()
    assert main(["analyse", "errors", str(tmp_path / "labels.json"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    shares = {row["type of error"]: row["% of labels"] for row in told["tables"][0]["rows"]}
    assert sum(shares.values()) == pytest.approx(100)
    two, one = first.samples[0].wrong, first.samples[1].wrong
    assert shares["annotation error"] == pytest.approx(100 * one / (2 * two + one))


def labels(*given: tuple[str, ...], labeller: str = "") -> ErrorLabels:
    samples = tuple(
        ErrorLabel("run", str(at), "m", "s", names)  # type: ignore[arg-type]
        for at, names in enumerate(given)
    )
    return ErrorLabels(samples, labeller)


def test_shares_are_of_labels_and_samples_without_are_left_out() -> None:
    found = distribution(labels(("perception",), ("perception", "reasoning"), ()).samples)
    by_type = {one.type: one for one in found}
    assert by_type["perception"].share == pytest.approx(2 / 3)
    assert (by_type["perception"].of_errors, by_type["perception"].labelled) == (1.0, 2)
    assert by_type["reasoning"].interval == wilson(1, 2)
    assert not by_type["perception"].weighted
    assert by_type["refusal"].labels == 0
    assert [one.type for one in found] == list(ERROR_TYPES)


def test_a_subtask_counts_with_all_its_wrong_answers(tmp_path: Path, capsys) -> None:
    """Five of ten and five of a thousand: perception in all of the small subtask, in one of five
    of the large one."""
    samples = tuple(
        ErrorLabel("run", f"{wrong} {at}", "m", str(wrong), (name,), wrong=wrong)
        for wrong, names in ((10, ("perception",) * 5), (1000, ("perception",) + ("reasoning",) * 4))
        for at, name in enumerate(names)
    )
    by_type = {one.type: one for one in distribution(samples)}
    true = (10 + 200) / 1010
    assert by_type["perception"].share == pytest.approx(true)
    assert by_type["perception"].of_errors == pytest.approx(true)
    assert by_type["perception"].weighted
    held = by_type["perception"].interval
    assert held.low < 0.05
    assert held.high > 0.6, "five samples of the large subtask tell as much as five"
    for name in ("labels.json", "labels.csv"):
        write_error_labels(ErrorLabels(samples, "Ada"), tmp_path / name)
        assert read_error_labels(tmp_path / name).samples == samples
        assert main(["analyse", "errors", str(tmp_path / name), "--json"]) == 0
        (row, *_), *_ = (one["rows"] for one in json.loads(capsys.readouterr().out)["tables"])
        assert row["% of wrong answers"] == pytest.approx(100 * true)
    assert main(["analyse", "errors", _without_sizes(tmp_path / "labels.csv")]) == 0
    assert "do not say how many wrong answers" in capsys.readouterr().out


def _without_sizes(file: Path) -> str:
    """As labels were saved before they said how many wrong answers there are."""
    rows = [line.split(",") for line in file.read_text().splitlines()]
    at = rows[0].index("wrong")
    old = file.with_name("old.csv")
    old.write_text("\n".join(",".join(row[:at] + row[at + 1 :]) for row in rows))
    return str(old)


def test_agreement_is_cohens_kappa_of_each_type() -> None:
    first = labels(("perception",), ("perception",), ("reasoning",), ("refusal",), ())
    second = labels(("perception",), ("reasoning",), ("reasoning",), ("refusal",), ("refusal",))
    found = {one.type: one for one in label_agreement(first, second)}
    assert found["perception"].kappa == cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0])
    assert (found["perception"].first, found["perception"].second) == (2, 1)
    assert (found["refusal"].kappa, found["refusal"].shared) == (1.0, 4)
    assert found["annotation"].kappa is None
    with pytest.raises(UsageError, match="no labelled sample in common"):
        label_agreement(first, labels(()))


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.json", "{}", "cannot be read as error labels"),
        ("a.csv", "id,foo\n1,A\n", "cannot be read as error labels: 'run'"),
        ("a.json", '{"samples": [], "format": "other"}', "expected 'snellen error labels 1'"),
        ("a.csv", "run,sample,labels\nr,1,typo\n", "'typo' is no type of error"),
        ("a.csv", "run,sample,labels\nr,1,\n", "holds no label yet"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=sentence):
        read_error_labels(tmp_path / name)


class Looking:
    """A judge that tells what it was shown."""

    capabilities = Capabilities()
    identity = Identity("test", "looking")

    def __init__(self) -> None:
        self.asked: list[Generate] = []

    def answer(self, request: Generate) -> str:
        self.asked.append(request)
        (message,) = request.messages
        shown = sum(isinstance(part, Media) for part in message.parts)
        if not message.text().partition("The model's reply: ")[2].partition("\n")[0]:
            return "It said nothing.\n**Labels:** instruction"
        return f"It saw {shown} pictures.\nLabels: perception, reasoning."


def test_a_judge_labels_first(runs: list[RunFolder], tmp_path: Path) -> None:
    found, judge = draw_wrong_answers(runs, each=1), Looking()
    made = propose_labels(found, judge, tmp_path / "store.sqlite")
    assert (made.unread, made.blind) == (0, 0)
    assert len(judge.asked) == len(found)
    for one, label, request in zip(found, made.labels.samples, judge.asked, strict=True):
        assert label.labels == (("perception", "reasoning") if one.reply else ("instruction",))
        assert set(request.media) == set(one.record.media)
        assert f"Right answer: {one.gold[0]}" in request.messages[0].text()
    assert propose_labels(found, judge, tmp_path / "store.sqlite") == made
    assert len(judge.asked) == len(found), "replies of the judge are kept"
    file = tmp_path / "judge.csv"
    write_error_labels(made.labels, file)
    assert read_error_labels(file) == made.labels
    page = error_page(found, image_urls(found), made.labels)
    assert "pre-labelled by looking" in page


def test_a_judge_by_name(runs: list[RunFolder], tmp_path: Path, capsys) -> None:
    page, store = tmp_path / "why.html", tmp_path / "store.sqlite"
    words = ["analyse", "errors", str(runs[0].path), "--each", "1", "--sheet", str(page)]
    assert main([*words, "--judge", "random", "--store", str(store)]) == 0
    assert "9 of 9 replies of the judge name no type of error" in capsys.readouterr().out
    assert page.is_file()
    assert json.loads((tmp_path / "why.judge.json").read_text())["labeller"] == "random"


def test_a_judge_that_names_no_type_is_unread() -> None:
    assert parse_error_types("I think it is a perception problem.") == ()
    assert parse_error_types("Labels: none") == ()
    assert parse_error_types("Labels: reasoning\nOn reflection.\nLabels: knowledge, perception") == (
        "perception",
        "knowledge",
    )
