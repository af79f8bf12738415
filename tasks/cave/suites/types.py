"""Type proficiency: three turns on one variable of a kind, counts as in arXiv 2601.01569, section 4.2."""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from carryover.tasks.cave.suites.case import Case, Draw, World, grow_turns
from carryover.tasks.cave.suites.objects import Account, Course, Playlist, Robot, Shelf, Thermostat
from carryover.tasks.cave.suites.templates import WORDS, pool

TURN_COUNT = 3


class Kind(NamedTuple):
    """A kind of variable with what may be asked of it."""

    name: str
    make: Callable[[random.Random], Any]
    turns: tuple[Draw, ...]


def _words(random_source: random.Random, count: int = 5) -> list[str]:
    return random_source.sample(WORDS, count)


def _frame(random_source: random.Random) -> Any:
    import pandas

    rows = range(8)
    return pandas.DataFrame(
        {
            "city": [random_source.choice(WORDS[:4]) for _ in rows],
            "units": [random_source.randrange(1, 60) for _ in rows],
            "price": [random_source.randrange(100, 900) / 4 for _ in rows],
        }
    )


def _array(shape: tuple[int, ...]) -> Callable[[random.Random], Any]:
    def make(random_source: random.Random) -> Any:
        import numpy

        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        return numpy.array([random_source.randrange(1, 100) / 2 for _ in range(size)]).reshape(shape)

    return make


_SIMPLE = (
    Kind("whole number", lambda r: r.randrange(100, 1000), pool("""
        Add $n to `subject`. => subject += $n
        Multiply `subject` by $a and then subtract $n. => subject = subject * $a - $n
        Bind the remainder of `subject` divided by $n to `answer`. => answer = subject % $n
        Bind the sum of the decimal digits of `subject`, times $a, to `answer`. => answer = $a * sum(map(int, str(abs(subject))))
        Replace `subject` by its square plus $b. => subject = subject ** 2 + $b""")),
    Kind("fraction", lambda r: r.randrange(100, 9999) / 8, pool("""
        Divide `subject` by $a. => subject /= $a
        Add $n hundredths to `subject`. => subject += $n / 100
        Bind `subject` rounded to whole numbers, plus $n, to `answer`. => answer = round(subject) + $n
        Bind the square root of `subject` times $a to `answer`. => answer = subject ** 0.5 * $a""")),
    Kind("text", lambda r: " ".join(_words(r)), pool("""
        Append a space and the word $word to `subject`. => subject += ' $word'
        Put $other and a hyphen in front of `subject`. => subject = '$other-' + subject
        Bind the number of characters of `subject`, times $a, to `answer`. => answer = len(subject) * $a
        Bind the last $a characters of `subject` in upper case to `answer`. => answer = subject[-$a:].upper()
        Reverse the order of the words in `subject` and append ' $word'. => subject = ' '.join(subject.split()[::-1]) + ' $word'""")),
    Kind("list", lambda r: [r.randrange(1, 90) for _ in range(7)], pool("""
        Append $n to `subject` and sort it. => subject.append($n); subject.sort()
        Remove the largest element of `subject` and append $a at its end. => subject.remove(max(subject)); subject.append($a)
        Bind the sum of all elements of `subject` above $n to `answer`, plus $b. => answer = sum(x for x in subject if x > $n) + $b
        Multiply every element of `subject` by $a. => subject = [x * $a for x in subject]
        Bind every second element of `subject`, beginning with the first, followed by $n, to `answer` as a list. => answer = subject[::2] + [$n]""")),
    Kind("dictionary", lambda r: {word: r.randrange(1, 90) for word in _words(r)}, pool("""
        Set the entry $word of `subject` to $n. => subject['$word'] = $n
        Add $a to every value of `subject`. => subject = {key: value + $a for key, value in subject.items()}
        Bind the key with the largest value in `subject`, with -$n appended, to `answer`. => answer = max(subject, key=subject.get) + '-$n'
        Remove the entry with the smallest value from `subject` and add $n under $other. => del subject[min(subject, key=subject.get)]; subject['$other'] = $n
        Bind the sum of the values of `subject` times $b to `answer`. => answer = sum(subject.values()) * $b""")),
    Kind("set", lambda r: set(_words(r)), pool("""
        Add the words $word and $other to `subject`. => subject |= {'$word', '$other'}
        Remove the alphabetically first word from `subject` and add x$n. => subject.remove(min(subject)); subject.add('x$n')
        Bind the sorted list of the words in `subject` that have more than 4 letters, followed by $word, to `answer`. => answer = sorted(w for w in subject if len(w) > 4) + ['$word']
        Bind the number of words in `subject`, plus $n, to `answer`. => answer = len(subject) + $n""")),
)  # fmt: skip

_OBJECT = (
    Kind("Thermostat", lambda r: Thermostat(r.randrange(16, 24), "heat"), pool("""
        Shift `subject` by $a degrees and set its mode to $word. => subject.shift($a); subject.mode = '$word'
        Shift `subject` down by $a degrees; set the mode to $other if the target is below 18, else to eco-$b. => subject.shift(-$a); subject.mode = '$other' if subject.target < 18 else 'eco-$b'
        Bind the target of `subject` in Fahrenheit, plus $n, to `answer`. => answer = subject.target * 9 / 5 + 32 + $n""")),
    Kind("Account", lambda r: Account(r.choice(WORDS), r.randrange(10_000, 90_000)), pool("""
        Deposit $n euros (100 cents each) on `subject`. => subject.deposit($n * 100)
        Take a fee of $a percent from `subject` and bind it to `answer`. => answer = subject.fee($a)
        Rename the owner of `subject` to $word-$n. => subject.owner = '$word-$n'
        Bind the whole euros of `subject` plus $n to `answer`. => answer = subject.cents // 100 + $n""")),
    Kind("Playlist", lambda r: Playlist("mix", _words(r)), pool("""
        Add $word-$n to `subject`, then rotate it by $a. => subject.add('$word-$n'); subject.rotate($a)
        Change the title of `subject` to its first song and $n, joined by a hyphen. => subject.title = f'{subject.songs[0]}-$n'
        Bind the number of songs of `subject`, times $n, to `answer`. => answer = len(subject.songs) * $n""")),
    Kind("Shelf", lambda r: Shelf(r.randrange(60, 200), {"amber": r.randrange(5, 30)}), pool("""
        Put $n boxes labelled $word on `subject` and bind how many fitted, plus $a, to `answer`. => answer = subject.put('$word', $n) + $a
        Raise the capacity of `subject` by $n. => subject.capacity += $n
        Put $a boxes labelled $other on `subject` for each label it has now. => subject.put('$other', $a * len(subject.boxes))
        Bind the free room on `subject`, times $b, to `answer`. => answer = $b * (subject.capacity - sum(subject.boxes.values()))""")),
    Kind("Robot", lambda r: Robot(r.randrange(9), r.randrange(9), r.randrange(4)), pool("""
        Let `subject` walk $n steps, turn one quarter, and walk $a steps. => subject.walk($n); subject.turn(1); subject.walk($a)
        Turn `subject` to the south and let it walk $n steps. => subject.facing = 2; subject.walk($n)
        Bind the sum of the coordinates of `subject`, times $b, to `answer`. => answer = $b * (subject.x + subject.y)""")),
    Kind("Course", lambda r: Course("maths", {word: r.randrange(30, 100) for word in _words(r)}), pool("""
        Grade $word in `subject` with $n. => subject.grade('$word', $n)
        Raise every mark in `subject` by $a with the method of the course. => for who, mark in list(subject.marks.items()): subject.grade(who, mark + $a)
        Bind the mean mark of `subject` plus $n to `answer`. => answer = subject.mean() + $n
        Bind the sorted names of `subject` with at least $n points, followed by $other, to `answer`. => answer = sorted(w for w, m in subject.marks.items() if m >= $n) + ['$other']""")),
)  # fmt: skip

_ARRAY = pool("""
    Add $n to every element of `subject`. => subject = subject + $n
    Replace every element of `subject` above $n by $n minus $a. => subject = subject.copy(); subject[subject > $n] = $n - $a
    Bind the mean of `subject` plus $b to `answer`. => answer = float(subject.mean() + $b)
    Bind the standard deviation (population) of `subject` times $a to `answer`. => answer = float(subject.std() * $a)
    Sort `subject` along its last axis, largest first, and multiply it by $a. => subject = subject * $a; subject.sort(axis=-1); subject = subject[..., ::-1].copy()
    Bind the cumulative sum of the flattened `subject`, each plus $n, to `answer` as a list. => answer = (subject.ravel().cumsum() + $n).tolist()""")
_MATRIX = pool("""
    Transpose `subject` and add $a. => subject = subject.T + $a
    Bind the column sums of `subject`, each plus $n, to `answer` as a list. => answer = (subject.sum(axis=0) + $n).tolist()
    Divide every row of `subject` by its largest element and multiply the result by $n. => subject = subject / subject.max(axis=1, keepdims=True) * $n
    Bind the trace of `subject` multiplied (as matrices) with its own transpose, plus $b, to `answer`. => answer = float((subject @ subject.T).trace() + $b)""")
_FRAME = pool("""
    Add a column revenue_$a to `subject`: units times price times $a. => subject['revenue_$a'] = subject.units * subject.price * $a
    Keep the rows of `subject` with more than $a units, add $b to their units, and number the index anew. => subject = subject[subject.units > $a].reset_index(drop=True); subject['units'] += $b
    Bind the total units by city, each plus $n, to `answer` as a dictionary. => answer = {key: int(value) + $n for key, value in subject.groupby('city').units.sum().items()}
    Sort `subject` by price, lowest first, number the index anew, and raise every price by $a. => subject = subject.sort_values('price').reset_index(drop=True); subject['price'] += $a
    Bind the highest price among the rows of `subject` plus $n to `answer`. => answer = float(subject.price.max() + $n)
    Raise the units of all rows whose price is above the median price by $n. => subject.loc[subject.price > subject.price.median(), 'units'] += $n""")  # noqa: E501
_SCIENTIFIC = (
    Kind("array", _array((9,)), _ARRAY),
    Kind("matrix", _array((3, 4)), _MATRIX),
    Kind("frame", _frame, _FRAME),
)


def type_cases(seed: int) -> list[Case]:
    """Return 36 turns on plain values, 36 on objects and 42 on arrays and frames, three to a case."""
    tiers: dict[str, Sequence[Kind]] = {
        "simple": [kind for kind in _SIMPLE for _ in range(2)],
        "object": [kind for kind in _OBJECT for _ in range(2)],
        "scientific": [kind for kind, count in zip(_SCIENTIFIC, (4, 4, 6), strict=True) for _ in range(count)],
    }
    return [_case(tier, number, kind, seed) for tier, kinds in tiers.items() for number, kind in enumerate(kinds)]


def _case(tier: str, number: int, kind: Kind, seed: int) -> Case:
    random_source = random.Random(f"types {tier} {number} {seed}")
    subject = kind.make(random_source)
    types = (type(subject),) if tier == "object" else ()
    descriptions = {"subject": f"A {kind.name}, to be read and changed.", "answer": "Bind results to this name."}
    world = World(variables={"subject": subject, "answer": None}, types=types, descriptions=descriptions)
    return Case("types", tier, number, world, grow_turns(random_source, world, [kind.turns] * TURN_COUNT))
