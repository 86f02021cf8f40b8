"""Shared by all tests: which of them run, what may be skipped, and a cache of their own.

Golden data are real predictions with officially computed scores. Sets whose licence allows it are
in `tests/golden`, and tests read them there. The others lie in the folder that `SNELLEN_GOLDEN`
names (or in `shared/golden` beside the checkout): a test that reads one says so,
`@pytest.mark.external_golden("set")`, and is left out where there is no such folder. Tests that
only a release runs are marked `release`. The closing lines count both.

A skip is an error unless `tests/allowed_skips.txt` has its reason.

What a shell or `nohup` starts in the background ignores Ctrl-C, and so do its children. The tests
press it in the children they start, so they take it back first. Every test has a time limit, from
pytest-timeout.

Failures are printed when they happen, and on SIGTERM the tests that are running: a run that is
ended from outside says why.

A test marked `attack("what is done", "what is promised")` is a row of docs/attacks.md;
`--attacks FILE` writes what came of each (see docs/attacks.py).
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings
from tests.kinds import Kinds, add_options

# A busy machine is no failure.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent / "tests"
# Synonyms for scores by METEOR, without a download.
os.environ["NLTK_DATA"] = str(TESTS / "differential" / "nltk")
LEFT_OUT = {
    "external_golden": "of golden data outside the repository were not run; set SNELLEN_GOLDEN",
    "release": "of a release were not run; make test-release runs them",
}


def external_home() -> Path | None:
    """The folder of the golden sets that are not in the repository, or None."""
    named = os.environ.get("SNELLEN_GOLDEN")
    home = Path(named) if named else TESTS.parents[1] / "shared" / "golden"
    if home.is_dir():
        return home
    if named:
        raise pytest.UsageError(f"SNELLEN_GOLDEN={named}: there is no such folder")
    return None


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """Folder of a golden set, or a file in it ("set/file"); fails where the test may not read the
    set or it is missing."""
    marks = [mark.args for mark in request.node.iter_markers("external_golden")]

    def folder(name: str) -> Path:
        part = name.partition("/")[0]
        home = external_home() if any(not args or part in args for args in marks) else None
        path = (home or TESTS / "golden") / name
        if not path.exists():
            pytest.fail(
                f"no golden set at {path}"
                + ("" if home else f" (not in the repository? mark it: external_golden({part!r}))")
            )
        return path

    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Indexes and downloads of the tests never touch the user's cache."""
    os.environ["SNELLEN_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["SNELLEN_CONSENTS"] = str(tmp_path_factory.mktemp("consents") / "consents.json")
    os.environ.pop("LMUData", None)


class Account:
    """Which tests were left out and which were skipped, over all worker processes."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.left_out = dict.fromkeys(LEFT_OUT, 0)
        self.skips: set[tuple[str, str]] = set()
        lines = (TESTS / "allowed_skips.txt").read_text(encoding="utf-8").splitlines()
        self.allowed = [re.compile(line) for line in lines if line and not line.startswith("#")]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        external = external_home() is not None
        release = "release" in self.config.option.markexpr
        kept = []
        for item in items:
            names = {mark.name for mark in item.iter_markers()}
            if "release" in names and not release:
                self.left_out["release"] += 1
            elif "external_golden" in names and not external:
                self.left_out["external_golden"] += 1
            else:
                kept.append(item)
        if len(kept) < len(items):
            remaining = set(kept)
            self.config.hook.pytest_deselected(items=[one for one in items if one not in remaining])
            items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skipped(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._skipped(report)

    def _skipped(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        # A skip's representation is (file, line, reason).
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        self.skips.add((report.nodeid, reason.removeprefix("Skipped: ")))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of pytest-xdist ends: each of them collected all tests, and ran some."""
        told = getattr(node, "workeroutput", {}).get("account")
        if told is not None:
            self.left_out = {name: max(n, told[0][name]) for name, n in self.left_out.items()}
            self.skips |= {(nodeid, reason) for nodeid, reason in told[1]}

    def refused(self) -> Iterator[tuple[str, str]]:
        for nodeid, reason in sorted(self.skips):
            if not any(pattern.search(reason) for pattern in self.allowed):
                yield nodeid, reason

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        worker = getattr(self.config, "workeroutput", None)
        if worker is not None:
            worker["account"] = (self.left_out, [list(skip) for skip in sorted(self.skips)])
        elif session.exitstatus == pytest.ExitCode.OK and any(self.refused()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for nodeid, reason in self.refused():
            terminalreporter.write_line(
                f"ERROR {nodeid}: skipped, and tests/allowed_skips.txt has no such reason: {reason}"
            )
        for name, count in self.left_out.items():
            if count:
                terminalreporter.write_line(f"{count} tests {LEFT_OUT[name]}")


def pytest_configure(config: pytest.Config) -> None:
    for line in (
        "attack(what, promise): what an attacker or a bad day does, and what is promised then",
        "external_golden(*sets): reads golden sets that are not in tests/golden (all: no names)",
        "row(what, page, partly, note): a row of docs/papers.md (see docs/paper_rows.py)",
        "release: slow and rarely broken; run by make test-release alone",
        "unit: starts no process, opens no port, imports no torch (tests/kinds.py)",
        "system: commands, servers, browsers, small models",
        "extended: slow, and rarely broken by a change elsewhere; make test runs a share of them",
    ):
        config.addinivalue_line("markers", line)
    config.pluginmanager.register(Account(config), "snellen-account")
    config.pluginmanager.register(Kinds(config), "snellen-kinds")
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(LiveFailures(config), "snellen-live-failures")
    if target := config.getoption("attacks", None):
        config.pluginmanager.register(Attacks(Path(target)), "snellen-attacks")


class LiveFailures:
    """Prints each failure when it happens, and on SIGTERM what is running."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.begun: dict[str, float] = {}
        signal.signal(signal.SIGTERM, self._interrupt)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.begun[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.begun.pop(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = crash.message if crash else str(report.longrepr)
            self._print(f"{report.when} of {report.nodeid}, {report.duration:.0f} s: {reason}")

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        now = time.monotonic()
        for nodeid, begun in self.begun.items():
            self._print(f"still running after {now - begun:.0f} s: {nodeid}")
        pytest.exit("ended by SIGTERM")

    def _print(self, line: str) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.write_line(f"\n{line[:600]}", flush=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--attacks", metavar="FILE", help="write what came of the attacks as JSON")
    add_options(parser)


def pytest_runtest_setup(item: pytest.Item) -> None:
    mark = item.get_closest_marker("attack")
    if mark is not None:
        item.user_properties.append(("attack", tuple(mark.args)))


class Attacks:
    """What came of the tests that are marked as attacks, all cases of a test together."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.rows: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        attack = dict(report.user_properties).get("attack")
        if attack is None or (report.when != "call" and not report.failed):
            return
        what, promise = attack
        test = report.nodeid.partition("[")[0]
        row = self.rows.setdefault(test, {"test": test, "attack": what, "promise": promise, "cases": 0, "held": 0})
        row["cases"] += 1
        row["held"] += report.passed

    def pytest_sessionfinish(self) -> None:
        rows = [self.rows[test] for test in sorted(self.rows)]
        text = json.dumps(rows, indent=1, ensure_ascii=False)
        self.target.write_text(text + "\n", encoding="utf-8")
