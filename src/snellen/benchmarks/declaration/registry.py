"""Benchmarks and suites by name: `eyechart`, `eyechart:split=photos`, or the user's own data file.

A family needs no registration: the file `snellen/benchmarks/abilities/mm-star.toml`, or a module
`mm_star.py`, or `benchmark.py` in a package of that name, which has a `BENCHMARK`, is the benchmark
`mm-star`; `abilities` is one of the folders by what families are about. The entry points of other
packages in the group `snellen.benchmarks` come on top. Names are listed without opening any family.
A suite is several benchmarks
that are run and averaged together, built in or in the user's TOML file.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.build import all_options, build
from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.units import refuse_units
from snellen.benchmarks.declaration.videos import video_options
from snellen.benchmarks.protocol.ask_config import OWN_PROMPT, prompt_options
from snellen.benchmarks.protocol.control import OPTION
from snellen.benchmarks.protocol.few_shot import SHOTS_FROM
from snellen.benchmarks.protocol.ranking import is_ranking
from snellen.benchmarks.protocol.system_prompt import OPTION as SYSTEM
from snellen.core.benchmark import RECIPE, Benchmark, BenchmarkFactory, Variant
from snellen.core.entry_points import load_entry_point, plugin_entry_points
from snellen.core.errors import DataError, NotHere, UnknownName, UsageError
from snellen.core.request import Sampling
from snellen.data.modelscope import SCHEME as MODELSCOPE
from snellen.data.tables.hub import SCHEME
from snellen.data.toml_files import read_toml
from snellen.prompts.recipes import find_recipe
from snellen.settings import Settings

if TYPE_CHECKING:
    from snellen.benchmarks.declaration.peers import PeerName

GROUP = "snellen.benchmarks"
_PACKAGE = Path(__file__).parents[1]
_SHARED = frozenset({"declaration", "protocol"})
"""Packages of `snellen.benchmarks` that hold no families."""

FILE = "file"
"""Option of every benchmark: a data file in place of its own, for this benchmark alone."""
JUDGE_PROMPT = "judge_prompt"
"""Option of every benchmark that asks judges: a TOML file with other words for their prompts."""
_OPTIONS = re.compile(r":(?=[a-z_-]+=)")
_TOML = ".toml"
_DATA_SUFFIX = re.compile(r"\.(tsv|csv|jsonl?|parquet|xlsx)(\.gz)?$", re.IGNORECASE)
_TABLE_NAME = re.compile(r"[\w.-]+")
_SUITES_FILE = "suites.toml"
_MEMBERS = "members"
SUBTITLES_OPTION = "subtitles"
"""The video option that changes what is asked; the others change how videos are shown."""
_PROMPT = "prompt"

Source = Declaration | BenchmarkFactory


@functools.cache
def benchmark_sources() -> Mapping[str, Callable[[], Source]]:
    """The loader of each registered name. Loading raises UsageError for a broken plug-in."""
    plugins = {name: partial(_load_plugin, name) for name in plugin_entry_points(GROUP)}
    return {**plugins, **_families()}


def is_registered(name: str) -> bool:
    """Whether a benchmark has this name, ignoring case; names of other tools do not count."""
    return name.lower() in _families() or name.lower() in benchmark_sources()


def family_folders() -> list[str]:
    """The packages of `snellen.benchmarks` that hold families, by what those are about."""
    packages = pkgutil.iter_modules([str(_PACKAGE)])
    return [package.name for package in packages if package.name not in _SHARED]


@functools.cache
def _families() -> Mapping[str, Callable[[], Source]]:
    """The loader of each family by its name."""
    families: dict[str, Callable[[], Source]] = {}
    for folder in family_folders():
        for module in pkgutil.iter_modules([str(_PACKAGE / folder)]):
            inner = ".benchmark" if module.ispkg else ""
            path = f"{GROUP}.{folder}.{module.name}{inner}"
            families[module.name.replace("_", "-")] = partial(_import_family, path)
        families |= {file.stem: partial(_read_family, file) for file in (_PACKAGE / folder).glob(f"*{_TOML}")}
    return families


def _import_family(module: str) -> Source:
    declaration: Declaration = importlib.import_module(module).BENCHMARK
    return declaration


def _read_family(file: Path) -> Source:
    from snellen.benchmarks.declaration.family_file import read_family

    return read_family(file)


def _load_plugin(name: str) -> Source:
    return cast(Source, load_entry_point(plugin_entry_points(GROUP)[name]))


class BenchmarkSpec(NamedTuple):
    name: str
    options: dict[str, str]


class BenchmarkListing(NamedTuple):
    """A line of `snellen list benchmarks`."""

    name: str
    title: str
    aliases: tuple[str, ...]


def split_spec(spec: str) -> BenchmarkSpec:
    """Split `name:key=value,...` into name and options. Raises UsageError for a malformed
    option."""
    name, *option_text = _OPTIONS.split(spec.strip(), maxsplit=1)
    options: dict[str, str] = {}
    for pair in option_text[0].split(",") if option_text else []:
        key, equals, value = pair.partition("=")
        if not key or not equals or not value:
            raise UsageError(f"benchmark {spec!r}: option {pair!r} is not of the form key=value")
        options[key] = value
    if not name:
        raise UsageError("a benchmark's name is empty; expected a name or a data file")
    return BenchmarkSpec(name, options)


def open_benchmark(spec: str, variant: Variant = Variant()) -> Benchmark:  # noqa: B008 - frozen
    """Open a benchmark by its name, or make one of the data file at that path.

    A registered name wins over a file of the same name; write `./mme` for the folder.
    `name:file=PATH` reads that file in place of the benchmark's own, `name:judge_prompt=PATH` asks
    the judges in the words of that file. Raises UnknownName, and UsageError for an option the
    benchmark does not have.
    """
    name, options = split_spec(spec)
    options = {**variant.options, **options}
    if FILE in options and is_data_source(name):
        raise UsageError(f"{name} is a data file itself; {FILE}= goes with a benchmark's name")
    if variant.data is not None and is_data_source(name) and not is_description(name):
        raise UsageError(
            f"{name} is a data file itself, and --data {variant.data} would replace it; name one "
            "of the two alone, or a benchmark whose data --data replaces"
        )
    data = options.pop(FILE, variant.data)
    variant = replace(
        variant,
        data=data,
        control=options.pop(OPTION, variant.control),
        system=options.pop(SYSTEM, variant.system),
        judge_prompt=options.pop(JUDGE_PROMPT, variant.judge_prompt),
        options=options,
    )
    named = _find_source(name, variant)
    other = names_in_other_tools(named.source).get(name.lower())
    notice = ""
    if other is not None and other.protocol and other.differs(options):
        notice = other.sentence(name)
    return build(named.source, replace(variant, options={**named.options, **options}), notice=notice)


def _find_source(name: str, variant: Variant) -> NamedSource:
    """What a name means: a description, a data file, or a registered benchmark. Raises
    UnknownName, and UsageError for choices that do not go with it."""
    peer_name = _peer_name(name)
    if peer_name is not None:
        from snellen.benchmarks.declaration.peers import bridged_factory

        return NamedSource(bridged_factory(peer_name), {})
    if is_description(name):
        from snellen.benchmarks.declaration.toml import load_declaration

        return NamedSource(load_declaration(name), {})
    if is_data_source(name):
        table = _table_in_lmu_data(name) or name
        return NamedSource(_hub_task(name) or data_file_declaration(table), {})
    registered = _find_registered(name)
    if registered is None:
        stem, colon, option = name.partition(":")
        if colon and is_registered(stem):
            raise UsageError(
                f"benchmark {name!r}: option {option!r} is not of the form key=value; "
                f"`snellen info {stem}` lists the options"
            )
        _refuse_other_tools_name(name)
        raise UnknownName("benchmark", name, benchmark_sources(), _data_file_hint(name))
    if variant.columns:
        if variant.data is None:
            raise UsageError(f"{name} knows its columns; --columns is for a data file of your own, or with --data")
        refuse_units(name, variant.columns)
    if variant.options:
        _check_options(name, variant, registered.source)
    return registered


def _peer_name(name: str) -> PeerName | None:
    """The tool and the task of a name with a tool's prefix. Other names import nothing of the bridge."""
    if "/" not in name:
        return None
    from snellen.benchmarks.declaration.peers import parse_peer_name

    return parse_peer_name(name)


def _refuse_other_tools_name(name: str) -> None:
    """Raises NotHere or UsageError, with what to type, for a name that other tools have."""
    import difflib

    from snellen.benchmarks.declaration.other_tools import advice_on_name
    from snellen.benchmarks.declaration.peers import PEERS, known_elsewhere

    if advice := advice_on_name(name):
        raise NotHere(advice)
    prefix, _, task = name.rpartition("/")
    task = task if difflib.get_close_matches(prefix.lower(), PEERS, 1) else name
    elsewhere = known_elsewhere(task)
    if elsewhere:
        tools = " and ".join(PEERS[peer] for peer in elsewhere)
        commands = " or ".join(f"-b {peer}/{task}" for peer, task in elsewhere.items())
        raise UsageError(f"{task} is a benchmark of {tools}, which Snellen runs with its code: {commands}")


def _hub_task(name: str) -> Declaration | None:
    """The task of a data set's `eval.yaml`; None if it has none."""
    if not name.startswith((SCHEME, MODELSCOPE)):
        return None
    from snellen.benchmarks.declaration.hub_task import hub_task_declaration

    return hub_task_declaration(name)


def names_in_other_tools(source: Source) -> Mapping[str, OtherToolName]:
    """Names, in lower case, that mean something else in another tool."""
    return source.other_tools if isinstance(source, Declaration) else {}


def _check_options(name: str, variant: Variant, source: Source) -> None:
    """Raises UnknownName for an option that the benchmark does not declare."""
    if isinstance(source, Declaration):
        declared: Iterable[str] = all_options(source, variant.data)
    else:
        declared = source(Variant(data=variant.data)).options
    for key in variant.options:
        if key not in declared and key != SHOTS_FROM:
            hint = f"`snellen info {name}` explains them."
            raise UnknownName(f"option of {name}", key, declared, hint)


def is_description(name: str) -> bool:
    """Whether a name is the path of a TOML file that describes a benchmark; what its options name
    does not count."""
    return _path_of(name).lower().endswith(_TOML)


def _path_of(spec: str) -> str:
    """The path in front of the options."""
    return _OPTIONS.split(spec, maxsplit=1)[0]


def is_data_source(name: str) -> bool:
    """Whether a name means a data file, a description or a folder, not a registered benchmark."""
    # No benchmark has such a name: files need not wait for the list of them.
    if "://" in name or _DATA_SUFFIX.search(name) is not None:
        return True
    if is_registered(name) or _peer_name(name) is not None:
        return False
    return is_description(name) or Path(name).exists() or _table_in_lmu_data(name) is not None


def _table_in_lmu_data(name: str) -> str | None:
    """The path of the table of this name in VLMEvalKit's data folder; None if there is none, or if
    the name is that of a benchmark there."""
    folder = Settings.from_environment().lmu_data
    if folder is None or not _TABLE_NAME.fullmatch(name):
        return None
    path = folder / f"{name}.tsv"
    return str(path) if path.is_file() and _find_registered(name) is None else None


def list_benchmarks() -> list[BenchmarkListing]:
    """All registered benchmarks by name; the line of a broken plug-in has the reason."""
    return [listing_of(name) for name in sorted(benchmark_sources())]


def listing_of(name: str) -> BenchmarkListing:
    """The line of one benchmark, without loading the others; one that is not registered has neither
    title nor other names."""
    if name not in benchmark_sources():
        return BenchmarkListing(name, "", ())
    try:
        source = benchmark_sources()[name]()
    except UsageError as error:
        return BenchmarkListing(name, str(error), ())
    title = source.title if isinstance(source, Declaration) else source(Variant()).title
    return BenchmarkListing(name, title, tuple(_aliases(source)))


def _data_file_hint(name: str) -> str:
    """How to name a data file, with a file of that name if there is one here."""
    first, comma, second = name.partition(",")
    if comma and second.strip():
        return f"to name several, repeat the flag: -b {first.strip()} -b {second.strip()}"
    here = [path for path in Path(name).parent.glob(f"{Path(name).name}.*") if _DATA_SUFFIX.search(path.name)]
    return f"a data file of your own is given by its path{f', e.g. {here[0]}' if here else ''}."


def data_facts(spec: str) -> dict[str, str]:
    """Which data a named benchmark declares, whether they are on this machine, and what its names
    mean in other tools; nothing for the user's own data."""
    name, options = split_spec(spec)
    # Looking for a file among the names of other tools would load every benchmark.
    named = None if is_data_source(name) else _find_registered(name)
    if named is None or FILE in options or not isinstance(named.source, Declaration):
        return {}
    sentences = [other.sentence(name) for name, other in names_in_other_tools(named.source).items()]
    elsewhere = {"elsewhere": "; ".join(sentences)} if sentences else {}
    variant = Variant(options={**named.options, **options})
    return {**named.source.data.facts(variant, spec), **elsewhere}


def language_notice(spec: str | Benchmark, benchmark: Benchmark, variant: Variant) -> str:
    """That a benchmark of several languages is asked in one, and how the others are; "" if its name
    or the options say which, or the data are the user's own."""
    languages = benchmark.options.get("lang", ())
    if len(languages) < 2 or isinstance(spec, Benchmark) or variant.data is not None:
        return ""
    name, options = split_spec(spec)
    named = _find_registered(name)
    if named is None or {"lang", FILE} & {*options, *variant.options, *named.options}:
        return ""
    asked = benchmark.parameters["lang"]
    others = " ".join(f"-b {name}:lang={each}" for each in languages if each != asked)
    return f"{name} is asked in one language, lang={asked}; the others: {others}"


class NamedSource(NamedTuple):
    """What a name means: a declaration or factory, and the options that the name stands for."""

    source: Source
    options: Mapping[str, str]


def _find_registered(name: str) -> NamedSource | None:
    """Find a benchmark by its own name, importing only that family, else by another tool's name.

    Other tools' names match as they are spelt there, or in any case if that is unambiguous. Raises
    UsageError if it is not. Last, a name matches without its punctuation, if it matches one alone.
    """
    if name.lower() in _families():
        return NamedSource(_families()[name.lower()](), {})
    sources = benchmark_sources()
    if name.lower() in sources:
        return NamedSource(sources[name.lower()](), {})
    matches: dict[str, NamedSource] = {}
    letters = _letters(name)
    near: list[NamedSource] = []
    for load in sources.values():
        try:
            source = load()
        except UsageError:
            continue  # a broken plug-in must not stand in the way of the others
        for alias, options in _aliases(source).items():
            if alias.lower() == name.lower():
                matches[alias] = NamedSource(source, options)
            elif _letters(alias) == letters and NamedSource(source, options) not in near:
                near.append(NamedSource(source, options))
    if name in matches or len(matches) == 1:
        return matches.get(name) or next(iter(matches.values()))
    if matches:
        raise UsageError(f"{name} may mean {' or '.join(matches)}: spell it as one of these")
    own_names = [own for own in sources if _letters(own) == letters]
    if len(own_names) == 1:
        return NamedSource(sources[own_names[0]](), {})
    return near[0] if len(near) == 1 else None


_OTHER_BENCHMARKS = frozenset({"inspect/worldsense"})
"""Tasks that share the name of a benchmark here and are another one: Inspect's asks about described worlds."""


@functools.cache
def own_name_of(name: str, tool: str) -> str:
    """The family that a tool's name stands for; "" if there is none."""
    if f"{tool}/{name}" in _OTHER_BENCHMARKS:
        return ""
    known = _names_elsewhere()
    return known.get(name) or known.get(name.lower(), "")


@functools.cache
def _names_elsewhere() -> Mapping[str, str]:
    """Names of families and their aliases to the families: in lower case, and as they are spelt."""
    spelt = {name: listing.name for listing in list_benchmarks() for name in (*listing.aliases, listing.name)}
    return {**{name.lower(): family for name, family in spelt.items()}, **spelt}


def _letters(name: str) -> str:
    """Its letters and digits, in lower case: papers and tools differ in hyphens and blanks."""
    return "".join(filter(str.isalnum, name.lower()))


def _aliases(source: Source) -> Mapping[str, Mapping[str, str]]:
    """Other tools' names for variants of a benchmark, name to options."""
    return source.aliases if isinstance(source, Declaration) else {}


def apply_recipe(model: str, spec: str, benchmark: Benchmark, variant: Variant, *, video: str = "") -> Benchmark:
    """The benchmark under the recipe for that model, which its parameters then record.

    The longest reply is the recipe's, unless one is requested, the model is to think first, or
    texts are ranked; so are wording and frames, where they can be chosen and are not requested.
    `video` is how the model takes videos as such, `native` or `clip`; "" if it does not, and then
    numbers of frames for whole videos are left out. The benchmark is unchanged if no recipe
    matches, or if all it sets is requested otherwise.
    """
    recipe = find_recipe(model, benchmark.name)
    if recipe is None:
        return benchmark
    requested = {**split_spec(spec).options, **variant.options}
    max_new_tokens = variant.max_new_tokens
    length_is_free = requested.get("cot", "off") == "off" and not is_ranking(benchmark.parameters)
    if max_new_tokens is None and length_is_free:
        max_new_tokens = recipe.max_new_tokens
    options = {
        name: value
        for name, value in recipe.video_options.items()
        if name in benchmark.options and name not in requested
    }
    if recipe.video == "native" and not video:
        # Hundreds of pictures in one request would be neither what the makers do nor affordable.
        options = {}
    elif "video" in options and recipe.video == "native":
        options["video"] = video
    takes_wordings = OWN_PROMPT in benchmark.options.get(_PROMPT, ())
    if recipe.prompt and takes_wordings and _PROMPT not in requested:
        options[_PROMPT] = recipe.prompt
    changes_elsewhere = recipe.model_options or recipe.sampling != Sampling()
    if not options and max_new_tokens == variant.max_new_tokens and not changes_elsewhere:
        return benchmark
    options |= variant.options
    rebuilt = open_benchmark(spec, replace(variant, options=options, max_new_tokens=max_new_tokens))
    return replace(rebuilt, parameters={**rebuilt.parameters, RECIPE: recipe.name})


class SuiteMember(Struct, frozen=True, forbid_unknown_fields=True):
    """One column of a suite's table."""

    name: str
    benchmarks: tuple[str, ...] = ()
    """Benchmarks with their options; the scores of several are averaged. Empty if the number only
    comes from imported results."""
    metric: str | None = None
    """The metric that is averaged; None for the headline."""
    top: float = 100.0
    """The highest value that imported numbers can have."""


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    members: tuple[SuiteMember, ...]
    source: str = ""
    average: bool = True

    def specs(self) -> tuple[str, ...]:
        """The benchmarks to run, each once."""
        return tuple(dict.fromkeys(spec for member in self.members for spec in member.benchmarks))


def builtin_suites() -> Mapping[str, Suite]:
    text = (files("snellen.benchmarks") / "data" / _SUITES_FILE).read_text(encoding="utf-8")
    return {name: _decode_suite(document, _SUITES_FILE) for name, document in tomllib.loads(text).items()}


def find_suite(name: str) -> Suite:
    """Find a suite by name or TOML file. Raises UnknownName, DataError, and UsageError for
    options, which it has none of."""
    if is_description(name) and name != _path_of(name):
        raise UsageError(
            f"{name}: a suite has no options of its own; write them behind its benchmarks in {_path_of(name)}"
        )
    if name.lower().endswith(_TOML):
        return _decode_suite(read_toml(name), name)
    suites = builtin_suites()
    if name.lower() not in suites:
        hint = "a suite of your own is given by the path of its TOML file"
        raise UnknownName("suite", name, suites, hint)
    return suites[name.lower()]


def expand_suites(names: Sequence[str | Benchmark]) -> list[str | Benchmark]:
    """Replace names of suites by the benchmarks they run. Raises DataError."""
    specs: list[str | Benchmark] = []
    for name in names:
        if isinstance(name, str) and _is_suite(name):
            specs += [spec for spec in find_suite(name).specs() if spec not in specs]
        else:
            specs.append(name)
    return specs


def member_key(spec: str) -> tuple[str, dict[str, str]]:
    """A member's benchmark: its name, and the parameters that a run must share to count.

    These say what is asked (split, language, edition); how it is asked is free.
    """
    opened = open_benchmark(spec)
    free = {*prompt_options(), *video_options()} - {SUBTITLES_OPTION}
    what_is_asked = opened.options.keys() - free
    return opened.name, {name: value for name, value in opened.parameters.items() if name in what_is_asked}


def _is_suite(name: str) -> bool:
    if is_description(name):
        return _MEMBERS in read_toml(_path_of(name))
    if "://" in name or _DATA_SUFFIX.search(name) is not None:
        return False
    return name.lower() not in _families() and name.lower() in builtin_suites()


def _decode_suite(document: Mapping[str, Any], source: str) -> Suite:
    try:
        suite = msgspec.convert(document, Suite)
    except msgspec.ValidationError as error:
        raise DataError(
            f"{source}: {error}; a suite has `title` and [[members]], each with `name`, "
            "`benchmarks` (a list), and where needed `metric` and `top`"
        ) from error
    names = [member.name.lower() for member in suite.members]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not names:
        problem = f"the member {twice[0]!r} stands there twice" if twice else "no members"
        raise DataError(f"{source}: {problem}; each member needs a name of its own")
    return suite
