"""ScreenSpot and ScreenSpot-Pro by their authors' scripts and by VLMEvalKit."""

from __future__ import annotations

from dataclasses import replace

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Oracle, Spec
from tests.differential.styles_points import point_cases

_VLMEVALKIT = replace(VLMEVALKIT, script="vlmevalkit_open")
_ELEMENTS = {"element/text": "Text_Accuracy", "element/icon": "Icon_Accuracy"}
_ALONE = {"how": "alone", "metric": "Overall_Accuracy", "factor": 0.01, "fillers": []}


def _authors(repository: str, commit: str, licence: str) -> Oracle:
    return Oracle("authors_open", repository, commit, licence, repository.partition("/")[2])


SPECS = (
    Spec(
        name="screenspot.vlmevalkit",
        benchmark="screenspot",
        rule="vlmevalkit",
        oracle=_VLMEVALKIT,
        path="vlmeval/dataset/GUI/screenspot.py, ScreenSpot.evaluate_point",
        cases=point_cases(),
        arguments={**_ALONE, "dataset": "ScreenSpot_Web"},
        metrics={"accuracy": "Overall_Accuracy", **_ELEMENTS},
    ),
    Spec(
        name="screenspot@version=2.vlmevalkit",
        benchmark="screenspot:version=2",
        rule="vlmevalkit",
        oracle=_VLMEVALKIT,
        path="vlmeval/dataset/GUI/screenspot.py, ScreenSpot.evaluate_point",
        cases=point_cases(),
        arguments={**_ALONE, "dataset": "ScreenSpot_v2_Web"},
        metrics={"accuracy": "Overall_Accuracy", **_ELEMENTS},
    ),
    Spec(
        name="screenspot@version=pro.vlmevalkit",
        benchmark="screenspot:version=pro",
        rule="vlmevalkit",
        oracle=_VLMEVALKIT,
        path="vlmeval/dataset/GUI/screenspot_pro.py, ScreenSpot_Pro.evaluate_point",
        cases=point_cases(pro=True),
        arguments={**_ALONE, "dataset": "ScreenSpot_Pro_CAD"},
        metrics={"accuracy": "Overall_Accuracy"},
    ),
    Spec(
        name="screenspot.authors",
        benchmark="screenspot",
        rule="official",
        oracle=_authors("njucckevin/SeeClick", "0ef37ac4d7aaf37ba7b990e3e3c3ca77e1fb8f93", "Apache-2.0"),
        path="pretrain/screenspot_test.py, the loop over samples",
        cases=point_cases(),
        arguments={"scorer": "screenspot"},
        metrics={"accuracy": "mean"},
    ),
    Spec(
        name="screenspot@version=pro.authors",
        benchmark="screenspot:version=pro",
        rule="official",
        oracle=_authors(
            "likaixin2000/ScreenSpot-Pro-GUI-Grounding", "bd8bbbb470fbc4fda2a4fa9ec90bd2572507794e", "none stated"
        ),
        path="models/gpt4x.py and eval_screenspot_pro.py, evaluate",
        cases=point_cases(pro=True),
        arguments={"scorer": "screenspot_pro"},
        metrics={
            "accuracy": "overall/action_acc",
            "element/text": "overall/text_acc",
            "element/icon": "overall/icon_acc",
            "group/CAD": "group:CAD/action_acc",
            "group_element/Office/icon": "group:Office/icon_acc",
            "application/shop": "app:shop/action_acc",
        },
    ),
)
