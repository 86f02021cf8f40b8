"""The authors' METEOR 1.5, a Java program of 6 MB with 62 MB of paraphrases, from the package
`pycocoevalcap`.

It is started once for a set of captions, scores all of them, and exits: about 6 seconds to load the
paraphrases and 3 ms per caption, with up to 2 GB of memory. Its output is cached, so that a report
that is built again does not start it.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from snellen.core.atomic_write import atomic_file
from snellen.core.errors import MissingExtra, UsageError
from snellen.scoring.captions.meteor import MeteorCounts, meteor_counts

EXTRA = "meteor"
_PACKAGE = "pycocoevalcap"
_PROGRAM = Path("meteor", "meteor-1.5.jar")
_JAVA = ("-Xmx2G", "-XX:+UseParallelGC", "-Dfile.encoding=UTF-8")
_ENGLISH = ("-", "-", "-stdio", "-l", "en", "-norm")
_BAR = "|||"
_START_SECONDS, _CAPTION_SECONDS = 600.0, 1.0

Words = Sequence[str]


class CaptionWithReferences(NamedTuple):
    """A caption and its references, as words."""

    caption: Words
    references: Sequence[Words]


def caption_counts(captions: Sequence[CaptionWithReferences], cache: Path) -> list[MeteorCounts]:
    """The counts of each caption, from the cache or from the program.

    Raises:
        MissingExtra: the package is not installed.
        UsageError: there is no Java runtime, or the program failed.
    """
    requests = "".join(f"{_request_line(item)}\n" for item in captions)
    cache_file = cache / "meteor" / f"{hashlib.sha256(requests.encode()).hexdigest()}.txt"
    counts = _read_cached(cache_file, len(captions))
    if counts is None:
        program_output = _run_program(requests, len(captions))
        counts = _parse_counts(program_output, len(captions))
        if counts is None:
            raise UsageError(
                f"METEOR's program gave {len(program_output.splitlines())} lines of counts for "
                f"{len(captions)} captions; expected one for each"
            )
        _write_cache(cache_file, program_output)
    return counts


def _request_line(item: CaptionWithReferences) -> str:
    texts = [" ".join(words) for words in (*item.references, item.caption)]
    # The protocol separates texts by bars and requests by line breaks.
    plain = [" ".join(text.replace(_BAR, " ").split()) for text in texts]
    return f" {_BAR} ".join(("SCORE", *plain))


def _run_program(requests: str, captions: int) -> str:
    """Send the requests to the Java program and return its output.

    Raises MissingExtra and UsageError as `caption_counts` does.
    """
    program = _program()
    java = shutil.which("java")
    if java is None:
        raise UsageError(
            "METEOR needs a Java runtime, and there is no `java` on the path; install one, e.g. "
            "Debian's default-jre-headless"
        )
    limit = _START_SECONDS + _CAPTION_SECONDS * captions
    try:
        process = subprocess.run(
            [java, *_JAVA, "-jar", str(program), *_ENGLISH],
            input=requests.encode(),
            capture_output=True,
            timeout=limit,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"METEOR: cannot start {java}: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"METEOR's program took more than {limit:.0f} s and was stopped") from error
    if process.returncode:
        lines = process.stderr.decode(errors="replace").strip().splitlines()
        first_error = f": {lines[0]}" if lines else ""
        raise UsageError(f"METEOR's program ended with exit code {process.returncode}{first_error}")
    return process.stdout.decode(errors="replace")


def _program() -> Path:
    spec = find_spec(_PACKAGE)
    for folder in spec.submodule_search_locations or () if spec else ():
        if (Path(folder) / _PROGRAM).is_file():
            return Path(folder) / _PROGRAM
    raise MissingExtra("METEOR", EXTRA, _PACKAGE)


def _parse_counts(text: str, captions: int) -> list[MeteorCounts] | None:
    try:
        counts = [meteor_counts(line) for line in text.splitlines()]
    except ValueError:
        return None
    return counts if len(counts) == captions else None


def _read_cached(cache_file: Path, captions: int) -> list[MeteorCounts] | None:
    try:
        return _parse_counts(cache_file.read_text(encoding="utf-8"), captions)
    except (OSError, UnicodeDecodeError):
        return None


def _write_cache(cache_file: Path, program_output: str) -> None:
    with contextlib.suppress(OSError):  # an unwritable cache only costs time
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(cache_file) as part:
            part.write_text(program_output, encoding="utf-8")
