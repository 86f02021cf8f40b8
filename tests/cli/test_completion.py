"""Completion scripts in the shells themselves: bash everywhere, zsh and fish where they are."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from snellen.cli import main
from snellen.cli.commands.completion import completion_script

OFFERS = [
    (["exp"], {"export"}, set()),
    (["run", "--circ"], {"--circular"}, set()),
    (["run", "--circular", ""], {"early", "full", "off"}, set()),
    (["run", "-b", "eye"], {"eyechart"}, set()),
    (["run", "-m", "snellen/t"], {"snellen/tiny"}, {"eyechart"}),
    (["run", "-m", "hf/"], {"hf/"}, {"hf/<folder>"}),
    (["analyse", "let"], {"letters"}, set()),
    (["export", "--to", ""], {"inspect", "eee", "pages"}, {"eyechart"}),
    (["info", "eyech"], {"eyechart"}, set()),
    (["score", "eyech"], {"eyechart"}, set()),
    (["data", "pull", "eyech"], {"eyechart"}, set()),
    (["report", "some"], {"somewhere"}, set()),
    (["completion", ""], {"bash", "zsh", "fish"}, {"somewhere"}),
    (["run", "--limit", ""], set(), {"somewhere", "early"}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts, and a file to complete."""
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        (folder / shell).write_text(completion_script(shell))
    (folder / "somewhere").write_text("")
    return folder


@pytest.mark.parametrize(("typed", "offered", "not_offered"), OFFERS)
def test_bash(typed: list[str], offered: set[str], not_offered: set[str], folder: Path) -> None:
    script = (
        'source ./bash; COMP_WORDS=(snellen "$@"); COMP_CWORD=$#; _shtab_snellen; printf \'%s\\n\' "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", *typed], cwd=folder, capture_output=True, text=True, check=True
    )
    words = set(done.stdout.split())
    assert offered <= words
    assert not not_offered & words
    assert done.stderr == ""
    if typed[-1]:
        assert all(word.startswith(typed[-1]) for word in words)


if shutil.which("fish"):

    @pytest.mark.parametrize(("typed", "offered", "not_offered"), OFFERS)
    def test_fish(typed: list[str], offered: set[str], not_offered: set[str], folder: Path) -> None:
        line = " ".join(["snellen", *typed])
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source ./fish; complete -C '{line}'"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "HOME": str(folder)},
        )
        words = {text.split("\t")[0] for text in done.stdout.splitlines()}
        assert offered <= words
        assert not not_offered & words


if shutil.which("zsh"):

    @pytest.mark.parametrize(
        ("typed", "completed"),
        [
            ("snellen expo\t", "snellen export "),
            ("snellen run -b eyech\t", "snellen run -b eyechart "),
            ("snellen run --circular e\t", "snellen run --circular early "),
            ("snellen analyse lett\t", "snellen analyse letters "),
        ],
    )
    def test_zsh(typed: str, completed: str, folder: Path) -> None:
        """Typed at a terminal."""
        terminal, other_end = pty.openpty()
        child = subprocess.Popen(
            ["zsh", "-f"],
            stdin=other_end,
            stdout=other_end,
            stderr=other_end,
            start_new_session=True,
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
        )
        os.close(other_end)
        setup = "PS1='> '; autoload -U compinit; compinit -u; source ./zsh; echo read\\y\n"
        os.write(terminal, setup.encode())
        read_until(terminal, "ready")
        os.write(terminal, typed.encode())
        shown = read_until(terminal, completed.split()[-1])
        os.write(terminal, b"\x15exit\n")
        child.wait(10)
        os.close(terminal)
        assert completed.split()[-1] in shown


def read_until(terminal: int, text: str, seconds: float = 20.0) -> str:
    """What the terminal shows until `text` appears."""
    shown, end = "", time.monotonic() + seconds
    while text not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace")
    return shown


def test_a_shell_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["completion", "basch"])
    assert exit.value.code == 2
    assert "did you mean bash?" in capsys.readouterr().err
