"""A schema of the reply: sent as the server spells it, and whether the server held to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from standin_server import StandIn, chat_reply

from snellen import evaluate
from snellen.api.results import Run

SCHEMA = {
    "type": "object",
    "properties": {"total": {"type": "string"}},
    "required": ["total"],
    "additionalProperties": False,
}
TOML = """
data = "receipts.jsonl"
kind = "fields"
[response_schema]
type = "object"
required = ["total"]
additionalProperties = false
[response_schema.properties]
total = { type = "string" }
"""


def run_receipts(server: StandIn, folder: Path, options: str = "") -> Run:
    rows = [{"id": str(n), "question": f"Total of receipt {n}?", "answer": '{"total": "9.00"}'} for n in range(3)]
    (folder / "receipts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "receipts.toml").write_text(TOML)
    [result] = evaluate(
        f"{server.url}#tiny{options}", str(folder / "receipts.toml"), out=folder / "out", html=False
    ).runs
    return result


def test_server_that_obeys(server: StandIn, tmp_path: Path) -> None:
    server.says(chat_reply('{"total": "9.00"}'))
    result = run_receipts(server, tmp_path)
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    assert [asked["response_format"] for asked in server.asked if "Total of" in str(asked)] == [form] * 3
    assert result.summary.headline.name == "field_f1"
    assert result.summary.headline.value == 100.0
    assert result.summary.metrics["follows_schema"].value == 100.0
    assert "follows_schema" in result.summary.beside


def test_server_that_ignores_it(server: StandIn, tmp_path: Path) -> None:
    server.says(chat_reply('Here you are: {"total": "9.00", "vat": "1.00"}'))
    result = run_receipts(server, tmp_path)
    assert result.summary.metrics["follows_schema"].value == 0.0
    assert result.summary.headline.value == pytest.approx(200 / 3)
    assert result.summary.metrics["invented_fields"].value == 50.0


def test_server_that_refuses_it(server: StandIn, tmp_path: Path) -> None:
    async def refuse(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        if "response_format" in asked:
            error = {"message": "response_format json_schema is not supported"}
            return web.json_response({"error": error}, status=400)
        return web.json_response(chat_reply('{"total": "9.00"}'))

    server.handler = refuse
    result = run_receipts(server, tmp_path)
    assert result.summary.outcomes["failed"] == 3
    messages = [record.passes[0].output for record in result.records()]
    assert all("schema=no sends none" in str(output) for output in messages)
    without = run_receipts(server, tmp_path, ":schema=no")
    assert without.summary.headline.value == 100.0
    assert without.summary.metrics["follows_schema"].value == 100.0
