"""Three kinds of tests, by file (`tests/kinds.toml`), each a marker:

* `unit`: starts no process, opens no port and imports no torch; a test that does is an error;
* `system`: whole commands, servers, kills, browsers, small models;
* `extended`: every family of checkpoints, other people's scorers, pages of the documentation: slow,
  and rarely broken by a change elsewhere.

`--extended SHARE` runs files of the third kind that take a share of their time together, drawn by the
commit, so that every file has its turn; `--resume FILE` leaves out what has passed before at the same
content.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
KINDS = Path(__file__).with_name("kinds.toml")
UNIT, SYSTEM, EXTENDED = "unit", "system", "extended"
_PROCESSES = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})


def read_kinds(path: Path = KINDS) -> dict[str, str]:
    """The kind of each file or folder that is listed."""
    lists = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: kind for kind, names in lists.items() for name in names}


def read_seconds(path: Path = KINDS) -> dict[str, float]:
    """How long each file of extended tests takes."""
    return dict(tomllib.loads(path.read_text(encoding="utf-8")).get(EXTENDED, {}))


def kind_of(file: str, kinds: dict[str, str]) -> str:
    """The kind of a file, or that of the nearest folder above it that is listed."""
    path = Path(file)
    for name in (path, *path.parents):
        if name.as_posix() in kinds:
            return kinds[name.as_posix()]
    return UNIT


def draw_files(seconds: Mapping[str, float], share: float, commit: str) -> set[str]:
    """The files that run at a commit: in an order of its own, those that fit into a share of the time of all of
    them; the first one always, unless the share is 0."""
    left = share * sum(seconds.values())
    if left == 0:
        return set()
    drawn: set[str] = set()
    for file in sorted(seconds, key=lambda file: hashlib.sha256(f"{commit} {file}".encode()).digest()):
        if not drawn or seconds[file] <= left or share == 1:
            drawn.add(file)
            left -= seconds[file]
    return drawn


def current_commit() -> str:
    """The commit that is checked out; empty outside of a repository."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def parse_share(text: str) -> float:
    """Read a share, typed `0.2` or `20%`."""
    number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= number <= 1:
        raise ValueError(f"{text!r}: expected a share from 0 to 1, e.g. 20%")
    return number


class Kinds:
    """Marks tests by kind, draws those of the third, and watches those of the first."""

    def __init__(self, config: pytest.Config) -> None:
        self.kinds = read_kinds(config.rootpath / "tests" / KINDS.name)
        self.share = parse_share(config.getoption("--extended"))
        commit = current_commit() if 0 < self.share < 1 else ""
        self.drawn = draw_files(read_seconds(config.rootpath / "tests" / KINDS.name), self.share, commit)
        self.left_out = 0
        self.passed = Passed(config)
        self.watched = ""
        sys.addaudithook(self._audit)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept, left = [], []
        for item in items:
            file = item.path.relative_to(config.rootpath).as_posix()
            kind = kind_of(file, self.kinds)
            item.add_marker(kind)
            is_left = kind == EXTENDED and file not in self.drawn
            self.left_out += is_left
            (left if is_left or self.passed.has(item.nodeid) else kept).append(item)
        if left:
            config.hook.pytest_deselected(items=left)
            items[:] = kept

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        is_unit = item.get_closest_marker(UNIT) and not item.get_closest_marker("release")
        self.watched = item.nodeid if is_unit else ""
        yield
        self.watched = ""

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raises RuntimeError for what a unit test may not do."""
        if not self.watched:
            return
        if event in _PROCESSES:
            # Every run asks git for the commit of the code, once in a process.
            if event == "subprocess.Popen" and Path(str(arguments[0])).name == "git":
                return
            what = "starts a process"
        elif event == "socket.bind" and isinstance(arguments[1], tuple):
            what = "opens a port"
        elif event == "import" and arguments[0] == "torch":
            what = "imports torch"
        else:
            return
        name, self.watched = self.watched, ""
        raise RuntimeError(f"{name} {what}: list its file under `system` in tests/kinds.toml")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left_out:
            terminalreporter.write_line(
                f"{self.left_out} extended tests were not drawn at this commit; make test-all runs them"
            )


class Passed:
    """The tests that passed before at the same content of the repository, in a file."""

    def __init__(self, config: pytest.Config) -> None:
        named = config.getoption("--resume")
        self.file = Path(named) if named else None
        self.is_writer = self.file is not None and not hasattr(config, "workerinput")
        self.names: set[str] = set()
        if self.file is None:
            return
        content = repository_digest()
        lines = self.file.read_text("utf-8").splitlines() if self.file.exists() else []
        if lines and lines[0] == content:
            self.names = set(lines[1:])
        elif self.is_writer:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(f"{content}\n", encoding="utf-8")

    def has(self, name: str) -> bool:
        return name in self.names

    def add(self, name: str) -> None:
        if self.is_writer and self.file is not None:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(f"{name}\n")


def repository_digest() -> str:
    """A digest of the commit and of every change since."""
    changes = subprocess.run(["git", "diff", "HEAD"], cwd=ROOT, capture_output=True, check=False).stdout
    return hashlib.sha256(current_commit().encode() + changes).hexdigest()


def add_options(parser: pytest.Parser) -> None:
    parser.addoption(
        "--extended",
        metavar="SHARE",
        default="100%",
        help="the share of the time of all extended tests, for which files are drawn by the commit",
    )
    parser.addoption(
        "--resume",
        metavar="FILE",
        help="leave out tests that this file lists as passed at the same content, and add to it",
    )
