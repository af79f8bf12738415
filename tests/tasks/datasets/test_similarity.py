from difflib import SequenceMatcher

from hypothesis import given, settings
from hypothesis import strategies as st

from carryover.tasks.datasets.validation import smallest_similarity

texts = st.lists(st.text(alphabet="abc \n", max_size=30), min_size=2, max_size=4)


def difflib_smallest(values):
    *earlier, last = values
    return min(SequenceMatcher(None, last, text).ratio() for text in earlier)


def test_equal_texts_are_fully_similar():
    assert smallest_similarity(["again", "again", "again", "again"], 0.9) == 1.0


def test_one_unlike_text_settles_the_matter():
    assert smallest_similarity(["xyz", "again", "again"], 0.9) == 0.0


def test_the_ratio_above_the_threshold_is_difflibs():
    # 2 x 9 matching characters of 10 + 10
    assert smallest_similarity(["abcdefghij", "abcdefghix"], 0.5) == 0.9


def test_equal_long_texts_are_fully_similar():
    """Although `difflib` ignores characters that are popular in a long text."""
    text = "print(items)\n" * 60
    assert smallest_similarity([text, text], 0.9) == difflib_smallest([text, text]) == 1.0


@settings(derandomize=True, max_examples=300)
@given(values=texts, threshold=st.sampled_from([0.0, 0.5, 0.9]))
def test_similarity_is_difflibs_and_exact_above_the_threshold(values, threshold):
    exact = difflib_smallest(values)
    measured = smallest_similarity(values, threshold)
    assert (measured > threshold) == (exact > threshold)
    assert measured == exact if exact > threshold else measured >= exact


def test_below_the_threshold_the_least_alike_text_decides():
    # 2 x 5 common characters of 10 + 10 with the first text, none with the second: its bound is the smaller one
    assert smallest_similarity(["abcdevwxyz", "ZYXWVUTSRQ", "abcdefghij"], 0.9) == 0.0
    assert smallest_similarity(["abcdevwxyz", "abcZYXWVUT", "abcdefghij"], 0.9) == 0.3
