"""What each provider's support rests on: merges the records, and writes the table of docs/servers.md.

python docs/provider_evidence.py   merges tests/provider_evidence/*.json into
                                   src/snellen/models/remote/evidence.json
python docs/generate.py            writes the table of docs/servers.md from it
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from snellen.models.remote.evidence import LEVELS, ProviderRecord, load_evidence, provider_level
from snellen.models.remote.profile import profiles

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "tests" / "provider_evidence"
FILE = ROOT / "src" / "snellen" / "models" / "remote" / "evidence.json"
PAGE = Path(__file__).with_name("servers.md")
_START = "<!-- Evidence of providers, written by docs/generate.py. Run docs/provider_evidence.py. -->\n"
_END = "<!-- End of the evidence of providers. -->\n"


def merged() -> dict[str, list[ProviderRecord]]:
    """The records of all files by provider. Raises ValueError for one that proves nothing."""
    found: dict[str, list[ProviderRecord]] = {}
    for path in sorted(RECORDS.glob("*.json")):
        for record in msgspec.json.decode(path.read_bytes(), type=list[ProviderRecord], strict=True):
            if record.provider not in profiles():
                raise ValueError(f"{path.name}: {record.provider} is no provider of providers.toml")
            if record.agreeing + record.explained != record.compared or not record.agreeing:
                raise ValueError(f"{path.name}: {record.provider}: compared is agreeing and explained; none is left")
            if not (ROOT / record.test).is_file():
                raise ValueError(f"{path.name}: {record.provider}: no test {record.test}")
            found.setdefault(record.provider, []).append(record)
    order = list(profiles())
    return {
        name: sorted(found[name], key=lambda record: LEVELS.index(record.level))
        for name in sorted(found, key=order.index)
    }


def table_bytes() -> bytes:
    """The merged table as it is stored: a line for each provider."""
    lines = [f'"{name}": {msgspec.json.encode(found).decode()}' for name, found in merged().items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def page() -> str:
    """The page with a new table. Raises ValueError if its marks are not there."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_START)
    _, end, after = rest.partition(_END)
    if not end:
        raise ValueError(f"{PAGE.name} lacks the marks of the table of providers")
    return "\n".join((before + _START, *_table(), "", end + after))


def _table() -> Iterator[str]:
    yield "| provider | evidence | conforming requests | explained | example replies | judged by |"
    yield "| --- | --- | ---: | ---: | ---: | --- |"
    for name in profiles():
        records = load_evidence().get(name, ())
        level = provider_level(name)
        for number, record in enumerate(records):
            left = f"`{name}` | {level}" if not number else " | "
            source = f"{record.source} {record.version[:12]}"
            counts = f"{record.agreeing:,} of {record.compared:,} | {record.explained or ''} | {record.replies or ''}"
            yield f"| {left} | {counts} | {source}: {record.about} |"
        if not records:
            yield f"| `{name}` | {level} | | | | |"


def main() -> int:
    FILE.write_bytes(table_bytes())
    print(f"{FILE.relative_to(ROOT)}: {len(merged())} providers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
