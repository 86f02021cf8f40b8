"""Plurals and articles, by a table, and in questions as a user writes them."""

from __future__ import annotations

import pytest

from snellen_curate.metadata.templates import add_article, fill_placeholders, pluralise

NOUNS = [
    ("person", "people", "a person"),
    ("traffic light", "traffic lights", "a traffic light"),
    ("umbrella", "umbrellas", "an umbrella"),
    ("skis", "skis", "a pair of skis"),
    ("bus", "buses", "a bus"),
    ("sheep", "sheep", "a sheep"),
    ("knife", "knives", "a knife"),
    ("wine glass", "wine glasses", "a wine glass"),
    ("mouse", "mice", "a mouse"),
    ("couch", "couches", "a couch"),
    ("toothbrush", "toothbrushes", "a toothbrush"),
    ("sandwich", "sandwiches", "a sandwich"),
    ("giraffe", "giraffes", "a giraffe"),
    ("scissors", "scissors", "a pair of scissors"),
    ("teddy bear", "teddy bears", "a teddy bear"),
    ("orange", "oranges", "an orange"),
    ("broccoli", "broccoli", "some broccoli"),
    ("hour hand", "hour hands", "an hour hand"),
    ("unicycle", "unicycles", "a unicycle"),
    ("urn", "urns", "an urn"),
    ("urinal", "urinals", "a urinal"),
    ("uncle", "uncles", "an uncle"),
    ("CD player", "CD players", "a CD player"),
    ("MP3 player", "MP3 players", "an MP3 player"),
    ("bow (weapon)", "bows (weapon)", "a bow (weapon)"),
    ("lens", "lenses", "a lens"),
    ("piece of cake", "pieces of cake", "a piece of cake"),
    ("snowman", "snowmen", "a snowman"),
    ("ottoman", "ottomans", "an ottoman"),
    ("goldfish", "goldfish", "a goldfish"),
    ("tomato", "tomatoes", "a tomato"),
    ("burrito", "burritos", "a burrito"),
    ("grapes", "grapes", "some grapes"),
    ("key", "keys", "a key"),
    ("baby", "babies", "a baby"),
    ("scarf", "scarves", "a scarf"),
    ("rhinoceros", "rhinoceroses", "a rhinoceros"),
    ("roof", "roofs", "a roof"),
    ("sunglasses", "sunglasses", "a pair of sunglasses"),
    ("ewer", "ewers", "a ewer"),
    ("cattle", "cattle", "some cattle"),
    ("maracas", "maracas", "some maracas"),
    ("rays and skates", "rays and skates", "some rays and skates"),
]


@pytest.mark.parametrize(("noun", "plural", "phrase"), NOUNS)
def test_plurals_and_articles(noun: str, plural: str, phrase: str) -> None:
    assert (pluralise(noun), add_article(noun)) == (plural, phrase)


@pytest.mark.parametrize(
    ("template", "label", "question"),
    [
        ("How many {label}s are there?", "skis", "How many skis are there?"),
        ("Is there a {label} here?", "umbrella", "Is there an umbrella here?"),
        ("An {label} is here.", "dog", "A dog is here."),
        ("Where is the {label}?", "person", "Where is the person?"),
        ("Is {label}some here?", "dog", "Is dogsome here?"),
        ("In {width}s, a {width}.", "dog", "In 640s, a 640."),
    ],
)
def test_placeholders_take_their_form(template: str, label: str, question: str) -> None:
    assert fill_placeholders(template, {"label": label, "width": "640"}) == question
