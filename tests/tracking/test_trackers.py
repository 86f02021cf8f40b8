"""Trackers, each with its own library and offline: what was logged is read back by it."""

from __future__ import annotations

import importlib.util
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from snellen import RunFolder, evaluate
from snellen.cli import main
from snellen.core.errors import MissingExtra, StorageError, UsageError
from snellen.tracking import track
from snellen.tracking.trackers import RunMetrics, open_tracker, run_metrics

LIMIT = 12


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunFolder]:
    out = tmp_path_factory.mktemp("runs")
    return evaluate(["random", "random:seed=1"], "eyechart", limit=LIMIT, out=out).runs


def points(run: RunFolder, steps: tuple[int, ...] = (100, 200)) -> list[RunMetrics]:
    """The same run as two points of a curve."""
    return [run_metrics(run, run.report(), step=step) for step in steps]


def test_logged_values_and_facts_of_a_run(runs: list[RunFolder]) -> None:
    found = run_metrics(runs[0], runs[0].report())
    headline = runs[0].report().summary.headline
    assert found.values["eyechart/score"] == headline.value
    assert found.values["eyechart/n"] == LIMIT
    assert found.values["eyechart/outcomes/answered"] == LIMIT
    assert found.values["eyechart/score_low"] < found.values["eyechart/score_high"]
    assert found.facts["folder"] == str(runs[0].path.absolute())
    assert found.facts["limit"] == str(LIMIT)
    assert len(found.facts["protocol_card"]) >= 16


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    events = EventAccumulator(str(folder))
    events.Reload()
    return {
        tag: [(one.step, float(make_ndarray(one.tensor_proto))) for one in events.Tensors(tag)]
        for tag in events.PluginTagToContent("scalars")
    }


def test_tensorboard(runs: list[RunFolder], tmp_path: Path) -> None:
    tracker = open_tracker(f"tensorboard:{tmp_path}/logs", "out")
    for point in points(runs[0]):
        tracker.log(point)
    tracker.close()
    score = run_metrics(runs[0], runs[0].report()).values["eyechart/score"]
    assert scalars(tmp_path / "logs" / "out")["eyechart/score"] == [
        (100, pytest.approx(score)),
        (200, pytest.approx(score)),
    ]
    track(runs, f"tensorboard:{tmp_path}/each")
    assert {folder.name for folder in (tmp_path / "each").iterdir()} == {run.name for run in runs}
    each = scalars(tmp_path / "each" / runs[1].name)
    assert each["eyechart/n"] == [(0, LIMIT)]


def log_entries(data: bytes) -> Iterator[bytes]:
    """The entries of a file of W&B: LevelDB's log format (blocks of 32 KiB, in them records of
    checksum, length and type) behind a head of 7 bytes."""
    at, parts = 7, b""
    while at + 7 <= len(data):
        left = 32_768 - at % 32_768
        if left < 7:
            at += left
            continue
        length, kind = struct.unpack_from("<HB", data, at + 4)
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole entry, or the last part of one
            yield parts
            parts = b""


def wandb_records(home: Path) -> list[dict[str, Any]]:
    """The records of each offline run of W&B, by its own message types."""
    from google.protobuf.json_format import MessageToDict
    from wandb.proto import wandb_internal_pb2

    found = []
    for file in sorted(home.glob("wandb/offline-run-*/*.wandb")):
        for entry in log_entries(file.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(entry)
            found.append(MessageToDict(record))
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning:wandb", "ignore::ResourceWarning")
def test_wandb(runs: list[RunFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    tracker = open_tracker("wandb:team/vision", "my-curve")
    for point in points(runs[0]):
        tracker.log(point)
    tracker.close()
    track(runs[1:], "wandb:vision")
    records = wandb_records(tmp_path)
    named = [record["run"]["displayName"] for record in records if "displayName" in record.get("run", {})]
    assert set(named) == {"my-curve", runs[1].name}
    logged = [
        {
            item["nestedKey"][0] if "nestedKey" in item else item["key"]: json.loads(item["valueJson"])
            for item in record["history"]["item"]
        }
        for record in records
        if "history" in record
    ]
    assert [one.get("train/global_step") for one in logged] == [100, 200, None]
    score = run_metrics(runs[0], runs[0].report()).values["eyechart/score"]
    assert [one["eyechart/score"] for one in logged[:2]] == [pytest.approx(score)] * 2
    assert str(runs[1].path.absolute()) in json.dumps(records)


@pytest.mark.filterwarnings("ignore::FutureWarning:mlflow")
def test_mlflow(runs: list[RunFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "mlruns").as_uri()
    tracker = open_tracker(f"mlflow:{uri}", "my-curve")
    for point in points(runs[0]):
        tracker.log(point)
    tracker.close()
    track(runs[1:], f"mlflow:{uri}")
    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("snellen")
    found = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert set(found) == {"my-curve", runs[1].name}
    curve = found["my-curve"]
    history = client.get_metric_history(curve.info.run_id, "eyechart/score")
    assert [one.step for one in history] == [100, 200]
    assert curve.data.tags["eyechart.metric"] == "accuracy"
    assert {run.info.status for run in found.values()} == {"FINISHED"}


def test_a_dead_server_is_one_warning(runs: list[RunFolder], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    warnings: list[str] = []
    track(runs, "mlflow:http://127.0.0.1:9", warn=warnings.append)
    assert len(warnings) == 1
    assert warnings[0].startswith("mlflow:http://127.0.0.1:9 logs nothing more: ")


def test_a_run_is_logged_by_the_command(tmp_path: Path) -> None:
    words = ["run", "-m", "random", "-b", "eyechart", "--limit", "4", "-q", "--no-html"]
    logs = tmp_path / "logs"
    assert main([*words, "--out", str(tmp_path / "out"), "--track", f"tensorboard:{logs}"]) == 0
    (folder,) = logs.iterdir()
    assert scalars(folder)["eyechart/n"] == [(0, 4)]


@pytest.mark.parametrize("spec", ["", "tensorboard", "tensorboard:", "wandb: ", "excel:file"])
def test_wrong_names(spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=r"expected tensorboard:DIR.*wandb:PROJECT.*mlflow:URI"):
        open_tracker(spec, "x")
    words = ["run", "-m", "random", "-b", "eyechart", "--out", str(tmp_path / "out")]
    assert main([*words, "--track", spec]) == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.attack("a password in the address of an experiment tracker", "refused in a sentence without it")
def test_a_password_in_an_address_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "-m", "random", "-b", "eyechart", "--out", str(tmp_path / "out")]
    assert main([*words, "--track", "mlflow:https://me:hunter2hunter2@tracker.test/x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("snellen: the address of tracker.test holds a user or")
    assert "hunter2" not in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["tensorboard", "wandb", "mlflow"])
def test_missing_libraries(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == kind else find(name, *more))
    with pytest.raises(MissingExtra, match=rf"pip install 'snellen\[{kind}\]'"):
        open_tracker(f"{kind}:x", "x")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write to"):
        open_tracker(f"tensorboard:{tmp_path}/file/logs", "x")
