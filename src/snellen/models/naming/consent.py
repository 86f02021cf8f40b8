"""Consent to code of others: Python that a checkpoint brings, or that its authors' package has.

It is given for a repository at a commit: by an answer on the terminal, which is kept in a file of
the user's, or for one command by `--load ORG/NAME@COMMIT`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from snellen.core.atomic_write import save
from snellen.core.errors import UsageError, storage_errors
from snellen.settings import Settings

_CODE = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)@(?P<commit>[0-9a-f]{40})")
_of_this_command: set[CodeOfOthers] = set()


class CodeOfOthers(NamedTuple):
    """The code of a repository on the hub, at a commit."""

    repository: str
    commit: str

    def __str__(self) -> str:
        return f"{self.repository}@{self.commit}"


def parse_code(text: str) -> CodeOfOthers | None:
    """The code that `ORG/NAME@COMMIT` names; None for anything else, such as a file."""
    named = _CODE.fullmatch(text)
    return CodeOfOthers(named["repository"], named["commit"]) if named else None


def allow(code: CodeOfOthers) -> None:
    """Let this code run until the process ends."""
    _of_this_command.add(code)


def keep_consent(code: CodeOfOthers) -> None:
    """Let this code run from now on, by the user's file. Raises UsageError if that cannot be read, and StorageError
    if it cannot be written."""
    path = Settings.from_environment().consents
    kept = _read(path)
    kept.setdefault(code.repository, []).append(code.commit)
    with storage_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
    save(path, json.dumps(kept, indent=1, sort_keys=True) + "\n")


def may_run(code: CodeOfOthers) -> bool:
    """Whether the user has consented to this code at this commit."""
    if code in _of_this_command:
        return True
    return code.commit in _read(Settings.from_environment().consents).get(code.repository, [])


def _read(path: Path) -> dict[str, list[str]]:
    """The commits that may run, by repository. Raises UsageError for a file that is none of ours."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path}, which says whose code may run, cannot be read: {error}; repair or delete it"
        ) from error
    if not (isinstance(kept, dict) and all(isinstance(commits, list) for commits in kept.values())):
        raise UsageError(f"{path} does not say whose code may run: expected commits by repository; repair or delete it")
    return kept
