"""`make package`: builds the wheel and the source distribution, checks what is in them, and uses
the wheel in new environments as a user would.

    python release/package.py [--uv PATH] [--python PATH] [--contents]

With `--contents` it stops once the files are checked. Environments lie in a temporary folder; the
files are left in dist/.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


class Package(NamedTuple):
    """A distribution of the repository: its folder, and that of its Python files."""

    folder: Path
    source: Path
    data: tuple[str, ...] = ()
    """Folders beside its sources that its wheel holds inside of the package."""

    @property
    def module(self) -> str:
        return self.source.name


PACKAGES = (
    Package(ROOT, ROOT / "src" / "snellen", ("zoo",)),
    Package(ROOT / "packages" / "curate", ROOT / "packages" / "curate" / "src" / "snellen_curate"),
    Package(ROOT / "packages" / "hub", ROOT / "packages" / "hub" / "src" / "snellen_hub"),
)
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
LIGHT_EXTRAS = ("api", "mcp", "pdf", "maths", "video", "plots")
"""Extras whose resolution takes seconds; `hf` is resolved as well."""
BUNDLED = (
    "snellen/benchmarks/data/eyechart.tsv",
    "snellen/benchmarks/data/eyechart_pages.tsv",
    "snellen/benchmarks/data/eyechart_places.tsv",
    "snellen/models/weights/tiny/model.safetensors",
    "snellen/models/weights/tiny-early/model.safetensors",
    "snellen/zoo/internvl.py",
)
FOREIGN = ("tests", "training", "simulations", "docs", "benchmarks/perf", "packages", ".git", "snellen-results")
"""What must be in neither file."""


class UserCommand(NamedTuple):
    """A command in a new environment: what it prints, and its exit code."""

    words: tuple[str, ...]
    prints: str
    code: int = 0


COMMANDS = (
    UserCommand(("snellen", "--version"), "snellen "),
    UserCommand(("python", "-m", "snellen", "--version"), "snellen "),
    UserCommand(("snellen", "doctor"), "ok"),
    UserCommand(("python", "-m", "snellen", "run", "-m", "random", "-b", "eyechart", "--limit", "4"), "eyechart"),
    UserCommand(("snellen", "completion", "bash"), "complete -F _snellen snellen"),
    UserCommand(("snellen", "run", "-m", "snellen/tiny", "-b", "eyechart"), "pip install 'snellen[hf]'", 2),
    UserCommand(
        ("snellen", "run", "-m", "openai/gpt-4o", "-b", "eyechart", "--limit", "1"), "pip install 'snellen[api]'", 2
    ),
    UserCommand(("snellen", "mcp", "."), "pip install 'snellen[mcp]'", 2),
    UserCommand(("snellen", "run", "-m", "random", "-b", "hf://acme/none?split=test"), "pip install 'snellen[hf]'", 2),
    UserCommand(("snellen", "curate"), "needs the package snellen-curate", 2),
    UserCommand(("snellen", "hub"), "needs the package snellen-hub", 2),
)
COMMANDS_OF_ALL = (
    UserCommand(("snellen", "curate", "filter", "--help"), "usage: snellen curate filter"),
    UserCommand(("snellen", "hub", "doctor", "none"), "none holds no hub", 2),
)
"""Commands where all packages are installed."""


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Build the package and use it.")
    parser.add_argument("--uv", default=shutil.which("uv") or "uv", metavar="PATH")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PATH",
        help="a further Python to install the wheel for; repeat for several",
    )
    parser.add_argument("--contents", action="store_true", help="stop once the files are checked")
    arguments = parser.parse_args(argv)
    tool = Uv(arguments.uv)
    built, problems = [], []
    for old in DIST.glob("snellen*"):
        old.unlink()
    for package in PACKAGES:
        wheel, source = tool.build(package)
        found = [*check_wheel(wheel, package), *check_source(source)]
        tell(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {source.name} beside it", found)
        built.append(wheel)
        problems += found
    wheel = built[0]
    if arguments.contents or problems:
        return bool(problems)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for resolution in ("lowest-direct", "highest"):
            problems += tool.try_wheel(wheel, folder / resolution, VERSIONS[0], resolution)
        for version in VERSIONS[1:]:
            if tool.has_python(version):
                problems += tool.try_wheel(wheel, folder / version, version, "highest")
            problems += tool.check_resolution(version)
        for index, python in enumerate(arguments.python):
            problems += tool.try_wheel(wheel, folder / f"python-{index}", python, "highest")
        problems += tool.try_wheels(built, folder / "all", VERSIONS[0])
        problems += tool.try_tool_install(wheel, folder / "tools")
    return bool(problems)


def tell(what: str, problems: Sequence[str]) -> None:
    print(f"{'FAILED' if problems else 'ok    '}  {what}", flush=True)
    for problem in problems:
        print(f"        {problem}", flush=True)


def check_wheel(wheel: Path, package: Package) -> Iterator[str]:
    """Sentences about what is in the wheel and should not be, or is not and should."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    own = {name for name in names if name.startswith(f"{package.module}/")}
    information = {name for name in names if ".dist-info/" in name}
    for name in sorted(names - own - information):
        yield f"{name} is no part of the package"
    tracked = {f"{package.module}/{path}" for path in _tracked_files(package)}
    for name in sorted(tracked - own):
        yield f"{name} is missing"
    for name in sorted(own - tracked):
        yield f"{name} is not tracked by git"
    for name in (f"{package.module}/py.typed", *(BUNDLED if package is PACKAGES[0] else ())):
        if name not in names:
            yield f"{name} is missing"
    for name in ("licenses/LICENSE", "entry_points.txt", "METADATA"):
        if not any(entry.endswith(f".dist-info/{name}") for entry in information):
            yield f"{name} is missing from the wheel's information"


def check_source(source: Path) -> Iterator[str]:
    """As `check_wheel`, of the source distribution."""
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("pyproject.toml", "LICENSE", "README.md", "PKG-INFO"):
        if name not in names:
            yield f"{name} is missing from {source.name}"
    for folder in FOREIGN:
        if any(name == folder or name.startswith(f"{folder}/") for name in names):
            yield f"{folder} is in {source.name}"


def _tracked_files(package: Package) -> list[str]:
    """What git tracks of a package, as paths inside of it."""
    own = _git_files(package.source, ".")
    return [*own, *(name for folder in package.data for name in _git_files(package.folder, folder))]


def _git_files(folder: Path, below: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z", below], cwd=folder, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name]


class Uv:
    """What `uv` is asked for. Its cache is shared, its environments are new."""

    def __init__(self, path: str) -> None:
        self.path = path

    def run(self, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.path, "--quiet", *map(str, words)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env=_environment() | environment,
        )

    def build(self, package: Package) -> tuple[Path, Path]:
        """The wheel, which is built from the source distribution, and that. Ends the program if
        the build fails."""
        done = self.run("build", "--out-dir", DIST, package.folder)
        if done.returncode:
            sys.exit(f"the build failed: {done.stderr.strip()}")
        (wheel,) = DIST.glob(f"{package.module}-*.whl")
        (source,) = DIST.glob(f"{package.module}-*.tar.gz")
        return wheel, source

    def has_python(self, version: str) -> bool:
        return self.run("python", "find", "--no-python-downloads", version).returncode == 0

    def try_wheel(self, wheel: Path, folder: Path, python: str, resolution: str) -> list[str]:
        """Install the wheel into a new environment, and run `COMMANDS` there."""
        what = f"Python {python}, {resolution} dependencies: installed and used"
        done = self.run("venv", "--no-python-downloads", "--python", python, folder)
        if not done.returncode:
            done = self.run("pip", "install", "--python", folder / "bin" / "python", "--resolution", resolution, wheel)
        problems = [done.stderr.strip()] if done.returncode else []
        problems = problems or list(_use(folder / "bin", folder, COMMANDS))
        tell(what, problems)
        return problems

    def try_wheels(self, wheels: Sequence[Path], folder: Path, python: str) -> list[str]:
        """Install all packages into a new environment, and run `COMMANDS_OF_ALL` there."""
        done = self.run("venv", "--no-python-downloads", "--python", python, folder)
        if not done.returncode:
            done = self.run("pip", "install", "--python", folder / "bin" / "python", *wheels)
        problems = [done.stderr.strip()] if done.returncode else []
        if not problems:
            problems = list(_use(folder / "bin", folder, COMMANDS_OF_ALL))
        tell(f"Python {python}, all packages: installed and used", problems)
        return problems

    def check_resolution(self, version: str) -> list[str]:
        """Whether the dependencies of that Python can be chosen, with what extras need."""
        problems = []
        for extras in ((), LIGHT_EXTRAS, ("hf",)):
            flags = [word for extra in extras for word in ("--extra", extra)]
            for resolution in ("lowest-direct", "highest"):
                done = self.run(
                    "pip",
                    "compile",
                    "pyproject.toml",
                    "--python-version",
                    version,
                    "--resolution",
                    resolution,
                    "--output-file",
                    os.devnull,
                    *flags,
                )
                if done.returncode:
                    named = f"[{','.join(extras)}]" if extras else ""
                    problems.append(f"snellen{named}, {resolution}: {done.stderr.strip()}")
        tell(f"Python {version}: dependencies resolve", problems)
        return problems

    def try_tool_install(self, wheel: Path, folder: Path) -> list[str]:
        """`uv tool install`, into folders of its own."""
        places = {"UV_TOOL_DIR": str(folder), "UV_TOOL_BIN_DIR": str(folder / "bin")}
        done = self.run("tool", "install", wheel, **places)
        problems = [done.stderr.strip()] if done.returncode else []
        if not problems:
            problems = list(_use(folder / "bin", folder, COMMANDS, only="snellen"))
        tell("uv tool install: installed and used", problems)
        return problems


def _use(programs: Path, folder: Path, commands: Sequence[UserCommand], only: str = "") -> Iterator[str]:
    """Sentences about commands that did otherwise than they should."""
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    environment = _environment() | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "SNELLEN_CACHE": str(work / "cache"),
        "OPENAI_API_KEY": "none",
    }
    for command in commands:
        if only and command.words[0] != only:
            continue
        program = programs / command.words[0]
        done = subprocess.run(
            [str(program), *command.words[1:]], cwd=work, capture_output=True, text=True, env=environment
        )
        printed = done.stdout + done.stderr
        if done.returncode != command.code or command.prints not in printed:
            last = " ".join(printed.split())[-300:]
            yield (
                f"{' '.join(command.words)}: exit code {done.returncode} (expected "
                f"{command.code}), printed {last!r} (expected {command.prints!r})"
            )


def _environment() -> dict[str, str]:
    """The environment without what would make a new one see this checkout's packages."""
    left_out = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in left_out}


if __name__ == "__main__":
    with (ROOT / "pyproject.toml").open("rb") as file:
        print(f"snellen {tomllib.load(file)['project']['version']}")
    sys.exit(main(sys.argv[1:]))
