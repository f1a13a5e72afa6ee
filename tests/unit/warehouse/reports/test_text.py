from hypothesis import example, given
from hypothesis import strategies as st

from gauntlet.warehouse.reports.text import Clip, shortened


def clipped(pieces, head=4, tail=6):
    clip = Clip(head, tail)
    for piece in pieces:
        clip.add(piece)
    return clip.text()


@given(st.lists(st.text(st.sampled_from("abc\n"), max_size=30), max_size=12))
@example(["abcd", "x" * 40, "efghij"])
def test_the_same_text_in_any_pieces_is_kept_alike(pieces):
    text = "".join(pieces)
    kept = clipped(pieces)
    assert kept == clipped([text]) == clipped(text)
    if len(text) <= 10:
        assert kept == text.strip()
    else:
        left_out = len(text) - 10
        assert kept == f"{text[:4]}\n[{left_out} characters left out]\n{text[-6:]}".strip()


def test_a_text_can_be_read_while_it_grows():
    clip = Clip(2, 2)
    clip.add("abcdef")
    assert clip.text() == "ab\n[2 characters left out]\nef"
    clip.add("gh")
    assert clip.text() == "ab\n[4 characters left out]\ngh"


def test_only_a_longer_text_is_shortened():
    assert shortened("abcde", 5) == "abcde"
    assert shortened("abcdef", 5) == "ab..."
