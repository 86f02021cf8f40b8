"""The scorers that sets are judged by, with the commit that judged them."""

from __future__ import annotations

from tests.differential.sets import Oracle

VLMEVALKIT = Oracle(
    script="vlmevalkit",
    repository="open-compass/VLMEvalKit",
    commit="e8e78f05f3080fe28154f2130321f17951c3be94",
    licence="Apache-2.0",
    checkout="VLMEvalKit",
)
