import time

import pytest

from carryover.tasks.lint.lint import lint_in_detail, lint_trace, lint_traces
from carryover.tasks.lint.statements import shadows_of
from carryover.tasks.lint.walk import count_lexemes
from carryover.tasks.readers.conversation import replies_of
from carryover.tasks.readers.trace import Block, Reply, Trace

TOOLS = ("inspect", "take_item", "list_items", "finish")
PERSISTENT_BLOCKS = (
    "import json\nids = json.loads(list_items())\nknown = {}",
    "for i in ids[:3]:\n    known[i] = json.loads(inspect(i))",
    "print(known)\nfinish()",
)
STATELESS_BLOCKS = (
    "import json\nids = json.loads(list_items())\nprint(ids)",
    "import json\nids = ['a', 'b']\nprint(inspect(ids[0]))",
    "finish()",
)


def trace_of(*texts, declared=None, observation=""):
    """A conversation of these replies, each followed by the same observation, if any."""
    messages = []
    for text in texts:
        messages.append({"role": "assistant", "content": text})
        if observation:
            messages.append({"role": "user", "content": observation})
    return Trace(trace_id="trace", declared_contract=declared, replies=replies_of(messages))


def lint(*blocks, declared=None, tools=TOOLS):
    replies = tuple(Reply(f"```python\n{block}\n```", (Block(block),)) for block in blocks)
    return lint_trace(Trace(trace_id="trace", declared_contract=declared, replies=replies), tools=tools)


def test_blocks_that_read_earlier_ones_need_persistence():
    found = lint(*PERSISTENT_BLOCKS, declared="persistent")
    assert found.idiom == "needs_persistence"
    assert not found.is_stateless_safe
    # block 2 takes ids, json and known, block 3 takes known
    assert found.carried_read_count == 4
    assert found.carried_names == ("ids", "json", "known")
    assert (found.early_read_count, found.reimport_count, found.redefinition_count) == (0, 0, 0)
    assert found.contradiction is None


def test_blocks_that_stand_alone_are_safe_when_stateless():
    found = lint(*STATELESS_BLOCKS, declared="stateless")
    assert found.idiom == "stateless_safe"
    assert found.is_stateless_safe
    assert (found.reimport_count, found.redefinition_count) == (1, 1)
    assert found.reimports_per_block == pytest.approx(1 / 3)
    assert found.contradiction is None


@pytest.mark.parametrize(
    ("second", "idiom"), [("import json\nprint(x)", "needs_persistence"), ("import json\nprint(1)", "mixed")]
)
def test_only_a_block_that_carries_nothing_restates(second, idiom):
    assert lint("import json\nx = 1", second, "print(x)").idiom == idiom


def test_the_share_of_tokens_that_restate():
    found = lint(*STATELESS_BLOCKS)
    restated = count_lexemes("import json") + count_lexemes("ids = ['a', 'b']")
    assert found.restated_token_count == restated == 2 + 11
    assert found.token_count == sum(count_lexemes(f"```python\n{block}\n```") for block in STATELESS_BLOCKS)
    assert found.restated_share == restated / found.token_count


def test_a_trace_of_both_habits_is_mixed():
    found = lint("rows = [1]", "rows = [1]\nprint(rows)", "print(rows)")
    assert found.idiom == "mixed"


def test_one_block_needs_no_judgement():
    assert lint("rows = [1]\nfinish()").idiom == "single_block"


@pytest.mark.parametrize(
    ("blocks", "declared", "contradiction"),
    [
        (PERSISTENT_BLOCKS, "stateless", "declared stateless, but later blocks read ids, json, known of earlier ones"),
        (
            STATELESS_BLOCKS,
            "persistent",
            "declared persistent, but later blocks only repeat what earlier ones left",
        ),
        (("print(list_items())", "finish()"), "persistent", None),
        (PERSISTENT_BLOCKS, None, None),
    ],
)
def test_code_against_its_declared_contract(blocks, declared, contradiction):
    assert lint(*blocks, declared=declared).contradiction == contradiction


def test_tools_are_there_for_every_trace_and_block():
    early = Trace(trace_id="early", replies=(Reply("", (Block("print(look)"), Block("look = 1"))),))
    assert [found.early_names for found in lint_traces([early, early], tools=("look",))] == [(), ()]
    assert [found.early_names for found in lint_traces([early])] == [("look",)]
    assert lint("finish = 1", "print(finish)", tools=("finish",)).is_stateless_safe


def test_names_of_one_block_that_no_block_bound_are_told_by_the_alphabet():
    names = ("area", "bag", "cost", "dose", "ends", "fee", "goal", "heap")
    found = lint(f"print({', '.join(reversed(names))})", "_", tools=())
    assert found.early_names == names
    assert lint("print(_, _2, Out)", "x = 1", tools=None).early_names == ("Out", "_", "_2")


def test_a_name_used_before_it_could_exist():
    found = lint("print(known)", "known = {}")
    assert (found.early_read_count, found.early_names) == (1, ("known",))
    assert found.carried_read_count == 0


def test_unbound_names_count_as_tools_where_tools_are_unknown():
    blocks = ("print(search('x'), later)", "later = 1")
    assert lint(*blocks, tools=None).early_names == ("later",)
    assert lint(*blocks, tools=TOOLS).early_names == ("later", "search")


def test_a_block_that_reads_unbound_names_is_not_safe():
    found = lint("print(total)", "print('done')")
    assert (found.early_names, found.carried_read_count) == (("total",), 0)
    assert (found.is_stateless_safe, found.idiom) == (False, "needs_persistence")
    assert lint("print(total)").idiom == "needs_persistence"


@pytest.mark.parametrize(
    "blocks",
    [
        ("for i in range(3):\n    print(i)", "for i in range(4):\n    inspect(i)"),
        ("for i in range(3):\n    take_item(i)", "for i in range(3):\n    take_item(i)"),
        ("with open('a') as file:\n    print(file)", "with open('a') as file:\n    print(file)"),
        ("row = inspect('a')", "row = inspect('b')"),
    ],
)
def test_loops_and_fresh_results_restate_nothing(blocks):
    found = lint(*blocks, declared="persistent")
    assert (found.restated_token_count, found.contradiction) == (0, None)


@pytest.mark.parametrize(
    "blocks",
    [
        ("import json", "import json"),
        ("def f():\n    return 1", "def f():\n    return 2"),
        ("ids = list_items()", "ids = ['a']"),
        ("ids = list_items()", "ids  =  list_items( )"),
    ],
)
def test_imports_definitions_literals_and_repeated_statements_restate(blocks):
    assert lint(*blocks).restated_token_count == count_lexemes(blocks[1])


def test_adding_to_a_name_is_no_redefinition():
    found = lint("total = 1", "total = total + 1", "total += 1")
    assert found.redefinition_count == 0
    assert found.carried_read_count == 2


@pytest.mark.parametrize(
    "unread",
    [
        "rows = [",
        "%%javascript\nx = 1",
        "exec(open('a').read())",
        "eval(text)",
        "%run a.py\nhelper()",
        "globals().update(x=1)",
        "import __main__\n__main__.x = 1",
        "print(__)",
        "from __main__ import x",
        "import sys\nsys.modules['__main__'].x",
        "import importlib\nimportlib.import_module(name='__main__').x",
        "import importlib\nimportlib.import_module('__main__', 'json').x",
        "__import__('__main__', globals()).x",
        "import sys\nsys.modules[__name__].x",
        "get_ipython().user_ns['x']",
    ],
)
def test_a_trace_with_an_unjudged_block_is_never_safe(unread):
    found = lint("rows = [1]", unread, tools=None)
    assert (found.block_count, found.unjudged_count, found.carried_read_count) == (2, 1, 0)
    assert (found.idiom, found.is_stateless_safe) == ("unjudged", False)


@pytest.mark.parametrize(
    ("first", "second", "carried"),
    [
        ("%matplotlib inline\n!pip install a\nrows = 1\nrows?", "print(2)", ()),
        ("%%time\nrows = 1", "%timeit rows", ("rows",)),
        ("files = !ls", "print(files)", ("files",)),
        ("rows = 1", "!echo {rows + 1} $HOME", ("rows",)),
        ("rows = 1", "found = !grep $rows a.txt", ("rows",)),
        ("rows = 1", "%env X={rows}", ("rows",)),
        ("print(rows := 1)", "!awk '{print $1}' a.{csv,txt}", ()),
        ("from math import *\nsqrt(2)", "print(2)", ()),
        ("from math import *", "sqrt(2)", ("sqrt",)),
        ("from math import *", "from math import *\nsqrt(2)", ()),
        ("search(1)", "from math import *\nsqrt(search(1))", ()),
        ("globals()['rows'] = 1", "print(globals()['rows'])", ("rows",)),
        ("exec('rows = 1')", "print(eval('rows'))", ("rows",)),
        ("1 + 1", "print(_)", ("_",)),
        ("1 + 1", "print(Out[1], _1)", ("Out", "_1")),
        ("1 + 1", "print(_i, _oh, In)", ("In", "_i", "_oh")),
        ("for __ in [1]: pass", "for __ in [1]: pass", ()),
        ("counts = {'__main__': 1}", "print({'a': 1}['a'], __name__)", ()),
        ("if __name__ == '__main__':\n    print(1)", "if __name__ == '__main__':\n    print(2)", ()),
        ("for _ in range(3): pass", "for _ in range(3): pass", ()),
        ("rows = 1", "del rows", ("rows",)),
        ("rows = 1", "try:\n    rows\nexcept NameError:\n    rows = 2\nprint(rows)", ()),
        ("rows = 1", "try:\n    rows\nexcept ValueError:\n    rows = 2", ("rows",)),
        ("rows = 1", "try:\n    eval('rows')\nexcept:\n    print(2)", ("rows",)),
        ("rows = 1", "if 'rows' not in globals():\n    rows = 2\nprint(rows)", ()),
        ("rows = 1", "if 'rows' in globals():\n    print(rows)", ()),
        ("rows = 1", "if 'rows' in dir():\n    print(rows)", ()),
    ],
)
def test_what_a_later_block_takes_from_an_earlier_one(first, second, carried):
    found = lint(first, second, tools=None)
    assert (found.carried_names, found.early_names, found.unjudged_count) == (carried, (), 0)
    assert found.is_stateless_safe == (not carried)


@pytest.mark.parametrize(
    "blocks",
    [("rows = 1\ndel rows\nprint(rows)",), ("rows = 1\ndel rows", "print(rows)"), ("rows = 1", "del rows", "rows")],
)
def test_reading_after_del_is_a_read_of_no_name(blocks):
    assert lint(*blocks, tools=None).early_names == ("rows",)


def test_reading_after_del_takes_nothing_of_earlier_blocks():
    found = lint("rows = 1", "rows = 2\ndel rows\nprint(rows)", tools=None)
    assert (found.carried_names, found.early_names) == ((), ("rows",))


def test_a_trace_without_blocks_has_no_rates():
    found = lint_trace(trace_of("No code."))
    assert (found.block_count, found.reimports_per_block, found.restated_share) == (0, 0.0, 0.0)
    assert (found.idiom, found.verdict) == ("no_code", "no code")


def test_data_printed_earlier_is_restated_under_any_name():
    replies = ["```\nprint(list_items())\n```", "```\ntable = {'a': [1, 22]}\nprint(table)\n```"]
    copied = lint_trace(trace_of(*replies, observation='{"output": "a weighs 1, value 22"}'), tools=TOOLS)
    assert copied.restated_token_count == count_lexemes("table = {'a': [1, 22]}")
    assert lint_trace(trace_of(*replies), tools=TOOLS).restated_token_count == 0


def test_a_short_or_computed_collection_is_no_data():
    replies = ["```\nprint(1, 2, 3)\n```", "```\npair = [1, 2]\n```", "```\nrow = [1, 2, len('3')]\n```"]
    assert lint_trace(trace_of(*replies)).restated_token_count == 0


def test_a_trace_with_an_unread_call_is_never_safe():
    replies = (Reply("", (Block("x = 1"),)), Reply("", (Block("print(2)"),), unread=("a block of r",)))
    found = lint_trace(Trace(trace_id="trace", replies=replies))
    assert (found.idiom, found.is_stateless_safe, found.unread_count) == ("unjudged", False, 1)


def test_source_in_tool_calls_counts_as_tokens():
    reply = Reply("", (Block("rows = [1, 2]"),))
    found = lint_trace(Trace(trace_id="trace", replies=(reply, reply)))
    assert (found.token_count, found.restated_token_count) == (14, 7)


def test_another_name_of_a_known_module_restates_nothing():
    found = lint("from math import sqrt\nprint(sqrt(2))", "from math import pi\nprint(pi)", declared="persistent")
    assert (found.restated_token_count, found.reimport_count, found.contradiction) == (0, 0, None)
    assert lint("from math import sqrt", "from math import sqrt").reimport_count == 1


@pytest.mark.parametrize(
    ("blocks", "carried"),
    [
        (("sum = 3", "print(sum + 1)"), ("sum",)),
        (("input = '1 2'.strip()", "rows = input.split()"), ("input",)),
        (("for id in [1]: pass", "print(id)"), ("id",)),
        (("def filter(x):\n    return x", "print(filter(1))"), ("filter",)),
        (("sum = 3\ndel sum", "print(sum([1]))"), ()),
        (("from math import pow", "print(pow(2, 3))"), ("pow",)),
        (("from math import (\n    sqrt,\n    pow as pow,\n)", "print(pow(2, 3))"), ("pow",)),
        (("import numpy as input", "print(input.pi)"), ("input",)),
        (
            ("from requests import ConnectionError", "try:\n    ask()\nexcept ConnectionError:\n    pass"),
            ("ConnectionError",),
        ),
        (("from math import pow\nprint(pow(2, 3))", "from math import pow\nprint(pow(3, 3))"), ()),
        (("print(pow(2, 3))", "from math import pow", "import math\nprint(math.pi)"), ()),
        (("low, max = 1, 3", "print(max)"), ("max",)),
        (("if True:\n    max = 3", "print(max)"), ("max",)),
        (("for id, row in enumerate('ab'):\n    pass", "print(id)"), ("id",)),
        (("with open('a') as input:\n    pass", "print(input.closed)"), ("input",)),
        (("async def next():\n    pass", "print(next())"), ("next",)),
        (("try:\n    1 / 0\nexcept ArithmeticError as id:\n    print(id)", "print(id(3))"), ()),
        (("class set:\n    pass", "print(set())"), ("set",)),
        (("print(max := 3)", "print(max)"), ("max",)),
        (("max = max([1, 2])", "max = 0\nprint(max)"), ()),
        (("print(sum([1]))", "print(sum([2]))", "sum = 3"), ()),
        (("sum = 3", "def add(sum):\n    return sum + 1\nprint(add(1))"), ()),
        (("sum = 3", "def run():\n    sum = 0\n    def add():\n        nonlocal sum\n        sum += 1\n    add()"), ()),
    ],
)
def test_a_builtins_name_that_code_binds_is_its_own(blocks, carried):
    found = lint(*blocks, tools=None)
    assert (found.carried_names, found.early_names, found.unjudged_count) == (carried, (), 0)


LAZY = "from __future__ import annotations\n"


@pytest.mark.parametrize(
    "annotated",
    [
        "def area(shape: Shape, *rest: Shape, **more: Shape) -> Shape:\n    return 1",
        "async def area() -> list[Shape]: pass",
        "size: Shape = 1",
    ],
)
def test_lazy_annotations_read_no_name(annotated):
    assert lint("class Shape: pass", annotated).carried_names == ("Shape",)
    assert lint("class Shape: pass", LAZY + annotated).idiom == "stateless_safe"


def test_lazy_annotations_of_a_class_read_no_name():
    annotated = "class Box:\n    side: Shape\n    size: Shape = 1"
    assert lint("class Shape: pass", LAZY + annotated).idiom == "stateless_safe"


def test_defaults_and_values_beside_lazy_annotations_are_read():
    found = lint("size = 1", LAZY + "def area(side: int = size): pass", LAZY + "other: int = size")
    assert (found.carried_names, found.carried_read_count) == (("size",), 2)


@pytest.mark.parametrize(
    ("code", "shadows"),
    [
        ("size: int = 3", ()),
        ("max: int = 3", ("max",)),
        ("from math import pow, sqrt as abs  # sum", ("abs", "pow")),
        ("for id, row in enumerate(rows): pass", ("id",)),
        ("print(max := 3)", ("max",)),
        ("def set(list): pass", ("set",)),
        ("print(sum == 3)", ()),
    ],
)
def test_builtins_that_code_binds_are_told_by_its_text(code, shadows):
    assert shadows_of(["x = 1", code]) == set(shadows)


@pytest.mark.parametrize("code", [" " * 2_000 + "!", "for a " * 50_000])
def test_bindings_of_hostile_text_are_found_in_linear_time(code):
    started = time.process_time()
    assert shadows_of([code]) == frozenset()
    assert time.process_time() - started < 5


def test_blocks_without_an_outcome_show_no_runtime():
    assert lint("a = 1", "print(a)").runtime is None


def test_each_block_tells_what_it_takes_from_earlier_ones():
    blocks = (Block("x = 1"), Block("y = x\nprint(z)"), Block("z = 2"), Block("def"))
    trace = Trace(trace_id="trace", replies=(Reply("", blocks),))
    first, second, third, last = lint_in_detail(trace).blocks
    assert first == third == ((), (), True)
    assert second == (("x",), ("z",), True)
    assert not last.is_judged
    assert lint_in_detail(trace).trace == lint_trace(trace)
