"""What is known about one model, benchmark, suite, recipe or data file, and what is doubtful in the latter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.benchmarks.abilities.seedbench.levels import level_of
from snellen.benchmarks.declaration.data_file import is_data_set_folder
from snellen.benchmarks.declaration.evidence import evidence_of
from snellen.benchmarks.declaration.option_docs import OptionDoc, option_docs
from snellen.benchmarks.declaration.peers import facts_elsewhere, parse_peer_name
from snellen.benchmarks.declaration.registry import (
    benchmark_sources,
    builtin_suites,
    data_facts,
    is_data_source,
    is_description,
    listing_of,
    open_benchmark,
    split_spec,
)
from snellen.benchmarks.declaration.results_files import results_files
from snellen.benchmarks.protocol.parsers import describe_rules
from snellen.core.benchmark import COORDINATES, Variant
from snellen.core.errors import MissingExtra, NotHere, UnknownName, UsageError
from snellen.core.model import Identity
from snellen.data.tables.open_table import check_holds_data
from snellen.models.naming.catalog import CatalogEntry, catalog_names, facts_of
from snellen.models.naming.registry import describe_model, is_provider, maker_name, registered_models
from snellen.models.naming.registry import split_spec as split_model
from snellen.models.naming.spec import split_options
from snellen.models.remote.evidence import provider_evidence, provider_level
from snellen.models.remote.profile import PROTOCOLS, URL_SCHEMES, other_credentials, profiles
from snellen.prompts.recipes import MakerSetup, Recipe, find_setup, load_setups
from snellen.report.document import Column, Document, EmptyLine, Line, Table
from snellen.report.format import plural
from snellen.store.runs import holds_run

if TYPE_CHECKING:
    from snellen.analysis.data_check import DataIssue
    from snellen.analysis.file_facts import FileFacts
    from snellen.data.tables.info import TableInfo


def is_suite_or_recipe(name: str) -> bool:
    """Whether a name is that of a suite, or of a recipe of a model's makers."""
    return name.lower() in builtin_suites() or _find_setup_of_name(name) is not None


def facts_document(facts: Mapping[str, str]) -> Document:
    """A line for each fact."""
    return Document([facts_table(facts)], data=facts)


def facts_table(facts: Mapping[str, str]) -> Table:
    """A row for each fact that has a text."""
    rows = [(name, text) for name, text in facts.items() if text]
    return Table("facts", [Column("fact"), Column("value")], rows, on_terminal="lines")


def facts_of_name(name: str) -> dict[str, str]:
    """Facts about whatever the name stands for, in the order in which they are printed; a text is
    empty where there is nothing to say.

    Raises UnknownName, with the names that are near, and DataError for a path without data."""
    setup = _find_setup_of_name(name)
    if name.lower() in builtin_suites():
        return _suite_facts(name.lower())
    if setup is not None:
        return _setup_facts(setup)
    try:
        return _facts(name)
    except NotHere as error:
        return {"name": name, "here": f"nothing: {error}"}


def _find_setup_of_name(name: str) -> MakerSetup | None:
    # `Aria` is a model, `aria` the recipe of its makers.
    recipe = name if name in catalog_names() else name.lower()
    return next((setup for setup in load_setups() if setup.name == recipe), None)


def _suite_facts(name: str) -> dict[str, str]:
    suite = builtin_suites()[name]
    return {
        "suite": name,
        "title": suite.title,
        "members": "; ".join(f"{member.name} ({', '.join(member.benchmarks)})" for member in suite.members),
        "average": "plain mean of the members" if suite.average else "none",
        "source": suite.source,
    }


def _setup_facts(setup: MakerSetup) -> dict[str, str]:
    """How the makers of a family ask it: what all benchmarks share, then what differs by
    benchmark."""
    facts = {
        "recipe": setup.name,
        "title": setup.title,
        "models": ", ".join(setup.models),
        "from": _BASES[setup.basis],
        "settings": _settings_text(setup),
    }
    for row in setup.by_benchmark:
        but = f" but {', '.join(row.not_for)}" if row.not_for else ""
        facts[f"  {', '.join(row.benchmarks)}{but}"] = _settings_text(row)
    return {**facts, "not applied": setup.note, "source": setup.source, "read": setup.read}


_BASES = {
    "maker": "the makers' own repository or model card",
    "toolkit": "the class for the model in an evaluation toolkit",
}


def _settings_text(recipe: Recipe) -> str:
    return ", ".join(f"{name} {value}" for name, value in recipe.settings().items())


def _setup_line(name: str, identity: Identity) -> dict[str, str]:
    """One line about the set-up of a model's makers, if it is known."""
    setup = find_setup(maker_name(name, identity))
    if setup is None:
        return {}
    settings = _settings_text(setup)
    return {"makers ask it": f"{settings or 'by benchmark'} (snellen info {setup.name})"}


def _facts(name: str) -> dict[str, str]:
    """Facts of a model or benchmark; a name that could be both is what is registered.

    Raises UnknownName, with the names that are near."""
    stem = split_spec(name).name.lower()
    if name.startswith(("http://", "https://")):
        return _model_facts(name)
    if (peer_name := parse_peer_name(split_spec(name).name)) is not None:
        return facts_elsewhere(peer_name)
    if name.lower() in profiles():
        return _provider_facts(name.lower())
    is_model = is_provider(name.partition("/")[0])
    if stem in benchmark_sources() or (is_data_source(stem) and not is_model):
        return benchmark_facts(name)
    entry = facts_of(name)
    if entry is not None:
        return _catalog_facts(name, entry)
    try:
        return _model_facts(name)
    except MissingExtra as error:
        return _uninstalled_facts(name, error)
    except UnknownName as no_model:
        try:
            return benchmark_facts(name)
        except UnknownName:
            models = [*(model.name for model in registered_models()), *catalog_names()]
            names = [*models, *benchmark_sources()]
            raise UnknownName("model or benchmark", name, names) from no_model


def _provider_facts(name: str) -> dict[str, str]:
    """A provider of models behind servers, and the evidence that its requests are right."""
    profile = profiles()[name]
    spec = f"{name}://HOST:PORT/v1#MODEL" if name in URL_SCHEMES else f"{name}/MODEL"
    return {
        "provider": name,
        "title": profile.title,
        "protocol": PROTOCOLS[profile.dialect],
        "address": profile.base_url or " or ".join(profile.base_url_env),
        "key in": " or ".join(profile.key_env) + other_credentials(profile),
        "evidence": provider_evidence(name),
        "ask it by": f"snellen run -m {spec} -b BENCHMARK",
    }


def benchmark_facts(name: str, columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a benchmark declares, and the evidence that its numbers are right."""
    check_own_data(name)
    benchmark = open_benchmark(name, Variant(columns=columns or {}))
    evidence = evidence_of(benchmark.name)
    return {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "version": benchmark.version,
        "headline": benchmark.headline,
        "parameters": ", ".join(f"{k}={v}" for k, v in benchmark.parameters.items()),
        **{f"  {option.name}": _option_line(option) for option in option_docs(benchmark.options)},
        "rules": describe_rules(benchmark.rules),
        "also called": ", ".join(listing_of(benchmark.name).aliases),
        "paper": benchmark.paper,
        "source": benchmark.provenance,
        **data_facts(name),
        "coverage": benchmark.coverage,
        "evidence": evidence.summary() if evidence else "",
        "not scored": benchmark.unscorable,
        "results files": "; ".join([layout.advice for layout in results_files(benchmark.name)]),
        "longest reply": f"{benchmark.max_new_tokens} tokens",
    }


def check_own_data(name: str) -> None:
    """Raises DataError or UsageError if the name is a path at which there are no data."""
    path = split_spec(name).name
    if not is_data_source(path) or is_description(path) or is_data_set_folder(path):
        return
    if holds_run(Path(path)):
        raise UsageError(
            f"{path} holds runs, and info is about models, benchmarks and data files; "
            f"to see the runs: snellen report {path}"
        )
    check_holds_data(path)


def _option_line(option: OptionDoc) -> str:
    """Values, default and meaning of an option, in one line."""
    line = f"{option.values.replace('`', '')} (default {option.default})"
    return f"{line}: {option.meaning}" if option.meaning else line


def _catalog_facts(name: str, entry: CatalogEntry) -> dict[str, str]:
    """Facts of the catalog, and of the model on this machine, or why it cannot be opened here."""
    from snellen.report.documents.catalog import entry_facts

    try:
        local = _model_facts(name)
    except UsageError as error:
        identity = Identity(entry.provider, entry.id)
        local = {**_evidence_line(entry.spec), "on this machine": str(error), **_setup_line(entry.spec, identity)}
    facts = entry_facts(entry)
    if space := split_options(name)[1].get(COORDINATES):
        facts["coordinates"] = f"{space} (model option)"
    return {**local, **facts} if "model" in local else {**facts, **local}


def _uninstalled_facts(name: str, error: MissingExtra) -> dict[str, str]:
    """What is known of a model whose library is not installed: its checkpoint's facts, if these are
    in the catalog, and what to install."""
    from snellen.report.documents.catalog import entry_facts, how_to_ask

    parts = split_model(name)
    entry = facts_of(f"hf/{parts.name}")
    known = {} if entry is None else entry_facts(entry)
    about = {
        listing.name: listing.title for listing in registered_models() if listing.name.startswith(f"{parts.provider}/")
    }
    return {
        **known,
        "model": name,
        "spec": name,
        "provider": "; ".join(f"{listing}: {text}" for listing, text in about.items()),
        "ask it by": how_to_ask(entry, f"snellen run -m {name} -b BENCHMARK"),
        "on this machine": str(error),
        **_setup_line(name, Identity(parts.provider, parts.name)),
    }


def _evidence_line(spec: str) -> dict[str, str]:
    """The level of a provider behind a server; nothing for a model on this machine."""
    provider = spec.partition("/")[0].partition(":")[0]
    return {"evidence": f"{provider_level(provider)} (snellen info {provider})"} if provider in profiles() else {}


def _model_facts(name: str) -> dict[str, str]:
    info = describe_model(name)
    can = info.capabilities
    return {
        "model": info.spec,
        "provider": info.identity.provider,
        **_evidence_line(info.spec),
        **info.identity.facts,
        "takes": ", ".join(sorted(can.inputs)) + ("" if can.many_images else " (one image)"),
        "gives": ", ".join(sorted(can.outputs)),
        "coordinates": f"{info.space.name} ({info.space.origin})" if info.space else "",
        "log-likelihood": "yes" if can.log_likelihood else "no",
        "SEED-Bench-H level": level_of(can) or "none: it gives no text",
        "identity": info.identity.digest(),
        **_setup_line(info.spec, info.identity),
    }


def data_document(info: TableInfo, file: FileFacts | None, benchmark_facts: Mapping[str, str]) -> Document:
    """What a file was recognised as, its rows, questions, pictures and columns, and the benchmark
    that it makes."""
    from snellen.analysis.file_facts import ColumnFact

    kinds = ", ".join(f"{count} {kind}" for kind, count in info.kinds.items())
    facts = {
        "data file": info.path,
        **({} if file is None else _recognition(file)),
        "holds": f"{plural(info.rows, 'row')}, SHA-256 {info.digest}",
        "questions": f"{kinds}; {info.missing_answers} without answer",
        "pictures": f"{info.pictures} ({info.distinct_pictures} distinct, "
        f"{info.picture_bytes:,} bytes, {info.lost_pictures} lost)",
        "ids held twice": ", ".join(info.duplicate_ids[:5]),
    }
    roles = {} if file is None else {fact.column: fact for fact in file.columns}
    unknown = ColumnFact("", "", "")
    headings = [Column("column"), Column("type"), Column("filled", "count"), Column("role"), Column("reason")]
    rows = []
    for column in info.columns:
        fact = roles.get(column.name, unknown)
        rows.append((column.name, column.type, column.filled, fact.role, fact.reason))
    columns = Table("columns", headings, rows, on_terminal="untitled")
    data = {**asdict(info), "recognised": None if file is None else asdict(file)}
    return Document([facts_table({**facts, **benchmark_facts}), EmptyLine(), columns], data=data)


def _recognition(file: FileFacts) -> dict[str, str]:
    """What a file is, by what it was recognised, and what it was not recognised as."""
    return {
        "recognised as": f"{file.title}, by {file.recognised_by}",
        "not as": "; ".join(file.excluded),
        "no predictions": file.without_replies,
        **{f"published for {benchmark}": advice for benchmark, advice in file.published.items()},
    }


def issues_document(name: str, benchmark: str, rows: int, pictures: int, issues: Sequence[DataIssue]) -> Document:
    """A line for each issue with its rows, and a summary; `name` is the data as the user named
    them."""
    lines = [(issue.check, f"{_where(issue)}{issue.message}") for issue in issues]
    counts = (plural(rows, "row"), *([plural(pictures, "picture")] if pictures else []), plural(len(issues), "finding"))
    records = [(issue.check, ", ".join(map(str, issue.rows)), issue.message) for issue in issues]
    return Document(
        [
            *([Table("findings", [Column("check"), Column("finding")], lines, on_terminal="lines")] * bool(lines)),
            Line(f"{name}: {', '.join(counts)}", is_unbroken=True),
        ],
        data={"benchmark": benchmark, "rows": rows, "pictures": pictures, "findings": issues},
        records=Table("", [Column("check"), Column("rows"), Column("message")], records),
    )


def _where(issue: DataIssue) -> str:
    rows = ", ".join(map(str, issue.rows))
    return f"row{'s' if len(issue.rows) > 1 else ''} {rows}: " if rows else ""
