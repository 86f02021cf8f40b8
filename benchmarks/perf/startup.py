"""Starting up: what `import snellen` and `snellen --help` cost over an empty Python."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from benchmarks.perf.figures import Figure, Part, Share, Size, figure, seconds

METHOD = (
    "Each command is started in turn, round after round; a figure is the time of a round's "
    "command less that of the same round's empty Python."
)
IMPORT_BAR, HELP_BAR = 2.5, 5.0
"""Times an empty Python."""
_PASS = [sys.executable, "-c", "pass"]
_IMPORT = [sys.executable, "-c", "import snellen"]
_IMPORTED = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|( +)(\S+)")


def measure(size: Size) -> Part:
    commands = {"empty": _PASS, "import": _IMPORT, "help": _help()}
    for command in commands.values():
        _started(command)  # Fills the file cache and writes the bytecode.
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(size.starts):
        for name, command in commands.items():
            taken[name].append(1000 * seconds(lambda command=command: _started(command)))
    return Part("startup", "Starting up", METHOD, tuple(_figures(taken)), tuple(_slow_imports()))


def _figures(taken: dict[str, list[float]]) -> list[Figure]:
    empty = taken["empty"]

    def over(name: str) -> list[float]:
        return [a - b for a, b in zip(taken[name], empty, strict=True)]

    return [
        figure("python -c pass", "ms", empty),
        figure("import snellen, over that", "ms", over("import")),
        figure("snellen --help, over that", "ms", over("help")),
        figure(
            "import snellen, whole",
            "ms",
            taken["import"],
            reference="python -c pass",
            against=empty,
            ratio_bar=IMPORT_BAR,
        ),
        figure(
            "snellen --help, whole", "ms", taken["help"], reference="python -c pass", against=empty, ratio_bar=HELP_BAR
        ),
    ]


def _help() -> list[str]:
    script = Path(sys.executable).with_name("snellen")
    command = [str(script)] if script.exists() else [sys.executable, "-m", "snellen"]
    return [*command, "--help"]


def _started(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _slow_imports(most: int = 6) -> list[Share]:
    """The modules whose own code took longest to import, as shares of all importing."""
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "snellen", "--help"], capture_output=True, text=True, check=True
    ).stderr
    own = {match[4]: int(match[1]) for match in _IMPORTED.finditer(told)}
    total = sum(own.values())
    slowest = sorted(own.items(), key=lambda item: item[1], reverse=True)[:most]
    return [Share(f"import {name}", 100 * took / total) for name, took in slowest]
