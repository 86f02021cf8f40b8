"""What the benchmarks about documents of several pages have in common."""

from __future__ import annotations

from snellen.core.answer import Answer, Found
from snellen.core.benchmark import needs
from snellen.extract.open_text import read_final
from snellen.scoring.document import NOT_ANSWERABLE, abstains

PAGES = needs("text", "image", many_images=True)


def document_reader(reply: str, stop_reason: str) -> Answer:
    """The marked answer, else the whole reply; one that says there is no answer is read so."""
    read = read_final(reply, stop_reason=stop_reason)
    if isinstance(read, Found) and abstains(read.value):
        return Found(NOT_ANSWERABLE, "abstains", read.span)
    return read
