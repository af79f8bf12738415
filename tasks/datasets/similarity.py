"""How alike the last texts of a trace are, for the check on recovery loops (arXiv 2603.01209, appendix C.1.1)."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher


def smallest_similarity(texts: Sequence[str], threshold: float) -> float:
    """Return the smallest `difflib` ratio between the last text and each text before it, in [0, 1].

    The value is exact where it exceeds `threshold`. Elsewhere it is an upper bound that `threshold` is not below: one
    dissimilar text settles the check, and the multiset bound finds most of those in a hundredth of the time.

    Args:
        texts: At least two texts, oldest first.
        threshold: Similarity above which the exact value matters.
    """
    *earlier, last = texts
    smallest = min(_upper_bound(last, text) for text in earlier)
    for text in earlier:
        if smallest <= threshold:
            break
        ratio = 1.0 if last == text else SequenceMatcher(None, last, text).ratio()
        smallest = min(smallest, ratio)
    return smallest


def _upper_bound(first: str, second: str) -> float:
    """Return what `SequenceMatcher.quick_ratio` does: characters in common, in any order."""
    total = len(first) + len(second)
    if total == 0 or first == second:
        return 1.0
    return 2 * sum((Counter(first) & Counter(second)).values()) / total
