"""Judge every request body by published descriptions and client packages, given both.

    python -m tests.schemas                  judge anew, and compare with the stored verdicts
    python -m tests.schemas --write [NAME]   store the verdicts and the digests of the bodies
    python -m tests.schemas.collect          collect the examples of replies anew

`SNELLEN_CHECKOUTS` names the folder that holds the checkouts, as `oracles.toml` calls them;
`SNELLEN_ORACLE_PYTHON` a Python with the client packages (`oracles.toml`), jsonschema and pyyaml.
Exit code 1 where a verdict changes, a problem is not explained, or an oracle cannot be asked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from tests.schemas.mutations import mutations
from tests.schemas.shapes import Shape, all_shapes
from tests.schemas.verdicts import (
    FOLDER,
    VERDICTS,
    Group,
    Oracle,
    Verdict,
    load_differences,
    load_oracles,
    load_verdicts,
    unexplained,
    write_bodies,
    write_records,
    write_verdicts,
)


class NotJudged(Exception):
    """The oracle cannot be asked; the text is the end of what it said."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.schemas")
    parser.add_argument("names", nargs="*", metavar="NAME", help="oracles; default: all")
    parser.add_argument("--write", action="store_true", help="store the verdicts")
    arguments = parser.parse_args()
    checkouts = os.environ.get("SNELLEN_CHECKOUTS")
    if not checkouts:
        parser.error("SNELLEN_CHECKOUTS names no folder: where are the checkouts?")
    oracles = load_oracles()
    unknown = set(arguments.names) - oracles.keys()
    if unknown:
        parser.error(f"no oracle is called {', '.join(sorted(unknown))}")
    shapes: dict[str, list[Shape]] = {}
    verdicts, failed = [], 0
    for name, oracle in oracles.items():
        if arguments.names and name not in arguments.names:
            continue
        made = {provider: shapes.setdefault(provider, all_shapes(provider)) for provider in oracle.judged_providers()}
        try:
            verdicts += _judged(name, oracle, made, Path(checkouts))
        except NotJudged as error:
            print(f"{name}: not judged: {error}")
            failed += 1
    failed += _addresses(write=arguments.write)
    if arguments.write:
        kept = [each for each in _stored() if arguments.names and each.oracle not in arguments.names]
        write_verdicts([*kept, *verdicts])
        write_records(load_verdicts())
        write_bodies({provider: shapes.get(provider) or all_shapes(provider) for provider in _providers(oracles)})
    return int(failed + sum(map(_print_verdict, verdicts)) + (0 if arguments.write else _changed(verdicts)) > 0)


def _addresses(*, write: bool) -> int:
    """Ask the client packages where they send a request, and for which reasons a reply may end: 1 if
    that is not what is stored."""
    places = json.dumps(tomllib.loads((FOLDER / "outcomes.toml").read_text(encoding="utf-8"))["places"])
    other = 0
    for script in ("addresses", "finish_reasons"):
        said, path = _run(script, places), FOLDER / f"{script}.json"
        if write:
            path.write_text(said + "\n", encoding="utf-8")
        elif json.loads(path.read_text(encoding="utf-8")) != json.loads(said):
            print(f"{path.name} is not what the client packages say")
            other = 1
    return other


def _providers(oracles: dict[str, Oracle]) -> list[str]:
    return list(dict.fromkeys(each for oracle in oracles.values() for each in oracle.judged_providers()))


def _stored() -> list[Verdict]:
    return load_verdicts() if VERDICTS.exists() else []


def _judged(name: str, oracle: Oracle, shapes: Mapping[str, list[Shape]], checkouts: Path) -> Iterator[Verdict]:
    """The verdicts on several providers; a body that they share is judged once."""
    faults = {provider: list(mutations(made)) for provider, made in shapes.items()}
    bodies = {(shape.path, shape.body.decode()): [""] for made in shapes.values() for shape in made}
    bodies |= {(fault.shape.path, json.dumps(fault.body)): [""] for made in faults.values() for fault in made}
    said = _ask(oracle, list(bodies), checkouts)
    bodies = dict(zip(bodies, said["problems"], strict=True))
    for provider, made in shapes.items():
        found: Counter[tuple[str, ...]] = Counter()
        examples: dict[tuple[str, ...], str] = {}
        for shape in made:
            if lines := tuple(bodies[shape.path, shape.body.decode()]):
                found[lines] += 1
                examples.setdefault(lines, shape.key())
        refused, passed = [], []
        for fault in faults[provider]:
            without = bodies[fault.shape.path, fault.shape.body.decode()]
            further = set(bodies[fault.shape.path, json.dumps(fault.body)]) - set(without)
            (refused if further else passed).append(fault.name)
        yield Verdict(
            oracle=name,
            provider=provider,
            version=said["version"],
            commit=_commit(checkouts / oracle.folder) if oracle.folder else "",
            read=datetime.now(tz=UTC).date().isoformat(),
            bodies=len(made),
            groups=tuple(Group(count, examples[lines], lines) for lines, count in sorted(found.items())),
            refused=tuple(refused),
            passed=tuple(passed),
        )


def _ask(oracle: Oracle, bodies: Sequence[tuple[str, str]], checkouts: Path) -> dict[str, Any]:
    if oracle.folder and not (checkouts / oracle.folder).is_dir():
        raise NotJudged(f"no checkout {oracle.folder}")
    job = {key: value for key, value in msgspec.to_builtins(oracle).items() if value}
    job |= {"folder": str(checkouts / oracle.folder), "bodies": bodies}
    said: dict[str, Any] = json.loads(_run(oracle.script, json.dumps(job)).splitlines()[-1])
    return said


def _run(script: str, text: str) -> str:
    """What a script of `oracles/` prints, given a text."""
    done = subprocess.run(
        [os.environ.get("SNELLEN_ORACLE_PYTHON", sys.executable), "-W", "ignore", f"{script}.py"],
        cwd=FOLDER / "oracles",
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotJudged(done.stderr.strip()[-2000:] or f"exit code {done.returncode}")
    return done.stdout


def _commit(folder: Path) -> str:
    done = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _print_verdict(verdict: Verdict) -> int:
    """How many problems are not explained; prints them."""
    left = list(unexplained(verdict, load_differences()))
    agreeing = verdict.bodies - sum(group.bodies for group in verdict.groups)
    print(
        f"{verdict.oracle} {verdict.version} {verdict.provider}: {agreeing} of {verdict.bodies} bodies conform, "
        f"{len(left)} problems are not explained; {len(verdict.refused)} faults refused, {len(verdict.passed)} not"
    )
    for group, problem in left:
        print(f"  {group.bodies} x {problem}: {group.example}")
    return len(left)


def _changed(verdicts: Sequence[Verdict]) -> int:
    """How many verdicts are not those that are stored; prints them."""
    stored = {(each.oracle, each.provider): each for each in _stored()}
    other = 0
    for verdict in verdicts:
        before = stored.get((verdict.oracle, verdict.provider))
        if before is None or (before.groups, before.passed) != (verdict.groups, verdict.passed):
            print(f"{verdict.oracle} {verdict.provider}: not the verdict that is stored")
            other += 1
    return other


if __name__ == "__main__":
    sys.exit(main())
