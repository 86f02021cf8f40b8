"""Renders chat templates for another process, which ends this one when a template does not end.

Run as a program of its own: a line of JSON comes in for each template, and the word "done" goes
out when it is rendered or refused. What it gives is of no interest here, only that it ends.
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
"""Bytes that this process may fill."""


class _GenerationTag(Extension):
    """`{% generation %}`, which transformers adds to mark what the model says."""

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
    """Answers until its input ends."""
    _limit_memory()
    for line in sys.stdin:
        job = json.loads(line)
        try:
            _render(job["template"], job["values"])
        except MemoryError:
            print("too much", flush=True)
            continue
        # Whatever else goes wrong goes wrong again where the prompt is made, and is told there.
        except Exception:  # noqa: BLE001
            pass
        print("done", flush=True)


if __name__ == "__main__":
    main()
