"""What a run was made with: recorded, never digested."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_RECORDED = ("snellen", "torch", "transformers", "tokenizers", "pillow", "numpy", "msgspec")


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that can touch an answer, as installed."""
    found = {"python": platform.python_version()}
    for package in _RECORDED:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    commit = _commit()
    if commit:
        found["git"] = commit
    return found


@functools.cache
def hardware() -> dict[str, str]:
    """System, processor and its count."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpus": str(os.cpu_count() or 1),
    }


def _commit() -> str | None:
    """The commit of a source checkout, None when installed from a package."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
