"""The measuring harness runs through; what it measures is never asserted, for machines differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.perf.commits import interval  # noqa: E402
from benchmarks.perf.comparison import Comparison  # noqa: E402
from benchmarks.perf.document import NOT_SINCE, Results, missed, page  # noqa: E402
from benchmarks.perf.figures import Figure, figure, profiled  # noqa: E402
from benchmarks.perf.machine import this_machine  # noqa: E402
from benchmarks.perf.origin import FILES, ROOMS, bars_digest, changed_rooms, origin_of, room_path  # noqa: E402

COMMITTED = ROOT / "benchmarks" / "perf" / "results.json"
PARTS = [
    "startup",
    "engine",
    "scoring",
    "page",
    "memory",
    "tsv",
    "remote",
    "remote-memory",
    "compare",
    "view",
    "home",
    "statistics",
    "hashes",
]
LARGE = {"local", "ray", "gpu", "faults", "year", "store-size"}
"""Minutes, or gigabytes: the bundled models over and over, a cluster, a GPU, runs that wait for
timeouts, and a year of runs and stores of gigabytes (`make perf-scale`)."""


def perf(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.perf", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    file = tmp_path_factory.mktemp("perf") / "results.json"
    done = perf(*PARTS, "--size", "tiny", "--json", str(file))
    found = msgspec.json.decode(file.read_bytes(), type=Results)
    assert done.stderr.splitlines() == missed(found.parts)
    assert done.returncode == bool(missed(found.parts))
    assert all(part.title in done.stdout for part in found.parts)
    return found


@pytest.mark.release
def test_every_part_is_measured(results: Results) -> None:
    assert [part.name for part in results.parts] == PARTS
    for part in results.parts:
        for one in part.figures:
            assert one.low <= one.value <= one.high, one
        names = {one.name for one in part.figures} | {"python -c pass"}
        assert all(one.reference in names for one in part.figures if one.ratio is not None)
    assert results.machine.cores >= 1


@pytest.mark.release
def test_the_page_holds_every_figure(results: Results) -> None:
    text = page(results)
    for part in results.parts:
        assert f"## {part.title}" in text
        assert all(f"| {one.name} |" in text for one in part.figures)


def committed_results() -> Results:
    return msgspec.json.decode(COMMITTED.read_bytes(), type=Results)


def without_ages(text: str) -> list[str]:
    """The lines, but those that every change of the source changes."""
    return [line for line in text.splitlines() if not line.startswith(NOT_SINCE)]


def test_no_part_is_older_than_its_bars() -> None:
    """A bar that is changed is measured: `python -m benchmarks.perf PART --json RESULTS`."""
    for part in committed_results().parts:
        assert part.origin is not None, part.name
        assert part.origin.bars == bars_digest(part.name), f"{part.name}: measure it again"


@pytest.mark.release
def test_the_page_says_what_was_not_measured_since() -> None:
    """`python -m benchmarks.perf --page` writes it anew."""
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for part in committed_results().parts:
        section = text.partition(f"## {part.title}\n")[2].partition("\n## ")[0]
        assert part.origin is not None
        changed = changed_rooms(part.name, part.origin)
        assert (NOT_SINCE in section) == bool(changed), part.name
        assert all(room in section for room in changed)


def test_a_changed_bar_or_file_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert ROOMS.keys() == FILES.keys()
    assert all(room_path(room).exists() for rooms in ROOMS.values() for room in rooms)
    now = origin_of("remote", "tiny")
    assert changed_rooms("remote", now) == []
    other = msgspec.structs.replace(now, rooms={**now.rooms, "store": "another"})
    assert changed_rooms("remote", other) == ["store"]
    before = bars_digest("engine")
    for name, bars in {"same": "2.7", "other": "2.8"}.items():
        text = (COMMITTED.parent / "engine.py").read_text().replace("32.0, 2.7", f"32.0, {bars}")
        (tmp_path / f"{name}.py").write_text("# A comment is no bar.\n" + text)
    monkeypatch.setattr("benchmarks.perf.origin.HERE", tmp_path)
    monkeypatch.setitem(FILES, "engine", "same")
    assert bars_digest("engine") == before
    monkeypatch.setitem(FILES, "engine", "other")
    assert bars_digest("engine") != before


def test_a_bar_of_a_ratio_is_held_to_the_ratio() -> None:
    slow = figure("a", "s", [9.0], reference="bare", against=[2.0], ratio_bar=4.0)
    assert slow.verdict == "MISSED"
    assert figure("a", "s", [9.0], reference="bare", against=[3.0], ratio_bar=4.0).verdict == "met"
    assert Figure("a", "s", 1.0, 1.0, 1.0, 1).verdict == ""


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 1, 2, 5, 4], None),  # of five, both ends hold the median with 93.75 % only
        ([3, 1, 2, 5, 4, 6], (1, 6)),
        (list(range(20)), (5, 14)),  # the usual table of the sign test
    ],
)
def test_an_interval_of_the_median(values: list[float], expected: tuple[float, float] | None) -> None:
    assert interval(values) == expected


def test_the_committed_page_is_that_of_the_committed_results() -> None:
    results = committed_results()
    beside = msgspec.json.decode(COMMITTED.with_name("peers.json").read_bytes(), type=Comparison)
    others = [
        msgspec.json.decode(file.read_bytes(), type=Results)
        for name in ("gpu.json", "faults.json")
        if (file := COMMITTED.with_name(name)).exists()
    ]
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert without_ages(text) == without_ages(page(results, beside, *others))
    assert all(f"{one.name} {one.version}" in text or one.missing in text for one in beside.peers)


def test_every_part_has_a_file() -> None:
    assert {*PARTS, *LARGE} == set(FILES)


@pytest.mark.release
def test_the_steps_of_the_gpu_part_work_without_one() -> None:
    from benchmarks.perf.figures import SIZES
    from benchmarks.perf.gpu import measure
    from benchmarks.perf.large_model import TINY

    part = measure(SIZES["tiny"], "cpu", {"tiny": TINY})
    named = {one.name: one for one in part.figures}
    assert named["tiny: Snellen"].reference == "tiny: reference A"
    assert named["tiny: Snellen: largest batch"].value > 1
    assert {one.unit for one in part.figures} == {"samples/s", "prompts", "%"}
    here = this_machine()
    text = page(Results("perf", here, ()), None, Results("x", here, (part,)))
    assert "## Local models on a GPU" in text
    assert f"with `x` on {here.cores} cores" in text


def test_gpu_part_is_left_out_with_a_note_without_a_gpu(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    file = tmp_path / "gpu.json"
    done = perf("gpu", "--size", "tiny", "--json", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().startswith("No GPU is here that torch can use")
    assert msgspec.json.decode(file.read_bytes(), type=Results).parts == ()


def test_an_unknown_part_is_named() -> None:
    done = perf("startupp")
    assert done.returncode == 2
    assert "no measurement 'startupp'; expected startup" in done.stderr


def test_a_figure_compares_pair_by_pair() -> None:
    one = figure("work", "s", [4.0, 9.0, 2.0], reference="bare", against=[2.0, 3.0, 1.0], bar=3.5)
    assert (one.value, one.low, one.high, one.ratio) == (4.0, 2.0, 9.0, 2.0)
    assert one.verdict == "MISSED"
    assert figure("work", "s", [3.5], bar=3.5).verdict == "met"


def test_a_profile_finds_what_takes_the_time() -> None:
    slowest = profiled(lambda: sorted(range(300_000), key=str))
    assert "sorted" in slowest[0].what
    assert 50 < slowest[0].percent <= 100
