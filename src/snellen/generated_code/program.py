"""Runs a matplotlib program in a limited process, and reads what it reports of its chart in another
one: as hostile input, since a program can write its report itself."""

from __future__ import annotations

import functools
import importlib.util
import random
import runpy
import sys
import warnings
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from snellen.core.errors import MediaError
from snellen.core.media import check_image
from snellen.core.output import Failure, Generated, Output
from snellen.generated_code.charts import PROGRAM_LIBRARIES, ChartContents, ObservedChart, observe_charts
from snellen.generated_code.limits import MB, ProgramFailure, ProgramLimits
from snellen.generated_code.messages import describe_exception

READ_LIMITS = ProgramLimits(cpu_seconds=20, wall_seconds=30.0, memory_mb=1024)
"""Of the process that reads a report."""
_MOST_CONTENTS = 4 * MB
"""Longest contents of a chart, encoded."""
_MOST_WORDS = 1000

Wanted = Literal["contents", "picture"]
"""What is asked of a program: what its chart holds, or the chart drawn as PNG."""


class ProgramJob(Struct, frozen=True):
    """A program that is to run."""

    program: str
    wanted: Wanted


class ProgramReport(Struct, frozen=True, omit_defaults=True):
    """What came of a program: exactly one of the three is there."""

    failure: ProgramFailure | None = None
    contents: ChartContents | None = None
    picture: bytes = b""


def check_report(data: bytes) -> bytes:
    """The report of a program, or one that says why it cannot be read; for a limited process."""
    try:
        report = msgspec.msgpack.decode(data, type=ProgramReport)
        if report.picture:
            check_image(report.picture)
        elif len(data) > _MOST_CONTENTS:
            report = _unreadable(f"it is longer than {_MOST_CONTENTS // MB} MB")
        elif report.failure is not None:
            words = report.failure.message[:_MOST_WORDS]
            report = ProgramReport(structs.replace(report.failure, message=words))
    except (msgspec.MsgspecError, MediaError, UnicodeDecodeError) as error:
        report = _unreadable(str(error))
    return msgspec.msgpack.encode(report)


def read_report(output: Output) -> ProgramReport | Failure:
    """The report in an output, which may be one that was stored before reports were checked. One
    that cannot be read is no failure of the program, which may have written it itself."""
    if isinstance(output, Failure):
        return output
    text = output.text if isinstance(output, Generated) else ""
    if len(text) > 2 * _MOST_CONTENTS:
        report = _unreadable(f"it is longer than {_MOST_CONTENTS // MB} MB")
    else:
        try:
            report = msgspec.json.decode(text, type=ProgramReport)
        except msgspec.MsgspecError as error:
            report = _unreadable(str(error))
    if report.failure is None and report.contents is None:
        report = _unreadable("it holds none")
    if report.failure is not None and report.failure.kind == "report":
        return Failure("request", report.failure.message)
    return report


def _unreadable(why: str) -> ProgramReport:
    return ProgramReport(ProgramFailure("report", f"its report is not that of a chart: {why}"))


@functools.cache
def _chart() -> ObservedChart:
    """Charts are observed from the first call on."""
    return observe_charts()


def prepare() -> list[str]:
    """Observe charts in the processes that are forked from now on; returns the folders of the
    libraries, and the one that matplotlib keeps."""
    _chart()
    folders = []
    for package in {module.partition(".")[0] for module in PROGRAM_LIBRARIES}:
        found = importlib.util.find_spec(package)
        places = () if found is None else found.submodule_search_locations or (found.origin,)
        folders += [str(Path(place).parent) for place in places if place]
    return [*folders, str(sys.modules["matplotlib"].get_cachedir())]


def run_program(data: bytes) -> bytes:
    """Run the program of a `ProgramJob` in this process; returns a `ProgramReport`. Raises
    MemoryError."""
    job = msgspec.msgpack.decode(data, type=ProgramJob)
    return msgspec.msgpack.encode(_report(job))


def _report(job: ProgramJob) -> ProgramReport:
    try:
        path = Path("program.py").absolute()
        path.write_text(job.program, encoding="utf-8")
        _seed()
        warnings.simplefilter("ignore")
        runpy.run_path(str(path), run_name="__main__")
        if job.wanted == "picture":
            return ProgramReport(picture=_chart().draw())
        return ProgramReport(contents=_chart().contents())
    except MemoryError:
        raise
    except SystemExit as error:
        code = error.code
        failure = ProgramFailure("ended", f"it ended itself before it was drawn: exit code {code}")
    except BaseException as error:  # noqa: BLE001 - foreign code: its failure is data
        failure = ProgramFailure("error", describe_exception(error))
    return ProgramReport(failure)


def _seed() -> None:
    """Programs that draw numbers without a seed draw the same ones each time."""
    random.seed(0)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(0)
