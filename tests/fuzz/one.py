"""Fuzzes one target for a while: by the grammar of its inputs where there is one, else with atheris
where it is installed, otherwise with changes at random.

    python -m tests.fuzz.one NAME CORPUS SECONDS

New inputs are kept in CORPUS/NAME, those that break a property in CORPUS/NAME.broken. The last line
is the number of inputs that were tried.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import random
import sys
import time
import traceback
from pathlib import Path

MADE = ("replies-choice", "replies-open", "replies-verdict", "replies-grade", "replies-maths", "replies-flow")
"""Targets whose inputs are made by a grammar: known before anything of Snellen is imported, which
atheris must do."""


def main(name: str, corpus: Path, seconds: int) -> int:
    kept, broken = corpus / name, corpus / f"{name}.broken"
    kept.mkdir(parents=True, exist_ok=True)
    broken.mkdir(exist_ok=True)
    if name not in MADE and importlib.util.find_spec("atheris") is not None:
        return _by_atheris(name, kept, broken, seconds)
    return _at_random(name, kept, broken, seconds)


def _by_atheris(name: str, kept: Path, broken: Path, seconds: int) -> int:
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

    with atheris.instrument_imports(include=["snellen"]):
        from tests.fuzz.mutation import LONGEST
        from tests.fuzz.target import check
        from tests.fuzz.targets import TARGETS
    target = TARGETS[name]
    for seed in target.seeds:
        _keep(kept, seed)
    words = kept.parent / f"{name}.words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words or (b"0",)))
    # libFuzzer ends the process: it says itself how many inputs it tried.
    arguments = [
        name,
        str(kept),
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST // 10}",
        f"-artifact_prefix={broken}{os.sep}",
        f"-dict={words}",
        "-print_final_stats=1",
        "-rss_limit_mb=4096",
        "-timeout=60",
    ]
    atheris.Setup(arguments, lambda data: check(target, data))
    atheris.Fuzz()
    return 0


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def _at_random(name: str, kept: Path, broken: Path, seconds: int) -> int:
    from tests.fuzz.mutation import mutated
    from tests.fuzz.target import check
    from tests.fuzz.targets import TARGETS

    target, lot = TARGETS[name], random.Random()
    pool = [*target.seeds, *(path.read_bytes() for path in sorted(kept.iterdir()))]
    tried, found = 0, 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        by_grammar = target.made is not None and lot.random() < 0.9
        data = target.made(lot) if by_grammar else mutated(lot.choice(pool), target.words, lot)
        tried += 1
        try:
            if check(target, data) and not by_grammar and lot.random() < 0.01:
                _keep(kept, data)
                pool.append(data)
        except Exception:  # noqa: BLE001
            found += 1
            print(f"{name}: {_keep(broken, data)}\n{traceback.format_exc()}", file=sys.stderr)
    print(f"stat::number_of_executed_units: {tried}", file=sys.stderr)
    return 1 if found else 0


def _keep(folder: Path, data: bytes) -> Path:
    path = folder / hashlib.sha1(data).hexdigest()
    path.write_bytes(data)
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
