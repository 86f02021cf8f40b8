"""Which parsing step found the answer (MMT-Bench Sec. 4.1, Table A16).

1) the label of an option, 2) its content, 3) a language model. A reply that no step parses is no
answer: the pseudo choice Z, never a random option.
"""

from __future__ import annotations

from typing import Literal

from snellen.core.output import Answer, ParsedAnswer

Step = Literal["label", "content", "llm"]
STEPS: tuple[Step, ...] = ("label", "content", "llm")

LABEL_WITH_CONTENT = "label and content"
"""A label followed by its own option's text ("B. green") counts as found by the label."""
_CONTENT_RULE_ENDS = ("content", "text")
"""How the names of content rules end, Snellen's and VLMEvalKit's."""


def step_of(answer: Answer | None, *, by_llm: bool) -> Step | None:
    """The step that found the option, or None if none did. `by_llm`: the extractor was asked."""
    if not isinstance(answer, ParsedAnswer):
        return None
    if by_llm:
        return "llm"
    # Rule names may have a prefix: "answer: ..." and "boxed: ..." for marks, "vlmevalkit: ...".
    rule = answer.rule.rsplit(": ", 1)[-1]
    return "content" if rule.endswith(_CONTENT_RULE_ENDS) and rule != LABEL_WITH_CONTENT else "label"
