"""`snellen info`: what is known about one model, benchmark, suite, recipe or data file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from snellen.api.flags import argument, option
from snellen.cli.output import OutputOptions, write_document
from snellen.core.errors import UsageError
from snellen.report.document import Document


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen info` takes."""

    name: str = argument("NAME", "a model, a benchmark, a suite, a recipe or a data file")
    card: bool = option(
        False,
        "--card",
        "the protocol card of a benchmark: what it asks, parses and counts, with digests",
        is_switch=True,
    )
    columns: Mapping[str, str] = option({}, "--columns")
    """For a data file."""


def main(options: Options) -> None:
    """Print facts of what the name stands for, or the protocol card."""
    write_document(_document(options), options)


def _document(options: Options) -> Document:
    from snellen.report.documents.name_facts import facts_document, facts_of_name, is_suite_or_recipe

    if options.card:
        from snellen.analysis.card_file import protocol_card
        from snellen.report.documents.protocol_card import card_document

        return card_document(protocol_card(options.name))
    from snellen.api.data_files import is_data_file

    if not is_suite_or_recipe(options.name) and is_data_file(options.name):
        return _data_document(options.name, options.columns)
    if options.columns:
        raise UsageError(f"--columns names the columns of a data file; {options.name} is none")
    return facts_document(facts_of_name(options.name))


def _data_document(name: str, columns: Mapping[str, str]) -> Document:
    """What the file is and holds, with the reasons, and the benchmark that it makes."""
    from snellen.analysis.file_facts import file_facts
    from snellen.api.data_files import open_data
    from snellen.benchmarks.declaration.own_places import mark_place, own_places
    from snellen.benchmarks.declaration.registry import split_spec
    from snellen.benchmarks.declaration.rows import kind_of_rows
    from snellen.data.detect import is_results
    from snellen.data.tables.info import table_info
    from snellen.data.tables.sound_and_tools import refuse_sound_and_tools
    from snellen.report.documents.name_facts import benchmark_facts, check_own_data, data_document

    path = split_spec(name).name
    if is_results(path):
        facts = {}
    else:
        check_own_data(name)
        facts = benchmark_facts(name, columns)
    table = refuse_sound_and_tools(open_data(path, columns))
    places = own_places(table.columns, table)
    info = table_info(table, kind_of_rows(table), mark_place(places.rules) if places else lambda row: row)
    return data_document(info, file_facts(path, [column.name for column in info.columns]), facts)
