"""Names of models in papers and other tools that no entry of the catalog has (`other_names.toml`):
what each is, and how it could be asked."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from snellen.models.naming.catalog import letters_of

_WAYS: Mapping[str, str] = {
    "package": "have a file call its authors' code in an environment of its own (-m {name} --serve FILE.py), "
    "or score predictions that it made there (snellen score)",
    "address": "name the server that has it: -m http://HOST:PORT/v1#NAME",
    "checkpoint": "name a checkpoint: -m hf/ORG/NAME",
    "predictions": "score predictions that it made there (snellen score)",
    "nothing": "no benchmark here asks such a model",
}


class OtherName(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names that stand for no model here, or for several."""

    names: tuple[str, ...]
    what: str
    """Ends a sentence that begins with the name and "is"."""
    choose: tuple[str, ...] = ()
    """Names of the models here that it may mean."""
    way: Literal["package", "address", "checkpoint", "predictions", "nothing", ""] = ""
    """Key of `_WAYS`."""
    how: str = ""
    """How else it could be asked."""

    def sentence(self, name: str) -> str:
        """Why the name opens no model, and what to do."""
        advice = [self.how] if self.how else []
        if self.choose:
            which = "one" if self.choose[1:] else "it"
            advice.insert(0, f"name {which}: {' or '.join(f'-m {each}' for each in self.choose)}")
        if self.way:
            advice.append(_WAYS[self.way].format(name=name.replace(" ", "-")))
        return f"{name} is {self.what}; {'; '.join(advice)}"


class _File(Struct, forbid_unknown_fields=True):
    model: list[OtherName]


@functools.cache
def other_names() -> tuple[OtherName, ...]:
    """All entries, in the order of the file."""
    return tuple(msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=_File).model)


def find_other_name(name: str) -> OtherName | None:
    """The entry of a name, by its letters and digits alone; None if there is none."""
    letters = letters_of(name)
    return next((entry for entry in other_names() if letters in map(letters_of, entry.names)), None)
