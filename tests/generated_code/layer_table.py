"""Write docs/data/generated_code_layers.json: each hostile program, with each layer of protection
taken away, as root and as an ordinary user.

    python -m tests.generated_code.layer_table              all of it, as root; takes half an hour
    python -m tests.generated_code.layer_table -k WORD      programs with this word, printed alone

docs/generate.py makes the tables of docs/generated-code.md from the file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tests.generated_code.hostile_programs import load_programs, run_hostile, run_user
from tests.generated_code.refused_layers import start_workers

from snellen.generated_code import promises

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "data" / "generated_code_layers.json"
MISSING: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "namespaces": ("namespaces",),
    "a user in user namespaces": ("uid_map",),
    "mounts": ("mounts",),
    "`mount_setattr`, as before Linux 5.12": ("mount_setattr",),
    "Landlock": ("landlock",),
    "Landlock after its version 1, as in Linux 5.13": ("landlock=1",),
    "Landlock after its version 5, as in Linux 6.10": ("landlock=5",),
    "the filter": ("filter",),
    "resource limits": ("limits",),
    "another user for root": ("setresuid",),
    "namespaces, Landlock": ("namespaces", "landlock"),
    "namespaces, the filter": ("namespaces", "filter"),
    "Landlock, the filter": ("landlock", "filter"),
    "namespaces, resource limits": ("namespaces", "limits"),
    "all of these": ("namespaces", "landlock", "filter", "limits", "setresuid"),
}
"""What is taken away, by the name that the page has for it."""
USER = 41234
"""An ordinary user that nobody is."""


def measure(names: Sequence[str], word: str = "") -> dict[str, object]:
    """For each name of `MISSING`: the promises that Snellen finds broken, and what each program did
    that it must not."""
    measured: dict[str, object] = {}
    for name in names:
        with closing(start_workers(MISSING[name])) as workers:
            user = run_user(workers)
            done = {
                program.name: what
                for program in load_programs()
                if word in program.name and (what := run_hostile(workers, program, user))
            }
            measured[name] = {
                "lacks": list(workers.ready().protection.missing),
                "broken": list(promises.broken_promises(workers)),
                "done": done,
                "user": user,
            }
        print(name, json.dumps(measured[name]), file=sys.stderr, flush=True)
    return measured


def measure_as_user(arguments: Sequence[str]) -> dict[str, object]:
    """`measure` by another user, in a mount namespace in which that one can read this Python."""
    hidden = next((parent for parent in reversed(Path(sys.base_prefix).parents) if not parent.stat().st_mode & 1), None)
    with tempfile.TemporaryDirectory(prefix="snellen-user-") as folder:
        Path(folder).chmod(0o777)
        python = Path(folder, "python")
        python.mkdir()
        steps = []
        if hidden is not None:
            prefix, aside = shlex.quote(sys.base_prefix), shlex.quote(str(python))
            steps = [
                f"mount --bind {prefix} {aside}",
                f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(hidden))}",
                f"mkdir -p {prefix}",
                f"mount --bind {aside} {prefix}",
            ]
        command = [
            "setpriv",
            f"--reuid={USER}",
            f"--regid={USER}",
            "--clear-groups",
            sys.executable,
            "-m",
            "tests.generated_code.layer_table",
            "--json",
            *arguments,
        ]
        steps.append(f"cd {shlex.quote(str(ROOT))}; exec {shlex.join(command)}")
        environment = os.environ | {"HOME": folder, "TMPDIR": folder, "OPENAI_API_KEY": "sk-planted"}
        said = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", "\n".join(steps)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    measured: dict[str, object] = json.loads(said.stdout)
    return measured


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", dest="word", default="", help="programs with this word")
    parser.add_argument("-m", dest="missing", action="append", help="a name of MISSING")
    parser.add_argument("--json", action="store_true", help="as this user, to the output")
    given = parser.parse_args(argv)
    names = given.missing or list(MISSING)
    if given.json:
        print(json.dumps(measure(names, given.word)))
        return
    by_user: Mapping[str, object] = {"root": measure(names, given.word), "user": measure_as_user([*argv])}
    if given.word or given.missing:
        return
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    head = {
        "date": datetime.date.today().isoformat(),
        "kernel": f"Linux {platform.release().partition('-')[0]} on {platform.machine()}",
        "commit": commit,
    }
    DATA.write_text(json.dumps(head | by_user, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
