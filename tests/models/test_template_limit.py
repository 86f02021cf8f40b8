"""Chat templates that do not end, or fill the memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snellen.core.errors import UsageError
from snellen.models.hf.template_limit import TemplateTrial

ENDLESS = (
    "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    "{% endfor %}{% endfor %}{% endfor %}"
)
FILLING = "{% set n = namespace(x='x' * 1000000) %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}"
VALUES = {"messages": [{"role": "user", "content": "?"}], "add_generation_prompt": True}


@pytest.fixture
def trial() -> Iterator[TemplateTrial]:
    made = TemplateTrial()
    yield made
    made.close()


@pytest.mark.parametrize(
    "template",
    [
        "{% for m in messages %}{{ m.content | tojson }}{% endfor %}",
        "{% generation %}{{ strftime_now('%Y') }}{% endgeneration %}",
        "{{ raise_exception('no system role') }}",
        "{% if",
        "{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{% endfor %}",
    ],
)
def test_terminating_templates_pass(trial: TemplateTrial, template: str) -> None:
    trial.check(template, VALUES, 20, "org/name")


@pytest.mark.parametrize("template", [ENDLESS, FILLING])
def test_endless_template_is_given_up(trial: TemplateTrial, template: str) -> None:
    trial.check("{{ messages }}", VALUES, 20, "org/name")
    began = time.monotonic()
    for _ in range(2):
        with pytest.raises(UsageError, match=r"the chat template of org/name is not rendered"):
            trial.check(template, VALUES, 1, "org/name")
    assert time.monotonic() - began < 15
    trial.check("{{ messages }}", VALUES, 20, "org/name")


@pytest.mark.release
def test_the_command_ends_with_a_sentence(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    folder = checkpoint("llama")
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "chat_template.jinja").write_text(ENDLESS)
    (tmp_path / "q.tsv").write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tx\ty\tA\n")
    done = subprocess.run(
        [sys.executable, "-m", "snellen", "run", "-m", str(tmp_path), "-b", "q.tsv", "-q"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"SNELLEN_MAX_TEMPLATE_S": "2"},
    )
    assert done.returncode == 2
    assert "is not rendered within 2 s" in done.stderr
    assert "Traceback" not in done.stderr
