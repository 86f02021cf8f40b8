import io
from time import perf_counter

import pytest
from rich.console import Console

from snellen.report.progress import LiveProgress, PlainProgress, show_progress


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_come_at_most_every_few_seconds():
    lines: list[str] = []
    clock = Clock()
    progress = PlainProgress(lines.append, seconds=5, clock=clock)
    progress.on_start("snellen/tiny on eyechart", 1200, 200)
    for at in range(1, 81):
        clock.now += 0.125
        progress.on_advance(200 + at, 0, 2 * at, 3, at, 0.5)
    progress.on_advance(700, 2, 1000, 3, 400, 0.625)
    progress.on_finish("incomplete")
    assert lines == [
        "snellen/tiny on eyechart: 1,200 samples, 200 done before",
        "snellen/tiny on eyechart: 240 of 1,200 (20 %), score 50.0, 8.0/s, "
        "requests: 80 sent, 3 reused, 40 saved, about 2 min left",
        "snellen/tiny on eyechart: 280 of 1,200 (23 %), score 50.0, 8.0/s, "
        "requests: 160 sent, 3 reused, 80 saved, about 1 min 55 s left",
        "snellen/tiny on eyechart: incomplete, 700 of 1,200 (58 %), 2 failed, 50.2/s, "
        "requests: 1,000 sent, 3 reused, 400 saved, took 10 s",
    ]


def test_nothing_done_yet_divides_by_nothing():
    lines: list[str] = []
    progress = PlainProgress(lines.append, clock=Clock())
    progress.on_start("a on b", 0, 0)
    progress.on_finish("complete")
    assert lines[-1] == "a on b: complete, 0 of 0, requests: 0 sent, took 0.0 s"


def test_the_panel_fits_80_columns():
    file = io.StringIO()
    clock = Clock()
    progress = LiveProgress(Console(file=file, force_terminal=True, width=80), clock)
    progress.on_start("hf/Qwen/Qwen2.5-VL-7B-Instruct on eyechart", 600, 100)
    clock.now += 20
    progress.on_advance(350, 3, 812, 12, 210, 0.682)
    shown = io.StringIO()
    Console(file=shown, width=80).print(progress.panel())
    progress.on_finish("complete")
    lines = shown.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].rstrip().endswith("350/600 20 s left")
    assert lines[1].strip() == ("3 failed · score 68.2 · 12.7/s · requests: 812 sent, 12 reused, 210 saved")
    assert "complete in 20 s" in file.getvalue()


@pytest.mark.parametrize("kind", ["plain", "live"])
def test_a_call_costs_less_than_a_microsecond(kind):
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    progress = LiveProgress(console) if kind == "live" else PlainProgress(lambda _: None)
    progress.on_start("a on b", 100_000, 0)
    best = float("inf")
    for _ in range(5):
        begin = perf_counter()
        for at in range(20_000):
            progress.on_advance(at, 0, at, 0, 0, 0.5)
        best = min(best, (perf_counter() - begin) / 20_000)
    progress.on_finish("complete")
    assert best < 1e-6


def test_watching_chooses_by_the_console():
    with show_progress(Console(file=io.StringIO())) as progress:
        assert isinstance(progress, PlainProgress)
    file = io.StringIO()
    terminal = Console(file=file, force_terminal=True, width=80, _environ={"TERM": "xterm"})

    def interrupted() -> None:
        with show_progress(terminal) as progress:
            progress.on_start("a on b", 10, 0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.getvalue().endswith("\x1b[?25h")
