"""What every benchmark in TOML may say: Snellen's own (`family_file`) and the user's (`toml`)."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.place_rules import PlaceRules
from snellen.benchmarks.declaration.rows import GROUP_COLUMNS
from snellen.benchmarks.protocol.flows import Circular
from snellen.core.errors import DataError
from snellen.core.sample import Kind
from snellen.data.toml_files import read_toml
from snellen.prompts.choice import PromptTemplate


class TemplateStrings(Struct, frozen=True, forbid_unknown_fields=True):
    """Fixed strings of the prompt, by the names of `PromptTemplate`; None keeps Snellen's own."""

    system: str | None = None
    hint: str | None = None
    question: str | None = None
    options: str | None = None
    option: str | None = None
    choose: str | None = None
    unlisted: str | None = None
    yes_no: str | None = None
    open: str | None = None
    fields: str | None = None
    page: str | None = None

    def fill_template(self, template: PromptTemplate) -> PromptTemplate:
        strings = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return replace(template, **strings)


class DescribedBenchmark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that both kinds of files have."""

    title: str = ""
    paper: str = ""
    source: str = ""
    """Where the data come from and under which licence."""
    kind: Kind | None = None
    """Of all rows; None where each tells its own."""
    groups: tuple[str, ...] = GROUP_COLUMNS
    headline: str = ""
    """What the mean is called; empty: as the metric."""
    circular: Circular = "off"
    response_schema: dict[str, Any] = {}
    """JSON Schema that servers are asked to hold replies to (`Generation.response_schema`)."""
    prompt: TemplateStrings = TemplateStrings()
    place: PlaceRules | None = None
    """What it asks of places, where all its questions are of the kind `place`."""

    def schema_text(self, path: str) -> str:
        """`response_schema` as canonical JSON. Raises DataError, MissingExtra."""
        if not self.response_schema:
            return ""
        from snellen.scoring.json_schema import canonical_schema

        return canonical_schema(self.response_schema, path)


def named_function(name: str) -> Any:
    """A function of Snellen by its module and name, such as `scoring.exact.equal_folded`."""
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"snellen.{module}"), function)


_Described = TypeVar("_Described", bound=DescribedBenchmark)


def read_fields(path: str, fields: type[_Described]) -> _Described:
    """The description in a file. Raises DataError, which lists the fields that it may have."""
    try:
        described = msgspec.convert(read_toml(path), fields)
    except msgspec.ValidationError as error:
        known = sorted(msgspec.structs.fields(fields), key=lambda field: not field.required)
        names = ", ".join(field.name for field in known)
        raise DataError(f"{path}: {error}; a benchmark's description may have: {names}") from error
    if (described.place is not None) != (described.kind == "place"):
        raise DataError(f'{path}: kind = "place" and a table [place] belong together; got one without the other')
    if described.place is not None:
        try:
            described.place.check()
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
    return described
