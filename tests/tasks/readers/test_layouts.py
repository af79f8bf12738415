"""Every layout is known by its content, and read with its blocks, outcomes and ending."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from carryover.tasks.lint.lint import lint_trace
from carryover.tasks.readers import layouts
from carryover.tasks.readers.reader import all_readers
from carryover.tasks.readers.reading import read_traces
from carryover.tasks.readers.tally import Tally
from tests.tasks.readers.made_up_frameworks import FRAMEWORKS, autogen_message
from tests.tasks.readers.made_up_layouts import PYTHON_LAYOUTS, SHELL_LAYOUTS, WITHOUT_OUTCOMES
from tests.tasks.readers.made_up_messages import ANSWER, BLOCKS, COMMANDS, QUESTION
from tests.tasks.readers.recorded import read

MADE_UP = Path(__file__).parent / "made_up"
EXPECTED = {
    name: expected
    for name, expected in json.loads((MADE_UP / "expected.json").read_text(encoding="utf-8")).items()
    if "idiom" in expected
}
COLUMNS: dict[str, str] = {"carried": "carried_names"}


@pytest.mark.parametrize("name", PYTHON_LAYOUTS)
def test_python_of_every_layout_is_read_with_its_outcomes(tmp_path, name):
    layout, content = PYTHON_LAYOUTS[name]
    (trace,), tally = read(tmp_path, content)
    assert (trace.layout, dict(tally.unread)) == (layout, {})
    assert [block.code for block in trace.blocks] == [code for code, _ in BLOCKS]
    assert [block.error is None for block in trace.blocks] == [True, True, False]
    assert "14" in (trace.blocks[1].output or "")
    found = lint_trace(trace)
    assert found.carried_names == ("area", "math", "widths")
    assert (found.error_count, found.missing_name_count) == (1, 1)


@pytest.mark.parametrize("name", SHELL_LAYOUTS)
def test_shell_of_every_layout_is_read_with_its_outcomes(tmp_path, name):
    layout, content = SHELL_LAYOUTS[name]
    (trace,), tally = read(tmp_path, content)
    assert (trace.layout, dict(tally.unread)) == (layout, {})
    assert [block.code for block in trace.blocks] == [code for code, _ in COMMANDS]
    assert [block.error is None for block in trace.blocks] == [True, True, False]
    found = lint_trace(trace)
    assert (found.language, found.carried_names, found.carried_files) == ("shell", ("W",), ("w.txt",))


def test_a_trajectory_of_atif_names_its_instance_or_is_its_own(tmp_path):
    document = json.loads(PYTHON_LAYOUTS["ATIF 1.8"][1])
    (alone,), _ = read(tmp_path, json.dumps(document).encode())
    assert (alone.trace_id, alone.instance_id) == ("s", "s")
    (named,), _ = read(tmp_path, json.dumps({**document, "extra": {"instance_id": "i", "score": 0.5}}).encode())
    assert (named.trace_id, named.instance_id, named.score) == ("s", "i", 0.5)


@pytest.mark.parametrize("name", WITHOUT_OUTCOMES)
def test_texts_without_turns_are_read_block_by_block(tmp_path, name):
    layout, content = WITHOUT_OUTCOMES[name]
    (trace,), _ = read(tmp_path, content)
    assert trace.layout == layout
    assert [block.code for block in trace.blocks] == [code for code, _ in BLOCKS]


@pytest.mark.parametrize("name", EXPECTED)
def test_made_up_traces_get_the_verdict_that_they_must(name):
    (trace,) = read_traces(MADE_UP / name)
    found = lint_trace(trace)._asdict()
    for key, expected in EXPECTED[name].items():
        value = found[COLUMNS.get(key) or key]
        assert (list(value) if isinstance(value, tuple) else value) == expected


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_frameworks_tell_who_spoke_first(tmp_path, name):
    (trace,), _ = read(tmp_path, FRAMEWORKS[name][1])
    assert [message.content for message in trace.opening if message.role == "user"] == [QUESTION]
    assert (trace.replies[-1].text, trace.replies[-1].blocks) == (ANSWER, ())


def test_a_model_and_tokens_come_with_pydantic_ai(tmp_path):
    (trace,), _ = read(tmp_path, FRAMEWORKS["Pydantic AI"][1])
    assert trace.model_name == "m"
    assert [(reply.prompt_tokens, reply.completion_tokens) for reply in trace.replies] == [(10, 2)] * 4


def test_output_of_several_autogen_blocks_belongs_to_the_last(tmp_path):
    blocks = [{"code": code, "language": language} for code, language in (("ls", "sh"), ("print(x)", "python"))]
    error = "NameError: name 'x' is not defined"
    messages = [
        autogen_message("both", "CodeGenerationEvent", content="no code", code_blocks=[]),
        autogen_message("both", "CodeGenerationEvent", content="", code_blocks=blocks),
        autogen_message("both", "CodeExecutionEvent", result={"exit_code": 1, "output": error}),
    ]
    (trace,), _ = read(tmp_path, json.dumps(messages).encode())
    assert [(block.language, block.error) for block in trace.blocks] == [("shell", None), ("python", error)]


def test_autogen_agent_that_writes_code_also_speaks_without_counted_tokens(tmp_path):
    messages = [
        autogen_message("user", "TextMessage", content=QUESTION),
        autogen_message("both", "CodeGenerationEvent", content="", code_blocks=[{"code": "1", "language": "python"}]),
        autogen_message("both", "CodeExecutionEvent", result={"exit_code": 1, "output": "no"}),
        autogen_message("both", "TextMessage", content=ANSWER),
    ]
    (trace,), _ = read(tmp_path, json.dumps(messages).encode())
    assert [(reply.text, len(reply.blocks)) for reply in trace.replies] == [("", 1), (ANSWER, 0)]
    assert [message.content for message in trace.opening] == [QUESTION]


@pytest.mark.parametrize("name", ["mini-swe-agent", "Claude Code"])
def test_frameworks_of_fresh_processes_are_known(tmp_path, name):
    (trace,), _ = read(tmp_path, SHELL_LAYOUTS[name][1])
    assert lint_trace(trace).runtime == "fresh process per call"


def test_scores_models_and_tokens_come_with_an_inspect_sample(tmp_path):
    (trace,), _ = read(tmp_path, PYTHON_LAYOUTS["Inspect JSON"][1])
    assert (trace.instance_id, trace.model_name, trace.score) == ("squares", "m", 1.0)
    assert (trace.prompt_tokens, trace.completion_tokens) == (30, 6)
    assert trace.opening[0].content == "Add up the squares."  # kept apart as an attachment


def test_a_call_that_inspect_refused_ran_no_code(tmp_path):
    calls = [{"id": name, "function": "python", "arguments": {"cod": "x = 1"}} for name in ("a", "b")]
    refusal = {"role": "tool", "tool_call_id": "a", "content": "", "error": {"type": "parsing", "message": "no"}}
    timeout = {"role": "tool", "tool_call_id": "b", "content": "", "error": {"type": "timeout", "message": "slow"}}
    messages = [{"role": "assistant", "content": "", "tool_calls": calls}, refusal, timeout]
    (trace,), tally = read(tmp_path, json.dumps({"id": "s", "epoch": 1, "messages": messages}).encode())
    assert [block.error for block in trace.blocks] == ["timeout: slow"]
    assert dict(tally.other_calls) == {"refused call": 1}


@pytest.mark.parametrize(
    "field",
    [
        "messages",
        "conversations",
        "conversation",
        "trajectory",
        "history",
        "dialog",
        "chat",
        "turns",
        "chosen",
        "chat_history",
    ],
)
def test_a_chat_list_may_have_any_of_these_names(tmp_path, field):
    said = [{"role": "user", "content": "Count."}, {"role": "assistant", "content": "```python\nx = 1\n```"}]
    ((trace,), _) = read(tmp_path, json.dumps({field: said}).encode())
    assert len(trace.replies) == 1


@pytest.mark.parametrize("field", ["messages", "input", "items", "output"])
def test_items_of_the_responses_api_stand_under_any_of_these_names(tmp_path, field):
    called = {"type": "function_call", "call_id": "c", "name": "python", "arguments": json.dumps({"code": "x = 1"})}
    answered = {"type": "function_call_output", "call_id": "c", "output": ""}
    ((trace,), _) = read(tmp_path, json.dumps({"id": "r", field: [called, answered]}).encode())
    assert (trace.layout, [block.code for block in trace.blocks]) == ("items of the Responses API", ["x = 1"])


def test_rewards_of_verifiers_are_scores(tmp_path):
    assert read(tmp_path, PYTHON_LAYOUTS["verifiers lines"][1])[0][0].score == 0.5
    assert read(tmp_path, PYTHON_LAYOUTS["verifiers trace"][1])[0][0].score == 0.5


def test_a_verifiers_trace_names_instance_and_model_as_text(tmp_path):
    kept = json.loads(PYTHON_LAYOUTS["verifiers trace"][1])
    kept["task"]["key"] = 17
    (trace,), _ = read(tmp_path, json.dumps({**kept, "model": "m", "rewards": None, "reward": 0.25}).encode())
    assert (trace.instance_id, trace.model_name, trace.score) == ("17", "m", 0.25)
    (named,), _ = read(tmp_path, json.dumps({**kept, "model": "m", "agent": {"config": {"model": "n"}}}).encode())
    assert named.model_name == "n"


def test_each_branch_of_a_verifiers_trace_is_a_trace(tmp_path):
    trace = json.loads(PYTHON_LAYOUTS["verifiers trace"][1])
    trace["nodes"].append({"message": {"role": "assistant", "content": "```\nprint(2)\n```"}})  # a summary began anew
    (first, second), _ = read(tmp_path, json.dumps(trace).encode())
    assert (first.trace_id, len(first.blocks)) == ("v", 3)
    assert (second.trace_id, [block.code for block in second.blocks]) == ("v-branch-2", ["print(2)"])


def test_an_episode_that_failed_without_a_trace_is_counted(tmp_path):
    traces, tally = read(tmp_path, b'{"id": "e", "env": {}, "task": {}, "traces": []}')
    assert (traces, dict(tally.unread)) == ([], {"no reply of an agent in a trace of verifiers": 1})


def test_calls_that_run_no_code_are_counted(tmp_path):
    _, tally = read(tmp_path, PYTHON_LAYOUTS["Responses chain"][1])
    assert dict(tally.other_calls) == {"web_search": 1}


def test_unavailable_code_of_a_code_interpreter_is_unread(tmp_path):
    item = {"type": "code_interpreter_call", "id": "a", "code": None, "status": "completed", "outputs": None}
    (trace,), tally = read(tmp_path, json.dumps({"object": "response", "output": [item]}).encode())
    assert (trace.blocks, tally.unread_code.total()) == ((), 1)


@pytest.mark.parametrize(
    ("outputs", "told"), [(None, None), ([], None), ([{"type": "image"}], ""), ([{"logs": "1"}], "1")]
)
def test_a_code_interpreter_that_prints_nothing_has_an_output(tmp_path, outputs, told):
    item = {"type": "code_interpreter_call", "id": "a", "code": "x = 1", "status": "completed", "outputs": outputs}
    (trace,), _ = read(tmp_path, json.dumps({"object": "response", "output": [item]}).encode())
    assert [block.output for block in trace.blocks] == [told]


def test_a_notebook_tells_its_language_in_either_field(tmp_path):
    cell = {"cell_type": "code", "source": "x = 1", "outputs": []}
    for metadata in ({"kernelspec": {"language": "julia"}}, {"language_info": {"name": "julia"}}):
        document = {"nbformat": 4, "metadata": metadata, "cells": [cell]}
        (trace,), tally = read(tmp_path, json.dumps(document).encode())
        assert (trace.blocks, dict(tally.unread_code)) == ((), {"a cell of julia": 1})


@pytest.mark.parametrize("language", ["python", "Python", "ipython"])
def test_a_notebook_of_python_has_blocks(tmp_path, language):
    cell = {"cell_type": "code", "source": "x = 1", "outputs": []}
    document = {"nbformat": 4, "metadata": {"language_info": {"name": language}}, "cells": [cell]}
    (trace,), _ = read(tmp_path, json.dumps(document).encode())
    assert [block.code for block in trace.blocks] == ["x = 1"]


@pytest.mark.parametrize("action", ["submit", "submit\nnow", "edit 1:2\nx = 1"])
def test_tools_of_swe_agent_run_no_code(tmp_path, action):
    step = {"action": action, "observation": "ok", "response": "Next."}
    (trace,), tally = read(tmp_path, json.dumps({"trajectory": [step]}).encode())
    assert (trace.blocks, [*tally.other_calls]) == ((), [action.split()[0]])


def test_a_notebook_without_a_kernel_is_python(tmp_path):
    cell = {"cell_type": "code", "source": "x = 1", "outputs": []}
    for metadata in (None, {"kernelspec": None}, {"kernelspec": None, "language_info": None}):
        (trace,), _ = read(tmp_path, json.dumps({"nbformat": 4, "metadata": metadata, "cells": [cell]}).encode())
        assert [block.code for block in trace.blocks] == ["x = 1"]


def test_an_other_branch_of_a_chat_is_left_out(tmp_path):
    (trace,), _ = read(tmp_path, PYTHON_LAYOUTS["ChatGPT export"][1])
    assert "x" not in [block.code for block in trace.blocks]


def test_the_model_of_an_rlm_run_stands_in_either_place(tmp_path):
    first, *iterations = map(json.loads, PYTHON_LAYOUTS["RLM"][1].splitlines())
    run = {"run_metadata": first, "iterations": iterations}
    assert read(tmp_path, json.dumps(run).encode())[0][0].model_name == first["root_model"]
    assert read(tmp_path, PYTHON_LAYOUTS["RLM"][1])[0][0].model_name == first["root_model"]


def test_answers_end_a_run(tmp_path):
    assert read(tmp_path, PYTHON_LAYOUTS["RLM"][1])[0][0].finish_reason == "answer"
    assert read(tmp_path, PYTHON_LAYOUTS["smolagents"][1])[0][0].finish_reason == "answer"


def test_a_picture_of_a_computer_is_no_output(tmp_path):
    code = {"role": "assistant", "type": "code", "format": "python", "content": "x = 1"}
    picture = {"role": "computer", "type": "image", "format": "base64.png", "content": "aGVsbG8="}
    ((trace,), _) = read(tmp_path, json.dumps([code, picture]).encode())
    assert trace.blocks[0].output is None


def test_bookkeeping_between_event_files_is_no_trace(tmp_path):
    events = [json.loads(line) for line in SHELL_LAYOUTS["OpenHands typed events"][1].splitlines()]
    events.insert(2, {"kind": "ConversationStateUpdateEvent", "source": "environment", "key": "agent_status"})
    for number, event in enumerate(events):
        (tmp_path / f"event-{number:05d}.json").write_text(json.dumps({"id": number, **event}))
    (tmp_path / "base_state.json").write_text('{"id": "x", "agent": {}, "workspace": {}}')
    tally = Tally()
    (trace,) = read_traces(tmp_path, tally)
    assert (len(trace.blocks), dict(tally.unread)) == (3, {})


def test_an_error_of_an_openhands_agent_is_its_call_s_output(tmp_path):
    events = [json.loads(line) for line in SHELL_LAYOUTS["OpenHands typed events"][1].splitlines()]
    failed = {"kind": "AgentErrorEvent", "source": "agent", "tool_name": "terminal", "tool_call_id": "c0"}
    events[2] = failed | {"error": "the tool terminal is missing"}
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(map(json.dumps, events)))
    (trace,) = read_traces(file, Tally())
    assert trace.blocks[0].error == "the tool terminal is missing"


def test_an_openhands_command_tells_its_exit_code(tmp_path):
    action = {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls lost"}}
    extras = {"command": "ls lost", "metadata": {"exit_code": 2}}
    answer = {"id": 2, "source": "agent", "cause": 1, "observation": "run", "content": "no file", "extras": extras}
    (trace,), _ = read(tmp_path, json.dumps([action, answer]).encode())
    assert trace.blocks[0].error == "NonZeroExit: exit code 2"


@pytest.mark.parametrize("ending", ["finish", "reject"])
@pytest.mark.parametrize("key", ["final_thought", "thought"])
def test_an_openhands_agents_last_action_is_its_answer(tmp_path, ending, key):
    action = {"id": 1, "source": "agent", "action": "run_ipython", "args": {"code": "x = 1"}}
    last = {"id": 2, "source": "agent", "action": ending, "args": {key: "That is all."}}
    (trace,), tally = read(tmp_path, json.dumps([action, last]).encode())
    assert (trace.replies[-1].text, dict(tally.other_calls)) == ("That is all.", {})


def test_a_log_may_begin_with_a_plain_message(tmp_path):
    call = {"type": "function_call", "name": "python", "call_id": "1", "arguments": '{"code": "n = 3"}'}
    items = [{"type": "message", "role": "user", "content": "Go."}, call]
    assert read(tmp_path, json.dumps(items).encode())[0][0].layout == "items of the Responses API"
    code = {"role": "assistant", "type": "code", "format": "python", "content": "n = 3"}
    messages = [{"role": "user", "type": "message", "content": "Go."}, code]
    assert read(tmp_path, json.dumps(messages).encode())[0][0].layout == "messages of open-interpreter"


def test_several_sessions_of_a_file_are_several_traces(tmp_path):
    one = SHELL_LAYOUTS["Claude Code"][1].decode()
    traces, _ = read(tmp_path, (one + "\n" + one.replace('"s"', '"other"')).encode())
    assert [trace.trace_id for trace in traces] == ["other", "s"]


def test_subagents_of_a_trajectory_are_traces(tmp_path):
    document = json.loads(PYTHON_LAYOUTS["ATIF 1.8"][1])
    inner = {**document, "session_id": "inner"}
    outer = {**document, "session_id": "outer", "subagent_trajectories": [inner]}
    traces, _ = read(tmp_path, json.dumps({**document, "subagent_trajectories": [outer]}).encode())
    assert [trace.trace_id for trace in traces] == ["s", "outer", "inner"]


def test_a_reader_is_at_most_sixty_lines():
    files = list(Path(layouts.__file__).parent.glob("*.py"))
    assert len(files) > 20
    assert [path.name for path in files if len(path.read_text(encoding="utf-8").splitlines()) > 60] == []


def test_every_reader_is_asked_and_keeps_the_protocol():
    names = {path.stem for path in Path(layouts.__file__).parent.glob("[a-z]*.py")}
    readers: tuple[Any, ...] = all_readers()
    assert {reader.__name__.rpartition(".")[2] for reader in readers} == names
    assert len({reader.LAYOUT for reader in readers}) == len(readers)


def test_a_reader_of_an_other_package_is_asked_first(tmp_path):
    package = tmp_path / "site"
    (package / "mine-1.0.dist-info").mkdir(parents=True)
    (package / "mine-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (package / "mine-1.0.dist-info" / "entry_points.txt").write_text("[carryover.readers]\nmine = mine_reader\n")
    (package / "mine_reader.py").write_text(
        "from carryover.tasks.readers.described import chat_trace\n"
        "LAYOUT = 'mine'\nJOINS_RECORDS = False\n"
        "def detect(record):\n    return 'mine' in record\n"
        "def read(records):\n"
        "    for record in records:\n        yield chat_trace(record.content, record.content['mine'], record.name)\n"
    )
    (tmp_path / "a.json").write_text('{"mine": [{"role": "assistant", "content": "```\\nx = 1\\n```"}]}')
    program = "import sys, carryover; print(carryover.lint(sys.argv[1]).traces[0].layout)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])}
    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a.json")],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    assert said.stdout == "mine\n"
