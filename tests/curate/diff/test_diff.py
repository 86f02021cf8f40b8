"""Differences between versions, and stored scores: what is foretold is what a run then does."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import planted
import pytest

from snellen.cli import main
from snellen.curate.diff.items_diff import AbilityChange, DataDiff, compare_tables
from snellen.curate.diff.stored_scores import find_stored_scores
from snellen.curate.items import open_items
from snellen.store.runs import find_runs

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
        "101": ["question"], "102": ["hint"], "103": ["options"], "104": ["pictures"],
        "105": ["key"], "106": ["abilities"], "122": ["other cells"],
    }  # fmt: skip
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


def test_what_is_foretold_is_what_the_command_asks(data, new_version, tmp_path, capsys) -> None:
    """Every question that is asked is one of those named, and every other is not asked."""
    run(["-m", "random", "-b", str(data.data)], tmp_path)
    later = new_version(change_a_little)
    _, [scores] = find_stored_scores(data.data, later, [tmp_path])
    failed = data.ids_of("broken_picture", "lost_picture")
    assert set(scores.ask) == {"101", "102", "103", "104", "900"} | failed
    assert (scores.rescored, scores.regrouped, scores.removed) == (1, 1, 2)
    assert scores.valid + scores.rescored + len(scores.ask) == len(data.ids) - 2 + 1

    [old] = find_runs(tmp_path)
    known = {record.id: record for record in old.records()}
    words = shlex.split(scores.command)
    assert words[0] == "snellen"
    assert main(words[1:]) == 1  # the broken pictures fail again
    [new] = [each for each in find_runs(tmp_path) if each.path != old.path]
    assert new.info.counts.sent == len(scores.ask) - len(failed)
    for record in new.records():
        name = {"925": "125"}.get(record.id, record.id)
        if name not in scores.ask:
            assert record.requests == known[name].requests
            assert (record.score == known[name].score) is (record.gold == known[name].gold)


def test_early_stop_may_need_more_rotations_after_a_change_of_key(
    data, new_version, tmp_path
) -> None:
    run(["-m", "random", "-b", str(data.data), "--circular"], tmp_path)

    def change_every_key(rows: Rows) -> None:
        for row in rows.values():
            row["answer"] = next_key(row)

    later = new_version(change_every_key)
    _, [scores] = find_stored_scores(data.data, later, [tmp_path])
    failed = data.ids_of("broken_picture", "lost_picture")
    assert set(scores.ask) == failed
    assert scores.rescored == len(data.ids) - len(failed)
    [old] = find_runs(tmp_path)
    asked = {digest for record in old.records() for digest in record.requests}
    main(shlex.split(scores.command)[1:])
    [new] = [each for each in find_runs(tmp_path) if each.path != old.path]
    needed = sum(not asked.issuperset(record.requests) for record in new.records())
    assert needed == scores.more_passes > 0


def test_a_run_on_other_data_is_refused_in_words(data, new_version, tmp_path, capsys) -> None:
    run(["-m", "random", "-b", "eyechart", "--limit", "3"], tmp_path)
    capsys.readouterr()
    later = new_version(change_a_little)
    assert main(["curate", "diff", str(data.data), str(later), "--runs", str(tmp_path)]) == 1
    assert "cannot be compared: it was made with" in capsys.readouterr().out


def test_json_has_everything(data, new_version, tmp_path, capsys) -> None:
    run(["-m", "random", "-b", str(data.data), "--limit", "5"], tmp_path)
    capsys.readouterr()
    later = new_version(change_a_little)
    arguments = [str(data.data), str(later), "--runs", str(tmp_path), "--json"]
    assert main(["curate", "diff", *arguments]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert len(printed["diff"]["changed"]) == 7
    [scores] = printed["runs"]
    assert scores["valid"] + scores["rescored"] + scores["removed"] <= 5
    assert "with the same --limit" in scores["notes"][0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.tsv", "eyechart"], "nowhere.tsv: there is no such file"),
        (["eyechart", "eyechart", "--runs", "nowhere"], "no run in nowhere"),
        (["eyechart", "eyechart", "--top", "0"], "--top 0: expected at least 1"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, sentence, capsys) -> None:
    assert main(["curate", "diff", *arguments]) == 2
    assert sentence in capsys.readouterr().err
