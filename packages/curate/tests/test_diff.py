"""Differences between versions, and what a run on the later one asks."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import planted
import pytest

from snellen.cli import main
from snellen.store.runs import find_runs
from snellen_curate.items_diff import AbilityChange, DataDiff, compare_tables
from snellen_curate.open_data import open_items

Rows = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> planted.Planted:
    return planted.build(tmp_path_factory.mktemp("planted"))


@pytest.fixture
def new_version(data: planted.Planted) -> Callable[[Callable[[Rows], None]], Path]:
    def write(change: Callable[[Rows], None]) -> Path:
        with data.data.open(newline="") as file:
            rows = {row["index"]: row for row in csv.DictReader(file, delimiter="\t")}
        columns = next(iter(rows.values())).keys()
        change(rows)
        path = data.folder / "later.tsv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, delimiter="\t")
            writer.writeheader()
            writer.writerows(rows.values())
        return path

    return write


def next_key(row: dict[str, str]) -> str:
    """The option after the right one."""
    labels = [label for label in "ABCD" if row[label]]
    return labels[(labels.index(row["answer"]) + 1) % len(labels)]


def change_a_little(rows: Rows) -> None:
    """One change of each kind."""
    rows["101"]["question"] += " Look."
    rows["102"]["hint"] = "A hint."
    rows["103"]["C"] += " or so"
    rows["104"]["image_path"] = "images/105.png"
    rows["105"]["answer"] = next_key(rows["105"])
    rows["106"]["category"] = "another"
    rows["122"]["license"] = "MIT"
    del rows["123"], rows["124"]
    rows["900"] = {**rows["101"], "index": "900", "question": "New?"}
    rows["125"]["index"] = "925"


def compare_data(old: Path, new: Path) -> DataDiff:
    return compare_tables(open_items(old), open_items(new), str(old), str(new))


def test_every_change_is_named(data, new_version) -> None:
    diff = compare_data(data.data, new_version(change_a_little))
    fields = {change.id: list(change.fields) for change in diff.changed}
    assert fields == {
        "101": ["question"],
        "102": ["hint"],
        "103": ["options"],
        "104": ["pictures"],
        "105": ["key"],
        "106": ["abilities"],
        "122": ["other cells"],
    }
    assert (diff.added, diff.removed, diff.renamed) == (["900"], ["123", "124"], {"125": "925"})
    assert diff.same == len(data.ids) - 7 - 2 - 1
    assert diff.by_field["question"] == 1
    before, after = diff.changed[0].fields["question"]
    assert after == f"{before} Look."
    another = diff.by_ability["another"]
    assert another == AbilityChange(before=0, after=1, added=0, removed=0, changed=1)
    assert sum(each.before for each in diff.by_ability.values()) == len(data.ids)


def test_the_same_data_do_not_differ(data, capsys) -> None:
    assert compare_data(data.data, data.data).is_empty
    assert main(["curate", "diff", str(data.data), str(data.data)]) == 0
    assert "no item differs (77 are the same)" in capsys.readouterr().out


def test_several_items_of_one_content_are_not_taken_for_each_other(tmp_path) -> None:
    for name, ids in (("a", "12"), ("b", "34")):
        lines = "".join(f"{index}\tWhich?\tone\ttwo\tA\n" for index in ids)
        (tmp_path / f"{name}.tsv").write_text(f"index\tquestion\tA\tB\tanswer\n{lines}")
    diff = compare_data(tmp_path / "a.tsv", tmp_path / "b.tsv")
    assert (diff.added, diff.removed, diff.renamed) == (["3", "4"], ["1", "2"], {})


def run(flags: list[str], out: Path) -> None:
    assert main(["run", *flags, "--out", str(out), "-q"]) in (0, 1)


def test_the_plan_of_a_new_version_is_what_its_run_asks(data, new_version, tmp_path, capsys) -> None:
    run(["-m", "random", "-b", str(data.data)], tmp_path)
    later = new_version(change_a_little)
    words = ["-m", "random", "-b", str(later), "--out", str(tmp_path), "-q"]
    capsys.readouterr()
    assert main(["plan", *words, "--json"]) == 0
    [line] = json.loads(capsys.readouterr().out)["lines"]
    changed = {"101", "102", "103", "104", "900"}
    failed = data.ids_of("broken_picture", "lost_picture")
    assert line["estimate"]["requests"] == len(changed | failed)
    [old] = find_runs(tmp_path)
    run(words[:4], tmp_path)
    [new] = [each for each in find_runs(tmp_path) if each.path != old.path]
    # The broken pictures fail again, and are not sent.
    assert new.info.counts.sent == len(changed)


def test_json_has_everything(data, new_version, capsys) -> None:
    later = new_version(change_a_little)
    assert main(["curate", "diff", str(data.data), str(later), "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert len(printed["diff"]["changed"]) == 7


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.tsv", "eyechart"], "nowhere.tsv: there is no such file"),
        (["eyechart", "eyechart", "--top", "0"], "--top 0: expected at least 1"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, sentence, capsys) -> None:
    assert main(["curate", "diff", *arguments]) == 2
    assert sentence in capsys.readouterr().err
