"""Names of other tools' benchmarks, without a process: what they mean, and what is listed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import msgspec
import pytest
from tests.bridge.proof import TABLE

from snellen.benchmarks.declaration.peers import PEERS, parse_peer_name
from snellen.benchmarks.declaration.registry import is_data_source, open_benchmark, own_name_of
from snellen.bridge import benchmark
from snellen.bridge.catalogue import peers_with, read_catalogue
from snellen.bridge.environment import LISTS, read_list
from snellen.bridge.flow import as_messages, find_order, generation_of, media_refs, with_media
from snellen.bridge.protocol import (
    CAME,
    ListedTask,
    MessageData,
    PartData,
    ProtocolError,
    SampleScore,
    read_line,
    read_result,
)
from snellen.bridge.summary import _factor
from snellen.bridge.write_catalogue import read_proof, shorten
from snellen.cli.main import main
from snellen.core.errors import UnknownName, UsageError
from snellen.core.media import InlineSource
from snellen.core.request import Generation, Media, Text
from snellen.core.sample import MediaRef


def test_a_prefix_names_a_tool() -> None:
    assert parse_peer_name("vlmevalkit/MMStar") == ("vlmevalkit", "MMStar")
    assert parse_peer_name("VLMEvalKit/MMStar") == ("vlmevalkit", "MMStar")
    assert parse_peer_name("mm-star") is None
    assert parse_peer_name("folder/MMStar") is None
    assert parse_peer_name("vlmevalkit/") is None
    assert not is_data_source("vlmevalkit/MMStar.tsv-like")


def test_a_name_that_another_tool_has_is_answered_with_the_command() -> None:
    assert dict(peers_with("apho_2025"))["vlmevalkit"] == "APhO_2025"
    with pytest.raises(UsageError, match="VLMEvalKit, which Snellen runs with its code: -b vlmevalkit/APhO_2025"):
        open_benchmark("APhO_2025")
    with pytest.raises(UnknownName):
        open_benchmark("no-benchmark-of-anybody")


def test_a_slip_of_the_pen_is_answered_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CHECKOUT", "PYTHON"):
        monkeypatch.delenv(f"SNELLEN_VLMEVALKIT_{variable}", raising=False)
    monkeypatch.setattr(benchmark, "worker_command", lambda *_: pytest.fail("the tool was started"))
    with pytest.raises(UnknownName, match="did you mean ZEROBench"):
        open_benchmark("vlmevalkit/zerobench")
    with pytest.raises(UsageError, match="-b vlmevalkit/ZEROBench or -b lmms-eval/zerobench"):
        open_benchmark("vlmevalki/ZEROBench")
    with pytest.raises(UnknownName, match="unknown benchmark 'folder/ZEROBench'"):
        open_benchmark("folder/ZEROBench")


def test_what_the_list_says_is_shown_without_the_tool(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "vlmevalkit/ZEROBench", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["benchmark"] == "vlmevalkit/ZEROBench"
    assert facts["Snellen's own"] == "zerobench"
    assert "e8e78f05" in facts["by"]
    assert main(["info", "inspect/mmmu_multiple_choice", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["needs"] == "a judge"


def test_settings_of_a_tool_are_those_of_the_request() -> None:
    usual = generation_of({})
    assert (usual.max_new_tokens, usual.temperature, usual.stop) == (2048, 0.0, ())
    drawn = generation_of({"temperature": 0.7, "top_p": 0.9, "top_k": 20, "stop": "END", "max_tokens": 16})
    assert drawn == Generation(max_new_tokens=16, temperature=0.7, top_p=0.9, top_k=20, stop=("END",))
    greedy = generation_of(json.loads('{"temperature": 0.0, "top_p": 0.9, "max_new_tokens": 512}'), 64)
    assert greedy == Generation(max_new_tokens=64)
    # Digests leave out defaults by identity.
    assert msgspec.json.decode(msgspec.json.encode(greedy)) == {"max_new_tokens": 64}


def test_the_list_of_a_tool_needs_no_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "benchmarks", "--from", "vlmevalkit"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line for line in lines if line.startswith("vlmevalkit/")]
    assert len(listed) == len(list(read_catalogue("vlmevalkit").tasks())) > 700
    assert any(line.split()[:4] == ["vlmevalkit/MMStar", "image", "choice", "mmstar"] for line in listed)
    assert main(["list", "benchmarks", "--from", "inspect"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ["inspect/mathvista", "image", "mathvista"] in [line.split()[:3] for line in lines]
    # Another benchmark of that name, and one of which Inspect says neither inputs nor kind.
    assert ["inspect/worldsense", "unknown"] in [line.split()[:2] for line in lines]
    assert main(["list", "benchmarks", "--from", "nobody"]) == 2
    assert main(["list", "models", "--from", "vlmevalkit"]) == 2


@pytest.mark.parametrize(
    ("peer", "proof"), [("vlmevalkit", "proof"), ("lmms-eval", "proof_lmms_eval"), ("inspect", "proof_inspect")]
)
def test_the_list_says_what_came_of_each_proof(peer: str, proof: str) -> None:
    listed = {task.name: task for task in read_catalogue(peer).tasks()}
    came = dict(read_proof(TABLE.with_name(f"{proof}.json")))
    assert len([name for name, (kind, _) in came.items() if kind == "same"]) >= 40
    for name, (kind, why) in came.items():
        assert (listed[name].came, listed[name].why) == (kind, why), name
        assert listed[name].status.split(":")[0] in {*CAME.values(), "broken there"}, name


def test_a_status_is_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert ListedTask("one").status == "not tried"
    assert ListedTask("one", came="same").status == "runs here"
    assert ListedTask("one", came="data", broken="no method").status == "broken there: no method"
    assert main(["info", "vlmevalkit/POPE", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "runs here"
    assert shorten("no file /home/me/VLMEvalKit/vlmeval/x.py") == "no file x.py"


@pytest.mark.parametrize("file", sorted(LISTS.glob("*.toml")), ids=lambda file: file.stem)
def test_a_list_of_packages_is_one_that_uv_reads(file: Path) -> None:
    assert file.stem in PEERS
    listed = read_list(file.stem)
    lines = listed.script().splitlines()
    assert (lines[0], lines[-1]) == ("# /// script", "# ///")
    header = tomllib.loads("\n".join(line.removeprefix("# ") for line in lines[1:-1]))
    assert header == {"requires-python": listed.python, "dependencies": list(listed.packages)}
    assert bool(listed.code) == bool(listed.commit)


QUESTION = (
    MessageData("system", (PartData("text", "Be brief."),)),
    MessageData(
        "user", (PartData("image", path="/m/aa.png"), PartData("text", "and"), PartData("image", path="/m/bb.jpg"))
    ),
)


def test_media_stand_in_their_places_whatever_a_control_makes_of_them() -> None:
    assert [ref.digest for ref in media_refs(QUESTION)] == ["aa", "bb"]
    same = with_media(QUESTION, list(media_refs(QUESTION)))
    assert same == as_messages(QUESTION)
    black = [MediaRef(name, InlineSource(b"")) for name in ("cc", "dd")]
    assert with_media(QUESTION, black)[1].parts == (Media("image", "cc"), Text("and"), Media("image", "dd"))
    assert with_media(QUESTION, [])[1].parts == (Text("and"),)
    assert with_media(QUESTION, black[:1])[1].parts == (Media("image", "cc"), Text("and"))


@pytest.mark.parametrize(
    ("shown", "gold", "order"),
    [
        ("abba", "A", ()),
        ("aabb", "B", (3, 0, 1, 2)),
        ("abba", "D", (3, 1, 2, 0)),
        ("baab", "B", (1, 0, 3, 2)),
        ("bbaa", "D", (1, 2, 3, 0)),
        ("xyzw", "A", ()),
    ],
)
def test_options_of_one_text_are_told_apart_by_the_gold_one(shown: str, gold: str, order: tuple[int, ...]) -> None:
    own = dict(zip("ABCD", "abba", strict=True))
    if shown == "xyzw":
        assert find_order(own, ["A"], dict(zip("EFGH", shown, strict=True)), ["E"]) == order
        return
    assert find_order(own, ["A"], dict(zip("ABCD", shown, strict=True)), [gold]) == order


@pytest.mark.parametrize(
    ("value", "mean", "scale", "factor"),
    [
        (0.25, 25.0, None, 100.0),
        (25.0, 25.0, None, 1.0),
        (0.0, 0.0, None, 1.0),
        (7.5, 25.0, None, None),
        (7.5, None, None, None),
        (0.5, None, 1.0, 100.0),
    ],
)
def test_the_scale_of_a_number_is_known_or_found_by_the_mean(
    value: float, mean: float | None, scale: float | None, factor: float | None
) -> None:
    assert _factor(value, mean, scale) == factor


@pytest.mark.parametrize("line", [b"hello", b"{}", b'{"id": 1, "ask": 2}', b'{"id": "one"}', b"\xff"])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_line(line)


def test_a_result_must_fit() -> None:
    good = read_line(b'{"id": 1, "result": {"values": {"hit": true}, "correct": 1, "more": 3}}')
    assert read_result(good, SampleScore).correct == 1
    with pytest.raises(ProtocolError, match="does not fit"):
        read_result(read_line(b'{"id": 1, "result": {"values": 3}}'), SampleScore)
    with pytest.raises(ProtocolError, match="does not fit"):
        read_result(read_line(b'{"id": 1}'), SampleScore)


def test_the_proof_says_what_came_of_each_task() -> None:
    """Written by `make bridge`."""
    proven = json.loads(TABLE.read_text())
    assert proven["commit"] == read_catalogue("vlmevalkit").commit
    names = {task.name for task in read_catalogue("vlmevalkit").tasks()}
    for task, line in proven["tasks"].items():
        assert task in names
        assert line["came"] in {
            "same",
            "differs",
            "data",
            "needs",
            "peer",
            "judge",
            "usage",
            "lost",
            "key",
            "broken there",
            "no numbers",
        }
        if line["came"] == "same":
            assert line["rows"] > 0
            assert line["numbers"] > 0
        else:
            assert line["why"]
    assert not [task for task, line in proven["tasks"].items() if line["came"] == "differs"]


def test_the_list_names_the_benchmark_of_the_exact_spelling() -> None:
    """Two families have names that differ in case alone."""
    assert own_name_of("MMBench_DEV_EN", "vlmevalkit") == "mmbench"
    assert own_name_of("MMBench_dev_en", "vlmevalkit") == "mtl-mmbench"
    assert own_name_of("POPE", "vlmevalkit") == own_name_of("pope", "lmms-eval") == "pope"
