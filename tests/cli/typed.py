"""Commands as they are typed."""

from __future__ import annotations

import pytest

from snellen.cli import main


def said(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    try:
        code = main([str(word) for word in argv])
    except SystemExit as exit:
        code = int(exit.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err
