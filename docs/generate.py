"""Write the pages that come from the code: `python docs/generate.py [--check]`.

docs/cli.md         every command and flag, from the parser itself
docs/benchmarks.md  every registered benchmark (see docs/benchmark_list.py)
docs/models.md      every model provider and its options
docs/reproduction.md  our numbers beside official ones (see docs/reproduce.py)
docs/evidence.md    what every benchmark's numbers rest on (see docs/evidence.py), and a run over one small
                    file of each (see docs/every_kind.py)
docs/families.md    families of models that were tried (see docs/families.py)
docs/routes.md      where every model's name leads (see docs/routes.py)
docs/known-elsewhere.md  which names of VLMEvalKit and lmms-eval are known (see docs/known_elsewhere.py)
docs/attacks.md     hostile input and bad days, each with its test (see docs/attacks.py)
docs/papers.md      what the papers define and print, but for its last section (see docs/papers.py)
docs/statistics.md  every statistical procedure with its simulations (see simulations/page.py)
docs/design/structure.md  how readable the package is (see docs/structure.py)
docs/other-tools.md its table of headlines by rule alone (see docs/rule_headlines.py)
docs/servers.md     its table of what each provider rests on alone (see docs/provider_evidence.py)
docs/generated-code.md  its tables of programs and layers alone (see docs/generated_code.py)
docs/llms.txt       what the documentation holds, for language models (see docs/llms.py)

With `--check` nothing is written; the exit code is 1 when a page differs from what would be.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from page_cells import cell, escaped

from snellen.cli.parser import build_parser
from snellen.models.naming.catalog import catalog
from snellen.models.naming.provider import ModelOption
from snellen.models.naming.registry import registered_models, registered_providers
from snellen.models.sampling import OPTIONS as SAMPLING
from snellen.report.documents.catalog import COLUMNS, entry_row

if TYPE_CHECKING:
    Group = argparse._SubParsersAction[argparse.ArgumentParser]

FOLDER = Path(__file__).parent
_IN_A_HEADING = 3
NOTE = "<!-- Written by docs/generate.py. Edit the code, then run it again. -->"


def cli() -> str:
    """Every command with its arguments and flags."""
    parser = build_parser()
    lines = [
        "# Commands",
        "",
        NOTE,
        "",
        "Exit codes of every command: `0` complete, `1` samples failed or are missing, "
        "`2` a mistake in the command or its files, `130` stopped by Ctrl-C.",
        "",
    ]
    for command in _commands(parser):
        lines += _command(command)
    return "\n".join(lines)


class Command(NamedTuple):
    name: str
    purpose: str
    parser: argparse.ArgumentParser


def _commands(parser: argparse.ArgumentParser, prefix: str = "snellen") -> Iterator[Command]:
    """The commands that do something, those of groups such as `data` included."""
    for group in _groups(parser):
        purposes = {choice.dest: choice.help or "" for choice in group._choices_actions}
        for name, command in group.choices.items():
            if not _groups(command):
                yield Command(f"{prefix} {name}", purposes.get(name, ""), command)
            yield from _commands(command, f"{prefix} {name}")


def _groups(parser: argparse.ArgumentParser) -> list[Group]:
    return [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]


def _command(command: Command) -> Iterator[str]:
    actions = [action for action in command.parser._actions if "--help" not in action.option_strings]
    words = [_usage(action) for action in actions]
    purpose = command.purpose[:1].upper() + command.purpose[1:]
    yield from (f"## {command.name}", "", f"{escaped(purpose)}.", "")
    yield from ("```text", " ".join([command.name, *words]), "```", "")
    rows = [(_flag(action), _meaning(action)) for action in actions]
    yield from (*_table(("argument", "meaning"), rows), "")


def _usage(action: argparse.Action) -> str:
    if not action.option_strings:
        return _value(action) + ("..." if action.nargs == "+" else "")
    flag = action.option_strings[0]
    text = flag if action.nargs == 0 else f"{flag} {_value(action)}"
    return text if action.required else f"[{text}]"


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        value = action.metavar
    elif action.choices is not None:
        value = "|".join(map(str, action.choices))
    else:
        value = action.dest.upper()
    return f"[{value}]" if action.nargs == "?" else value


def _flag(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_value(action)}`"
    value = "" if action.nargs == 0 else f" {_value(action)}"
    return ", ".join(f"`{flag}{value}`" for flag in action.option_strings)


def _meaning(action: argparse.Action) -> str:
    text = (action.help or "").replace("%%", "%")
    plain = action.nargs != 0 and isinstance(action.default, str | int) and action.option_strings
    if plain and action.default != "" and "default" not in text:
        text += f" (default: `{action.default}`)"
    return escaped(text)


def benchmarks() -> str:
    """Every registered benchmark (see docs/benchmark_list.py)."""
    return _page_of("benchmark_list.py")


def models() -> str:
    """Every provider with its models and options."""
    lines = [
        "# Models",
        "",
        NOTE,
        "",
        "A model is named `provider/model`; options follow after a colon: "
        "`hf/ORG/NAME:dtype=bfloat16,batch_size=4`. A Python file of your own adds models: see "
        "[A model of your own](own-model.md).",
        "",
        *_table(("name", "what it is"), [(f"`{one.name}`", escaped(one.title)) for one in registered_models()]),
        "",
    ]
    rows = [(f"`{one.name}`", _option_meaning(one)) for one in SAMPLING]
    lines += ["## Options of every model", "", *_table(("option", "meaning"), rows), ""]
    takers: dict[tuple[ModelOption, ...], list[str]] = {}
    for provider in sorted(registered_providers(), key=lambda provider: provider.name):
        takers.setdefault(provider.options, []).append(provider.name)
    for options, names in takers.items():
        if options:
            rows = [(f"`{one.name}`", _option_meaning(one)) for one in options]
            lines += [*_options_of(names), *_table(("option", "meaning"), rows), ""]
    return "\n".join([*lines, *_catalogued()])


def _options_of(names: Sequence[str]) -> list[str]:
    """A heading; where many providers share their options, they are listed beneath it."""
    if len(names) <= _IN_A_HEADING:
        return [f"## Options of {', '.join(names)}", ""]
    heading = f"## Options of models behind servers and APIs, {len(names)} providers"
    return [heading, "", f"{', '.join(f'`{name}`' for name in names)}.", ""]


def _catalogued() -> Iterator[str]:
    """The models that have names of their own, with their facts."""
    yield from ("## Models by name", "")
    yield (
        f"{len(catalog())} models can be named without a provider; prices are in dollars per "
        "million tokens. Where each fact was read: `snellen info NAME`, and "
        "[Models by name](catalog.md)."
    )
    yield from ("", f"| {' | '.join(column.name for column in COLUMNS)} | stands for | also called |")
    yield "|" + " --- |" * (len(COLUMNS) + 2)
    for entry in catalog():
        name, *cells = (cell(escaped(fact)) for fact in entry_row(entry))
        aliases = ", ".join(f"`{alias}`" for alias in entry.names[1:])
        yield f"| {' | '.join([f'`{name}`', *cells, f'`{entry.spec}`', aliases])} |"
    yield ""


def _option_meaning(option: ModelOption) -> str:
    choices = ", ".join(f"`{choice}`" for choice in option.choices)
    meaning = escaped(option.meaning)
    return f"{meaning} ({choices})" if choices else meaning


def _table(header: tuple[str, str], rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"| {header[0]} | {header[1]} |"
    yield "| --- | --- |"
    for left, right in rows:
        yield f"| {cell(left)} | {cell(right)} |"


def reproduction() -> str:
    """Our numbers beside official ones, from the counts that are committed."""
    return _page_of("reproduce.py")


def evidence() -> str:
    """What every benchmark's numbers rest on, from the counts that are committed."""
    page: str = import_module("evidence").page()
    small_models: str = import_module("small_models").section()
    every_kind: str = runpy.run_path(str(FOLDER / "every_kind.py"))["section"]()
    return f"{page}\n{small_models}\n{every_kind}"


def families() -> str:
    """The families that were tried, from the record that their tests keep."""
    return _page_of("families.py")


def routes() -> str:
    """Where every model's name leads, from the routes of the package."""
    return _page_of("routes.py")


def known_elsewhere() -> str:
    """Which names of two other tools are known, from the list that is committed."""
    return _page_of("known_elsewhere.py")


def _page_of(script: str) -> str:
    text: str = runpy.run_path(str(FOLDER / script))["page"]()
    return text


def statistics() -> str:
    """Every procedure, from the studies and the results that are committed."""
    sys.path.insert(0, str(FOLDER.parent))
    text: str = import_module("simulations.page").page()
    return text


def attacks() -> str:
    """What hostile input and bad days do, from the results that are committed."""
    return _page_of("attacks.py")


def papers() -> str:
    """A page whose last section is written by hand: what the papers define and print."""
    return _page_of("papers.py")


def structure() -> str:
    """How readable the package is, from the figures that are committed."""
    return _page_of("structure.py")


def other_tools() -> str:
    """A page written by hand, in which one table comes from the declarations."""
    return _page_of("rule_headlines.py")


def generated_code() -> str:
    """A page written by hand, in which two tables come from what was measured."""
    return _page_of("generated_code.py")


def servers() -> str:
    """A page written by hand, in which one table comes from the evidence of the providers."""
    return _page_of("provider_evidence.py")


def llms() -> str:
    """What the documentation holds, for language models (see docs/llms.py)."""
    return _page_of("llms.py")


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli,
    "benchmarks.md": benchmarks,
    "models.md": models,
    "reproduction.md": reproduction,
    "evidence.md": evidence,
    "families.md": families,
    "routes.md": routes,
    "known-elsewhere.md": known_elsewhere,
    "papers.md": papers,
    "statistics.md": statistics,
    "attacks.md": attacks,
    "design/structure.md": structure,
    "other-tools.md": other_tools,
    "servers.md": servers,
    "generated-code.md": generated_code,
    "llms.txt": llms,
}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Write the pages that come from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    check = parser.parse_args(argv).check
    stale = []
    for name, page in PAGES.items():
        path, text = FOLDER / name, page().rstrip() + "\n"
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(f"docs/{name}")
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and stale:
        print(f"{', '.join(stale)} differ from the code; run: python docs/generate.py", file=sys.stderr)
        return 1
    print("\n".join(stale) or "nothing has changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
