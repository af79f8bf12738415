"""Each prompt set shows an agent what it promises to."""

from carryover.tasks.families.shown import shown_prompts
from tests.tasks.families.written import written


def test_full_prompts_show_docstrings_and_compact_ones_names(tmp_path):
    full, compact = (messages for _, messages in shown_prompts(written(tmp_path)))
    assert 'def peek(box: str) -> int:\n    """Return the number of coins in a box."""' in full
    assert compact.splitlines()[0] == "[system]"
    assert compact.endswith("Tools: list_boxes, peek, choose, finish.")
    assert "def peek" not in compact


def test_titles_name_prompt_set_and_instance(tmp_path):
    titles = [title for title, _ in shown_prompts(written(tmp_path), seed=3)]
    assert titles == [f"{prompt_set} prompts, bucket few, seed 3, persistent" for prompt_set in ("full", "compact")]
