"""MEGA-Bench: every metric that is scored here over right, near and broken replies, and the parsers
of replies over the forms in which models dress an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from tests.differential.oracle_list import MEGA_BENCH_AUTHORS
from tests.differential.sets import Case, Spec

APART = "apart: "
"""Begins styles whose rows the two sides score differently."""

_BOX_A, _BOX_B = "(0.1, 0.1, 0.5, 0.5)", "(0.6, 0.2, 0.9, 0.4)"
_DOMAIN = (
    "(define (domain boxes) (:requirements :strips)\n (:predicates (on ?x ?y) (free ?x) (held ?x))"
    "\n (:action lift\n  :parameters (?x ?y)\n  :precondition (and (on ?x ?y) (free ?x))\n"
    "  :effect (and (held ?x) (free ?y) (not (on ?x ?y)) (not (free ?x))))"
    "\n (:action put\n  :parameters (?x ?y)\n  :precondition (and (held ?x) (free ?y))\n"
    "  :effect (and (not (held ?x)) (not (free ?y)) (on ?x ?y) (free ?x)))"
    "\n (:action wait\n  :parameters (?x)\n  :precondition (free ?x)\n  :effect (free ?x)))"
)
_PROBLEM = (
    "(define (problem p1)\n (:domain boxes)\n (:objects a b c)\n"
    " (:init (on a b) (free a) (free c))\n (:goal (and (on a c) (free b))))"
)
_NUMBERS = (
    "5",
    "5.0",
    "5.04",
    "5.06",
    "-5",
    "5 apples",
    "5 cm",
    "5 C",
    "$5",
    "5%",
    "500%",
    "x = 5",
    "x \\approx 5",
    "\\frac{10}{2}",
    "\\frac{15}{3}",
    "\\( 5 \\)",
    "\\[ 5 \\]",
    "10/2",
    "2+3",
    "2^{2}+1",
    "5,000",
    "five",
    "5.",
    "(5)",
    "[5]",
    "5 < 6",
    "",
    "\\sqrt{25}",
    "5°",
    "¥5",
    "E+2.282",
    "\\text{5}",
    "|5|",
    "5 \\times 1",
    "5\\cdot 1",
    "2\\pi",
    "9^9^9^9",
    "5)",
    "the answer is 5",
)
_SETS = (
    "[a, b]",
    "[b, a]",
    "a, b",
    "b,a",
    "{a, b}",
    "(a, b)",
    '["a", "b"]',
    "['b', 'a']",
    "[a]",
    "a",
    "[a, b, c]",
    "[a, b",
    "[A, B]",
    "None",
    "[]",
    "a b",
    "[a, a, b]",
    "['a', 'b'], 'c'",
    "a,b,",
    "{'a': 1, 'b': 2}",
    "5",
)
_NUMBER_SETS = ("[1, 2]", "[2, 1]", "1, 2", "1", "[1.0, 2.0]", "['1', '2']", "[1, [2]]", "1 2", "")
_OBJECTS = (
    "{'a': 'x', 'b': 'y'}",
    '{"a": "x", "b": "y"}',
    "{'b': 'y', 'a': 'x'}",
    "{'a': 'x'}",
    "{'a': 'x', 'b': 'z'}",
    "{'a': 'x', 'b': 'y', 'c': 'w'}",
    "{'A': 'x', 'b': 'y'}",
    "a: x, b: y",
    "{}",
    "['x', 'y']",
    "{'a': 'x', 'b': 'y'",
    "{'a': ['x'], 'b': 'y'}",
    "none",
    "So {'a': 'x', 'b': 'y'} it is",
    "{'a': x, 'b': y}",
    '{"a": "x", "b": null}',
)
_LISTS = (
    "[a, b, c]",
    "a, b, c",
    "['a', 'b', 'c']",
    "[A, B, C]",
    "[a, c, b]",
    "[a, b]",
    "[a, b, c, d]",
    "(a, b, c)",
    "{a, b, c}",
    "abc",
    "[a, b, x]",
    "[x, b, c]",
    "a b c",
    "[a,b,c",
    "1, 2, 3",
    "[]",
)
_SPOTS = (
    _BOX_A,
    "[0.1, 0.1, 0.5, 0.5]",
    f"[{_BOX_A}]",
    f"[{_BOX_A}, {_BOX_B}]",
    f"[{_BOX_B}, {_BOX_A}]",
    "(0.2, 0.1, 0.6, 0.5)",
    "(0.5, 0.5, 0.1, 0.1)",
    "(0.6, 0.6, 0.7, 0.7)",
    "(0.1, 0.1, 0.5)",
    "0.1, 0.1, 0.5, 0.5",
    "(100, 100, 500, 500)",
    "()",
    "none",
    "(0.1, 0.1, 0.1, 0.5)",
    "[(0.1, 0.1, 0.5, 0.5), 'x']",
    "(0.1 0.1 0.5 0.5)",
    "[[0.1, 0.1, 0.5, 0.5]]",
)
_TERMS = (
    "x^2+1",
    "1+x^2",
    "x^{2}+1",
    "x*x+1",
    "x^2-1",
    "(x+1)^2-2x",
    "y^2+1",
    "\\( x^2+1 \\)",
    "\\begin{equation} x^2+1 \\end{equation}",
    "x^2+1=0",
    "",
    "x squared plus one",
    "X^2+1",
    "\\frac{x^3+x}{x}",
    "$x^2+1$",
    "x^2 + 1.",
)

_REPLIES: Mapping[str, Sequence[tuple[str, str, Sequence[str]]]] = {
    "exact_str_match": [
        (
            "code_match_problem",
            "B",
            (
                "B",
                "b",
                "(B)",
                "B.",
                "B. the second",
                "Both",
                "A",
                "AB",
                "the B",
                "**B**",
                "B)",
                "'B'",
                "B\n\nbecause it is",
                "B\nbecause",
                "B, C",
                "",
            ),
        ),
        ("code_solution_compare", "42", ("42", "42.0", " 42", "'42'", "42!", "forty-two", "4 2")),
    ],
    "exact_str_match_case_insensitive": [
        (
            "app_layout_understanding_notes",
            "Red Car",
            (
                "Red Car",
                "red car",
                "RED CAR",
                "redcar",
                "Red  Car",
                "Red Car.",
                "'red car'",
                "Red",
                "the red car",
                "red car\n\nas I see",
                "red-car",
                "{red car}",
                "['red car']",
                "5",
                "-",
            ),
        )
    ],
    "code_result_exact_str_match": [
        (
            "code_output_result",
            "```result\n1\n 2\n```",
            (
                "```result\n1\n 2\n```",
                "1\n 2",
                "```\n1\n 2\n```",
                "```result\n1\n2\n```",
                "1\n 2\n",
                "```result\n\n1\n 2\n\n```",
                "```python\n1\n 2```",
                " 1\n 2",
                "1\n\n 2",
                "1\\n 2",
                "1",
                "```result\n1\n 2",
                "`1\n 2`",
                "```result 1\n 2\n```",
                "1\r\n 2",
            ),
        )
    ],
    "simple_str_match": [
        (
            "ocr_table_to_csv",
            "a-b c.d",
            (
                "a-b c.d",
                "abcd",
                "A B C D",
                "a–b c.d",
                "a_b c.d",
                "a\nb\nc\nd",
                "a\tb cd",
                "abc",
                "d",
                "a,b,c,d",
                "'abcd'",
                "**abcd**",
                "abcd\n\nthat is all",
                "ABCD...",
                "{abcd}",
            ),
        ),
        ("biology_exams_v", "C", ("C", "c", "(c)", "C. cell", "cell", "-C-", "The C", "D or C")),
    ],
    "multi_ref_phrase": [
        (
            "research_website_parsing_blogpost",
            "[New York, NYC, Big-Apple]",
            (
                "New York",
                "new york",
                "NYC",
                "big apple",
                "N.Y.C.",
                "York",
                "New York City",
                "the NYC",
                "[NYC]",
                "NYC, New York",
                "newyork",
                "'NYC'",
                "nyc\n\nin short",
                "ny c",
                "Boston",
            ),
        ),
        ("cultural_vqa", "红色，赤色", ("红色", "赤色", "红 色", "红", "红色，赤色")),
        ("video_segments_reordering", "'ab'", ("a", "b", "ab")),
    ],
    "near_str_match": [
        (
            "landmark_recognition_and_qa",
            "Basílica de la Sagrada Família",
            (
                "Basílica de la Sagrada Família",
                "Basilica de la Sagrada Familia",
                "Sagrada Familia",
                "The Basilica de la Sagrada Familia",
                "basilica de la sagrada famila",
                "basilica de a sagrada familia",
                "Basilica de la Sagrada",
                "BASILICA DE LA SAGRADA FAMÍLIA",
                "Basílica  de la Sagrada Família",
                "Basilica dela Sagrada Fmailia",
                "Basilica — Sagrada",
                "Bazilika",
                "a basilica de la Sagrada Familia",
                "“Basilica de la Sagrada Familia”",
                "-",
            ),
        ),
        (
            "landmark_recognition_and_qa",
            "Straße des 17. Juni",
            (
                "Strasse des 17. Juni",
                "Straße des 17 Juni",
                "Strasse 17. Juni",
                "STRASSE DES 17. JUNI",
                "Straße—des—17.—Juni",
                "Øresund",
                "Ðæþłđ",
            ),
        ),
    ],
    "normalized_similarity_damerau_levenshtein": [
        (
            "IAM_line_ocr_and_locate",
            "put|down|a|resolution",
            (
                "put|down|a|resolution",
                "put down a resolution",
                "pu|tdown|a|resolution",
                "putdown",
                "PUT|DOWN|A|RESOLUTION",
                "put|down|a|resoluiton",
                "resolution|a|down|put",
                "x",
                "5",
                "['put', 'down']",
                "put|down|a|resolution.",
                "put|down",
                "ptu|dwon|a|resolution",
                "|||",
                "put\ndown",
            ),
        )
    ],
    "set_equality": [("code_add_tag", "[a, b]", _SETS), ("topological_sort", "[1, 2]", _NUMBER_SETS)],
    "set_equality_case_insensitive": [
        ("mindmap_elements_parsing", "['a', 'B']", (*_SETS[:16], "['A', 'b']", "['A', 5]"))
    ],
    "str_set_equality_comma": [
        (
            "movie_info_retrieval",
            "Ann Lee, Bob",
            (
                "Ann Lee, Bob",
                "Bob, Ann Lee",
                "bob, ann lee",
                "Bob,Ann Lee",
                "[Ann Lee, Bob]",
                "Bob",
                "['Bob', 'Ann Lee']",
                "Ann, Lee, Bob",
                "Ann Lee and Bob",
                "Bob, Ann Lee, Cy",
                "None",
                "",
                "Ann Lee, Bob.",
                "Ann Lee; Bob",
                "Ann Lee, Bob, Bob",
                "(Bob, Ann Lee",
            ),
        ),
        ("weather_info_retrieval", "None", ("None", "none", "", "[]", "0")),
    ],
    "str_set_equality_line_break": [
        (
            "ocr_resume_school_plain",
            "Ann\\nBob",
            (
                "Ann\nBob",
                "Bob\nAnn",
                "ann\nbob",
                "Ann\\nBob",
                "Ann, Bob",
                "Ann",
                "Ann\n\nBob",
                "- Ann\n- Bob",
                "Ann \nBob",
                "['Ann', 'Bob']",
                "Ann\nBob\nAnn",
                "Ann\nBob\nCy",
                "1",
                "",
                "```\nAnn\nBob\n```",
            ),
        )
    ],
    "jaccard_index": [
        ("photoshop_operation", "[a, b]", _SETS),
        ("coco_ood_global_image_retrieval_by_query_property", "[1, 2]", _NUMBER_SETS),
    ],
    "jaccard_index_case_insensitive": [
        ("media_homepage_profile", "[a, b]", _SETS),
        (
            "transit_map_intersection_points",
            "[('Old Town', 'Red'), ('Pier', 'Blue')]",
            (
                "[('Old Town', 'Red'), ('Pier', 'Blue')]",
                "[('old-town', 'red'), ('PIER', 'blue')]",
                "[['Old_Town', 'Red'], ['Pier', 'Blue']]",
                "[('Pier', 'Blue')]",
                "Old Town, Red",
                "[]",
                "[('Old Town', 'Red', 5)]",
                "[('Red', 'Old Town'), ('Blue', 'Pier')]",
                "{('pier','blue')}",
                "[('Pier', 'Blue'), ('Pier', 'Blue')]",
            ),
        ),
    ],
    "set_precision": [("hashtag_recommendation", "[a, b]", _SETS), ("bongard_problem", "[1, 2]", _NUMBER_SETS)],
    "chess_move_list_jaccard_index": [
        (
            "chess_find_legal_moves",
            "Nf3,Qd2#,a4!",
            (
                "Nf3,Qd2#,a4!",
                "Nf3,Qd2,a4",
                "Nf3",
                "Nf3+,Qd2",
                "nf3,qd2,a4",
                "[Nf3, Qd2, a4]",
                "O-O",
                "Nf3, Qd2, a4, h4",
                "Nf3 Qd2 a4",
                "a4!!",
                "Qd2!#",
                "['Nf3']",
                "None",
                "[]",
                "1. Nf3",
            ),
        )
    ],
    "sequence_equality": [
        ("google_streetview_circle_sorting", "[a, b, c]", _LISTS),
        (
            "comic_page_ordering",
            "[3, 1, 2]",
            ("[3, 1, 2]", "3, 1, 2", "(3, 1, 2)", "[3.0, 1, 2]", "3 1 2", "[1, 2, 3]", "['3', '1', '2']"),
        ),
    ],
    "sequence_accuracy_case_insensitive": [
        ("multiple_states_identify_asia", "[a, b, c]", _LISTS),
        (
            "av_view_identification",
            "[1, 2, 3, 4]",
            ("[1, 2, 3, 4]", "[1, 2, 4, 3]", "1,2,3,4", "[1, 2, 3]", "['1', 2, 3, 4]", "[1.0, 2.0, 0, 0]"),
        ),
    ],
    "longest_common_list_prefix_ratio": [
        ("move_pos_to_pos_hanoi_4_pole", "a, b, c", _LISTS),
        (
            "move_pos_to_pos_hanoi_4_pole",
            "3: 1->2,2: 3->1",
            ("3: 1->2,2: 3->1", "3: 1->2", "3:1->2,2:3->1", "3: 1->2, 2: 3->1, 1: 2->3"),
        ),
    ],
    "dict_equality": [
        ("semantic_matching_of_two_images", "{'a': 'x', 'b': 'y'}", _OBJECTS),
        (
            "visual_correspondance_in_two_images",
            "{1: 'b', 2: 'a'}",
            ("{1: 'b', 2: 'a'}", "{'1': 'b', '2': 'a'}", "{2: 'a', 1: 'b'}", "{1: 'B', 2: 'A'}"),
        ),
    ],
    "dict_precision": [("mensa_iq_test", "{'a': 'x', 'b': 'y'}", _OBJECTS)],
    "dict_exact_str_match_agg_recall": [("2d_image_jigsaw_puzzle_easy", "{'a': 'x', 'b': 'y'}", _OBJECTS)],
    "dict_jaccard_agg_jaccard": [
        (
            "annoying_word_search",
            "{'cat': [[0, 1], [0, 2]], 'dog': [[3, 3]]}",
            (
                "{'cat': [[0, 1], [0, 2]], 'dog': [[3, 3]]}",
                "{'cat': [[0, 2], [0, 1]]}",
                "{}",
                "[]",
                "{'dog': [[3, 3]]}",
                "{'cat': [[0, 1]], 'dog': [[3, 3]]}",
                "{'cow': [[1, 1]]}",
                "cat",
                "{'cat': '[[0, 1], [0, 2]]', 'dog': '[[3, 3]]'}",
                "{'cat': [0, 1], 'dog': [3, 3]}",
                "{'cat': [(0, 1), (0, 2)], 'dog': [(3, 3)]}",
                "{'cat': null, 'dog': [[3, 3]]}",
                "{'cat': [], 'dog': []}",
                "{'CAT': [[0, 1], [0, 2]], 'dog': [[3, 3]]}",
                '{"cat": [[0, 1], [0, 2]], "dog": [[3, 3]]}',
            ),
        )
    ],
    "dict_nbbox_iou_tuple_agg_jaccard": [
        (
            "waldo",
            f"{{'a': '{_BOX_A}', 'b': '{_BOX_B}'}}",
            (
                f"{{'a': '{_BOX_A}', 'b': '{_BOX_B}'}}",
                f"{{'a': {_BOX_A}, 'b': {_BOX_B}}}",
                "{}",
                f"{{'a': [{_BOX_A}]}}",
                f"{{'a': '{_BOX_B}', 'b': '{_BOX_A}'}}",
                f"{{'b': '{_BOX_B}'}}",
                f"{{'c': '{_BOX_A}'}}",
                "{'a': 'none', 'b': 'none'}",
                _BOX_A,
                "{'a': '(0.1, 0.1)'}",
                "{'a': '(0.2, 0.1, 0.6, 0.5)', 'b': '(0.6, 0.2, 0.9, 0.5)'}",
                "a",
                f"{{'a': '[{_BOX_A}, {_BOX_B}]', 'b': '{_BOX_B}'}}",
                "{'a': null}",
                '{"a": [0.1, 0.1, 0.5, 0.5], "b": [0.6, 0.2, 0.9, 0.4]}',
            ),
        )
    ],
    "nbbox_iou_tuple": [("coco_person_detection", f"[{_BOX_A}, {_BOX_B}]", _SPOTS)],
    "nbbox_iou_single": [("3d_indoor_scene_text_bbox_prediction", _BOX_A, _SPOTS)],
    "nbbox_iou_sequence": [("av_multicamera_tracking_predict_bbox", f"[{_BOX_A}, {_BOX_B}]", _SPOTS)],
    "xml_nbbox_iou_single": [
        (
            "GUI_Act_Web_Single",
            "<box>0.1, 0.1, 0.5, 0.5</box>",
            (
                "<box>0.1, 0.1, 0.5, 0.5</box>",
                "<box>0.2, 0.1, 0.6, 0.5</box>",
                "<box>0.1,0.1</box>",
                "<box>0.1 0.1 0.5 0.5</box>",
                "(0.1, 0.1, 0.5, 0.5)",
                "<Box>0.1, 0.1, 0.5, 0.5</Box>",
                "<box>0.1, 0.1, 0.5, 0.5</box><box>0.6, 0.6, 0.7, 0.7</box>",
                "<box>a, b, c, d</box>",
                "<box>0.5, 0.5, 0.1, 0.1</box>",
                "<box>100, 100, 500, 500</box>",
                "<box></box>",
                "click",
                "<box>(0.1, 0.1, 0.5, 0.5)</box>",
                "<box>0.1, 0.1, 0.5, 0.5",
                "<box>0.1,0.1,0.5,0.5</box>!",
            ),
        )
    ],
    "sequence_coords_similarity": [
        (
            "animal_pose_estimation",
            "[(0.1, 0.2), (0.5, 0.5)]",
            (
                "[(0.1, 0.2), (0.5, 0.5)]",
                "[[0.1, 0.2], [0.5, 0.5]]",
                "[(0.1, 0.2), (0.5, 0.6)]",
                "()",
                "[(0.5, 0.5), (0.1, 0.2)]",
                "[(0.1, 0.2)]",
                "(0.1, 0.2), (0.5, 0.5)",
                "[(1, 1), (0, 0)]",
                "[(0.1, 0.2, 0.3), (0.5, 0.5)]",
                "[(100, 200), (500, 500)]",
                "0.1, 0.2, 0.5, 0.5",
                "none",
                "[(0.1, 0.2), (0.5, 'x')]",
                "[(0.1 0.2), (0.5 0.5)]",
                "[(0.1, 0.2), (0.5, 0.5)] and more",
            ),
        )
    ],
    "number_rel_diff_ratio": [
        (
            "paper_review_rating",
            "4",
            (
                "4",
                "4.0",
                "3",
                "5",
                "8",
                "9",
                "-4",
                "0",
                "four",
                "4/5",
                "[4]",
                "'4'",
                "4 out of 5",
                "4.",
                "1e1",
                "4,5",
                "True",
            ),
        )
    ],
    "normalized_rmse": [
        (
            "average_humidity_estimate_plot",
            "0.5",
            (
                "0.5",
                "0.55",
                "0.45",
                "0.6",
                "0.61",
                ".5",
                "1/2",
                "50%",
                "0.5.",
                "half",
                "[0.5]",
                "5e-1",
                "'0.5'",
                "-0.5",
                "0.501",
                "0,5",
            ),
        )
    ],
    "angle_seq_float_rmse": [
        (
            "polygon_interior_angles",
            "[90, 60, 30]",
            (
                "[90, 60, 30]",
                "90, 60, 30",
                "[91, 61, 31]",
                "[30, 60, 90]",
                "[90, 60]",
                "(90, 60, 30)",
                "[90.5, 60.5, 30.5]",
                "[90°, 60°, 30°]",
                "90 60 30",
                "[100, 70, 40]",
                "['90', '60', '30']",
                "[90, 60, 30, 0]",
                "none",
                "[90, None, 30]",
                "[80, 70, 30]",
            ),
        )
    ],
    "general_single_numerical_match": [
        ("algebra", "5", _NUMBERS),
        (
            "geometry_analytic",
            "\\frac{1}{2}",
            ("0.5", "1/2", "\\frac{1}{2}", "\\frac12", ".5", "50%", "\\frac{2}{4}", "0.51", "half", "-0.5", "2^{-1}"),
        ),
        ("math_exams_v", "B", ("B", "(B)", "B.", "b", "Both", "C")),
        ("scibench_calculus_wo_solution", "[1, 2]", ("[1, 2]", "[2, 1]", "(1, 2)", "[1.001, 2]", "1, 2", "[1, 3]")),
    ],
    "boxed_single_numerical_match": [
        (
            "screenshot_theoremqa",
            "\\boxed{0.25}",
            (
                "\\boxed{0.25}",
                "\\boxed{\\frac{1}{4}}",
                "0.25",
                "So \\boxed{0.25}.",
                "\\boxed{1/4}",
                "\\boxed{0.3}",
                "\\boxed{ 0.25 }",
                "$\\boxed{0.25}$",
                "\\boxed{0.25} or \\boxed{1}",
                "box",
                "\\boxed{25\\%}",
                "\\boxed{25%}",
                "\\boxed{x=0.25}",
                "\\boxed{}",
                "\\boxed{\\text{0.25}}",
            ),
        )
    ],
    "latex_expr_equality": [
        ("ocr_math_equation", "x^2+1", _TERMS),
        (
            "latex_complex_formula_convertion",
            "\\int_0^1 x dx",
            ("\\int_0^1 x dx", "\\int_{0}^{1} x \\, dx", "\\int_0^2 x dx", "\\int x dx"),
        ),
        (
            "handwritten_math_expression_extraction",
            "\\bar{\\alpha}+\\beta",
            ("\\bar{\\alpha}+\\beta", "\\overline{\\alpha}+\\beta", "\\beta+\\bar{\\alpha}", "ᾱ+β"),
        ),
    ],
    "text_with_latex_expr_equality": [
        (
            "ocr_math_text_latex",
            "Let $x+1$ be, then $y$.",
            (
                "Let $x+1$ be, then $y$.",
                "let $x+1$ be then $y$",
                "Let $1+x$ be, then $y$.",
                "Let x+1 be",
                "Let $x+1$ be then $z$.",
                "Let $x+2$ be, then $y$.",
                "$x+1$ $y$",
                "Let be, then .",
                "$$",
                "Let $x + 1$ be, then $y$.",
                "Let $x+1 be, then y$.",
                "Let $y$ be, then $x+1$.",
                "Let",
                "LET $x+1$ BE, THEN $y$",
                "Let $x+1$, be then, $y$.",
            ),
        )
    ],
    "xml_norm_point_in_bbox": [
        (
            "GUI_Act_Mobile_tap",
            "",
            (
                "<point>0.2, 0.2</point>",
                "<point>0.1, 0.1</point>",
                "<point>0.7, 0.3</point>",
                "(0.2, 0.2)",
                "<point>0.55, 0.3</point>",
                "<point>0.2 0.2</point>",
                "<point>200, 200</point>",
                "here",
                "<point>0.2, 0.2</point><point>0.3, 0.3</point>",
                "<point>a, b</point>",
                "<point></point>",
                "<point>0.5, 0.5</point>",
                "<point>0.2, 0.2, 0.3</point>",
                "<POINT>0.2, 0.2</POINT>",
                "I tap <point>0.2, 0.2</point>.",
            ),
        )
    ],
    "symbolic_planning_test": [
        (
            "planning_screenshot_blocksworld",
            "(lift a b)\n(put a c)",
            (
                "(lift a b)\n(put a c)",
                "(put a c)\n(lift a b)",
                "(lift a b)",
                "(lift a b)\n(put a b)",
                "(lift a b)\n(put a c)\n(wait a)",
                "1. (lift a b)\n2. (put a c)",
                "(LIFT a b)\n(put a c)",
                "(lift a b)\n(put a c)\n(lift a c)\n(put a c)",
                "lift a b\nput a c",
                "(lift a b c)",
                "plan",
                "(lift a b)\n (put a c)",
                "(lift a b)\n(put a c) done",
                "(lift a b) (put a c)",
                "(",
                "```\n(lift a b)\n(put a c)\n```",
                "(wait b)\n(lift a b)\n(put a c)",
                "(fly a c)",
                "(lift a b)\n\n(put a c)\n\nThat is it.",
                "(lift  a b)\n(put a c)",
            ),
        )
    ],
}
"""By metric: a task of the benchmark that has it, a gold answer, and replies."""

_CONTEXTS: Mapping[str, Mapping[str, Any]] = {
    "xml_norm_point_in_bbox": {"bounding_boxes": [_BOX_A, "(0.6, 0.2, 0.9, 0.4)"]},
    "symbolic_planning_test": {"domain_pddl": _DOMAIN, "task_pddl": _PROBLEM},
}
_VERBATIM = {"code_output_result", "screenshot_theoremqa"}
_DRESSED = (
    "@",
    "answer: @",
    "**Answer:** @",
    "**Answer: @**",
    "*Answer: @*",
    "ANSWER: @",
    "I think so.\nAnswer: @",
    "Answer: x\nNo. Answer: @",
    "Answer: @\n\nFor it is so.",
    "Answer: @\nFor it is so.",
    "Answer:\n@",
    "Answer:\n```\n@\n```",
    "```json\n@\n```",
    "Answer: '@'",
    'Answer: "@"',
    "Answer: (@)",
    "Answer: @.",
    "Answer: @ Answer: @",
    "The final answer: @",
    "Answer : @",
    "Answer:@",
    "<answer>@</answer>",
    "Answer: **@**",
    "Answer: @\n```\nx\n```",
    "Answer: [@]",
    "Answer: {@}",
    "答案：@",
    "Final Answer:\n\n@\n",
)
_FORMS = (
    '{"red": "1", "blue": "0"}',
    "{'red': '1', 'blue': '0'}",
    "{'red': 1, 'blue': 0}",
    'Answer: {"red": "1", "blue": "0"}',
    'Answer:\n{"red": "1",\n"blue": "0"}',
    "red: 1, blue: 0",
    '```json\n{"red": "1", "blue": "0"}\n```',
    'Answer: ```json\n{"red": "1"}\n```',
    "1",
    '{"red": "1"}',
    '{"red": "1", "blue": "2"}',
    '{"red": "0", "blue": "0"}',
    '{"red": "2"}',
    '[{"red": "1", "blue": "0"}]',
    '{"red": "1", "blue": "0"} or {"red": "3"}',
    "{}",
    "{'red': '1'",
    '{"answer": {"red": "1", "blue": "0"}}',
    '{"red": "\\"1\\"", "blue": "0"}',
    "{red: 1, blue: 0}",
    '{"red": true, "blue": false}',
    '{"red": "one", "blue": "0"}',
    "Answer: {'red': '1', 'blue': '0'}\nDone",
    '{"red": "1", "blue": "0",}',
    '{"red": "1.0", "blue": "0"}',
    "{'red': None, 'blue': '0'}",
    '**Answer: {"red": "1", "blue": "0"}**',
    '{"Red": "1", "Blue": "0"}',
)
_SWIPES = (
    "{'Start Point': '<point>0.5, 0.9</point>', 'End Point': '<point>0.5, 0.1</point>'}",
    "{'Start Point': '<point>0.5, 0.8</point>', 'End Point': '<point>0.5, 0.1</point>'}",
    "{'Start Point': '<point>0.5, 0.1</point>', 'End Point': '<point>0.5, 0.9</point>'}",
    "{'Start Point': '<point>0.5, 0.9</point>'}",
    "{'Start Point': [0.5, 0.9], 'End Point': [0.5, 0.1]}",
    "{'Start Point': '(0.5, 0.9)', 'End Point': '(0.5, 0.1)'}",
    "<point>0.5, 0.9</point>",
    "{'Start Point': '<point>1.5, 0.9</point>', 'End Point': '<point>0.5, 0.1</point>'}",
    "swipe up",
    "{'Start Point': '<point>0.5 0.9</point>', 'End Point': '<point>0.5 0.1</point>'}",
    "{}",
    "{'start point': '<point>0.5, 0.9</point>', 'end point': '<point>0.5, 0.1</point>'}",
    "{'Start Point': '<point>0, 1</point>', 'End Point': '<point>1, 0</point>'}",
    "{'Start Point': 5, 'End Point': null}",
    "{'Start Point': [0.5], 'End Point': [0.5, 0.1]}",
)
_CRITERIA = {
    "judge_model_type": "text-only",
    "reference_type": "text",
    "eval_criteria_prompt": "Rate {{0..10}}. Q: {question} R: {reference} A: {answer}",
    "template_mapping": {"question": "example_question", "reference": "answers.text", "answer": "model_output"},
}
_VERDICTS = {
    "10": "**Score explanation**: All is there.\n\n**Score**: 10",
    "7": "**Score explanation**: Much is there.\n**Score**: 7",
    "0": "**Score**: 0",
    "5 with blanks": "**Score** :  5",
    "3 of 10": "**Score**: 3/10",
    "1 then more": "**Score**: 1\n**Score explanation**: It is **wrong**.",
    "two scores": "**Score**: 4\n\nNo, **Score**: 6",
    "apart: no stars": "Score: 8",
    "apart: a number alone": "8",
    "apart: words": "It is good.",
    "apart: above ten": "**Score**: 12",
    "a fraction": "**Score**: 7.5",
}
_OPEN_REPLIES = ("Answer: A red boat at a pier.", "A red boat.", "Answer: {'a': 1}", "Answer: I don't know")


def _info(
    fields: Mapping[str, str],
    parser: str,
    function: str = "mean",
    weights: Mapping[str, float] | None = None,
    **more: Any,
) -> str:
    joined = {"function": function, "field_weights": dict(weights or dict.fromkeys(fields, 1))}
    return str({"field_score_function": dict(fields), "aggregation": joined, "response_parse_function": parser, **more})


def _cells(number: int, task: str, answer: Mapping[str, Any], info: str, **context: Any) -> dict[str, Any]:
    return {
        "task_name": task,
        "question": f"What is it? [row {number}]",
        "answer": str(dict(answer)),
        "metric_info": info,
        "eval_context": str(context),
    }


def _cases() -> Iterator[Case]:
    numbers = count(1)
    for metric, groups in _REPLIES.items():
        for task, gold, replies in groups:
            parser = "verbatim_answer_string" if task in _VERBATIM else "answer_string"
            info = _info({"it": metric}, parser)
            for place, reply in enumerate(replies):
                number = next(numbers)
                cells = _cells(number, task, {"it": gold}, info, **_CONTEXTS.get(metric, {}))
                style = f"{metric}: {'right' if reply == gold else place // 8}"
                yield Case(str(number), cells, style, f"Answer: {reply}")
    yield from _parsers(numbers)
    yield from _several_fields(numbers)
    yield from _judged(numbers)
    for metric, task in (("set_precision", "bongard_problem"), ("exact_str_match", "code_match_problem")):
        number = next(numbers)
        cells = _cells(number, task, {"it": "[1, 2]"}, _info({"it": metric}, "answer_string"))
        yield Case(str(number), cells, f"{APART}empty", "")


def _parsers(numbers: Iterator[int]) -> Iterator[Case]:
    """An answer in all its dresses, for each parser of single answers."""
    tasks = (
        ("answer_string", "code_error_line_identification", "exact_str_match", "42"),
        ("answer_string", "flowchart_code_generation", "exact_str_match", "(a\nb)"),
        ("verbatim_answer_string", "screenshot_lighteval_math", "simple_str_match", "blue"),
        ("ascii_answer_string", "character_recognition_in_TV_shows", "simple_str_match", "re d"),
    )
    for parser, task, metric, gold in tasks:
        for form in _DRESSED:
            number = next(numbers)
            cells = _cells(number, task, {"it": gold}, _info({"it": metric}, parser))
            yield Case(str(number), cells, f"{parser}: {form[:24]}", form.replace("@", gold))


def _several_fields(numbers: Iterator[int]) -> Iterator[Case]:
    """Replies of several fields: counts, weights, and the least of them."""
    colours = {"red": "positive_int_match", "blue": "positive_int_match"}
    kinds = {"red": "set_precision", "blue": "exact_str_match"}
    tasks = (
        ("shape_composition_colours", {"red": "1", "blue": "0"}, _info(colours, "json"), _FORMS),
        ("ishihara_test", {"red": "1", "blue": "0"}, _info(kinds, "json", weights={"red": 2, "blue": 1}), _FORMS),
        (
            "graph_connectivity",
            {"red": "1", "blue": "0"},
            _info({"red": "simple_str_match", "blue": "number_rel_diff_ratio"}, "json", weights={"red": 1, "blue": 3}),
            _FORMS,
        ),
        (
            "GUI_Act_Mobile_swipe",
            {"Start Point": "<point>0.5, 0.9</point>", "End Point": "<point>0.5, 0.1</point>"},
            _info(dict.fromkeys(("Start Point", "End Point"), "xml_norm_point_distance"), "json", "min"),
            _SWIPES,
        ),
    )
    for task, gold, info, forms in tasks:
        for place, form in enumerate(forms):
            number = next(numbers)
            yield Case(str(number), _cells(number, task, gold, info), f"{task}: {place // 4}", form)


def _judged(numbers: Iterator[int]) -> Iterator[Case]:
    """Fields that a judge scores: alone, and beside one that a rule scores."""
    alone = _info({"text": "gpt_4o_as_judge"}, "answer_string", gpt4o_eval_configs=_CRITERIA)
    beside = _info({"text": "gpt_4o_as_judge", "kind": "exact_str_match"}, "json", gpt4o_eval_configs=_CRITERIA)
    for style, words in _VERDICTS.items():
        named = style if style.startswith(APART) else f"judge: {style}"
        for reply in _OPEN_REPLIES:
            number = next(numbers)
            cells = _cells(number, "art_explanation", {"text": "A boat."}, alone)
            yield Case(str(number), cells, named, reply, words)
        for kind in ("boat", "ship"):
            number = next(numbers)
            cells = _cells(number, "humor_explanation", {"text": "A boat.", "kind": "boat"}, beside)
            reply = str({"text": "A red boat.", "kind": kind})
            yield Case(str(number), cells, named, reply, words)


SPECS = (
    Spec(
        name="mega-bench.authors",
        benchmark="mega-bench",
        rule="snellen",
        oracle=MEGA_BENCH_AUTHORS,
        path="megabench/evaluation_processor.py, process, and megabench/tools",
        cases=_cases,
        metrics={
            "task_mean": "overall",
            "core": "core",
            "open": "open",
            "application/Coding": "app/Coding",
            "application/Information Extraction": "app/Information_Extraction",
            "skill/Spatial and Temporal Reasoning": "skills/Spatial and Temporal Reasoning",
            "skill/Text Recognition (OCR)": "skills/Text Recognition (OCR)",
            "input_format/Photographs": "input_format/Photographs",
            "output_format/numerical data": "output_format/numerical_data",
            "input_number/1-image": "input_num/1-image",
        },
        apart=APART,
    ),
)
