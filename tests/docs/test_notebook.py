"""The notebook of the examples, executed by a real kernel; and Ctrl-C in a kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client import BlockingKernelClient, KernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "first_notebook.ipynb"

Output = dict[str, Any]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook after all its cells ran; a cell that raises fails here."""
    notebook = nbformat.read(NOTEBOOK, nbformat.NO_CONVERT)
    folder = tmp_path_factory.mktemp("notebook")
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return notebook


def outputs_of(notebook: Any, source: str) -> list[Output]:
    """The outputs of the cell that has this text."""
    (cell,) = (each for each in notebook.cells if source in each.source)
    return list(cell.outputs)


def markup_of(notebook: Any, source: str) -> str:
    results = [out for out in outputs_of(notebook, source) if out["output_type"] == "execute_result"]
    return str(results[-1]["data"]["text/html"])


def test_the_repository_holds_no_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.release
def test_no_cell_fails_or_warns(executed: Any) -> None:
    outputs = [out for cell in executed.cells for out in cell.get("outputs", ())]
    assert not [out for out in outputs if out["output_type"] == "error"]
    assert not [out["text"] for out in outputs if out.get("name") == "stderr"]


@pytest.mark.release
def test_results_are_a_table(executed: Any) -> None:
    markup = markup_of(executed, "snellen.evaluate(")
    for text in ("<table", "95 % interval", "snellen/tiny", "random", "chance", "report.html"):
        assert text in markup


@pytest.mark.release
def test_progress_is_a_bar_that_ends(executed: Any) -> None:
    displays = [
        out["data"]["text/html"]
        for out in outputs_of(executed, "snellen.evaluate(")
        if out["output_type"] == "display_data"
    ]
    assert len(displays) == 2
    for markup in displays:
        assert "<progress" in markup
        assert "24/24" in markup
        assert "complete in" in markup


@pytest.mark.release
def test_the_comparison_is_a_table(executed: Any) -> None:
    markup = markup_of(executed, "results.compare()")
    assert "random – snellen/tiny" in markup
    assert "snellen/tiny is better than random on shapes" in markup


@pytest.mark.release
def test_a_sample_shows_its_picture(executed: Any) -> None:
    markup = markup_of(executed, ".wrong[0]")
    assert "data:image/jpeg;base64," in markup
    assert "Where is the" in markup


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


SLOW = """
import asyncio
import snellen

class Slow:
    identity = snellen.Identity("mine", "slow", {})
    capabilities = snellen.Capabilities()
    seconds = 0.05
    async def answer(self, request):
        await asyncio.sleep(self.seconds)
        return snellen.Generated("A")
"""
CALL = "snellen.evaluate([Slow()], 'eyechart', out='runs', limit=60, html=False)[0].n"


@pytest.mark.release
def test_interrupting_the_kernel_keeps_what_is_done(
    tmp_path: Path, kernel: tuple[KernelManager, BlockingKernelClient]
) -> None:
    manager, client = kernel
    client.execute_interactive(SLOW, timeout=60, output_hook=lambda _: None)
    # By default a kernel refuses, for a moment, what is sent after a cell that failed.
    message = client.execute(CALL, stop_on_error=False)
    limit = time.monotonic() + 60
    while not list(tmp_path.glob("runs/*/samples.jsonl")):
        assert time.monotonic() < limit
        time.sleep(0.05)
    manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=60)["content"]
    assert (reply["status"], reply["ename"]) == ("error", "RunInterrupted"), message
    assert "of 60 samples are kept in runs/" in reply["evalue"]
    results: list[str] = []

    def note(told: Any) -> None:
        if told["msg_type"] == "execute_result":
            results.append(told["content"]["data"]["text/plain"])

    again = client.execute_interactive(f"Slow.seconds = 0\n{CALL}", timeout=60, output_hook=note)
    assert again["content"]["status"] == "ok"
    assert results == ["60"]


@pytest.mark.release
def test_await_in_a_cell(kernel: tuple[KernelManager, BlockingKernelClient]) -> None:
    _, client = kernel
    told: list[Any] = []
    cell = "import snellen\nawait snellen.aevaluate('random', 'eyechart', limit=20, html=False)"
    reply = client.execute_interactive(cell, timeout=60, output_hook=told.append)
    assert reply["content"]["status"] == "ok"
    kinds = [message["msg_type"] for message in told if message["msg_type"] != "status"]
    assert kinds[0] == "execute_input"
    assert "display_data" in kinds
    assert kinds[-1] == "execute_result"
    assert "<table" in told[-2]["content"]["data"]["text/html"]
    bars = [message for message in told if message["msg_type"] == "update_display_data"]
    assert "complete in" in bars[-1]["content"]["data"]["text/html"]
