"""A complete run of the bundled model over one small file of every kind of benchmark.

    python docs/every_kind.py OUT           makes the data, runs them with one command, and reports
    python docs/every_kind.py OUT --count   and keeps the counts in docs/data/every_kind.json

The files are those of tests/benchmarks/layouts: made up, each in its benchmark's own columns. The
videos that they name are drawn, and so are the questions of SEED-Bench-H, which ask for drawings.
OUT/data/every-kind.toml is the suite that is run; the bundled model answers, and it is the judge.
OUT/report.html is the report. docs/generate.py writes the last section of docs/evidence.md from the counts.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec import json as msgjson

from snellen.benchmarks.declaration.registry import find_suite, open_benchmark
from snellen.benchmarks.protocol.judging import JUDGE
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.sample import Sample
from snellen.data.columns import VIDEO_COLUMNS
from snellen.data.tables.open_table import open_table
from snellen.store.runs import RunFolder, find_runs

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
os.environ["NLTK_DATA"] = str(ROOT / "tests" / "differential" / "nltk")
COUNTS = FOLDER / "data" / "every_kind.json"
TESTS = ROOT / "tests" / "benchmarks"
LAYOUTS = TESTS / "layouts"
OWN = ("my_questions.tsv", "capitals.toml")
"""Examples of benchmarks of one's own: choices without pictures, and open answers."""
MODEL = "snellen/tiny"
SUITE = "every-kind.toml"
NOTE = "<!-- From docs/data/every_kind.json, which docs/every_kind.py counts. -->"
_VIDEO_NAMES = (
    *VIDEO_COLUMNS,
    "video_id",
    "video_name",
    "video_idx",
    "videoid",
    "scene_id",
    "video_paths",
    "video_list",
)
_FEW_FRAMES = (
    *("activitynet-captions", "charades-sta", "lsdbench", "minerva", "perceptioncomp", "timelens-bench", "timescope"),
    *("mmsi-video-bench", "mvu-eval", "v2p-bench", "video-mme-v2", "video-tt", "vcr-bench", "vsi-super-count"),
    "vsi-super-recall",
)
_PICTURE_NAMES = ("frame_path", "ref_images")
"""Columns of pictures that stand beside a video."""
_OPTIONS = dict.fromkeys(_FEW_FRAMES, "frames=8")
"""Where a benchmark's own number of frames is more than the bundled model takes."""
_SECONDS, _FPS, _SIDE, _SQUARE = 10, 4, 64, 16


class Line(Struct, frozen=True, omit_defaults=True):
    """What became of one file."""

    name: str
    kind: str
    metric: str
    samples: int
    outcomes: dict[str, int]
    score: float | None
    top: float = 100.0
    reasons: tuple[str, ...] = ()
    """Why there is no score, or what it leaves out."""


class Member(NamedTuple):
    """A file of the suite, and how it is named there."""

    name: str
    spec: str


def make_data(folder: Path) -> Path:
    """Writes files, videos and the suite over them; returns the suite's path."""
    shutil.copytree(LAYOUTS / "images", folder / "images", dirs_exist_ok=True)
    members = [*_layouts(folder), *_seed_h(folder)]
    members += [Member(Path(name).stem, str(ROOT / "examples" / name)) for name in OWN]
    told = ['title = "One small file of every kind of benchmark"\naverage = false\n']
    for one in members:
        name, spec = json.dumps(one.name), json.dumps(one.spec)
        told.append(f"[[members]]\nname = {name}\nbenchmarks = [{spec}]\n")
    suite = folder / SUITE
    suite.write_text("\n".join(told), encoding="utf-8")
    return suite


def _layouts(folder: Path) -> Iterator[Member]:
    for path in sorted(LAYOUTS.iterdir()):
        if path.suffix not in (".tsv", ".jsonl", ".json") or path.name.endswith(".roles.json"):
            continue
        name, _, options = path.stem.partition("@")
        file = folder / path.name
        shutil.copyfile(path, file)
        names = (*_VIDEO_NAMES, "id") if name == "videommmu" else _VIDEO_NAMES
        _draw_videos(file, folder / "video", names)
        _draw_pictures(file, ("image_path", *_PICTURE_NAMES) if path.suffix == ".json" else _PICTURE_NAMES)
        told = ",".join(filter(None, (f"file={file}", options, _OPTIONS.get(name, ""))))
        yield Member(f"{name} {options}".strip(), f"{name}:{told}")


def _seed_h(folder: Path) -> Iterator[Member]:
    """Every dimension of SEED-Bench-H: pictures among words, and answers that are drawn."""
    sys.path.insert(0, str(TESTS))
    from seed_files import seed_h

    file = seed_h(folder / "seed-bench-h", per_dimension=1)
    for options in ("version=H,level=L3", "version=H,level=L3,protocol=generate"):
        yield Member(f"seedbench {options}", f"seedbench:file={file},{options}")


def _draw_videos(file: Path, folder: Path, names: Sequence[str]) -> None:
    for row in open_table(str(file)):
        named = _names(next((row.cells[one] for one in names if row.cells.get(one)), ""))
        # Benchmarks look for the name alone, or for the name within its folder.
        for name in dict.fromkeys([*(Path(one).name for one in named), *named]):
            path = folder / (name if name.endswith(".mp4") else f"{name}.mp4")
            path.parent.mkdir(parents=True, exist_ok=True)
            _draw_video(path)


def _names(cell: str) -> list[str]:
    """The files that a cell names: one, or a list of names or of objects with a `path`."""
    named = json.loads(cell) if cell.startswith("[") else [cell] if cell else []
    return [one["path"] if isinstance(one, dict) else one for one in named]


def _draw_pictures(file: Path, columns: Sequence[str]) -> None:
    """A blank picture for each that is named in these columns and not among the files."""
    from PIL import Image

    for row in open_table(str(file)):
        for name in (name for column in columns for name in _names(row.cells.get(column, ""))):
            picture = file.parent / name
            if not picture.exists():
                picture.parent.mkdir(parents=True, exist_ok=True)
                Image.new("RGB", (_SIDE, _SIDE), "white").save(picture)


def _draw_video(path: Path) -> None:
    """A white square that crosses a blue ground."""
    import av
    import numpy as np

    if path.exists():
        return
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=_FPS)
        stream.width = stream.height = _SIDE
        stream.pix_fmt = "yuv420p"
        for number in range(_SECONDS * _FPS):
            picture = np.full((_SIDE, _SIDE, 3), (20, 40, 160), np.uint8)
            left, top = number % (_SIDE - _SQUARE), (_SIDE - _SQUARE) // 2
            picture[top : top + _SQUARE, left : left + _SQUARE] = 255
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def commands(out: Path) -> list[list[str]]:
    """The one command that runs everything, and the one that puts it on a page."""
    suite, runs = str(out / "data" / SUITE), str(out / "runs")
    return [
        ["run", "-q", "-m", MODEL, "-b", suite, "--judge", MODEL, "--out", runs],
        ["report", runs, "--format", "html", "-o", str(out / "report.html")],
    ]


def line_of(name: str, spec: str, runs: Sequence[RunFolder]) -> Line:
    """What became of a member of the suite."""
    benchmark = open_benchmark(spec, Variant(judges=1))
    table = benchmark.open()
    (summary,) = (
        run.report().summary
        for run in runs
        if run.info.data.path == table.path and benchmark.parameters.items() <= run.info.config.parameters.items()
    )
    return Line(
        name,
        _kind(benchmark, list(benchmark.samples(table))),
        summary.headline.name,
        summary.total,
        {name: count for name, count in summary.outcomes.items() if count},
        summary.headline.value,
        summary.headline.top,
        summary.notices,
    )


def _kind(benchmark: Benchmark, samples: Sequence[Sample]) -> str:
    """How questions are asked: their forms, what they show, and who reads the replies."""
    forms = ", ".join(dict.fromkeys(one.kind.replace("_", "/") for one in samples))
    media = Counter(ref.kind for ref in max((one.media for one in samples), key=len, default=()))
    shown = [f"{count} {kind}{'s' * (count > 1)}" for kind, count in media.items()]
    how = [key for key in ("circular", "protocol") if key in benchmark.parameters]
    named = ["circular" if key == "circular" else benchmark.parameters[key] for key in how]
    judged = ["judge"] if JUDGE in benchmark.extra_roles else []
    return "; ".join([forms, " and ".join(shown) or "text alone", *named, *judged])


def counted(out: Path) -> list[Line]:
    """A line for every member of the suite, in its order."""
    suite, runs = find_suite(str(out / "data" / SUITE)), find_runs(out / "runs")
    return [line_of(one.name, *one.benchmarks, runs) for one in suite.members]


def read_counts() -> list[Line]:
    return msgjson.decode(COUNTS.read_bytes(), type=list[Line])


def section() -> str:
    """The last section of docs/evidence.md."""
    lines = read_counts()
    scored = sum(one.score is not None for one in lines)
    own = {Path(name).stem for name in OWN}
    names = {one.name.partition(" ")[0] for one in lines} - own
    told = [
        "## Every kind of benchmark, run",
        "",
        NOTE,
        "",
        "```text",
        "make kinds",
        "```",
        "",
        "runs the bundled model over one small file of every benchmark, with one command, and puts "
        "the runs on one page: `every-kind/report.html`. The files are made up, each in the column "
        "layout of the real one; the model is also the judge, where there is one. It takes about "
        "a minute. The scores are those of a model of 3.4 MB on a handful of made-up questions: "
        "they say that everything is asked, read and counted, and nothing about a benchmark.",
        "",
        f"{len(lines)} runs over {len(names)} registered benchmarks and {len(own)} of one's own: "
        f"{scored} have a score, and {len(lines) - scored} say why not.",
        "",
        "| file | asked as | samples | outcomes | score | |",
        "| --- | --- | ---: | --- | ---: | --- |",
        *map(_row, lines),
        "",
    ]
    return "\n".join(told)


def _row(one: Line) -> str:
    outcomes = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in one.outcomes.items())
    of = f" of {one.top:g}" if one.top != 100 else ""
    score = "-" if one.score is None else f"{one.score:.1f}{of}"
    cells = (one.name, one.kind, str(one.samples), outcomes, score, "; ".join(one.reasons))
    return f"| {' | '.join(cells)} |"


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Run every kind of benchmark on small files.")
    parser.add_argument("out", type=Path, help="folder for data, runs and report")
    parser.add_argument("--count", action="store_true", help="keep the counts for the page")
    arguments = parser.parse_args(argv)
    make_data(arguments.out / "data")
    for command in commands(arguments.out):
        print("$", shlex.join(["snellen", *command]), flush=True)
        code = subprocess.run([sys.executable, "-m", "snellen", *command], check=False).returncode
        if code:
            return code
    if arguments.count:
        lines = counted(arguments.out)
        COUNTS.write_bytes(msgjson.format(msgjson.encode(lines), indent=1) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
