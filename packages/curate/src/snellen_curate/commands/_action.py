"""What all actions of `snellen curate` share: how they end, and their flags."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from snellen.api.flags import FlagKey, option, parse_facts
from snellen.cli.output import OutputOptions
from snellen.core.errors import DataError, UnknownName, UsageError

if TYPE_CHECKING:
    from snellen.report.document import Document, Line

Status = Literal["clean", "flagged", "incomplete"]
"""How an action ended: nothing to look at; items are flagged, differ or were left out; or something
is missing, and the same command goes on."""
_DATA_FILES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".toml", ".html")


class Finished(NamedTuple):
    """How an action ended."""

    status: Status
    document: Document
    """What is printed."""
    next: Sequence[str] = ()
    """The words behind `snellen` of the command that comes next; empty: none."""


@dataclass(frozen=True, kw_only=True)
class ActionOptions(OutputOptions):
    """What every action takes."""

    quiet: bool = option(False, "--quiet")
    command_line: str = ""
    """The whole command, for messages that say how it goes on."""

    def texts(self) -> dict[Path, str]:
        """The files to write, with their formats. Raises UsageError for an ending of none."""
        try:
            return super().texts()
        except UsageError as error:
            raise UsageError(f"{error}; a folder is --out DIR") from None

    @property
    def again(self) -> list[str]:
        """The words behind `snellen` of this command."""
        return shlex.split(self.command_line)[1:]


def sentence(text: str, style: Literal["plain", "heading"] = "plain") -> Line:
    """A line that a terminal does not fold: it names files and commands."""
    from snellen.report.document import Line

    return Line(text, style, is_unbroken=True)


def review_next(data: str | None, *more: str) -> tuple[str, ...]:
    """The command that reviews a data set folder; none without a folder."""
    return ("curate", "review", data, *more, "--out", f"{data}-reviewed") if data else ()


def publish_next(data: str | None) -> tuple[str, ...]:
    """The command that publishes a data set folder; none without a folder."""
    return ("curate", "publish", data, "--out", f"{data}-published") if data else ()


def refuse_flags(given: Mapping[str, object], why: str) -> None:
    """Raises UsageError if one of these flags has a value; `why` begins the sentence."""
    for flag, value in given.items():
        if value not in (None, False, "", [], (), {}):
            raise UsageError(f"{why}; leave out {flag}")


def parse_folder(text: str) -> str:
    """A folder to write. Raises UsageError for what looks like a file."""
    path = Path(text)
    if path.suffix.lower() in _DATA_FILES and not path.is_dir():
        raise UsageError(f"{text} looks like a file; name a folder, such as {path.stem}")
    return text


def only_model(models: Sequence[str]) -> str | None:
    """The model of `-m` where one alone is asked. Raises UsageError for several."""
    if len(models) > 1:
        raise UsageError(f"-m names {len(models)} models, {', '.join(models)}; expected one")
    return models[0] if models else None


def drop_option(kinds: Mapping[str, str], alone: Sequence[str] = ()) -> Any:
    """`--drop`, which leaves out items of some of `kinds`, whose help lines these are; without a
    word `alone`, or else all."""
    keys = {kind: FlagKey(help) for kind, help in kinds.items()}
    return option(
        (),
        "--drop",
        f"leave these out instead of flagging them; without a KIND {', '.join(alone) or 'all'}",
        metavar="KIND,...",
        parse=partial(_parse_kinds, tuple(kinds), tuple(alone)),
        bare_value="",
        keys=keys,
    )


def _parse_kinds(kinds: Sequence[str], alone: Sequence[str], text: str) -> tuple[str, ...]:
    named = _parse_words("kind to --drop", kinds, text)
    return tuple(sorted(set(named or alone or kinds)))


def skip_option(kinds: Mapping[str, str]) -> Any:
    """`--skip`, which leaves out parts of the work."""
    return option(
        (),
        "--skip",
        "leave out these parts of the work",
        metavar="PART,...",
        parse=partial(_parse_words, "part to --skip", tuple(kinds)),
        keys={kind: FlagKey(help) for kind, help in kinds.items()},
    )


def _parse_words(what: str, known: Sequence[str], text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in words:
        if word not in known:
            raise UnknownName(what, word, known)
    return words


def limits_option(keys: Mapping[str, FlagKey]) -> Any:
    """`--limits`, the numbers of an action by their keys."""
    return option({}, "--limits", "limits and thresholds", metavar="KEY=VALUE,...", keys=keys)


def roles_option(roles: Mapping[str, str]) -> Any:
    """`--model-for`, models for parts of the work by their roles."""
    return option(
        {},
        "--model-for",
        "a model for a part of the work; repeat for several",
        metavar="ROLE=MODEL",
        parse=partial(_parse_role, tuple(roles)),
        keys={role: FlagKey(help) for role, help in roles.items()},
    )


def _parse_role(roles: Sequence[str], text: str) -> dict[str, str]:
    role, equals, model = text.partition("=")
    if not equals or not model:
        raise UsageError(f"{text!r}: expected ROLE=MODEL, with one of {', '.join(roles)}")
    if role not in roles:
        raise UnknownName("role", role, roles)
    return {role: model}


def facts_option(keys: Mapping[str, str]) -> Any:
    """`--facts`, whose keys have these help lines: `KEY=VALUE,...`, where a value may hold commas,
    or a TOML file. Several values of one key are joined by `+`."""
    return option(
        {},
        "--facts",
        parse=partial(read_facts, tuple(keys)),
        metavar="KEY=VALUE,...|FILE.toml",
        keys={key: FlagKey(help) for key, help in keys.items()},
    )


def read_facts(keys: Sequence[str], text: str) -> dict[str, str]:
    """Read facts, or a file of them. Raises UsageError, DataError."""
    facts = parse_facts(text) if "=" in text else _read_fact_file(text)
    for key in facts:
        if key not in keys:
            raise UnknownName("fact", key, keys)
    return facts


def _read_fact_file(path: str) -> dict[str, str]:
    from snellen.data.toml_files import read_toml

    facts = {}
    for key, value in read_toml(path).items():
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(one, str) for one in values):
            raise DataError(f"{path}: {key} is {value!r}; expected a text, or a list of texts")
        facts[key] = "+".join(values)
    return facts


def fact_values(facts: Mapping[str, str], key: str) -> tuple[str, ...]:
    """The values of a fact that may have several."""
    return tuple(value.strip() for value in facts.get(key, "").split("+") if value.strip())


def media_option() -> Any:
    """`--media`, folders of images and videos."""
    return option(
        (),
        "--media",
        "a folder outside of the data's own that their pictures or videos lie in; repeat for several",
        metavar="DIR",
        is_repeatable=True,
    )


def flag_option(default: Any, metavar: str, **settings: Any) -> Any:
    """`--flag`, which says what is flagged."""
    return option(default, "--flag", "what is flagged for review", metavar=metavar, **settings)
