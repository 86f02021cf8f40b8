"""What is promised to stay as it is, and the command that freezes it anew (see README.md).

python tests/promises/freeze.py PROMISE ... --because SENTENCE
python tests/promises/freeze.py --new
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from snellen.analysis.card_file import CanonicalFile, canonical_files, stored_cards
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.cli import main as snellen
from snellen.core.benchmark import Variant
from snellen.core.request import request_digest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MANIFEST = HERE / "promises.json"
OUTPUTS = HERE / "outputs"
LAYOUTS = ROOT / "tests" / "benchmarks" / "layouts"
EVIDENCE = ROOT / "src" / "snellen" / "benchmarks" / "data" / "evidence.json"
VERDICTS = ROOT / "tests" / "differential" / "sets"
KEPT = (ROOT / "tests" / "store" / "kept", ROOT / "tests" / "store" / "schemas")
PAGES = ("README.md", "docs/getting-started.md")
"""Pages whose commands are typed."""
SHOWN = (*PAGES, "docs/getting-started.md#In Python", "docs/getting-started.md#With an API")
"""Pages whose shown output is frozen, and sections that are frozen apart from the rest of their
page; tests/docs hold them to what commands print."""
IDENTITY = "0" * 64
"""Identity digest of the model that the requests are made for."""
QUESTIONS = 12
"""Questions of a benchmark whose requests are frozen."""

_FENCE = re.compile(r"((?:^<!-- [^\n]+ -->\n)*)^```(?:console|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^<!-- file: ([^\n]+) -->\n+^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEEDS_WEIGHTS = re.compile(r"(?:snellen/|hf/|https?://)")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def card_digests() -> dict[str, str]:
    """Digests of the stored protocol cards, by the name of their canonical file."""
    return {name: f"{card.version} {card.digest}" for name, card in stored_cards().items()}


def verdict_digests() -> dict[str, str]:
    """Digests of the evidence and of the stored verdicts of other people's scorers, by file."""
    files = (EVIDENCE, *sorted(VERDICTS.iterdir()))
    return {path.name: _digest(path.read_bytes()) for path in files}


def run_digests() -> dict[str, str]:
    """Digests of the files of stored runs and stores, by path."""
    paths = sorted(path for home in KEPT for path in home.rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT / "tests").as_posix(): _digest(path.read_bytes())
        for path in paths
        if "__pycache__" not in path.parts
    }


def request_digests() -> dict[str, str]:
    """Digests of the first requests of every benchmark's first questions, by canonical file."""
    return {canonical.key: _requests(canonical) for canonical in canonical_files(LAYOUTS)}


def _requests(canonical: CanonicalFile) -> str:
    variant = Variant(data=str(canonical.path), options=canonical.options)
    benchmark = open_benchmark(canonical.benchmark, variant)
    digests = []
    for sample in islice(benchmark.samples(benchmark.open()), QUESTIONS):
        prepared = benchmark.prepare(sample) if benchmark.prepare else sample
        request = next(benchmark.flow(prepared), None)
        digests.append(b"" if request is None else request_digest(request, IDENTITY))
    return f"{len(digests)} {_digest(b' '.join(digests))}"


def shown_digests() -> dict[str, str]:
    """Digests of the commands and outputs that pages show, by page or `page#section`."""
    return {name: _digest("".join(_blocks(name)).encode()) for name in SHOWN}


def _blocks(name: str) -> Iterator[str]:
    page = name.partition("#")[0]
    for section in re.split(r"^## ", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE):
        heading = section.partition("\n")[0]
        apart = f"{page}#{heading}"
        if name == (apart if apart in SHOWN else page):
            yield from (block for _, block in _FENCE.findall(section))


def command_output(page: str) -> str:
    """What the commands of a page print that need neither weights nor a server. The page is
    followed from its start in a folder with the examples."""
    text = (ROOT / page).read_text(encoding="utf-8")
    columns, folder = os.environ.get("COLUMNS"), Path.cwd()
    with tempfile.TemporaryDirectory() as home:
        shutil.copytree(ROOT / "examples", home, dirs_exist_ok=True)
        os.chdir(home)
        os.environ["COLUMNS"] = "120"
        try:
            for name, content in _FILE.findall(text):
                Path(name).write_text(content, encoding="utf-8")
            return "\n".join(_typed(command, home) for command in _commands(text)) + "\n"
        finally:
            os.chdir(folder)
            if columns is None:
                del os.environ["COLUMNS"]
            else:
                os.environ["COLUMNS"] = columns


def _commands(text: str) -> Iterator[str]:
    for marks, block in _FENCE.findall(text):
        if "not run" in marks:
            continue
        for line in block.splitlines():
            if line.startswith("$ snellen ") and not _NEEDS_WEIGHTS.search(line):
                yield line.removeprefix("$ ")


def _typed(command: str, home: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = snellen(shlex.split(command)[1:])
        except SystemExit as stop:  # argparse: --help, --version, a wrong flag
            code = int(stop.code or 0)
    lines = [_without_times(line.rstrip(), home) for line in out.getvalue().splitlines()]
    # A slow machine prints how far a run is.
    lines = [line for line in lines if not line.endswith("about DURATION left")]
    return "\n".join([f"$ {command}", *lines, f"[{code}]", ""])


def _without_times(line: str, home: str) -> str:
    """A line without the folder, and without what differs from one second to the next."""
    line = line.replace(str(Path(home).resolve()), "FOLDER").replace(home, "FOLDER")
    line = re.sub(r"\b[\d,.]+/s\b", "RATE", line)
    line = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?", "TIME", line)
    line = re.sub(r"\bstored on \d{4}-\d\d-\d\d\b", "stored on DAY", line)
    return re.sub(r"\b\d+(\.\d+)? ?(ms|s|min)\b", "DURATION", line)


DIGESTS: Mapping[str, Callable[[], dict[str, str]]] = {
    "cards": card_digests,
    "verdicts": verdict_digests,
    "runs": run_digests,
    "requests": request_digests,
    "shown": shown_digests,
}


def frozen() -> dict[str, dict[str, str]]:
    """The frozen digests, by promise and name."""
    promises: dict[str, dict[str, str]] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    return {name: promises[name] for name in DIGESTS}


def frozen_output(page: str) -> Path:
    """The file with what a page's commands printed when it was frozen."""
    return OUTPUTS / f"{Path(page).stem}.txt"


def main() -> int:
    """Freeze promises anew, or add what is new; exit code 2 if something changed unnamed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("promises", nargs="*", choices=[*DIGESTS, "outputs", []])
    parser.add_argument("--because", metavar="SENTENCE", help="why they are frozen anew")
    parser.add_argument("--new", action="store_true", help="add what was not frozen before")
    chosen = parser.parse_args()
    if bool(chosen.promises) != bool(chosen.because) or bool(chosen.promises) == chosen.new:
        parser.error("name promises with --because SENTENCE, or give --new alone")
    stored = json.loads(MANIFEST.read_text(encoding="utf-8")) if MANIFEST.is_file() else {}
    for name, compute in DIGESTS.items():
        if name in chosen.promises:
            stored[name] = compute()
        elif chosen.new:
            old = stored.get(name, {})
            stored[name] = dict(sorted({**compute(), **old}.items()))
    if "outputs" in chosen.promises:
        OUTPUTS.mkdir(exist_ok=True)
        for page in PAGES:
            frozen_output(page).write_text(command_output(page), encoding="utf-8")
    if chosen.because:
        change = {"promises": chosen.promises, "because": chosen.because}
        stored.setdefault("changes", []).append(change)
    MANIFEST.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
