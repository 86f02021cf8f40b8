"""No provider claims more than its records prove, and each has one."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from tests.schemas.verdicts import RECORDS, load_verdicts, records

from snellen.cli.main import main
from snellen.models.naming.catalog import catalog
from snellen.models.naming.routes import routes_of
from snellen.models.remote.evidence import LEVELS, load_evidence, provider_evidence, provider_level
from snellen.models.remote.profile import profiles
from snellen.report.documents.catalog import describe_route
from snellen.report.documents.name_facts import facts_of_name

ROOT = Path(__file__).parents[2]
MERGE = runpy.run_path(str(ROOT / "docs" / "provider_evidence.py"))


def test_the_table_is_what_the_records_say() -> None:
    stored = (ROOT / "src" / "snellen" / "models" / "remote" / "evidence.json").read_bytes()
    assert stored == MERGE["table_bytes"](), "run: python docs/provider_evidence.py"


def test_the_records_are_what_the_verdicts_prove() -> None:
    proven = [(each.provider, each.source, each.agreeing, each.explained) for each in records(load_verdicts())]
    stored = [(each["provider"], each["source"], each["agreeing"], each["explained"]) for each in _stored(RECORDS)]
    assert stored == proven


def _stored(path: Path) -> list[dict[str, object]]:
    loaded: list[dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))
    return [{"explained": 0, **each} for each in loaded]


@pytest.mark.parametrize("provider", profiles())
def test_each_provider_has_a_record(provider: str) -> None:
    found = load_evidence().get(provider, ())
    assert found, f"{provider} has no record of evidence: make schemas SCHEMAS=--write"
    assert provider_level(provider) == found[0].level
    assert [LEVELS.index(each.level) for each in found] == sorted(LEVELS.index(each.level) for each in found)
    assert facts_of_name(provider)["evidence"] == provider_evidence(provider)


def test_the_readme_counts_the_examples() -> None:
    files = (ROOT / "tests" / "schemas" / "replies").glob("*.json")
    count = sum(len(json.loads(path.read_text(encoding="utf-8"))["examples"]) for path in files)
    for name, words in (
        ("README.md", f"{count} published example replies"),
        ("README.zh-CN.md", f"{count} 个公开的回复示例"),
    ):
        assert words in (ROOT / name).read_text(encoding="utf-8")


def test_a_provider_without_record_claims_nothing() -> None:
    assert provider_level("no-such-provider") == "docs only"
    assert provider_evidence("no-such-provider") == "docs only: nothing was compared"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"provider": "no-such-provider"}, "is no provider"),
        ({"agreeing": 0, "explained": 10}, "none is left"),
        ({"agreeing": 8}, "compared is agreeing and explained"),
        ({"test": "tests/no/such.py"}, "no test"),
    ],
)
def test_a_claim_without_proof_is_refused(changes: dict[str, object], sentence: str, tmp_path: Path) -> None:
    record = {**_stored(RECORDS)[0], "agreeing": 10, "compared": 10, "explained": 0, **changes}
    (tmp_path / "claims.json").write_text(json.dumps([record]), encoding="utf-8")
    merge = runpy.run_path(str(ROOT / "docs" / "provider_evidence.py"))["merged"]
    merge.__globals__["RECORDS"] = tmp_path
    with pytest.raises(ValueError, match=sentence):
        merge()


def test_a_model_claims_what_the_list_of_providers_says(capsys: pytest.CaptureFixture[str]) -> None:
    """In both lines of `info`: that of the route and that of the evidence."""
    assert main(["list", "providers", "--json"]) == 0
    listed = {row["name"]: row["evidence"] for row in json.loads(capsys.readouterr().out)}
    routes = [(entry, route) for entry in catalog() for route in routes_of(entry) if route.tried == "provider"]
    assert {route.kind for _, route in routes} == {"api", "server"}
    for entry, route in routes:
        assert f"evidence: {listed[route.target]}" in describe_route(route), entry.name
    by_api = {route.target: entry for entry, route in routes if route.kind == "api"}
    for provider, entry in by_api.items():
        facts = facts_of_name(entry.name)
        assert facts["evidence"].startswith(f"{listed[provider]} "), entry.name
        assert f"evidence: {listed[provider]}" in facts["route"], entry.name
