"""Render chat templates for another process, which kills this one if a template does not end.

Run as a program: each line of standard input is a template as JSON, answered by the line "done"
once it is rendered or has failed. The result is discarded; only that it ends matters.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

_MEMORY = 4 << 30
"""Memory limit of this process, in bytes."""


class _GenerationTag(Extension):
    """`{% generation %}`, which transformers adds to mark the model's turns."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _limit_memory() -> None:
    try:
        from resource import RLIMIT_AS, setrlimit
    except ImportError:
        return  # Windows
    setrlimit(RLIMIT_AS, (_MEMORY, _MEMORY))


def _render(template: str, values: dict[str, Any]) -> None:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, loopcontrols]
    )
    environment.filters["tojson"] = lambda value, **_: json.dumps(value)
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: form
    for _ in environment.from_string(template).generate(**values):
        pass


def main() -> None:
    """Render templates until the input ends."""
    _limit_memory()
    for line in sys.stdin:
        job = json.loads(line)
        try:
            _render(job["template"], job["values"])
        except MemoryError:
            print("too much", flush=True)
            continue
        # Any other error occurs again when the prompt is rendered, and is reported there.
        except Exception:  # noqa: BLE001
            pass
        print("done", flush=True)


if __name__ == "__main__":
    main()
