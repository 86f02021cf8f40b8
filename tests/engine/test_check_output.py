"""What a model may give back."""

from __future__ import annotations

from snellen.core.output import Failure, Generated
from snellen.core.request import Generate, Ref, Text, user
from snellen.engine.loop.request_broker import check_output

ASKED = Generate(messages=(user(Text("?")),), ref=Ref("1"))


def test_half_of_a_surrogate_pair_does_not_stop_the_run() -> None:
    assert check_output(ASKED, Generated("A \ud83d")) == Generated("A \ufffd")
    whole = Generated("答 😀")
    assert check_output(ASKED, whole) is whole


def test_reply_that_is_not_text_is_a_failure() -> None:
    output = check_output(ASKED, Generated(None))  # type: ignore[arg-type]
    assert isinstance(output, Failure)
    assert "NoneType" in output.message
