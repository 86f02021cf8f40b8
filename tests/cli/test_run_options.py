"""`RunOptions`: one value that the command line, `evaluate` and `plan` share."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import snellen
from snellen import RunOptions, Sampling, Variant, evaluate, plan
from snellen.api.flags import option_flags
from snellen.api.options import AskOptions
from snellen.cli.flags import read_options
from snellen.cli.parser import COMMANDS, parse_arguments
from snellen.core.errors import UsageError
from snellen.engine.ray.placement import RayCluster

RUN = ("run", "-m", "random", "-b", "eyechart")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ((), {}),
        (("--limit", "3", "--seed", "7"), {"limit": 3, "seed": 7}),
        (("--no-html", "--setup", "plain"), {"html": False, "setup": "plain"}),
        (("--judge", "a", "--judge", "b"), {"judges": ("a", "b")}),
        (("--price", "m:input=1,output=2"), {"prices": ("m:input=1,output=2",)}),
        (("--fresh",), {"fresh": ""}),
        (("--fresh", "again"), {"fresh": "again"}),
        (("--circular",), {"variant": Variant(circular="early")}),
        (("--rule", "official"), {"variant": Variant(rule="official")}),
        (("--columns", "gold=label"), {"variant": Variant(columns={"gold": "label"})}),
        (("--generation", "temperature=1", "--generation", "seed=4"), {"sampling": Sampling(temperature=1.0, seed=4)}),
        (("--requests", "retries=0", "--budget", "5usd"), {"retries": 0, "budget": "5usd"}),
        (("--requests", "max_failures=5%,serve_timeout=9"), {"max_failures": "5%", "serve_timeout": 9.0}),
        (
            ("--generation", "max_new_tokens=9,extend_truncated=32k"),
            {"variant": Variant(max_new_tokens=9), "extend_truncated": 32_000},
        ),
        (("--judge", "a:repeats=3", "--judge", "clip/x"), {"judges": ("a",), "judge_repeats": 3, "clip": "clip/x"}),
        (("--columns", "gold="), {"require_answers": False}),
        (("--executor", "ray:replicas=2,gpus=0.5"), {"cluster": RayCluster(replicas=2, gpus=0.5)}),
        (("--executor", "local"), {}),
    ],
)
def test_flags_fill_the_fields(typed: tuple[str, ...], expected: dict[str, Any]) -> None:
    assert read_options(parse_arguments([*RUN, *typed]), RunOptions) == RunOptions(**expected)


def test_every_field_has_a_flag_or_a_key() -> None:
    flags = list(option_flags(RunOptions))
    keys = {key.field for flag in flags for key in (flag.flag.keys or {}).values()}
    named = {flag.field for flag in flags} | keys
    others = {field.name for field in fields(RunOptions)} - named
    # Nested fields have flags of their own; --judge and --columns say the others.
    assert others == {"variant", "judge_repeats", "clip", "require_answers"}
    assert {flag.flag.name for flag in option_flags(AskOptions)} < {
        flag.flag.name for flag in option_flags(RunOptions)
    } | {"--model"}


def test_options_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        RunOptions().limit = 3  # type: ignore[misc]


def test_keywords_override_option_fields(tmp_path: Path) -> None:
    options = RunOptions(out=tmp_path / "A", html=False, limit=2)
    (first,) = evaluate("random", "eyechart", options).runs
    (other,) = evaluate("random", "eyechart", options, limit=3, out=tmp_path / "B").runs
    assert (first.info.counts.samples, other.info.counts.samples) == (2, 3)
    assert (first.path.parent.name, other.path.parent.name) == ("A", "B")
    (line,) = plan("random", "eyechart", options, out=tmp_path / "C").lines
    assert line.estimate is not None
    assert line.estimate.requests > 0


@pytest.mark.parametrize("call", [evaluate, plan])
def test_an_unknown_keyword_is_a_sentence(call: Any) -> None:
    with pytest.raises(UsageError, match=r"no field 'limits' \(did you mean limit\?\)"):
        call("random", "eyechart", limits=3)


def test_evaluate_has_few_parameters() -> None:
    assert len(signature(evaluate).parameters) <= 14
    assert snellen.RunOptions is RunOptions


def test_only_the_typed_command_is_imported() -> None:
    program = (
        "import sys\nfrom snellen.cli.parser import parse_arguments\n"
        "parse_arguments(['info', 'eyechart'])\n"
        "names = [name for name in sys.modules if name.startswith('snellen.cli.commands.')]\n"
        "assert names == ['snellen.cli.commands.info'], names\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_command_has_a_file() -> None:
    folder = Path(snellen.__file__).parent / "cli" / "commands"
    modules = {module.name for module in pkgutil.iter_modules([str(folder)])}
    assert modules == set(COMMANDS)
