"""Questions made from drawn pictures by the command, with planted bad cases; a scripted server
stands where a stronger model would be."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from planted_scenes import DIMENSIONS, EXPECTED, KEPT, MAX_SECONDS, SCENES, answer_body, draw, write_scenes
from question_commands import decisions, run
from standin_server import StandIn, chat_reply, running

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.data_sets.step import read_step
from snellen_curate.open_data import open_items
from snellen_curate.questions.records import open_recorded


@contextmanager
def scripted_server(seconds: float = 0.0) -> Iterator[StandIn]:
    """The scripted model behind a server that takes so long for each reply."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.json_response(chat_reply(answer_body(body)))

    with running() as server:
        server.handler = handler
        yield server


def arguments(server: StandIn, folder: Path, out: Path, *more: str) -> list[str]:
    model = f"{server.url}#tiny"
    dimensions = [part for name in DIMENSIONS for part in ("--dimension", name)]
    return [
        "curate",
        "questions",
        str(folder),
        "--out",
        str(out),
        "--extract",
        model,
        "-m",
        model,
        "--model-for",
        f"checker={model}",
        "--limits",
        f"count=3,max_seconds={MAX_SECONDS}",
        *dimensions,
        *more,
    ]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scenes(tmp_path_factory.mktemp("pictures"))


@pytest.fixture(scope="module")
def made(images: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The data set folder, and what the command printed."""
    out = tmp_path_factory.mktemp("made") / "set"
    with scripted_server() as server:
        code, printed = run(*arguments(server, images, out))
    assert code == 0, printed
    return out, printed


def test_every_planted_case_is_dropped_by_its_rule_and_nothing_else(made: tuple[Path, str]) -> None:
    dropped = {name: one.rule for name, one in decisions(made[0]).items() if one.action == "drop"}
    right = sum(EXPECTED.get(name) == rule for name, rule in dropped.items())
    assert right / len(dropped) == 1.0, "precision"
    assert right / len(EXPECTED) == 1.0, "recall"
    assert {name for name, one in decisions(made[0]).items() if one.action == "add"} == KEPT
    assert "21 pictures, 8 questions" in made[1]
    assert read_step(made[0]).status == "complete"


def test_items_can_be_run_and_say_where_they_come_from(made: tuple[Path, str]) -> None:
    items = list(open_items(made[0]))
    assert {item.id for item in items} == KEPT
    assert not any(item.problem for item in items)
    for item in items:
        assert item.label("picture") == item.id.partition("/")[0]
        assert len(item.sample.options) == 4
        assert len(item.sample.media) == 1
        item.sample.media[0].source.read()
    places = [next(iter(item.sample.gold)) for item in items]
    assert sorted(places) == ["A", "A", "B", "B", "C", "C", "D", "D"]
    (counted,) = [item for item in items if "counting" in item.id]
    assert counted.sample.options[counted.sample.gold[0]] == "two"
    assert counted.label("category") == "Instance Counting"
    (video,) = [item for item in items if "video" in item.id]
    assert video.sample.media[0].kind == "video"
    # SEED-Bench's own protocol reads the same file.
    variant = Variant(data=str(made[0] / "items.jsonl"), options={"version": "H"})
    benchmark = open_benchmark("seedbench", variant)
    samples = {sample.id: sample for sample in benchmark.samples(benchmark.open())}
    assert samples[counted.id].groups["dimension"] == "Instance Counting"


def test_decisions_hold_every_request(made: tuple[Path, str]) -> None:
    added = decisions(made[0])["sign.png/text-recognition/1"]
    models = [one.model for one in added.evidence]
    # Seen, written, distractors checked.
    assert models == ["tiny"] * 3
    assert all(len(one.request) == 64 for one in added.evidence)
    assert '"EXIT 7"' in added.evidence[0].reply
    dropped = decisions(made[0])["lounge.png/scene-understanding/1"]
    assert dropped.reason == "'a couch': a couch is a sofa"
    broken = decisions(made[0])["broken.png"]
    assert "cannot be" in broken.reason


def test_images_file_is_one_of_extractions(made: tuple[Path, str]) -> None:
    recorded = open_recorded(str(made[0] / "pictures.jsonl"), frozenset()).recorded
    harbour = recorded["harbour.png"]
    assert [one.label for one in harbour.instances] == ["boat", "boat", "buoy"]
    assert harbour.instances[0].box == pytest.approx((4, 20, 30, 40), abs=0.1)
    assert recorded["sign.png"].texts[0].text == "EXIT 7"
    moments = recorded["door.mp4"].moments
    # A caption for each second, and the regions of the five seconds that the video has.
    assert [(one.start, one.end) for one in moments] == [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert moments[1].dense[0].text == "a wall"


def test_killed_command_resumes(images: Path, made: tuple[Path, str], tmp_path: Path) -> None:
    out = tmp_path / "killed"
    with scripted_server(seconds=0.05) as server:
        words = arguments(server, images, out)
        process = subprocess.Popen([sys.executable, "-m", "snellen", *words], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(server.asked) < 40 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        before = len(server.asked)
        assert not (out / "items.jsonl").exists()
        code, printed = run(*words)
        assert code == 0, printed
        asked = [json.dumps(body, sort_keys=True) for body in server.asked]
    assert (out / "items.jsonl").read_bytes() == (made[0] / "items.jsonl").read_bytes()
    mine, others = decisions(out), decisions(made[0])
    assert {name: (one.action, one.rule) for name, one in mine.items()} == {
        name: (one.action, one.rule) for name, one in others.items()
    }
    # Only what was under way when the process ended is asked again.
    repeated = len(asked) - len(set(asked))
    assert repeated <= 24 < before < len(asked)
    code, printed = run(*words, "--json")
    assert code == 0
    result = json.loads(printed)
    assert (result["pictures"], result["items"], result["failed"]) == (21, 8, 0)
    assert result["by_rule"]["distractor-too-close"] == 4


def test_budget_stops_the_step_and_the_same_command_resumes(images: Path, tmp_path: Path) -> None:
    with scripted_server() as server:
        words = arguments(server, images, tmp_path / "set")
        code, printed = run(*words, "--budget", "100tok")
        assert code == 1
        assert "stopped: " in printed
        assert read_step(tmp_path / "set").status == "waiting"
        code, printed = run(*words)
        assert code == 0, printed


def test_failed_requests_are_decisions_and_asked_again(images: Path, tmp_path: Path) -> None:
    with scripted_server() as server:
        words = arguments(server, images, tmp_path / "set", "--requests", "retries=0")
        good = server.handler
        assert good is not None

        async def failing(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
            if "office work" in json.dumps(body):
                return web.json_response({"error": {"message": "overloaded"}}, status=503)
            return await good(request, body)

        server.handler = failing
        code, printed = run(*words)
        assert code == 1
        assert "1 picture failed" in printed
        assert decisions(tmp_path / "set")["office.png"].rule == "failed"
        server.handler = good
        code, printed = run(*words)
        assert code == 0, printed
        assert decisions(tmp_path / "set")["office.png"].action == "keep"


def test_a_check_that_cannot_be_made_flags_the_question(images: Path, tmp_path: Path) -> None:
    with scripted_server() as server:
        good = server.handler
        assert good is not None

        async def mute(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
            if "wrong answers could also be accepted" in json.dumps(body):
                return web.json_response(chat_reply("I had rather not say."))
            return await good(request, body)

        server.handler = mute
        code, printed = run(*arguments(server, images, tmp_path / "set"))
    assert code == 0, printed
    made = decisions(tmp_path / "set")
    flagged = {name for name, one in made.items() if one.action == "flag"}
    # What only the checker could have found stays as well, and all wait for a person.
    assert flagged == KEPT | {"lounge.png/scene-understanding/1"}
    assert {made[name].rule for name in flagged} == {"not-json"}
    assert {item.id for item in open_items(tmp_path / "set")} == flagged


def test_manifests_bring_captions_and_licences(images: Path, tmp_path: Path) -> None:
    rows = [
        {
            "id": "k",
            "image": str(images / "kitchen.png"),
            "license": "CC0-1.0",
            "source": "mine",
            "caption": "a kitchen , a cup and a book on a table near a plant and a lamp",
        },
        {"id": "o", "image": str(images / "office.png"), "source": "web"},
        {"id": "gone", "image": str(tmp_path / "gone.png"), "license": "CC0-1.0"},
        {"id": "gone", "license": "CC0-1.0"},
    ]
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with scripted_server() as server:
        words = arguments(server, manifest, tmp_path / "set", "--drop", "no-licence")
        code, printed = run(*words)
    assert code == 0, printed
    rules = {name: one.rule for name, one in decisions(tmp_path / "set").items()}
    assert rules["o"] == "no-license"
    assert rules["gone"] == rules["gone (row 4)"] == "unreadable"
    (item,) = open_items(tmp_path / "set")
    assert (item.label("license"), item.label("source"), item.label("picture")) == ("CC0-1.0", "mine", "k")


def test_clips_of_videos(images: Path, tmp_path: Path) -> None:
    row = {"id": "clip", "video": str(images / "door.mp4"), "start": 1, "end": 2.6}
    (tmp_path / "clips.jsonl").write_text(json.dumps(row) + "\n")
    with scripted_server() as server:
        code, printed = run(*arguments(server, tmp_path / "clips.jsonl", tmp_path / "set"))
    assert code == 0, printed
    recorded = open_recorded(str(tmp_path / "set" / "pictures.jsonl"), frozenset()).recorded
    # Seconds are those of the clip.
    spans = [(one.start, round(one.end, 3)) for one in recorded["clip"].moments]
    assert spans == [(0, 1), (0, 1.6), (1, 1.6)]
    (item,) = open_items(tmp_path / "set")
    source = item.sample.media[0].source
    assert (getattr(source, "start", None), getattr(source, "end", None)) == (1.0, 2.6)


@pytest.mark.release
def test_text_in_images_is_read_by_rapidocr(tmp_path: Path) -> None:
    scene = next(scene for scene in SCENES if scene.text)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "sign.png").write_bytes(draw(scene))
    with scripted_server() as server:
        model = f"{server.url}#tiny"
        code, printed = run(
            "curate",
            "questions",
            str(tmp_path / "pictures"),
            "--out",
            str(tmp_path / "set"),
            "--extract",
            f"caption={model}",
            "--extract",
            "text=rapidocr",
            "-m",
            model,
            "--dimension",
            "Text Recognition",
        )
    assert code == 0, printed
    (added,) = [one for one in decisions(tmp_path / "set").values() if one.action == "add"]
    assert [one.model for one in added.evidence] == ["tiny", "rapidocr", "tiny"]
    assert '"text":"EXIT 7"' in added.evidence[1].reply


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["NOWHERE", "--out", "x"], "there is no folder or manifest NOWHERE"),
        ([".", "--out", "x"], "holds no pictures and no videos"),
        (["."], "name the data set folder: --out DIR"),
        ([".", "--out", "x", "--dimension", "colour"], "unknown dimension 'colour'"),
        ([".", "--out", "x", "--dimension", "no.toml"], "cannot read no.toml"),
        ([".", "--out", "x", "--limits", "count=0"], "--limits count=0: expected 1 to 20 questions"),
    ],
)
def test_mistakes_give_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed = run("curate", "questions", *words)
    assert code == 2
    assert sentence in printed
    assert "Traceback" not in printed


def test_other_settings_need_another_folder(images: Path, made: tuple[Path, str]) -> None:
    with scripted_server() as server:
        code, printed = run(*arguments(server, images, made[0], "--seed", "7"))
    assert code == 2
    assert "another --out" in printed or "other settings" in printed
