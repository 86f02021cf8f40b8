"""The command: what it prints and writes, that a second start goes on, and wrong flags."""

from __future__ import annotations

import json
from pathlib import Path

import planted
import pytest
from drawn_scenes import draw_scene, jpeg, write_scenes

from snellen.cli import main
from snellen.data_sets.decisions import read_decisions
from snellen.data_sets.step import read_step
from snellen_curate.open_data import open_items


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> planted.Planted:
    return planted.build(tmp_path_factory.mktemp("planted"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["curate", "duplicates", *map(str, words)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_report_on_the_terminal(made: planted.Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, made.data)
    assert code == 1
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "planted: 77 items, 69 pictures"
    assert lines[4:6] == ["contradictions 0", "duplicate items 9 in 9 clusters; kept of each: the first of the data"]
    assert "137 175 pictures: the same file; near question, 0.75" in lines
    assert any(line.startswith("113 the image cannot be decoded: image file") for line in lines)
    assert err == "hashed 69 of planted\n"
    # Nothing is hashed again.
    assert run(capsys, made.data)[2] == ""
    code, out, _ = run(capsys, made.data, "--json")
    report = json.loads(out)
    assert report["excluded"] == [str(number) for number in range(169, 178)]
    assert report["settings"]["pictures"]["radius"] == 10


@pytest.mark.parametrize(
    ("drop", "counts"),
    [
        ([], {"keep": 64, "flag": 13, "items": 77}),
        (["--drop"], {"keep": 64, "flag": 4, "drop": 9, "items": 68}),
        (["--drop", "duplicates,broken"], {"keep": 64, "drop": 13, "items": 64}),
    ],
)
def test_the_data_set_folder(
    made: planted.Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str], drop: list[str], counts: dict[str, int]
) -> None:
    out = tmp_path / "out"
    code, printed, _ = run(capsys, made.data, "--out", out, *drop)
    assert code == (1 if "flag" in counts else 0)
    assert f"written: {out}\n" in printed
    info = read_step(out)
    assert info.status == "complete"
    assert {name: info.counts.get(name) for name in counts} == counts
    decided = {one.item: one for one in read_decisions(out)}
    assert set(decided) == set(made.ids)
    repeated = decided["172"]
    assert (repeated.rule, repeated.reason) == ("duplicate", "it repeats 131")
    assert repeated.evidence[0].reply == "131"
    assert "pHash 0 of 64 bits" in repeated.evidence[0].verdict
    assert decided["113"].rule == "broken picture"
    assert len(list(open_items(out))) == counts["items"]
    excluded = [str(number) for number in range(169, 178)]
    assert json.loads((out / "duplicates.json").read_text())["excluded"] == excluded
    # A second start changes nothing and decides nothing again.
    log = (out / "decisions.jsonl").read_bytes()
    assert run(capsys, made.data, "--out", out, *drop)[0] == code
    assert (out / "decisions.jsonl").read_bytes() == log


def test_a_start_after_a_kill_decides_what_is_left(
    made: planted.Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run(capsys, made.data, "--out", out)
    log = (out / "decisions.jsonl").read_bytes().splitlines(keepends=True)
    # As kill -9 leaves it: some decisions, half a line, no items, `running`.
    (out / "decisions.jsonl").write_bytes(b"".join(log[:30]) + log[30][:20])
    (out / "items.jsonl").unlink()
    info = json.loads((out / "step.json").read_text())
    (out / "step.json").write_text(json.dumps(info | {"status": "running", "counts": {}}))
    assert run(capsys, made.data, "--out", out)[0] == 1
    again = (out / "decisions.jsonl").read_bytes().splitlines(keepends=True)
    assert again[:30] == log[:30]
    assert [json.loads(line)["item"] for line in again] == [json.loads(line)["item"] for line in log]
    assert read_step(out).status == "complete"


def write_contradiction(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.jpg").write_bytes(jpeg(draw_scene(1)))
    rows = [
        {"index": name, "question": "Is <b>this</b> a \x1b[31mcat?", "answer": key, "type": "yes_no", "image": "a.jpg"}
        for name, key in (("one", "yes"), ("two", "no"))
    ]
    path = folder / "cats.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_contradictions_are_printed_first_and_never_excluded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = write_contradiction(tmp_path / "data"), tmp_path / "out"
    code, printed, _ = run(capsys, data, "--out", out)
    assert code == 1
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert lines[4] == "contradictions 1"
    assert "one two pictures: the same file; keys Yes / No" in lines
    assert json.loads((out / "duplicates.json").read_text())["excluded"] == []
    decided = {one.item: (one.action, one.rule) for one in read_decisions(out)}
    assert set(decided.values()) == {("flag", "contradiction")}
    evidence = {one.item: [each.reply for each in one.evidence] for one in read_decisions(out)}
    assert evidence == {"one": ["two"], "two": ["one"]}


def test_a_duplicate_of_a_contradiction_is_dropped_when_duplicates_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"index": name, "question": "Is it?", "answer": key, "type": "yes_no"}
        for name, key in (("a", "yes"), ("b", "yes"), ("c", "no"))
    ]
    data, out = tmp_path / "text.jsonl", tmp_path / "out"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(capsys, data, "--out", out, "--drop")
    decided = {one.item: (one.action, one.rule) for one in read_decisions(out)}
    assert decided == {"a": ("flag", "contradiction"), "b": ("drop", "duplicate"), "c": ("flag", "contradiction")}


def test_a_folder_of_training_images_is_hashed_once(
    made: planted.Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A short path: a long one is broken within the cell.
    monkeypatch.chdir(tmp_path)
    images = Path("pictures")
    write_scenes(images, 8)
    (images / "bad.jpg").write_bytes(b"bad")
    (images / "copy.jpg").write_bytes(_first_image(made))
    code, out, err = run(capsys, made.data, "--against", images, "--limits", "processes=1")
    assert code == 1
    assert f"also in {images} (10 entries, 9 pictures)" in " ".join(out.split())
    assert ": 1 of 10 entries could not be used" in out
    assert f"hashed 10 of {images}\n" in err
    assert run(capsys, made.data, "--against", images)[1:] == (out, "")


def _first_image(made: planted.Planted) -> bytes:
    item = next(item for item in open_items(made.data) if item.sample.media)
    return item.sample.media[0].source.read()


def test_items_in_training_data_are_dropped_on_request(
    made: planted.Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, out = tmp_path / "train set", tmp_path / "out"
    train.mkdir()
    (train / "x.jpg").write_bytes(_first_image(made))
    run(capsys, made.data, "--against", train, "--out", out, "--drop", "against")
    dropped = [one.item for one in read_decisions(out) if one.action == "drop"]
    assert len(dropped) >= 1
    [other] = json.loads((out / "duplicates.json").read_text())["against"]
    assert {match["other"] for match in other["matches"]} == {"x.jpg"}
    assert {match["item"] for match in other["matches"]} == set(dropped)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["no-such-file.tsv"], "no-such-file.tsv"),
        (["eyechart", "--limits", "processes=0"], "--limits processes=0: expected 1 or more"),
        (["eyechart", "--drop"], "--drop needs --out DIR"),
        (["eyechart", "--against", "nothing.parquet"], "there is no file or folder"),
        (["eyechart", "--against", "eyechatr"], "did you mean eyechart"),
    ],
)
def test_a_mistake_is_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["x", "--keep", "best"], "invalid choice: 'best'"),
        (
            ["x", "--drop", "everything", "--out", "o"],
            "unknown kind to --drop 'everything'; known: against, broken, contradictions, duplicates",
        ),
        (["x", "--limits", "processes=many"], "expected a whole number"),
    ],
)
def test_a_wrong_value_is_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        run(capsys, *words)
    assert exit.value.code == 2
    assert sentence in capsys.readouterr().err
