"""A benchmark made of the user's own data file, without code.

Any VLMEvalKit-style TSV, CSV, JSONL, Parquet file or Hugging Face data set. What is asked is
inferred row by row from the columns (see `rows`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import cast

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Video
from snellen.benchmarks.declaration.published import absolute_path, with_origin
from snellen.benchmarks.declaration.rows import asks_for_page, compose_adjustments
from snellen.benchmarks.declaration.scoring import MAX_PAGE_TOKENS, RuleScoring
from snellen.benchmarks.declaration.units import (
    HEADLINE,
    UNIT,
    add_units,
    renamed_columns,
    summarise_units,
    unit_column,
    unit_sums,
)
from snellen.benchmarks.declaration.videos import SUBTITLE_TIMES, VIDEO_TEMPLATE
from snellen.core.benchmark import REQUIRES_TEXT, DataTable, FetchProgress, Variant
from snellen.core.errors import DataError, SnellenError, StorageError, UnknownName, UsageError
from snellen.core.sample import Origin
from snellen.data.columns import PLACE_COLUMNS, canonical_keys, is_video_column, may_ask_for_places
from snellen.data.media.image_files import is_file
from snellen.data.tables.open_table import open_table
from snellen.data.tables.sound_and_tools import refuse_sound_and_tools

VERSION, PLACES_VERSION, LABELLED_PLACES_VERSION = "5", "6", "7"
"""The second is that of tables that ask for places, the third of those with labels."""
_SEARCHED_ROWS = 100
"""Rows of a table among which one that asks for a page is searched."""
SCORE = "score"
"""Name of the mean over questions of which some ask for pages, or some for places and others not."""


@dataclass(frozen=True, slots=True)
class UserFile:
    """The user's own data file or data set on the hub; `--data` names another in its place."""

    path: str
    columns: Mapping[str, str] = field(default_factory=dict)
    """What its columns are called, unless the variant says otherwise: our name to theirs."""
    description: str = ""
    """The TOML file that describes it."""

    @property
    def options(self) -> Mapping[str, Sequence[str]]:
        return {}

    def columns_of(self, variant: Variant) -> dict[str, str]:
        return {**canonical_keys(self.columns), **canonical_keys(variant.columns)}

    def table(self, variant: Variant) -> DataTable:
        path, columns = variant.data or self.path, self.columns_of(variant)
        table = refuse_sound_and_tools(open_table(path, columns=renamed_columns(columns)))
        origin = Origin("own", file=absolute_path(path), columns=columns)
        if self.description:
            origin = structs.replace(origin, spec=self.description)
        return with_origin(table, origin)

    def fetcher(self, variant: Variant) -> Callable[[FetchProgress | None], Path] | None:
        return None

    def few_shot_source(self, variant: Variant) -> str:
        return ""

    def facts(self, variant: Variant, spec: str) -> Mapping[str, str]:
        return {}


ITEMS_FILE = "items.jsonl"
"""The data file in a folder that a step of `snellen curate` wrote."""
STEP_FILE = "step.json"


def data_file_declaration(path: str) -> Declaration:
    """The benchmark of a data file, or of a folder that a step of `snellen curate` wrote; its name
    is that of the file without suffixes, or of the folder."""
    name = data_file_name(path)
    if is_data_set_folder(path):
        name, path = Path(path).resolve().name, str(Path(path) / ITEMS_FILE)
    return Declaration(
        name=name,
        version=VERSION,
        title=f"own data: {path}",
        data=UserFile(path),
        requires=REQUIRES_TEXT,
        scoring=RuleScoring(similarity=True, judges_score=True),
        for_variant=partial(adapt_to_columns, UserFile(path)),
    )


def is_data_set_folder(path: str) -> bool:
    """Whether a step of `snellen curate` wrote this folder, and has ended."""
    folder = Path(path).expanduser()
    return is_file(folder / STEP_FILE) and is_file(folder / ITEMS_FILE)


def adapt_to_columns(data: UserFile, declaration: Declaration, variant: Variant) -> Declaration:
    """The declaration with the places, the units and the videos that the columns of the data name."""
    columns = data.columns_of(variant)
    declaration = _adapt_to_places(data, declaration, variant)
    if unit_column(columns):
        declaration = replace(
            declaration,
            adjust=compose_adjustments(declaration.adjust, add_units(columns)),
            headline=Headline(name=HEADLINE, summarise=partial(summarise_units, HEADLINE), sums=unit_sums),
            parameters={**declaration.parameters, UNIT: columns[UNIT]},
        )
    if not _has_videos(data, variant):
        return declaration
    return replace(
        declaration,
        template=declaration.template or VIDEO_TEMPLATE,
        video=Video(defaults={SUBTITLE_TIMES: "off"}, in_every_question=False, search_cache=False),
    )


def _adapt_to_places(data: UserFile, declaration: Declaration, variant: Variant) -> Declaration:
    """The declaration with what the table asks of places, unless it says that itself."""
    scoring = declaration.scoring
    if not isinstance(scoring, RuleScoring):
        return declaration
    if scoring.place is None and declaration.kind is None:
        with suppress(SnellenError):  # raised again when the table is opened to be read
            table = data.table(variant)
            if may_ask_for_places(table.columns):
                declaration = _leave_room_for_pages(_ask_for_places(declaration, scoring, table), table)
    elif scoring.place is not None:
        _check_named(scoring.place.named_columns(), data, variant)
    rules = cast(RuleScoring, declaration.scoring).place
    if rules is None:
        gold = data.columns_of(variant).get("gold", "")
        if declaration.kind is None and gold.lower() in (*PLACE_COLUMNS["box"], "box"):
            raise UsageError(
                f"gold={gold} would ask for the boxes of {data.path} as texts; for places: --columns bbox={gold}, "
                'or a column type that says box; for texts: kind = "open" in a TOML file'
            )
        return declaration
    from snellen.benchmarks.declaration.places import add_gold

    return replace(declaration, adjust=compose_adjustments(declaration.adjust, partial(add_gold, rules)))


def _ask_for_places(declaration: Declaration, scoring: RuleScoring, table: DataTable) -> Declaration:
    """The declaration with what the rows of a table ask of places."""
    from snellen.benchmarks.declaration.own_places import mark_place, own_places
    from snellen.benchmarks.declaration.place_rules import place_rules
    from snellen.scoring.places.run_metrics import metric_of_one

    found = own_places(table.columns, table)
    if found is None:
        return declaration
    metric = metric_of_one(found.rules.headline) if found.alone else SCORE
    rules = place_rules(found.rules) if found.alone else scoring.rules
    scoring = replace(scoring, place=found.rules, metric=metric, rules=rules)
    version = LABELLED_PLACES_VERSION if found.rules.labelled else PLACES_VERSION
    return replace(declaration, version=version, scoring=scoring, adjust_row=mark_place(found.rules))


def _leave_room_for_pages(declaration: Declaration, table: DataTable) -> Declaration:
    """The declaration with longer replies, and a name for the mean of partial scores, where one of the first rows
    asks for a page."""
    if not any(map(asks_for_page, islice(table, _SEARCHED_ROWS))):
        return declaration
    if isinstance(declaration.scoring, RuleScoring):
        declaration = replace(declaration, scoring=replace(declaration.scoring, metric=SCORE))
    return replace(declaration, max_new_tokens=declaration.max_new_tokens or MAX_PAGE_TOKENS)


def _check_named(names: Sequence[str], data: UserFile, variant: Variant) -> None:
    """Raise UnknownName for a column that a table `[place]` names and the data do not have."""
    with suppress(DataError, StorageError):  # raised again when the table is opened to be read
        columns = data.table(variant).columns
        for name in names:
            if name.lower() not in columns:
                raise UnknownName("column of [place]", name, columns)


def _has_videos(data: UserFile, variant: Variant) -> bool:
    """Whether a column names videos: how they are shown is then part of the run."""
    try:
        return any(map(is_video_column, data.table(variant).columns))
    except SnellenError:
        return False  # the error is raised again when the table is opened to be read


def data_file_name(path: str) -> str:
    """The file's name without its suffixes; `data` if nothing is left. A log of lmms-eval has the
    name of its task."""
    name = Path(path.split("://")[-1].split("?")[0]).name
    name = re.sub(r"^\d{8}(_\d{6})?_samples_", "", name)
    return re.sub(r"(\.(tsv|csv|jsonl?|parquet|xlsx|txt|eval))?(\.gz)?$", "", name, flags=re.I) or "data"
