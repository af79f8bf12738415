"""What each arm is told and given of a case: text that models read, word for word."""

import dataclasses
import json

import pandas
import pytest

from carryover.tasks.cave.arms.arm import ARMS, ArmName
from carryover.tasks.cave.arms.case_environment import CaseEnvironment, namespaces, source_of
from carryover.tasks.cave.suites.case import Call, Case, Expected, Turn, World
from carryover.tasks.cave.suites.objects import Robot
from carryover.tasks.runtime.describe import describe
from carryover.tasks.runtime.inside.tools import ToolRuntimeException

CASE = Case(
    "made",
    "counter",
    0,
    World(variables={"total": 1}, data={"prices": pandas.DataFrame({"day": [1]})}, descriptions={"total": "A count."}),
    (Turn("Add 2 to `total`.", "total += 2"),),
)
READER = """def read_variable(name: str) -> Any
    Return a variable of the task as JSON: arrays and sets as lists, frames by column, objects by field."""
WRITER = """def write_variable(name: str, value: Any) -> None
    Replace a variable of the task; give its new value in the form in which it is read."""
STORED = (
    "The task's variables are kept outside: read_variable(name) gives one as JSON, write_variable(name, value) "
    "replaces it. Whatever is said above, only what is written with write_variable counts."
)
TOLD = (
    "The task's variables are kept outside: read_variable(name) gives one as JSON. Whatever is said above, only what a "
    "final answer tells counts: end it with a block tagged `json` that holds an object with the new value of each "
    "variable that changed, in the form in which it is read."
)
FILES = (
    "The task's variables and data are files in the working directory, which stay from block to block: NAME.json holds "
    "a variable as JSON, NAME.csv a table. Whatever is said above, only what the JSON files hold at the end counts: "
    "write a variable that changed back to its file, in the form in which it was."
)
VARIABLES = "\nVariables of the task:\ntotal: int\n    A count."


@pytest.mark.parametrize(
    ("arm", "instructions", "functions"),
    [
        ("persistent_code", "", []),
        ("stateless_code", STORED, [READER, WRITER]),
        ("code_act", TOLD + VARIABLES, [READER]),
        ("code_to_file", f"{FILES}{VARIABLES}\nData of the task:\nprices: pandas.DataFrame", []),
        ("json", STORED + VARIABLES, [READER, WRITER]),
        ("json_python", STORED + VARIABLES, [READER, WRITER]),
    ],
)
def test_arms_are_told_how_state_is_reached(arm, instructions, functions):
    environment = CaseEnvironment(CASE, ARMS[arm])
    assert environment.instructions() == instructions
    described = [describe(name, function, "").text for name, function in environment.functions().items()]
    assert described == functions


def test_files_hold_variables_and_data():
    files = CaseEnvironment(CASE, ARMS["code_to_file"]).files()
    assert files == {"prices.csv": b"day\n1\n", "total.json": b"1"}


def test_told_value_of_an_odd_form_is_wrong_though_nothing_changed():
    case = Case("odd", "counter", 0, World(variables={"kinds": {"a"}}), (Turn("Change nothing.", "pass"),))
    environment = CaseEnvironment(case, ARMS["code_act"])
    assert environment.wrong_names(case.expected[0]) == []
    environment.take_told('```json\n{"kinds": 5}\n```')
    assert environment.wrong_names(case.expected[0]) != []


@pytest.mark.parametrize("text", ['{"total": 1', '{"total": ' + "9" * 5000 + "}", '{"total": ' + "[" * 200_000])
def test_told_block_that_is_not_json_is_wrong_and_changes_nothing(text):
    case = Case("odd", "counter", 0, World(variables={"total": 1}), (Turn("Change nothing.", "pass"),))
    environment = CaseEnvironment(case, ARMS["code_act"])
    environment.take_told(f"```json\n{text}\n```")
    (wrong,) = environment.wrong_names(case.expected[0])
    assert wrong.startswith("unreadable JSON block: ")
    environment.take_told("Nothing to change.")
    assert environment.wrong_names(case.expected[0]) == []


def test_json_block_counts_for_nothing_where_no_variables_are():
    case = Case("odd", "none", 0, World(), (Turn("Change nothing.", "pass"),))
    environment = CaseEnvironment(case, ARMS["code_act"])
    environment.take_told("```json\n{...}\n```")
    assert environment.wrong_names(case.expected[0]) == []


def test_state_of_thousands_of_digits_is_data():
    environment = CaseEnvironment(CASE, ARMS["persistent_code"])
    environment.world.variables["total"] = 10**5000
    kept = json.loads(environment.state_json(CASE.expected[0]))
    assert kept["found"]["total"].startswith("<not shown: Exceeds the limit")


def counter(arm: ArmName = "code_act"):
    case = Case("made", "counter", 0, World(variables={"total": 1, "rest": 2}), (Turn("Change.", "total = 3"),))
    return CaseEnvironment(case, ARMS[arm]), case.expected[0]


def block_of(text):
    return f"Done.\n```json\n{text}\n```\n"


def test_the_last_block_of_an_answer_counts():
    environment, expected = counter()
    environment.take_told(block_of('{"total": 5}') + block_of('{"total": 3, "other": 1}'))
    assert environment.world.variables == {"total": 3, "rest": 2}
    assert environment.wrong_names(expected) == []
    for answer in ("No block.", block_of("[1]"), block_of("7")):
        environment.take_told(answer)
        assert environment.world.variables == {"total": 3, "rest": 2}


def test_an_unreadable_block_is_wrong_until_the_next_answer():
    environment, expected = counter()
    environment.take_told(block_of('{"total": '))
    (first, *others) = environment.wrong_names(expected)
    assert first.startswith("unreadable JSON block: JSONDecodeError: Expecting value")
    assert others == ["total"]
    environment.take_told(block_of('{"total": 3}'))
    assert environment.wrong_names(expected) == []


def test_files_of_variables_are_read_and_missing_ones_told():
    environment, expected = counter("code_to_file")
    environment.take_files({"total.json": b"3", "rest.json": b"2"}.__getitem__)
    assert environment.wrong_names(expected) == []
    environment.take_files({"total.json": b"3", "rest.json": b"{"}.__getitem__)
    told = environment.world.variables["rest"]["not retrieved"]
    assert told.startswith("JSONDecodeError: Expecting property name")
    environment.take_files({"total.json": b"3"}.__getitem__)
    assert environment.world.variables["rest"] == {"not retrieved": "KeyError: 'rest.json'"}
    assert environment.wrong_names(expected) == ["rest"]


def test_a_call_that_is_asked_twice_is_made_twice():
    acting = dataclasses.replace(CASE.world, acting=frozenset({"add"}))
    environment = CaseEnvironment(dataclasses.replace(CASE, world=acting), ARMS["code_act"])
    add, look = Call("add", {"n": 1}), Call("look", {})
    expected = Expected({}, ((add, look), (add,)))
    made = [add, add]
    assert environment.missing_calls(expected, made) == []
    assert made == [add, add]
    assert environment.missing_calls(expected, [look, add]) == ["add({'n': 1})"]


def test_dotted_names_are_classes_whose_attributes_call_the_functions():
    sources = namespaces({"a.b.c": "f", "a.b.d": "g", "a.e": "f", "h.i": "g"})
    assert [*sources] == ["a", "h"]
    names = {"f": lambda *values, **named: ("f", values, named), "g": lambda *values, **named: ("g", values, named)}
    for source in sources.values():
        exec(source, names)
    a, h = names["a"], names["h"]
    assert a.b.c(1, x=2) == a.e(1, x=2) == ("f", (1,), {"x": 2})
    assert a().b().d(1) == h.i(1) == ("g", (1,), {})


def test_functions_of_later_turns_come_later():
    functions = {"now": len, "later": max, "last": min}
    turns = (Turn("1", "pass"), Turn("2", "pass", added=("later",)), Turn("3", "pass", added=("last",)))
    case = Case("made", "late", 0, World(functions=functions), turns)
    for name in ARMS:
        assert CaseEnvironment(case, ARMS[name]).functions() == {"now": len}


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("persistent_code", []), ("stateless_code", ["read_variable", "write_variable"]),
        ("code_act", ["read_variable"]), ("code_to_file", []), ("json", ["read_variable", "write_variable"]),
        ("json_python", ["read_variable", "write_variable"]),
    ],
)  # fmt: skip
def test_a_store_is_there_where_nothing_else_keeps_variables(name, stored):
    environment = CaseEnvironment(CASE, ARMS[name])
    functions = environment.functions()
    assert [*functions] == stored
    if "read_variable" in stored:
        assert functions["read_variable"]("total") == 1
    if "write_variable" in stored:
        functions["write_variable"]("total", 5)
        assert (environment.world.variables, CASE.world.variables) == ({"total": 5}, {"total": 1})
        for call in (functions["read_variable"], lambda name: functions["write_variable"](name, 1)):
            with pytest.raises(ToolRuntimeException, match=r"^no variable 'rest'; choose from total$"):
                call("rest")


def test_a_class_is_told_by_its_source():
    assert source_of(Robot).startswith("import dataclasses\n\n@dataclasses.dataclass\nclass Robot:\n")
    case = Case("made", "robot", 0, World(variables={"robot": Robot(1, 2, 3)}, types=(Robot,)), ())
    told = CaseEnvironment(case, ARMS["json"]).instructions()
    assert told.partition("Variables of the task:\n")[2].startswith(source_of(Robot))


@pytest.mark.parametrize(("length", "shown"), [(19_998, "x" * 19_998), (19_999, "<20,001 characters of JSON>")])
def test_a_long_value_is_kept_as_its_length(length, shown):
    environment = CaseEnvironment(CASE, ARMS["persistent_code"])
    environment.world.variables["total"] = "x" * length
    kept = json.loads(environment.state_json(CASE.expected[0]))
    assert kept == {"expected": {"total": 3}, "found": {"total": shown}}
