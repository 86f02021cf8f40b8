"""What a run took at its highest, in run.json and on its page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.engine.loop.environment import peak_memory
from snellen.report.format import size
from snellen.report.page.facts import fact_sections


def test_a_run_records_its_memory_and_the_page_shows_it(tmp_path: Path) -> None:
    (run,) = evaluate(["random"], ["eyechart"], limit=4, out=tmp_path).runs
    counts = run.info.counts
    assert counts.process_memory > 10_000_000
    facts = {
        group.title: {one.name: one.value for one in group.facts} for group in fact_sections(run.report(), run.path)
    }
    assert facts["Resources"]["process memory, highest"] == size(counts.process_memory)
    assert "wall time, latest start" in facts["Resources"]
    page = (run.path / "report.html").read_text()
    assert re.search(r"Resources.*process memory, highest", page, re.DOTALL)


def test_the_highest_use_does_not_fall() -> None:
    code = (
        "from snellen.engine.loop.environment import peak_memory\n"
        "before = peak_memory().process\n"
        "held = b'x' * 200_000_000\n"
        "del held\n"
        "assert peak_memory().process - before > 100_000_000, (before, peak_memory())\n"
        "import sys\n"
        "assert 'torch' not in sys.modules and peak_memory().device == 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_device_memory_is_what_torch_held() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        assert peak_memory().device == 0
        return
    held = torch.zeros(1 << 20, device="cuda")
    assert peak_memory().device >= held.numel() * held.element_size()


@pytest.mark.parametrize(("count", "told"), [(900, "0.9 kB"), (2_500_000, "2.5 MB"), (1_250_000_000, "1.2 GB")])
def test_sizes(count: int, told: str) -> None:
    assert size(count) == told
