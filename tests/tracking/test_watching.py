"""`snellen watch` over real checkpoints: order, going on, reasons, regressions, servers."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from standin_server import running
from training_runs import BROKEN, make_checkpoint

from snellen import open_run
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.models.hf.bundled import WEIGHTS
from snellen.tracking import WatchMessages, WatchOptions, read_curve, watch

STAND_IN_VLLM = Path(__file__).parents[1] / "engine" / "stand_in_vllm.py"
ONCE = ["--for", "once", "-q", "--no-html"]
OPTIONS = ":device=cpu,batch_size=16"
QUESTIONS = ["-b", "eyechart", "--limit", "24"]


def typed(*words: str | Path) -> int:
    return main(["watch", *map(str, words), *ONCE])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_checkpoints_are_evaluated_compared_and_not_asked_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step, share in ((200, 1.0), (100, 0.0)):
        make_checkpoint(here / "ckpts", step, share)
    assert typed(f"ckpts{OPTIONS}", *QUESTIONS, "--out", "out", "--group", "category") == 0
    first = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in first[:2]] == ["step 100", "step 200"]
    assert " over step 100 (" in first[1]
    assert first[-1] == "curve: out/curve.html"
    curve = read_curve("out")
    assert [point.run.partition("--")[0] for point in curve.points] == ["checkpoint-100", "checkpoint-200"]
    assert "colour" in curve.points[0].groups
    assert curve.points[1].differences[0].level == pytest.approx(1 - 0.05 / 11)
    assert not (here / "out" / ".checkpoints").exists()
    # The training goes on: a later collapse, and a checkpoint that is gone.
    make_checkpoint(here / "ckpts", 300, BROKEN)
    shutil.rmtree(here / "ckpts" / "checkpoint-100")
    again = [
        "--on-regression",
        "fail",
        "--on-regression",
        f"{sys.executable} -c \"import sys; open('hook','w').write(sys.argv[1])\" {{sentence}}",
    ]
    out = ("--out", "out", "--group", "category")
    assert typed(f"ckpts{OPTIONS}", *QUESTIONS, *out, *again, "-o", "curve.svg") == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("step 300: ")
    assert printed[0].endswith(": regression")
    assert (here / "hook").read_text() == printed[0]
    assert "▼" in (here / "curve.svg").read_text(encoding="utf-8")
    assert len(read_curve("out").points) == 3
    # Nothing new: nothing is printed of it, and the exit code is still that of the latest one.
    assert typed(f"ckpts{OPTIONS}", *QUESTIONS, *out, "--on-regression", "fail") == 1
    assert not capsys.readouterr().out.startswith("step")
    assert typed(f"ckpts{OPTIONS}", *QUESTIONS, *out) == 0
    # In a format for programs, standard output has the curve alone.
    capsys.readouterr()
    assert typed(f"ckpts{OPTIONS}", *QUESTIONS, *out, "--json", "-o", "curve.csv") == 0
    assert typed(f"ckpts{OPTIONS}", *QUESTIONS, *out, "--json") == 0
    points = json.loads(capsys.readouterr().out)["points"]
    rows = list(csv.DictReader((here / "curve.csv").read_text().splitlines()))
    assert [row["step"] for row in rows] == ["100", "200", "300"]
    assert [float(row["value"]) for row in rows] == [one["headline"]["value"] for one in points]


@pytest.mark.release
def test_a_bad_checkpoint_is_a_reason_and_the_next_one_is_evaluated(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = make_checkpoint(here / "ckpts", 100, 0.0)
    config = json.loads((bad / "config.json").read_text())
    config["text_config"]["vocab_size"] = 7
    (bad / "config.json").write_text(json.dumps(config))
    make_checkpoint(here / "ckpts", 150, 0.0, described=False)
    make_checkpoint(here / "ckpts", 200, 0.0)
    assert typed(f"ckpts{OPTIONS}", "-b", "eyechart", "--limit", "4", "--out", "out") == 0
    told = capsys.readouterr().err
    curve = read_curve("out")
    assert [point.step for point in curve.points] == [200]
    assert [line.checkpoint for line in curve.skipped] == ["checkpoint-100"] * 3 + ["checkpoint-150"] * 3
    assert "checkpoint-100 was not evaluated: checkpoint-100 (Llava" in told
    assert "processing_class=PROCESSOR" in told
    assert told.count("; it is tried again") == 4


def test_mistakes_give_one_sentence_before_asking(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "empty").mkdir()
    (here / "file").write_text("")
    make_checkpoint(here / "ckpts", 1, 0.0)
    cases: list[tuple[list[str], str]] = [
        (["empty", "-b", "eyechart"], "no checkpoint is in empty; expected folders such as"),
        (["file", "-b", "eyechart"], "file is a file; expected the folder"),
        (["ckpts", "-b", "eyechrat"], "unknown benchmark 'eyechrat'"),
        (["ckpts", "-b", "eyechart", "--until", "±1"], "leave it out, and choose their number"),
        (["ckpts", "-b", "eyechart", "--every", "0"], "--every is 0; expected seconds above 0"),
        (["ckpts", "-b", "eyechart", "--for", "soon"], "'soon' is neither `once` nor a time such as 90s"),
        (["ckpts", "-b", "eyechart", "--track", "excel:x"], "--track excel:x: expected tensorbo"),
        (["http://u:p@h/v1", "-b", "eyechart"], "the address of h holds a user or a password"),
        (["http://h/v1#a", "-b", "eyechart"], "give the address alone"),
        (["ckpts:colour=red", "-b", "eyechart"], "have no option 'colour'"),
    ]
    for words, sentence in cases:
        try:
            code = main(["watch", *words, *([] if "--for" in words else ["--for", "once"]), "-q"])
        except SystemExit as stop:
            code = int(stop.code or 0)
        err = capsys.readouterr().err
        assert sentence in err
        assert code == 2


def test_a_curve_of_other_settings_is_refused(here: Path) -> None:
    make_checkpoint(here / "ckpts", 1, 0.0)
    watch(f"ckpts{OPTIONS}", "eyechart", watching=WatchOptions(once=True), limit=4, out="out")
    with pytest.raises(UsageError, match="limit 4 there, 5 here"):
        watch(f"ckpts{OPTIONS}", "eyechart", watching=WatchOptions(once=True), limit=5, out="out")


def test_waiting_for_the_first_checkpoint_is_printed_once(here: Path) -> None:
    notes: list[str] = []
    options = WatchOptions(every=0.1, seconds=0.5)
    curve = watch("later", "eyechart", watching=options, messages=WatchMessages(note=notes.append))
    assert not curve.points
    assert notes == ["no checkpoint is in later yet; looking again every 0.1 s for folders such as checkpoint-500"]


@pytest.mark.release
def test_checkpoints_appear_and_vanish_while_it_watches(here: Path) -> None:
    make_checkpoint(here / "ckpts", 100, 0.0)
    notes: list[str] = []

    def train_on(point: object) -> None:
        """What the training does while the first checkpoint is evaluated."""
        if not (here / "stop").exists():
            shutil.rmtree(here / "ckpts" / "checkpoint-200", ignore_errors=True)
            make_checkpoint(here / "ckpts", 300, 0.5)
            (here / "stop").touch()

    make_checkpoint(here / "ckpts", 200, 0.2)
    curve = watch(
        f"ckpts{OPTIONS}",
        ["eyechart"],
        watching=WatchOptions(every=0.2, until_file=here / "stop"),
        messages=WatchMessages(point=train_on, note=notes.append),
        limit=4,
        out="out",
        html=False,
    )
    assert [point.step for point in curve.points] == [100, 300]
    assert [line.checkpoint for line in curve.skipped] == ["checkpoint-200"]
    assert any("deleted before it could be evaluated" in note for note in notes)


@pytest.mark.release
def test_models_that_a_server_loads_are_checkpoints(here: Path) -> None:
    with running() as server:
        server.models = ["base", "checkpoint-20", "checkpoint-10"]

        def load_more(point: object) -> None:
            server.models = [*server.models[:3], "checkpoint-30"]

        curve = watch(
            server.url,
            "eyechart",
            watching=WatchOptions(once=True),
            messages=WatchMessages(point=load_more),
            limit=4,
            out="out",
        )
        assert [point.checkpoint for point in curve.points] == ["checkpoint-10", "checkpoint-20", "checkpoint-30"]
        notes: list[str] = []
        server.key = "wanted"
        watch(
            server.url,
            "eyechart",
            watching=WatchOptions(once=True),
            messages=WatchMessages(note=notes.append),
            limit=4,
            out="out",
        )
        assert "wants a key" in notes[0]


@pytest.mark.release
@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_lora_adapters_are_evaluated_over_their_base(here: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForImageTextToText

    model = AutoModelForImageTextToText.from_pretrained(WEIGHTS / "tiny")
    config = LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    adapted = get_peft_model(model, config)
    for step in (10, 20):
        adapted.save_pretrained(here / "ckpts" / f"checkpoint-{step}")
        with torch.no_grad():
            adapted.base_model.model.model.language_model.layers[0].self_attn.q_proj.lora_A.default.weight.mul_(2)
    curve = watch(f"ckpts{OPTIONS}", "eyechart", watching=WatchOptions(once=True), limit=4, out="out")
    identities = [open_run(here / "out" / one.run).info.config.identity for one in curve.points]
    assert [identity.name for identity in identities] == ["checkpoint-10", "checkpoint-20"]
    assert len({identity.facts["adapter"] for identity in identities}) == 2
    assert {identity.facts["base"] for identity in identities} == {"tiny"}


@pytest.mark.release
def test_a_server_is_started_for_each_checkpoint(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN_NOTES", str(here))
    for step in (10, 20):
        make_checkpoint(here / "ckpts", step, step / 100)
    curve = watch(
        "ckpts",
        "eyechart",
        watching=WatchOptions(once=True),
        serve=f"{sys.executable} {STAND_IN_VLLM} serve {{model}} --host {{host}} --port {{port}}",
        limit=2,
        out="out",
    )
    assert [point.checkpoint for point in curve.points] == ["checkpoint-10", "checkpoint-20"]
    infos = [open_run(here / "out" / point.run).info for point in curve.points]
    assert [info.model for info in infos] == ["checkpoint-10", "checkpoint-20"]
    assert len({info.config.identity.facts["revision"] for info in infos}) == 2


@pytest.mark.release
def test_a_checkpoint_that_was_written_again_is_noticed(here: Path) -> None:
    notes: list[str] = []

    def look() -> None:
        watch(
            f"ckpts{OPTIONS}",
            "eyechart",
            watching=WatchOptions(once=True),
            limit=2,
            out="out",
            messages=WatchMessages(note=notes.append),
        )

    make_checkpoint(here / "ckpts", 10, 0.0)
    look()
    look()
    assert notes == []
    shutil.rmtree(here / "ckpts")
    make_checkpoint(here / "ckpts", 10, 0.5)
    look()
    assert ["checkpoint-10 has been written again" in note for note in notes] == [True]


def test_ctrl_c_while_waiting_prints_how_to_continue(here: Path) -> None:
    (here / "ckpts").mkdir()
    words = ["watch", "ckpts", "-b", "eyechart", "--limit", "4", "--every", "60", "--out", "out"]
    process = subprocess.Popen([sys.executable, "-m", "snellen", *words], stderr=subprocess.PIPE, text=True)
    while not (here / "out" / "curve.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "continue with: snellen watch ckpts -b eyechart" in told
    assert "Traceback" not in told
