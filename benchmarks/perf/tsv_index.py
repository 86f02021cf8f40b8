"""Opening a large VLMEvalKit TSV: speed of the first index, second opening, and peak memory.

    python benchmarks/perf/tsv_index.py [--rows 31000] [--megabytes 1500] [--json FILE]

Draws a synthetic file in a temporary folder, deletes it afterwards, and measures each part in a
process of its own, so that peak memory is that part's alone. The bare loop reads the file line by
line, decodes the last cell from base64 and hashes it: the least work that can be done.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 3


def write_tsv(path: Path, rows: int, megabytes: float) -> None:
    """Rows with a quoted hint over two lines, four options, and random bytes as the picture."""
    draw = random.Random(0)
    picture = int(megabytes * 1e6 / rows * 0.75) - 200
    with path.open("wb") as file:
        file.write(b"index\tquestion\thint\tA\tB\tC\tD\tanswer\tcategory\timage\n")
        for number in range(rows):
            text = f'{number}\tWhat is shown in picture {number}?\t"a hint\nof two lines"\t'
            text += "\t".join(f"option {letter} of {number}" for letter in "abcd")
            text += f"\t{draw.choice('ABCD')}\tcategory {number % 20}\t"
            file.write(text.encode() + base64.b64encode(draw.randbytes(picture)) + b"\n")


def bare_loop(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            cell = line.rsplit(b"\t", 1)[-1]
            if len(cell) > 1000:
                hashlib.sha256(base64.b64decode(cell)).hexdigest()


def open_and_count(path: Path, cache: Path) -> None:
    from snellen.data.tables.open_table import open_table
    from snellen.settings import Settings

    len(open_table(str(path), settings=Settings(cache=cache)))


def iterate(path: Path, cache: Path) -> None:
    """Every row, with the bytes of its pictures."""
    from snellen.data.tables.open_table import open_table
    from snellen.settings import Settings

    for row in open_table(str(path), settings=Settings(cache=cache)):
        for medium in row.media:
            medium.source.read()


def measured(part: str, path: Path, cache: Path) -> dict[str, float]:
    """Seconds and peak resident megabytes of one part in a fresh process."""
    command = [sys.executable, __file__, "--part", part, str(path), str(cache)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def run_part(part: str, path: Path, cache: Path) -> None:
    import snellen.data.tables.open_table  # noqa: F401  (imports are not what is measured)

    start = time.perf_counter()
    if part == "bare":
        bare_loop(path)
    elif part == "iterate":
        iterate(path, cache)
    else:
        open_and_count(path, cache)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


def measure(rows: int, megabytes: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        path, cache = Path(folder, "questions.tsv"), Path(folder, "cache")
        write_tsv(path, rows, megabytes)
        size = path.stat().st_size / 1e6
        bare, first = [], []
        for repeat in range(REPEATS):
            bare.append(measured("bare", path, cache))
            first.append(measured("open", path, cache / str(repeat)))
        second = measured("open", path, cache / "0")
        rest = measured("iterate", path, cache / "0")
        index = sum(file.stat().st_size for file in (cache / "0" / "index").iterdir())
    bare_speed = size / min(part["seconds"] for part in bare)
    first_speed = size / min(part["seconds"] for part in first)
    return {
        "rows": rows,
        "file_mb": round(size),
        "bare_mb_per_s": round(bare_speed),
        "first_open_mb_per_s": round(first_speed),
        "share_of_bare": round(first_speed / bare_speed, 2),
        "first_open_peak_mb": round(max(part["peak_mb"] for part in first)),
        "second_open_s": round(second["seconds"], 4),
        "iterate_with_pictures_s": round(rest["seconds"], 2),
        "iterate_peak_mb": round(rest["peak_mb"]),
        "index_mb": round(index / 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=31_000)
    parser.add_argument("--megabytes", type=float, default=1500)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        run_part(args.part[0], Path(args.part[1]), Path(args.part[2]))
        return
    figures = measure(args.rows, args.megabytes)
    for name, value in figures.items():
        print(f"{name:26} {value:>10}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
