"""Recorded replies graded by judges behind servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from standin_server import StandIn, chat_reply

from snellen import score
from snellen.core.errors import UsageError

COLUMNS = "index\tquestion\tanswer\tcategory\timage\n"


def files(folder: Path, count: int) -> tuple[Path, Path]:
    """Questions of MM-Vet, and replies to them."""
    rows = (f"{n}\tWhat is {n}?\t{n}\tmath\tiVBORw0KGgo=\n" for n in range(count))
    data, replies = folder / "questions.tsv", folder / "replies.csv"
    data.write_text(COLUMNS + "".join(rows))
    replies.write_text("index,prediction\n" + "".join(f"{n},It is {n}.\n" for n in range(count)))
    return data, replies


def graded(server: StandIn, folder: Path, count: int = 12) -> float | None:
    data, replies = files(folder, count)
    judge = f"{server.url}#tiny:concurrency=4"
    scored = score("mm-vet", replies, data=data, judges=[judge], store=folder / "store.sqlite")
    return scored.summary.headline.value


def test_verdicts_are_kept_and_connections_closed(server: StandIn, tmp_path: Path) -> None:
    """An open connection would be a warning, which is an error here."""
    server.says(chat_reply("0.5"))
    assert graded(server, tmp_path) == 50.0
    asked = len(server.asked)
    assert graded(server, tmp_path) == 50.0
    # The second time only the question that looks whether the judge is there.
    assert len(server.asked) == asked + 1


@pytest.mark.attack("a judge that goes away", "its questions are ungraded, not wrong")
def test_a_judge_that_is_lost_half_way_scores_nothing(server: StandIn, tmp_path: Path) -> None:
    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if len(server.asked) < 6:
            return web.json_response(chat_reply("1.0"))
        error = {"message": "Incorrect API key provided", "code": "invalid_api_key"}
        return web.json_response({"error": error}, status=401)

    server.handler = handler
    with pytest.raises(UsageError, match=r"refuses the key.*nothing is scored.*goes on from there"):
        graded(server, tmp_path)
    server.says(chat_reply("1.0"))
    before = len(server.asked)
    assert graded(server, tmp_path) == 100.0
    # The question whether the judge is there, and what four verdicts leave of twelve.
    assert len(server.asked) - before == 1 + 8
