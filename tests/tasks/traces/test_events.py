from textwrap import dedent

import pytest

from carryover.tasks.traces.events import NOT_PARSED, name_event_rows, parse_block

TOOLS = ("inspect", "take_item", "list_items", "finish")


def names(code: str, *kinds: str) -> list[str]:
    """Return `kind name` in order of evaluation, `~` before what is deferred, `def` for a definition."""
    return [
        f"{'~' if event.is_deferred else ''}{'def' if event.is_definition else event.kind} {event.name}"
        for event in parse_block(dedent(code), TOOLS).events
        if not kinds or event.kind in kinds
    ]


def test_a_value_is_read_before_its_target_is_bound():
    assert names("total = total + step") == ["read total", "read step", "bind total"]


def test_augmented_assignment_reads_its_target():
    assert names("total += step") == ["read total", "read step", "bind total"]


def test_annotation_without_a_value_binds_nothing():
    assert names("total: Weight") == ["read Weight"]
    assert names("total: int = 3") == ["bind total"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("for a, (b, *c) in rows: pass", ["read rows", "bind a", "bind b", "bind c"]),
        ("with lock as held: pass", ["read lock", "bind held"]),
        ("(found := seen)", ["read seen", "bind found"]),
        ("async def work(): pass", ["def work"]),
        ("class Bag(Base): pass", ["read Base", "def Bag"]),
        ("box.size = width", ["read width", "read box"]),
        ("box[key] = width", ["read width", "read box", "read key"]),
        ("del gone", []),
        ("for a in rows:\n    b\nelse:\n    c = a", ["read rows", "bind a", "read b", "read a", "bind c"]),
        ("async def f():\n    async for a in rows:\n        b", ["def f", "~read rows", "~read b"]),
        ("while a:\n    b\nelse:\n    c", ["read a", "read b", "read c"]),
        ("from . import a\nfrom .b.c import d\nimport e.f", ["import .", "import b", "import e"]),
        ("f = lambda a, *, b, c=d: (a, b, c, e)", ["read d", "~read e", "bind f"]),
        ("size: Weight = heavy", ["read heavy", "bind size", "read Weight"]),
        ("box.size: Weight", ["read box", "read Weight"]),
        ("@wrap\nclass Bag(Base, metaclass=Meta): pass", ["read wrap", "read Base", "read Meta", "def Bag"]),
    ],
)
def test_each_form_of_binding(code: str, expected: list[str]):
    assert names(code) == expected


def test_a_signature_reads_its_defaults_and_annotations_at_once():
    code = "@wrap\ndef f(a: A, /, b: B = c, *rest: R, d, e: E = g, **more: M) -> T: x: X = y"
    assert names(code) == ["read wrap", *(f"read {name}" for name in "cgABERMT"), "def f", "~read y"]


def test_every_part_of_a_try_is_followed_and_only_its_clause_has_the_error():
    code = """
        try:
            a
        except Lost as error:
            b = error
        except:
            c
        else:
            d
        finally:
            error
    """
    reads = ["read a", "read Lost", "bind b", "read c", "read d", "read error"]
    assert names(code) == reads


def test_match_captures_bind():
    code = """
        match command:
            case [first, *rest]: pass
            case {"kind": kind, **others}: pass
            case str() as text: pass
    """
    assert names(code) == ["read command", *(f"bind {name}" for name in ("first", "rest", "kind", "others", "text"))]


def test_builtins_tools_and_dunder_names_are_no_user_names():
    assert names("sum = len(__name__)\ninspect = print\n__all__ = []") == []


def test_imports_are_root_module_events_and_bind_no_name():
    parsed = parse_block("import os.path, json as j\nfrom collections import Counter\nj.loads(Counter)", TOOLS)
    assert [(event.kind, event.name) for event in parsed.events] == [
        ("import", "os"),
        ("import", "json"),
        ("import", "collections"),
    ]
    assert parsed.import_count == 2
    assert parsed.imported_names == ("Counter", "j", "os")


def test_a_name_imported_in_an_earlier_block_is_a_read():
    assert names("j.loads(text)") == ["read j", "read text"]


def test_function_bodies_are_deferred_and_their_locals_left_out():
    code = """
        def pick(ids, limit=cap):
            import json
            best = [item for item in ids if item in table]
            return best[:limit]
    """
    assert names(code) == ["read cap", "def pick", "~import json", "~read table"]


def test_global_name_in_a_function_is_bound_at_module_scope():
    assert names("def add():\n    global total\n    total += 1") == ["def add", "~read total", "~bind total"]


def test_comprehension_targets_are_local_and_a_walrus_inside_is_not():
    assert names("ys = [y := x * scale for x in xs if x > low]") == [
        "read xs",
        "read low",
        "read scale",
        "bind y",
        "bind ys",
    ]


def test_dictionary_and_nested_comprehensions_read_what_is_outside():
    assert names("{k: [v for v in rows[k]] for k in keys}") == ["read keys", "read rows"]


def test_two_lambdas_on_one_line_keep_their_own_parameters():
    assert names("sorted(a, key=lambda x: y) + sorted(b, key=lambda y: x)") == [
        "read a",
        "~read y",
        "read b",
        "~read x",
    ]


def test_class_body_names_are_local_to_the_class():
    assert names("class Bag:\n    size = limit\n    def grow(self): return size") == [
        "read limit",
        "~read size",
        "def Bag",
    ]


def test_the_name_of_an_except_clause_is_local_to_it():
    code = """
        try:
            risky(item)
        except ValueError as error:
            print(error)
    """
    assert names(code) == ["read risky", "read item"]


def test_call_events_are_calls_by_name_after_their_arguments():
    parsed = parse_block("def again():\n    take_item(i)\nlist_items(inspect(i))\nx = list_items", TOOLS)
    assert [(event.name, event.line, event.is_deferred) for event in parsed.events if event.kind == "call_site"] == [
        ("take_item", 2, True),
        ("inspect", 3, False),
        ("list_items", 3, False),
    ]
    assert parsed.call_site_count == 3


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("take_item (i)  # not inspect(i) again", 2),
        ("def inspect(i): return i\nprint('finish()')", 2),
        ("not Python: list_items(), finish()", 2),
        ("reinspect(i)\ninspect_all(i)\nlook = inspect", 0),
    ],
)
def test_call_sites_are_counted_in_the_text(code: str, count: int):
    assert parse_block(code, ("inspect", "take_item", "list_items", "finish")).call_site_count == count


def test_sequence_numbers_the_events_that_are_kept():
    parsed = parse_block("import json\nrows = json.loads(text)\nrows", TOOLS)
    assert [(event.sequence, event.kind, event.name) for event in parsed.events] == [
        (0, "import", "json"),
        (1, "read", "text"),
        (2, "bind", "rows"),
        (3, "read", "rows"),
    ]


@pytest.mark.parametrize(
    "code",
    [
        "x = = 1",
        "def f(a, a): pass",
        "x\0",
        "(" * 10_000,
        "x = 1\nglobal x",
        "nonlocal x",
        "from __future__ import braces",
    ],
)
def test_a_block_that_is_not_python_contributes_nothing(code: str):
    assert parse_block(code, TOOLS) == NOT_PARSED


def test_very_deep_code_is_handled_and_not_raised():
    assert parse_block("x = " + "-" * 50_000 + "1", TOOLS) == NOT_PARSED


def test_an_empty_block_is_python():
    assert parse_block("", TOOLS) == NOT_PARSED._replace(is_parsed=True)


def test_repeated_block_is_parsed_for_the_current_tools():
    kinds = [[event.kind for event in parse_block("inspect(i)", tools).events] for tools in (TOOLS, (), TOOLS)]
    assert kinds == [["read", "call_site"], ["read", "read"], ["read", "call_site"]]


def test_rows_say_which_names_were_alive_before_the_step():
    parsed = parse_block("total = total + step", TOOLS)
    rows = name_event_rows(parsed, run_id="r", episode_id="e", step=3, active_globals_before=["total"])
    assert [(row.step, row.sequence, row.kind, row.name, row.is_live_before) for row in rows] == [
        (3, 0, "read", "total", True),
        (3, 1, "read", "step", False),
        (3, 2, "bind", "total", True),
    ]


def test_a_block_that_comes_again_is_parsed_once():
    assert parse_block("total = 1", TOOLS) is parse_block("total = 1", TOOLS)


@pytest.mark.parametrize(
    ("code", "bound"),
    [
        ("def load():\n    global json\n    import json, os", ("json",)),
        ("def load():\n    from json import loads", ()),
        ("class Box:\n    import json", ()),
        ("from json import *\nimport os", ("os",)),
    ],
)
def test_an_import_binds_a_module_name_where_it_is_global(code, bound):
    assert parse_block(code, TOOLS).imported_names == bound


def test_without_tools_a_block_has_no_call_sites():
    assert parse_block("inspect('a')\n(1)", ()).call_site_count == 0


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("[row for row in rows if limit]; row", ["read rows", "read limit", "read row"]),
        ("{key: value * scale for key, value in pairs}", ["read pairs", "read scale"]),
        ("[inner for outer in rows for inner in outer]", ["read rows"]),
        ("[a for a in b if c for d in e if g]", ["read b", "read c", "read e", "read g"]),
        ("{a: b for c in d}", ["read d", "read a", "read b"]),
        ("[[a + b for a in left] for b in right]", ["read right", "read left"]),
        ("(row for row in rows if limit)", ["read rows", "read limit"]),
        ("[(last := row) for row in rows]; last", ["read rows", "bind last", "read last"]),
        ("[lambda: (row, width) for row in rows]", ["read rows", "~read width"]),
        ("def f(a):\n    b = 1\n    return [a + b + c for d in e]", ["def f", "~read e", "~read c"]),
        ("def f():\n    row\n    [row for row in rows]", ["def f", "~read row", "~read rows"]),
        ("class A:\n    b = 1\n    c = [b for d in e]", ["read e", "read b", "def A"]),
        ("def f():\n    b = 1\n    class A:\n        c = [b + g for d in e]", ["def f", "~read e", "~read g"]),
        ("f = lambda: [row for row in rows]", ["~read rows", "bind f"]),
        ("def f(rows):\n    return sum(row * scale for row in rows)", ["def f", "~read scale"]),
    ],
)
def test_variables_of_comprehensions_are_their_own_on_every_python(code: str, expected: list[str]):
    assert names(code) == expected


def test_annotations_that_python_does_not_evaluate_read_nothing():
    code = """
        from __future__ import annotations
        def f(x: [i for i in a]) -> [i for i in b]: return [i for i in c]
        y: [i for i in d] = e
    """
    assert names(code, "read", "bind") == ["def f", "~read c", "read e", "bind y"]
