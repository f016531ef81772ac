"""Pictures of layouts: complete, small, safe, and the same everywhere."""

import hashlib
import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
import resvg_py
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageStat

from engine.decktet import DECK, Suit
from engine.game import Label, Layout, Placed, Slot, say
from pbem import tableau
from pbem.tableau.plan import plan

SVG = "{http://www.w3.org/2000/svg}"
GROUND = (230, 227, 211)
BY_CODE = {card.code: card for card in DECK}


def spoken(phrase):
    return phrase.text % phrase.fields


def placed(code, column, row=0, *marks, turned=False, label=None):
    return Placed(column, row, BY_CODE.get(code), frozenset(marks), turned, label)


def row_of(cards, row=0, start=0):
    return tuple(Placed(start + n, row, card) for n, card in enumerate(cards))


WHOLE_DECK = Layout(tuple(Placed(n % 9, n // 9, card) for n, card in enumerate(DECK)))
LONG_LINE = Layout(
    row_of(DECK[:36])
    + tuple(Placed(3, r, card) for r, card in zip((-3, -2, -1, 1, 2), DECK[36:41], strict=True))
    + tuple(Placed(20, r + 1, card) for r, card in enumerate(DECK[41:])),
    (Slot(-1, 0, "left"), Slot(36, 0, "right")),
)
TALL = Layout(tuple(Placed(0, n - 6, card) for n, card in enumerate(DECK[:12])))
START = Layout((placed("5YK", 0, 0, "start"), placed("", 0, turned=True)))
TABLE = Layout(
    (
        *row_of(DECK[6:12]),
        placed("5YK", 2, 1, "open", "fresh"),
        placed("6LK", 2, -1, "chosen"),
        placed("TSLK", 3, 1, "won", label=say("Ada")),
        placed("", 4, 1),
    ),
    (Slot(-1, 0, "left"), Slot(6, 0, "right"), Slot(2, 2, "down"), Slot(2, -2, "up")),
    (Label(4, -1, say("trick %(n)s", n=3)),),
)
SHAPES = {
    "empty": Layout(),
    "one card": Layout(row_of(DECK[:1])),
    "start": START,
    "table": TABLE,
    "tall": TALL,
    "long line": LONG_LINE,
    "whole deck": WHOLE_DECK,
}


def opened(picture):
    return Image.open(BytesIO(picture.data))


def png(layout):
    return tableau.png(layout, say=spoken)


def svg(layout, title="the table"):
    return tableau.svg(layout, say=spoken, title=title)


def ids_used(text):
    root = ElementTree.fromstring(text)
    return [use.get("href")[1:] for use in root.iter(f"{SVG}use")]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_picture_is_a_small_palette_png_with_two_pixels_a_css_pixel(shape):
    picture = png(SHAPES[shape])
    image = opened(picture)
    assert image.mode == "P"
    assert "transparency" not in image.info
    assert len(image.getpalette()) // 3 <= 64
    assert picture.width <= 560
    assert len(picture.data) < 60_000
    if shape != "long line":
        assert image.size == (picture.width * 2, picture.height * 2)


def test_a_picture_too_heavy_for_a_mail_gets_fewer_pixels_and_keeps_its_size():
    picture = png(LONG_LINE)
    pixels = opened(picture).width / picture.width
    assert pixels in {1.5, 1.0}


def test_a_twenty_card_table_stays_well_under_the_limit():
    layout = Layout(row_of(DECK[9:16]) + row_of(DECK[16:23], 1) + row_of(DECK[23:29], 2))
    assert len(png(layout).data) < 40_000


def test_marks_lie_on_a_card_as_if_they_were_drawn_with_it():
    layout = Layout((placed("5SW", 0, 0, "open", "chosen", "fresh", "start", "won"),))
    width = png(layout).width * 2
    at_once = resvg_py.svg_to_bytes(svg_string=svg(layout), width=width, skip_system_fonts=True)
    scene = Image.open(BytesIO(at_once)).convert("L").crop((100, 0, width - 100, 300))
    pasted = opened(png(layout)).convert("L").crop((100, 0, width - 100, 300))
    assert ImageStat.Stat(ImageChops.difference(scene, pasted)).mean[0] < 3


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_layout_gives_the_same_bytes(shape):
    assert png(SHAPES[shape]) == png(SHAPES[shape])
    assert svg(SHAPES[shape]) == svg(SHAPES[shape])


@pytest.mark.parametrize("shape", SHAPES)
def test_every_card_has_ink_at_its_place(shape):
    layout = SHAPES[shape]
    drawn, image = plan(layout, spoken), opened(png(layout)).convert("RGB")
    density = drawn.scale * image.width / drawn.width
    cards = [spot for spot in drawn.spots if spot.pieces[0].startswith(("card-", "back"))]
    assert len(cards) == len(layout.cards)
    for spot in cards:
        box = [spot.x - 34, spot.y - 49, spot.x + 34, spot.y + 49]
        inside = image.crop([round(edge * density) for edge in box])
        found = inside.getcolors(maxcolors=inside.width * inside.height)
        assert len(found) > 5
        assert sum(count for count, colour in found if colour == GROUND) < inside.width


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_stands_outside_its_picture_or_covers_another_card(shape):
    drawn = plan(SHAPES[shape], spoken)
    high, wide = drawn.height / drawn.scale, drawn.width / drawn.scale
    cards = [spot for spot in drawn.spots if spot.pieces[0].startswith("card-")]
    for spot in cards:
        assert 35 <= spot.x <= wide - 35
        assert 50 <= spot.y <= high - 50
    places = {(round(spot.x / 35), round(spot.y / 50)) for spot in cards}
    assert len(places) == len(cards)


def test_a_fold_loses_no_card_and_each_strip_is_narrow_enough():
    folded = tableau.fold(LONG_LINE, 9)
    assert sorted(p.card.code for p in folded.layout.cards) == sorted(
        p.card.code for p in LONG_LINE.cards
    )
    assert len(folded.layout.slots) == 2
    columns = [item.column for item in (*folded.layout.cards, *folded.layout.slots)]
    assert min(columns) == 0
    assert max(columns) <= 8


def test_a_line_of_eleven_is_cut_once_into_balanced_strips_that_take_just_their_rows():
    folded = tableau.fold(Layout(row_of(DECK[:11], start=-4)), 9)
    assert [(p.column, round(p.row, 2)) for p in folded.layout.cards] == [
        *((n, 0.5) for n in range(6)),
        *((n, 1.7) for n in range(5)),
    ]
    assert [(cut.column, round(cut.row, 2), cut.side) for cut in folded.cuts] == [
        (5, 0.5, "right"),
        (0, 1.7, "left"),
    ]


def test_a_layout_that_is_narrow_enough_is_not_cut():
    assert tableau.fold(TABLE, 9) == tableau.Folded(TABLE)


@given(
    st.lists(
        st.tuples(
            st.floats(-20, 20, allow_nan=False), st.integers(-3, 3), st.booleans(), st.booleans()
        ),
        max_size=40,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_layout_is_folded_whole_and_fits_a_mail(places):
    layout = Layout(
        tuple(
            Placed(column, row, None if down else DECK[n], turned=turned)
            for n, (column, row, down, turned) in enumerate(places)
        )
    )
    folded = tableau.fold(layout, 9).layout
    assert sorted(str(p.card) for p in folded.cards) == sorted(str(p.card) for p in layout.cards)
    drawn = plan(layout, spoken)
    assert drawn.width <= 560
    assert all(35 <= spot.x <= drawn.width / drawn.scale - 35 for spot in drawn.spots)
    assert len(drawn.spots) >= len(places)


def test_a_card_that_lies_across_lies_behind():
    under, over = plan(START, spoken).spots
    assert (under.pieces, under.turned) == (("back",), True)
    assert (over.pieces, over.turned) == (("card-5YK", "mark-start"), False)


def test_different_cards_look_different_also_without_colour():
    pictures = {tableau.card_png(card).data for card in DECK}
    assert len(pictures) == len(DECK)
    # The rank and the suits alone must tell, and their shapes rather than their colours.
    shapes = {ink_of(tableau.card_png(BY_CODE[f"A{suit.letter}"])) for suit in Suit}
    assert len(shapes) == len(Suit)


def ink_of(picture):
    """Return where there is ink at all in the card's large symbol."""
    grey = opened(picture).convert("L").crop((28, 50, 84, 126))
    return grey.point(lambda light: 255 if light < 200 else 0).convert("1").tobytes()


def test_suits_differ_by_much_of_their_shape():
    inks = [ink_of(tableau.card_png(BY_CODE[f"A{suit.letter}"])) for suit in Suit]
    for n, one in enumerate(inks):
        for other in inks[n + 1 :]:
            assert sum((a ^ b).bit_count() for a, b in zip(one, other, strict=True)) > 250


@pytest.mark.parametrize("mark", ["open", "fresh", "chosen", "start", "won"])
def test_each_mark_is_seen_also_without_colour(mark):
    plain, marked = (
        opened(png(Layout((placed("5SW", 0, 0, *marks),)))).convert("L") for marks in ((), (mark,))
    )
    changed = sum(abs(a - b) > 40 for a, b in zip(plain.tobytes(), marked.tobytes(), strict=True))
    assert changed > 150


def test_a_hand_card_is_56_by_80():
    picture = tableau.card_png(BY_CODE["4MS"])
    assert (picture.width, picture.height, opened(picture).size) == (56, 80, (112, 160))
    assert len(picture.data) < 3_000


@pytest.mark.parametrize("shape", SHAPES)
def test_an_svg_defines_every_piece_it_uses_just_once(shape):
    text = svg(SHAPES[shape])
    root = ElementTree.fromstring(text)
    defined = [group.get("id") for group in root.find(f"{SVG}defs")]
    assert len(set(defined)) == len(defined)
    assert set(ids_used(text)) == set(defined)
    cards = [f"card-{p.card.code}" for p in SHAPES[shape].cards if p.card]
    assert sorted(i for i in ids_used(text) if i.startswith("card-")) == sorted(cards)


@pytest.mark.parametrize("text", [svg(TABLE), svg(LONG_LINE), tableau.card_svg(DECK[0])])
def test_an_svg_has_nothing_that_a_strict_policy_blocks(text):
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert root.get("viewBox")
    assert root.find(f"{SVG}title").text
    for element in root.iter():
        assert element.tag.removeprefix(SVG) not in {"style", "script", "image", "a"}
        assert not [name for name in element.attrib if name == "style" or name.startswith("on")]
        assert element.get("href", "#").startswith("#")
    assert "url(" not in text
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_cards_for_a_list_of_moves_have_no_ids():
    assert [card.code for card in DECK if " id=" in tableau.card_svg(card)] == []
    assert "<title>The Chance Meeting</title>" in tableau.card_svg(BY_CODE["7ML"])


HOSTILE = "<script>&\"'</script>"


def test_words_are_escaped():
    layout = Layout(
        (placed("5SW", 0, label=say("%(name)s", name=HOSTILE)),),
        labels=(Label(0, 1, say("%(name)s", name=HOSTILE)),),
    )
    text = svg(layout, title=HOSTILE)
    assert "<script" not in text
    root = ElementTree.fromstring(text)
    assert root.find(f"{SVG}title").text == HOSTILE
    assert [words.text for words in root.iter(f"{SVG}text")] == [HOSTILE, HOSTILE]


@given(st.text())
@settings(max_examples=60, deadline=None)
def test_any_words_can_be_drawn(words):
    layout = Layout(
        (placed("5SW", 0, label=say("%(name)s", name=words)),),
        labels=(Label(0, 1, say("%(name)s", name=words)),),
    )
    assert png(layout).width == 320
    assert ElementTree.fromstring(svg(layout, title=words)) is not None


@pytest.mark.parametrize(
    "words", ["😀👩‍🚀", "你好", "two\nlines\tand\x00more", "é" * 500, "", "\ud800"]
)
def test_words_without_a_glyph_or_too_many_of_them_do_no_harm(words):
    layout = Layout((placed("5SW", 0, label=say(words)),), labels=(Label(0, 1, say(words)),))
    assert png(layout).width == 320
    ElementTree.fromstring(svg(layout))


def test_labels_have_ink():
    bare, labelled = (
        opened(png(Layout(row_of(DECK[:2]), labels=(Label(0.5, -0.8, say(words)),))))
        for words in ("", "Łukasz ← Ada")
    )
    assert bare.size == labelled.size
    assert bare.tobytes() != labelled.tobytes()


def test_words_under_neighbouring_cards_are_cut_short_and_others_are_not():
    beside = tuple(
        placed(card.code, n, label=say("Bartholomew Smith")) for n, card in enumerate(DECK[:2])
    )
    far = tuple(
        placed(card.code, 2 * n, label=say("Bartholomew Smith")) for n, card in enumerate(DECK[:2])
    )
    assert {words.text[-1] for words in plan(Layout(beside), spoken).words} == {"…"}
    assert {words.text for words in plan(Layout(far), spoken).words} == {"Bartholomew Smith"}


DRAW = """
import hashlib
import sys

sys.path[:0] = [{tests!r}, {root!r}]
from test_tableau import TABLE, png, svg

print(hashlib.sha256(png(TABLE).data + svg(TABLE).encode()).hexdigest())
"""


def test_a_machine_without_fonts_draws_the_same(tmp_path):
    here = Path(__file__)
    script = DRAW.format(tests=str(here.parent), root=str(here.parents[2]))
    bare = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FONTCONFIG_FILE": "/dev/null"}
    told = subprocess.run(
        [sys.executable, "-c", script], env=bare, capture_output=True, text=True, check=True
    ).stdout
    here_drawn = hashlib.sha256(png(TABLE).data + svg(TABLE).encode()).hexdigest()
    assert told.strip() == here_drawn
    # The card's words are outlines: no text element asks the machine for letters.
    assert "<text" not in tableau.card_svg(DECK[0])
