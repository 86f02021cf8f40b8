"""IFEval: replies of many shapes to instructions of every kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.differential import oracle_list as by
from tests.differential.sets import Case, Spec

_ASKED: tuple[Mapping[str, Mapping[str, Any]], ...] = (
    {"punctuation:no_comma": {}},
    {"startend:quotation": {}},
    {"detectable_format:title": {}},
    {"detectable_format:json_format": {}},
    {"combination:two_responses": {}},
    {"detectable_format:constrained_response": {}},
    {"change_case:english_lowercase": {}},
    {"change_case:english_capital": {}},
    {"keywords:existence": {"keywords": ["lake", "hill"]}},
    {"keywords:forbidden_words": {"forbidden_words": ["hill", "sun"]}},
    {"keywords:frequency": {"keyword": "lake", "frequency": 2, "relation": "at least"}},
    {"keywords:frequency": {"keyword": "lake", "frequency": 3, "relation": "less than"}},
    {"keywords:letter_frequency": {"letter": "l", "let_frequency": 6, "let_relation": "at least"}},
    {"keywords:letter_frequency": {"letter": "E", "let_frequency": 9, "let_relation": "less than"}},
    {"length_constraints:number_words": {"num_words": 20, "relation": "less than"}},
    {"length_constraints:number_words": {"num_words": 12, "relation": "at least"}},
    {"length_constraints:number_paragraphs": {"num_paragraphs": 2}},
    {"length_constraints:number_sentences": {"num_sentences": 3, "relation": "at least"}},
    {"length_constraints:nth_paragraph_first_word": {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "The"}},
    {"detectable_content:number_placeholders": {"num_placeholders": 2}},
    {"detectable_content:postscript": {"postscript_marker": "P.S."}},
    {"detectable_content:postscript": {"postscript_marker": "P.P.S"}},
    {"detectable_format:number_bullet_lists": {"num_bullets": 2}},
    {"detectable_format:number_highlighted_sections": {"num_highlights": 2}},
    {"detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 2}},
    {"combination:repeat_prompt": {"prompt_to_repeat": "Describe the lake."}},
    {"startend:end_checker": {"end_phrase": "That is all."}},
    {"change_case:capital_word_frequency": {"capital_frequency": 2, "capital_relation": "at least"}},
    {"change_case:capital_word_frequency": {"capital_frequency": 3, "capital_relation": "less than"}},
    {"language:response_language": {"language": "de"}},
    {"language:response_language": {"language": "hi"}},
    {"punctuation:no_comma": {}, "startend:quotation": {}},
    {
        "keywords:existence": {"keywords": ["lake"]},
        "length_constraints:number_words": {"num_words": 8, "relation": "at least"},
    },
    {
        "detectable_format:title": {},
        "detectable_format:number_bullet_lists": {"num_bullets": 2},
        "punctuation:no_comma": {},
    },
)
_LAKE = "The lake lies below the hill. It is still, cold and deep. Nobody swims in the lake."
_TEXTS: Mapping[str, str] = {
    "prose": _LAKE,
    "no comma": _LAKE.replace(",", ""),
    "quoted": f'"{_LAKE}"',
    "quoted with blanks": f'  "{_LAKE.replace(",", "")}" ',
    "one quote": f'"{_LAKE}',
    "capitals": _LAKE.upper(),
    "small": _LAKE.lower(),
    "title": f"<<The lake>>\n\n{_LAKE}",
    "empty title": f"<< >>\n{_LAKE}",
    "title and bullets": "<<The lake>>\n- It is still\n- It is cold",
    "star bullets": "* It is still\n* It is cold\n** not one",
    "three bullets": "- still\n- cold\n - deep",
    "mixed bullets": "Here:\n* still\n- cold",
    "object": '{"lake": "deep", "hill": [1, 2]}',
    "fenced object": '```json\n{"lake": "deep"}\n```',
    "fence": '```\n["lake"]\n```',
    "broken object": '{"lake": deep}',
    "two responses": f"{_LAKE}\n******\nThe hill is green, and the sun is warm.",
    "same twice": f"{_LAKE}******{_LAKE}",
    "three responses": "The lake.\n******\nThe hill.\n******\nThe sun.",
    "divided": f"{_LAKE}\n\n***\n\nThe hill is high.",
    "divided thrice": "***\nThe lake.\n***\nThe hill.\n***",
    "empty part": "The lake.\n***\n***\nThe hill.",
    "two paragraphs": f"{_LAKE}\n\nThe hill is green.",
    "three paragraphs": f"{_LAKE}\n\n\n\n'The' hill is green.\n\nThe end.",
    "second in quotes": f'{_LAKE}\n\n"The, hill is green.',
    "my answer": "I have thought about it. My answer is maybe.",
    "my answer, bold": "**My answer is yes.**",
    "placeholders": "Dear [name], the lake is in [place]. [] is empty.",
    "one placeholder": "Dear [name], the lake is deep.",
    "postscript": f"{_LAKE}\n\nP.S. Bring a coat.",
    "postscript without dot": f"{_LAKE}\nP.S bring a coat",
    "two postscripts": f"{_LAKE}\nP.P.S. Bring a coat.",
    "spaced postscript": f"{_LAKE}\np. s. Bring a coat.",
    "highlights": "The *lake* is *deep* and cold.",
    "bold highlights": "The **lake** is cold.",
    "one highlight": "The *lake* is cold.",
    "highlight over lines": "The *lake\nis* cold. ** ** and * *",
    "sections": "Section 1\nThe lake.\nSection 2\nThe hill.",
    "sections, bold": "**Section 1** The lake. **Section 2** The hill.",
    "sections, roman": "Section I\nThe lake.\nSection II\nThe hill.",
    "repeated": f"Describe the lake.\n\n{_LAKE}",
    "repeated in small": f"describe the LAKE. {_LAKE}",
    "repeated behind": f"Sure!\nDescribe the lake. {_LAKE}",
    "end": f"{_LAKE} That is all.",
    "end in quotes": f'{_LAKE} "That is all."',
    "end and more": f"{_LAKE} That is all. Bye.",
    "end, bold": f"{_LAKE} **That is all.**",
    "capital words": "The LAKE is VERY deep.",
    "capital contraction": "DON'T swim in the lake. IT'S cold.",
    "one capital": "I swim. The lake is cold.",
    "capital with signs": "(LAKE) is the word, A-B and C/D are not.",
    "German": "Der See liegt unter dem Berg. Es ist kalt, und niemand schwimmt in dem Wasser.",
    "Hindi": "झील पहाड़ के नीचे है। पानी ठंडा है और कोई नहीं तैरता।",
    "Marathi": "तलाव डोंगराच्या खाली आहे आणि पाणी थंड आहे. कोणी पोहत नाही.",
    "French": "Le lac est sous la colline. Il est froid et personne ne nage dans l'eau.",
    "German in capitals": "DER SEE IST KALT UND NIEMAND IST IN DEM WASSER.",
    "preface": f"Sure, here it is:\n{_LAKE.replace(',', '')}\nI hope that helps, friend.",
    "preface and quotes": f'Here you are:\n"{_LAKE.replace(",", "")}"',
    "starred": f"**{_LAKE}**",
    "short": "Lake.",
    "one word": "hill",
    "long": " ".join([_LAKE.replace(",", "")] * 4),
    "sunny": "The sunlight is on the hillside and no lake is near.",
    "hash signs": "# Lake\n## Hill\n### Sun",
    "letters": "llllll and a bell",
}
_TURNS = 11
"""How many of the instructions each text is held against."""


def _cases() -> Iterator[Case]:
    number = 1
    for place, (style, text) in enumerate(_TEXTS.items()):
        for turn in range(_TURNS):
            asked = _ASKED[(place * 5 + turn * 3) % len(_ASKED)]
            cells = {
                "prompt": "Describe the lake.",
                "instruction_id_list": json.dumps(list(asked)),
                "kwargs": json.dumps(list(asked.values())),
            }
            yield Case(str(number), cells, f"{style}; {' and '.join(asked)}", text)
            number += 1


SPECS = (
    Spec(
        name="ifeval.harness",
        benchmark="ifeval",
        rule="snellen",
        oracle=by.LM_HARNESS,
        path="lm_eval/tasks/ifeval/utils.py, process_results",
        cases=_cases,
        arguments={"scorer": "ifeval"},
        metrics={
            "prompt_level_strict": "mean",
            "prompt_level_loose": "prompt_level_loose",
            "inst_level_strict": "inst_level_strict",
            "inst_level_loose": "inst_level_loose",
        },
    ),
)
