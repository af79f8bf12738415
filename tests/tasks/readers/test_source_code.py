import json
import time

import pytest

from carryover.tasks.readers.conversation import replies_of
from tests.tasks.readers.whole_traces import KEPT_REPLIES, whole_replies


def read(message):
    (reply,) = replies_of([{"role": "assistant", **message}, {"role": "tool", "content": "1"}])
    return reply


def called(name, arguments):
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


@pytest.mark.parametrize(
    ("message", "codes"),
    [
        ({"content": "Go. <execute>x = 1</execute>"}, ["x = 1"]),
        ({"content": "<execute> x = 1\ny = 2 </execute>"}, ["x = 1\ny = 2"]),
        ({"content": "<code>\nx = 1\n</code>"}, ["x = 1"]),
        ({"content": "~~~python\nx = 1\n~~~"}, ["x = 1"]),
        ({"content": "```json\n{}\n```\n```py\nx = 1\n```"}, ["x = 1"]),
        ({"content": "- run\n  ```python\n  if x:\n      y = 1\n  ```"}, ["if x:\n    y = 1"]),
        ({"content": "- ```python\n  x = 1\n  ```"}, ["x = 1"]),
        ({"content": "> ```python\n> x = 1\n> ```"}, ["x = 1"]),
        ({"content": "```python\nx = 1\n```\nand\n```python\ny = 2\n```"}, ["x = 1", "y = 2"]),
        ({"content": "<function=run_code><parameter=code>x = 1</parameter></function>"}, ["x = 1"]),
        ({"content": '<invoke name="python"><parameter name="code">x = 1</parameter></invoke>'}, ["x = 1"]),
        ({"content": '<tool_call>{"name": "python", "arguments": {"code": "x = 1"}}</tool_call>'}, ["x = 1"]),
        (called("run", '{"code": "x = 1"}'), ["x = 1"]),
        (called("run", {"code": ["x = 1\n", "y = 2"]}), ["x = 1\ny = 2"]),
        (called("python", "  x = 1"), ["x = 1"]),
        (called("python", "42"), ["42"]),
        (called("python", "[1, 2]"), ["[1, 2]"]),
        (called("python", '"x"'), ['"x"']),
        (called("python", '"x = 1"'), ["x = 1"]),
        (called("python", {"code": 42}), ["42"]),
        (called("jupyter", {"text": "x = 1"}), ["x = 1"]),
        (called("bash", {"command": "ls"}), ["ls"]),
        (called("shell", {"command": ["bash", "-lc", "ls | wc"]}), ["ls | wc"]),
        (called("shell", {"command": ["/bin/sh", "-c", "ls | wc"]}), ["ls | wc"]),
        (called("shell", {"command": ["zsh", "-c", "ls | wc"]}), ["ls | wc"]),
        (called("shell", {"command": ["csh", "-c", "ls | wc"]}), ["csh -c 'ls | wc'"]),
        (called("shell", {"command": ["grep", "a b", "c"]}), ["grep 'a b' c"]),
        ({"function_call": {"name": "python", "arguments": "x = 1"}}, ["x = 1"]),
        ({"content": [{"type": "text", "text": "Go."}, {"type": "tool_use", "name": "r", "input": {"code": "x"}}]},
         ["x"]),
        ({"tool_calls": {"function": "python", "arguments": "x = 1"}}, ["x = 1"]),
        ({"content": ["```\nx = 1\n", {"type": "text", "text": "```"}]}, ["x = 1"]),
        (called("code_exec", "print(1)"), ["print(1)"]),
        (called("shell", {"commands": ["ls -l", "pwd"]}), ["ls -l\npwd"]),
        ({"tool_calls": ['{"function": {"name": "python", "arguments": "x = 1"}}']}, ["x = 1"]),
        ({"content": "Go. <execute>x = 1"}, ["x = 1"]),
        ({"content": "<execute_bash>ls"}, ["ls"]),
        ({"content": "<code>\nx = 1\n</code>\n<code>\ny = 2\n"}, ["x = 1", "y = 2"]),
        ({"content": "Go. <execute>\nx = ("}, ["x = ("]),
        ({"content": "Go. <execute> \ny = ("}, ["y = ("]),
        ({"content": "<tool_call>\nx = 1\n</tool_call>"}, ["x = 1"]),
        ({"content": "<tool_call>python\n<arg_key>code</arg_key>\n<arg_value>x = 1</arg_value>\n</tool_call>"},
         ["x = 1"]),
        ({"content": '<tool_call>{"name": "python", "arguments": {"code": "x = {1: {}}"}}'}, ["x = {1: {}}"]),
        ({"content": "<llm-code>\nx = 1\n</llm-code>"}, ["x = 1"]),
        ({"content": "<code>\n```python\nx = 1\n```\n</code>"}, ["x = 1"]),
        ({"content": "<execute>x = 1</execute> as in\n```python\ny = 2\n```"}, ["x = 1"]),
        ({"content": "```pycon\n>>> if x:\n...     y = 1\n>>> y\n1\n```"}, ["if x:\n    y = 1\ny"]),
        ({"content": "```pycon\n>>> x = 1\n>>>\n>>> y\n```"}, ["x = 1\n\ny"]),
        ({"content": "```python\ny = 2\n```\n<execute>x = 1"}, ["x = 1"]),
        ({"content": "```python\n...\ndf = load()\n```"}, ["...\ndf = load()"]),
        ({"content": "```console\n$ cd src\n$ ls\na.py\n```"}, ["cd src\nls"]),
        ({"content": "```python\nx = 1\n```\nPut it in an <execute> tag."}, ["x = 1"]),
        ({"content": "Put it in an <execute> tag."}, []),
        ({"content": "Use the <code> tag."}, []),
        ({"role": "function_call", "content": '[{"name": "python", "arguments": "x = 1"}]'}, ["x = 1"]),
        ({"content": "```output\n1\n```\n```python\nx = 1\n```"}, ["x = 1"]),
        ({"content": '<tool_call>{"arguments": {"code": "x = 1"}}</tool_call>'}, ["x = 1"]),
        ({"content": '[TOOL_CALLS] [{"arguments": {"code": "x = 1"}}, {"name": "bash", "arguments": {"cmd": "ls"}}]'},
         ["x = 1", "ls"]),
        ({"content": "```Python\nx = 1\n```"}, ["x = 1"]),
        ({"content": "Write <execute>x\nand go on ("}, []),
        ({"content": "Inline `x = 1` only."}, []),
        ({"content": None}, []),
    ],
)  # fmt: skip
def test_code_in_every_form_is_read(message, codes):
    reply = read(message)
    assert ([block.code for block in reply.blocks], reply.unread) == (codes, ())


@pytest.mark.parametrize(
    ("message", "unread", "others"),
    [
        (called("search", '{"query": "x"}'), (), ("search",)),
        (called("python.Finish", {"first": "x", "second": "y"}), (), ("python.Finish",)),
        pytest.param(
            {"content": f"[TOOL_CALLS] {'[' * 100_000}]"},
            ("call of a tool without a name without source code",),
            (),
            id="absurd nesting",
        ),
        (called("final_answer", {"answer": "3", "code": None}), (), ("final_answer",)),
        (called("execute_jupyter_code_cell", {"answer": "3", "code": None}), (), ("execute_jupyter_code_cell",)),
        (called("str_replace_editor", {"command": "view", "path": "/a"}), (), ("str_replace_editor",)),
        (called("python", {"first": "x", "second": "y"}), ("call of python without source code",), ()),
        (called("execute", {"code": "x <- 1", "language": "R"}), ("call of execute without source code",), ()),
        (called("execute", {"code": "<p>", "language": "html"}), ("call of execute without source code",), ()),
        (called("execute_sql", {"query": "select 1"}), (), ("execute_sql",)),
        (called("execute_javascript", "f()"), ("call of execute_javascript without source code",), ()),
        (
            {"content": '<tool_call>{"arguments": {}}</tool_call>'},
            ("call of a tool without a name without source code",),
            (),
        ),
        ({"content": '[TOOL_CALLS] [{"arguments": {}}]'}, ("call of a tool without a name without source code",), ()),
        ({"content": '<tool_call>{"name": "search", "arguments": {"q": 1}}</tool_call>'}, (), ("search",)),
        ({"content": "<tool_call>do it</tool_call>"}, ("a tool_call that is neither a call nor Python",), ()),
        ({"function_call": "auto"}, ("call of a tool without a name without source code",), ()),
        ({"content": "```r\nx <- 1\n```"}, ("a block of r",), ()),
        ({"content": "```python\nx = 1"}, ("a block of python without an end",), ()),
        ({"content": "```json\n{}"}, (), ()),
        ({"role": "function_call", "content": "x"}, ("call of a tool without a name without source code",), ()),
        (called("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}), (), ("NotebookEdit",)),
        ({"content": [{"type": "new-call", "input": {"code": "x = 1"}}]}, ("a part of type new-call",), ()),
        ({"content": [{"type": "input_image", "image_url": "x"}]}, (), ()),
        ({"content": "[TOOL_CALLS] [1]"}, ("call of a tool without a name without source code",), ()),
        ({"content": "[TOOL_CALLS] [{broken]"}, ("call of a tool without a name without source code",), ()),
        ({"content": "Action: Search\nAction Input: print(3)"}, (), ("Search",)),
        ({"recipient": "all", "content": "print(3)"}, (), ()),
        ({"tool_calls": ["{broken"]}, ("call of a tool without a name without source code",), ()),
    ],
)
def test_what_is_no_code_and_what_is_unread_are_told_apart(message, unread, others):
    reply = read(message)
    assert (reply.blocks, reply.unread, reply.other_calls) == ((), unread, others)


@pytest.mark.parametrize(
    ("name", "more", "language"),
    [
        ("bash", {}, "shell"),
        ("bash", {"language": "python"}, "shell"),
        ("python_shell", {}, "python"),
        ("run", {}, "python"),
        ("run", {"language": "Bash"}, "shell"),
        ("python", {"lang": "sh"}, "shell"),
    ],
)
def test_a_call_is_of_a_shell_by_its_name_or_language(name, more, language):
    (block,) = read(called(name, {"code": "ls", **more})).blocks
    assert block.language == language


def test_parallel_calls_get_their_own_results():
    calls = [{"id": name, "function": {"name": "python", "arguments": {"code": name}}} for name in ("a", "b")]
    answers = [{"role": "tool", "tool_call_id": name, "content": f"out {name}"} for name in ("b", "a")]
    (reply,) = replies_of([{"role": "assistant", "tool_calls": calls}, *answers])
    assert [(block.code, block.output) for block in reply.blocks] == [("a", "out a"), ("b", "out b")]


def test_results_without_identifiers_answer_in_order():
    calls = [{"function": {"name": "python", "arguments": {"code": name}}} for name in ("a", "b")]
    (reply,) = replies_of(
        [{"role": "assistant", "tool_calls": calls}, *({"role": "tool", "content": each} for each in "12")]
    )
    assert [block.output for block in reply.blocks] == ["1", "2"]


def test_a_text_after_several_blocks_is_of_the_last():
    text = "```python\na\n```\n```python\nb\n```"
    (reply,) = replies_of([{"role": "assistant", "content": text}, {"role": "user", "content": "out"}])
    assert [block.output for block in reply.blocks] == [None, "out"]


def test_prose_and_later_blocks_are_both_counted_as_not_run():
    text = "<execute>a</execute> <execute>b</execute>\n```python\nc\n```"
    (reply,) = replies_of([{"role": "assistant", "content": text}], "first")
    assert ([block.code for block in reply.blocks], reply.not_run_count) == (["a"], 2)


@pytest.mark.parametrize(("runs", "codes"), [("all", ["a", "b"]), ("first", ["a"]), ("single", [])])
def test_a_framework_says_which_blocks_run(runs, codes):
    text = "```python\na\n```\n```python\nb\n```"
    (reply,) = replies_of([{"role": "assistant", "content": text}], runs)
    assert ([block.code for block in reply.blocks], reply.not_run_count) == (codes, 2 - len(codes))


def test_outputs_between_the_blocks_of_a_text():
    missing = "NameError: name 'b' is not defined"
    text = f"```python\na\n```\n```output\n1\n```\n<code>b</code><interpreter>{missing}</interpreter>"
    (reply,) = replies_of([{"role": "assistant", "content": text}, {"role": "user", "content": "Thanks."}])
    assert [(block.code, block.output, block.error) for block in reply.blocks] == [
        ("a", "1", None),
        ("b", missing, missing),
    ]


def test_an_error_after_a_reply_outweighs_the_output_in_it():
    text = "```python\na\n```\nThis prints:\n```output\n1\n```"
    (reply,) = replies_of([{"role": "assistant", "content": text}, {"role": "user", "content": "KeyError: 'a'"}])
    assert (reply.blocks[0].output, reply.blocks[0].error) == ("KeyError: 'a'", "KeyError: 'a'")


def test_a_call_without_a_name_leaves_fences_to_run():
    fenced = {"role": "assistant", "content": "```python\na\n```"}
    first, second = replies_of([fenced, {"role": "assistant", "tool_calls": [None]}])
    assert ([block.code for block in first.blocks], len(second.unread)) == (["a"], 1)


def test_an_output_without_a_block_before_it_belongs_to_none():
    text = "```python\na\n```\n```r\nb\n```\n```output\n1\n```"
    (reply,) = replies_of([{"role": "assistant", "content": text}])
    assert [block.output for block in reply.blocks] == [None]


@pytest.mark.parametrize("runs", [called("python", "x = 1"), {"content": "<execute>x = 1</execute>"}])
def test_a_fence_is_prose_where_an_agent_runs_code_otherwise(runs):
    prose = {"role": "assistant", "content": "So:\n```python\nprint(x)\n```"}
    first, second = replies_of([{"role": "assistant", **runs}, {"role": "tool", "content": "1"}, prose])
    assert [block.code for block in first.blocks] == ["x = 1"]
    assert (second.blocks, second.not_run_count) == ((), 1)


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"type": "tool-result", "toolCallId": "1", "output": {"type": "error-text", "value": "no x"}}, "no x"),
        ({"type": "tool-result", "toolCallId": "1", "output": {"type": "text", "value": "no x"}}, None),
        ({"type": "tool-result", "toolCallId": "1", "result": "no x", "isError": True}, "no x"),
        ({"toolResult": {"toolUseId": "1", "content": [{"json": {"error": "no x"}}]}}, "no x"),
        ({"toolResult": {"toolUseId": "1", "content": [{"text": "no x"}], "status": "success"}}, None),
    ],
)
def test_a_part_tells_that_its_call_failed(result, error):
    call = {"type": "tool_use", "id": "1", "name": "python", "input": {"code": "print(x)"}}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    (reply,) = replies_of(messages)
    assert [block.error for block in reply.blocks] == [error]


@pytest.mark.parametrize(
    "text",
    [
        "<|tool_call_begin|>" * 20_000,
        "<|tool_call_begin|>python" + " " * 100_000,
        "<|tool_call_begin|>" + "a" * 100_000,
        "[TOOL_CALLS]a[ARGS]{" * 20_000,
    ],
)
def test_tokens_without_an_end_are_read_in_linear_time(text):
    started = time.process_time()
    assert replies_of([{"role": "assistant", "content": text}])[0].blocks == ()
    assert time.process_time() - started < 5


def test_replies_of_every_form_are_read_whole():
    found = whole_replies()
    for message, reply in json.loads(KEPT_REPLIES.read_text(encoding="utf-8")).items():
        assert found[message] == reply, message
