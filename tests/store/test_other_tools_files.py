"""Runs as files of Inspect, lmms-eval, Every Eval Ever and the hub: they keep to the published
schemas, and scoring them gives the run's number."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import test_exports
import yaml

from snellen import evaluate, score
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.store.runs import RunFolder

SCHEMAS = Path(__file__).parent / "schemas"
FORMATS = ("inspect .eval", "inspect .json", "lmms-eval", "eee")


@cache
def schema(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((SCHEMAS / name).read_text())
    return value


def inspect_validator(root: str) -> jsonschema.Draft202012Validator:
    """Of a class of Inspect's, which refuses fields that the class does not have."""
    strict = copy.deepcopy(schema("inspect_log.schema.json"))
    for definition in strict["$defs"].values():
        if "properties" in definition:
            definition["additionalProperties"] = False
    return jsonschema.Draft202012Validator(strict | {"$ref": f"#/$defs/{root}"})


def call(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main([str(word) for word in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def exported(run: RunFolder, to: str, folder: Path, capsys) -> Path:
    """The file of the replies in an export of `run`."""
    name, _, suffix = to.partition(" ")
    target = folder / f"log{suffix}"
    code, out, err = call(capsys, "export", run.path, "--to", name, "-o", target)
    assert (code, err) == (0, "")
    if suffix:
        return target
    written = [Path(line) for line in out.split()]
    assert all(path.is_file() for path in written)
    return next(path for path in written if "samples" in path.name)


def run_of(model: str, data: Path, out: Path, **options: Any) -> RunFolder:
    (run,) = evaluate([model], [str(data)], out=out, html=False, **options).runs
    return run


def closed(folder: Path, circular: str | None = None) -> RunFolder:
    data = test_exports.questions(folder / "q.tsv")
    return run_of("random", data, folder / "out", variant=Variant(circular=circular))


def open_and_failed(folder: Path) -> RunFolder:
    """Questions with several gold answers, a partial reply, a refusal by the server, a failure."""
    rows = [
        {"index": 1, "question": "Name it.", "answer": ["a can", "can"], "prediction": "A can."},
        {"index": 2, "question": "How many?", "answer": "2", "prediction": "three"},
        {"index": 3, "question": 'Say "é\n<b>"', "answer": "ü", "prediction": "ü"},
        {"index": 4, "question": "Late?", "answer": "Yes", "error": "timed out"},
        {"index": 5, "question": "A", "A": "x", "B": "y", "answer": "B", "prediction": ""},
    ]
    data, replies = folder / "open.json", folder / "replies.json"
    asked = [{k: v for k, v in row.items() if k not in ("prediction", "error")} for row in rows]
    data.write_text(json.dumps(asked))
    replies.write_text(json.dumps(rows))
    return run_of(f"replay/{replies}", data, folder / "out")


RUNS: dict[str, Callable[[Path], RunFolder]] = {
    "closed": closed,
    "rotated": lambda folder: closed(folder, "full"),
    "open": open_and_failed,
}


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("kind", RUNS)
def test_an_exported_run_scores_the_same(kind: str, to: str, tmp_path: Path, capsys) -> None:
    run = RUNS[kind](tmp_path)
    file = exported(run, to, tmp_path, capsys)
    ours = run.report().summary
    circular = "full" if kind == "rotated" and to != "eee" else None
    again = score(str(file), variant=Variant(circular=circular)).summary
    expected = ours.metrics["vanilla"] if kind == "rotated" and to == "eee" else ours.headline
    assert again.headline.value == pytest.approx(expected.value)
    failed = 0 if to == "eee" else ours.outcomes.get("failed", 0)
    assert again.outcomes.get("failed", 0) == failed
    assert again.outcomes["answered"] == ours.outcomes["answered"]
    groups = {name: one.value for name, one in ours.groups.get("category", {}).items()}
    if to != "eee" or kind != "rotated":
        assert {n: one.value for n, one in again.groups.get("category", {}).items()} == groups


@pytest.mark.parametrize("kind", RUNS)
def test_inspect_json_keeps_to_the_schema(kind: str, tmp_path: Path, capsys) -> None:
    run = RUNS[kind](tmp_path)
    log = json.loads(exported(run, "inspect .json", tmp_path, capsys).read_text())
    inspect_validator("EvalLog").validate(log)
    assert log["status"] == "success"
    (scores,) = log["results"]["scores"]
    headline = run.report().summary.headline
    assert scores["metrics"][headline.name]["value"] == pytest.approx(headline.value / 100)


def test_an_inspect_archive_has_the_parts_that_its_reader_opens(tmp_path: Path, capsys) -> None:
    file = exported(open_and_failed(tmp_path), "inspect .eval", tmp_path, capsys)
    with zipfile.ZipFile(file) as archive:
        parts = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    samples = [f"samples/{number}_epoch_1.json" for number in range(1, 6)]
    fixed = ["_journal/start.json", "header.json", "summaries.json"]
    assert sorted(parts) == sorted([*fixed, *samples])
    inspect_validator("EvalLog").validate(parts["header.json"])
    for summary in parts["summaries.json"]:
        inspect_validator("EvalSampleSummary").validate(summary)
    whole = parts["header.json"] | {"samples": [parts[name] for name in samples]}
    inspect_validator("EvalLog").validate(whole)
    assert parts[samples[0]]["target"] == ["a can", "can"]
    assert parts[samples[3]]["error"]["message"].endswith("timed out")
    assert "scores" in parts[samples[1]]
    assert parts[samples[1]]["scores"]["snellen"]["value"] == "I"


def test_repeats_are_epochs(tmp_path: Path, capsys) -> None:
    data = test_exports.questions(tmp_path / "q.tsv")
    run = run_of("random", data, tmp_path / "out", repeats=3)
    log = json.loads(exported(run, "inspect .json", tmp_path, capsys).read_text())
    inspect_validator("EvalLog").validate(log)
    assert log["eval"]["config"]["epochs"] == 3
    assert sorted({sample["epoch"] for sample in log["samples"]}) == [1, 2, 3]
    assert len(log["samples"]) == 3 * 8
    assert all(sample["messages"] for sample in log["samples"])
    code, _, err = call(capsys, "export", run.path, "--to", "lmms-eval", "-o", tmp_path / "no")
    assert (code, "3 times" in err) == (2, True)


def test_images_are_in_the_log(tmp_path: Path, capsys) -> None:
    """Thumbnails as attachments; without them the images' digests."""
    (run,) = evaluate(["random"], ["eyechart"], out=tmp_path / "o", limit=4).runs
    log = json.loads(exported(run, "inspect .json", tmp_path, capsys).read_text())
    inspect_validator("EvalLog").validate(log)
    for sample in log["samples"]:
        images = [part for part in sample["input"][0]["content"] if part["type"] == "image"]
        held = [sample["attachments"][one["image"].removeprefix("attachment://")] for one in images]
        assert held
        assert all(text.startswith("data:image/jpeg;base64,") for text in held)
    for file in (run.path / "media").iterdir():
        file.unlink()
    log = json.loads(exported(run, "inspect .json", tmp_path, capsys).read_text())
    (first, *_) = log["samples"][0]["input"][0]["content"]
    assert first["image"].startswith("sha256:")
    again = score(str(tmp_path / "log.json")).summary.headline.value
    assert again == run.report().summary.headline.value


def test_lmms_eval_keys(tmp_path: Path, capsys) -> None:
    run = closed(tmp_path)
    file = exported(run, "lmms-eval", tmp_path, capsys)
    (results,) = file.parent.glob("*_results.json")
    assert results.name[:15] == file.name[:15]
    keys, value = schema("lmms_eval_keys.json"), json.loads(results.read_text())
    for found, what in ((value, "results"), (value["config"], "config")):
        always, sometimes = set(keys[what]["always"]), set(keys[what]["sometimes"])
        assert always <= set(found) <= always | sometimes
    headline = run.report().summary.headline
    assert value["results"]["q"]["accuracy,none"] == pytest.approx(headline.value / 100)
    assert value["n-samples"]["q"] == {"original": 8, "effective": 8}
    always = set(keys["sample"]["always"])
    for line in file.read_text().splitlines():
        sample = json.loads(line)
        assert set(sample) == always | {"accuracy"}
        assert isinstance(sample["target"], str)


@pytest.mark.parametrize("kind", RUNS)
def test_records_of_every_eval_ever_keep_to_the_schema(kind: str, tmp_path: Path, capsys) -> None:
    run = RUNS[kind](tmp_path)
    file = exported(run, "eee", tmp_path, capsys)
    record_file = file.with_name(file.name.replace("_samples.jsonl", ".json"))
    record = json.loads(record_file.read_text())
    jsonschema.Draft7Validator(schema("eee.schema.json")).validate(record)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        jsonschema.Draft7Validator(schema("eee_instance.schema.json")).validate(line)
        assert line["evaluation_id"] == record["evaluation_id"]
        assert line["model_id"] == record["model_info"]["id"]
    details = record["detailed_evaluation_results"]
    assert (tmp_path / "log" / details["file_path"]) == file
    assert details["total_rows"] == len(lines) == run.report().summary.n
    first = record["evaluation_results"][0]
    headline = run.report().summary.headline
    assert first["score_details"]["score"] == pytest.approx(headline.value / 100)
    mean = sum(line["evaluation"]["score"] for line in lines) / len(lines)
    assert mean == pytest.approx(headline.value / 100)


def test_exports_of_one_run_have_one_name(tmp_path: Path, capsys) -> None:
    run = closed(tmp_path)
    first, second = (exported(run, "eee", tmp_path, capsys) for _ in range(2))
    assert first == second
    logs = [exported(run, "inspect .eval", tmp_path, capsys).read_bytes() for _ in range(2)]
    assert logs[0] == logs[1]
    assert zipfile.is_zipfile(io.BytesIO(logs[0]))


def test_entries_of_a_model_repository(tmp_path: Path, capsys) -> None:
    run = closed(tmp_path, "full")
    flags = ("--to", "hf-eval-results", "--facts", "dataset=acme/q,task=q_all")
    code, out, err = call(capsys, "export", run.path, *flags, "--facts", "source_url=https://x.org/r")
    assert (code, err) == (0, "")
    (entry,) = yaml.safe_load(out)
    assert entry["dataset"] == {"id": "acme/q", "task_id": "q_all"}
    headline = run.report().summary.headline
    assert entry["value"] == pytest.approx(headline.value, abs=1e-4)
    assert entry["date"] == (run.info.finished or "")[:10]
    assert entry["source"]["url"] == "https://x.org/r"
    assert "circular=full" in entry["notes"]
    assert "n=8" in entry["notes"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--to", "hf-eval-results"), "which data set of the hub"),
        (("--to", "hf-eval-results", "--facts", "dataset=a/b"), "name it as in the data set's eval.yaml"),
        (("--to", "eee"), "name it with -o DIR"),
        (("--to", "lmms-eval"), "name it with -o DIR"),
        (("--to", "inspect", "--facts", "task=x"), "task=... belongs to --to hf-eval-results"),
        (("--to", "inspect", "--facts", "tas=x"), "--to inspect states no facts"),
        (("--to", "eee", "--facts", "organisation=x", "-o", "d"), "did you mean organization"),
        (("--to", "eee", "--facts", "relationship=x", "-o", "d"), "unknown relationship 'x'"),
        (("--to", "mmt-table", "-o", "a.md", "-o", "b.md"), "this writes one file"),
        (("--to", "inspct"), "did you mean inspect?"),
    ],
)
def test_mistakes_give_one_sentence(flags: tuple[str, ...], sentence: str, tmp_path: Path, capsys) -> None:
    run = closed(tmp_path)
    try:
        code, _, err = call(capsys, "export", run.path, *flags)
    except SystemExit as exit:
        code, err = int(str(exit.code)), capsys.readouterr().err
    assert (code, sentence in err) == (2, True), err
    assert err.startswith("snellen: ")


def test_refuses_export_of_a_partial_run(tmp_path: Path, capsys) -> None:
    data = test_exports.questions(tmp_path / "q.tsv")
    part = run_of("random", data, tmp_path / "out", limit=3)
    blind = run_of("random", data, tmp_path / "out", variant=Variant(control="blind"))
    failed = open_and_failed(tmp_path)
    for run, why in ((part, "3 of 8 questions"), (blind, "is a control"), (failed, "incomplete")):
        code, _, err = call(capsys, "export", run.path, "--to", "hf-eval-results")
        assert (code, why in err) == (2, True), err


def test_several_runs(tmp_path: Path, capsys) -> None:
    """lmms-eval's results hold several tasks of a model, but no task twice."""
    run = closed(tmp_path)
    other = open_and_failed(tmp_path)
    code, _, err = call(capsys, "export", run.path, other.path, "--to", "lmms-eval", "-o", "x")
    assert (code, "those of one model" in err) == (2, True)
    code, _, err = call(capsys, "export", run.path, other.path, "--to", "inspect")
    assert (code, "got 2 runs" in err) == (2, True)
    again = run_of("random", tmp_path / "q.tsv", tmp_path / "out", limit=4)
    code, _, err = call(capsys, "export", run.path, again.path, "--to", "lmms-eval", "-o", "x")
    assert (code, "each task once" in err) == (2, True)


def test_a_conversation_of_every_eval_ever_is_refused(tmp_path: Path) -> None:
    line = {
        "schema_version": "0.3.0",
        "evaluation_id": "e",
        "sample_id": "1",
        "interaction_type": "agentic",
        "input": {"raw": "?", "reference": ["x"]},
        "messages": [{"turn_idx": 0, "role": "user", "content": "?"}],
    }
    file = tmp_path / "x_samples.jsonl"
    file.write_text(json.dumps(line) + "\n")
    with pytest.raises(Exception, match="a conversation \\(agentic\\)"):
        score(str(file))
