import pytest

from tests.benchmarks import figures
from tests.benchmarks.figures import Figure

SLOW = Figure("a.py", "slow", 2.0, "times", at_most=1.0, at_least=None, load=1)
FAST = Figure("b.py", "fast", 3.0, "times", at_most=None, at_least=3.0, load=1)
BARE = Figure("c.py", "bare", 4.0, "us", at_most=None, at_least=None, load=1)


def test_missed_goals_are_shown_and_met_ones_counted():
    text = figures.missed_goals([BARE, FAST, SLOW])
    assert text.startswith("1 of 2 goals are met.")
    assert SLOW.row() in text
    assert FAST.row() not in text
    assert BARE.row() not in text


def test_new_run_replaces_only_its_own_figure():
    again = SLOW._replace(value=0.5)
    assert figures.replace([FAST, SLOW], [again]) == [again, FAST]


@pytest.mark.parametrize(
    ("path", "show"), [(figures.README, figures.missed_goals), (figures.GROWTH, figures.chart)], ids=["goals", "chart"]
)
def test_the_readme_shows_the_kept_figures(path, show):
    readme = path.read_text()
    assert figures.written_into(readme, figures.read(figures.KEPT), show) == readme
