"""Words of data files, models and servers, on the terminal and in spreadsheets."""

from __future__ import annotations

import csv
import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from snellen.analysis.parsing.unread_replies import UnreadReply, read_labels, write_sheet
from snellen.cli import main
from snellen.core.terminal_text import escape_controls
from snellen.report.console import Terminal

ODD = ("\x1b]0;title\x07\x1b[31mred", "=cmd|'/c calc'!A1", "@SUM(1+1)", "+1+1", "a\x9bb\x7fc\x00d")
HEAD = "index\tquestion\tA\tB\tanswer\tcategory\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run over categories that are hostile."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{at}\tq {at}\ta\tb\tA\t{one}\n" for at, one in enumerate(ODD))
    Path("signs.tsv").write_text(HEAD + rows)
    assert main(["run", "-m", "random", "-b", "signs.tsv", "--out", "s", "-q", "--no-html"]) == 0
    return "s"


def controls(text: str) -> list[str]:
    return re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\r\x00\x7f\x9b", "\\x0d\\x00\\x7f\\x9b"),
        ("日本語 émoji 😀", "日本語 émoji 😀"),
    ],
)
def test_control_characters_are_letters(text: str, shown: str) -> None:
    assert escape_controls(text) == shown
    assert escape_controls(shown) == shown


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "latex"])
def test_no_output_has_control_characters(run: str, capsys: Any, form: str) -> None:
    capsys.readouterr()
    assert main(["report", run, "--format", form]) == 0
    said = capsys.readouterr()
    assert controls(said.out + said.err) == []
    if form in ("table", "csv"):
        assert "\\x1b]0;title" in said.out.lower()


@pytest.mark.parametrize(
    "words",
    [
        ("data", "check", "\x1b[31m.tsv"),
        ("run", "-m", "\x1b[31mno", "-b", "eyechart"),
        ("run", "-m", "random", "-b", "\x1b[31m.tsv"),
        ("info", "\x1b]0;x\x07"),
    ],
)
def test_error_output_has_no_control_characters(capsys: Any, words: tuple[str, ...]) -> None:
    assert main(words) == 2
    said = capsys.readouterr()
    assert controls(said.out + said.err) == []


def test_rows_that_are_checked(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "q.tsv"
    path.write_text("index\tquestion\tA\tB\tanswer\n\x1b[31m1\tq\ta\tb\tZ\x1b[0m\n")
    main(["data", "check", str(path)])
    main(["info", str(path)])
    said = capsys.readouterr()
    assert "x1b" in said.out
    assert controls(said.out + said.err) == []


def test_colours_of_our_own_are_kept() -> None:
    """A real terminal: what it is sent is colours and words, and no other control characters."""
    code = (
        "from rich.text import Text; from snellen.report.console import Terminal;"
        r"Terminal(force_terminal=True).print(Text('a\x1b]0;t\x07b', style='red'))"
    )
    main_end, far_end = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color"}
    subprocess.run([sys.executable, "-c", code], stdout=far_end, env=environment, check=True)
    os.close(far_end)
    sent = os.read(main_end, 10_000).decode()
    os.close(main_end)
    # Rich takes the bell out itself.
    assert sent.replace("\r\n", "") == "\x1b[31ma\\x1b]0;tb\x1b[0m"


def test_a_console_shows_what_is_printed() -> None:
    console = Terminal(file=io.StringIO(), width=80)
    console.print(Text("\x1b[2J"), "plain \x9b", end="")
    assert controls(console.file.getvalue()) == []  # type: ignore[attr-defined]


def test_a_spreadsheet_runs_nothing(run: str, capsys: Any) -> None:
    capsys.readouterr()
    assert main(["report", run, "--format", "csv", "-o", "x.csv"]) == 0
    with Path("x.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r"))]
    assert {f"'{one}" for one in ODD[1:4]} <= set(cells)
    value = rows[0].index("value")
    assert all(float(row[value]) >= 0 for row in rows[1:])


def test_labels_come_back(tmp_path: Path) -> None:
    replies = [UnreadReply(one, at, "=q", "@o", "-r", "A") for at, one in enumerate((*ODD, "'=1", "-3"))]
    path = tmp_path / "sheet.csv"
    write_sheet(replies, path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert not [cell for cell in row.values() if re.match(r"[=+@\t\r]|-\D", cell)]
        row["label"] = "'=b" if row["pass"] == "0" else "b"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    labels = read_labels(path)
    assert {name for name, _ in labels} == {reply.id for reply in replies}
    assert labels[ODD[0], 0] == "=b"
    assert labels["-3", 6] == "B"
