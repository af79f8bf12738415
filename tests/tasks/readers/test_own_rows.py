from carryover.tasks.readers.own_rows import traces_of_rows
from carryover.tasks.readers.trace import Block


def test_our_own_rows(traces):
    failed = traces.step("finish(x)", output="", error="NameError: name 'x' is not defined")
    stateless = traces.trace("b", "stateless", steps=[traces.step(code=None, text="Hm."), failed])
    tables = traces.record(traces.trace("a"), stateless)
    first, second = traces_of_rows(tables.episodes, tables.turns, tables.steps)
    assert (first.trace_id, first.declared_contract) == ("a", "persistent")
    assert [block.code for block in first.blocks] == ["look()", "finish()"]
    assert first.blocks[0].output == "1\n"
    assert second.declared_contract == "stateless"
    assert second.blocks == (Block("finish(x)", output="", error="NameError: name 'x' is not defined"),)
    assert [reply.observation for reply in second.replies][-1] == ""
    assert [reply.text for reply in second.replies] == ["Hm.", "Thought 2.\n```python\nfinish(x)\n```"]
