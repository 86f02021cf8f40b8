"""The authors' instructions of CG-Bench (github.com/CG-Bench/CG-Bench, run/utils.py; those for
intervals in parts of the video are VLMEvalKit's, Apache-2.0)."""

from __future__ import annotations

from snellen.prompts.choice import PromptTemplate

_SEEN = "You will be provided with sampled frames from a video, along with a "
_CHOICE = (
    f"{_SEEN}multiple-choice question that includes a question and several answer options.\n"
    "Your task is to analyze the provided frames, infer the most plausible answer based on the "
    "visual information.\n"
    "If the video does not provide enough information, infer the answer based on the options "
    "available and still provide a result. Therefore, In all cases, an answer must be given.\n"
    "Only output the answer in the following format:\n\n"
    '```json\n{{"result": "option"}}\n```\n\n'
    'The "option" is the uppercase letter corresponding to your answer.\n\n'
)
_WHERE = (
    "multiple-choice question that includes a question and several answer options.\n"
    "Your task is to determine in which intervals the 'clue intervals' exist that contain visual "
    "information needed to answer the question.\n"
    "Only output the answer in the following format:\n\n"
    '```json\n{"result": [[start1, end1], [start2, end2], ...]}\n```\n\n'
)
_HOW_MANY = (
    "You must provide at least one interval and at most five intervals. Intervals exceeding five "
    "will NOT be considered valid."
)
_IN_SECONDS = (
    "You will be provided with uniformly sampled frames from a video and their timestamps, along "
    f"with a {_WHERE}In this output format, each 'start' and 'end' represents the beginning and "
    "end of an interval in seconds where relevant clues can be found.\n"
    f"{_HOW_MANY}"
)
_IN_PARTS = (
    "You will be provided with uniformly sampled frames from a video, along with a "
    f'{_WHERE}In this output format, each "start" and "end" represents the start and end of the '
    "video where the relevant clue can be found in the form of a floating point number between 0 "
    "and 1, where 0 represents the start time of the video and 1 represents the end time of the "
    f"video.\n{_HOW_MANY}"
)
OPEN_TEMPLATE = PromptTemplate(
    hint="{hint}",
    open=(
        f"{_SEEN}question.\n"
        "Your task is to analyze the provided frames and infer the most plausible answer based on "
        "the visual information.\n"
        "If the visual information is ambiguous or insufficient, use the available context to "
        "reason your answer.\n"
        "Only output the answer in the following format:\n\n"
        '```json\n{"result": "answer"}\n```\n\n'
        'The "answer" can be a word, phrase, or sentence that directly responds to the question.'
    ),
)


def choice_template(*, timed: bool) -> PromptTemplate:
    """The instructions before a choice and behind a question about clues, whose intervals are in
    seconds if the frames stand after their times, else in parts of the video."""
    return PromptTemplate(
        hint="{hint}",
        question=f"{_CHOICE}Question: {{question}}\n",
        options="",
        option="{label}:{text}",
        choose="",
        open=_IN_SECONDS if timed else _IN_PARTS,
    )
