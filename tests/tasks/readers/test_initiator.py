import pytest

from carryover.tasks.readers.initiator import as_the_model_sees

EXECUTED = {"role": "assistant", "content": "exitcode: 0 (execution succeeded)\nCode output: 1"}


@pytest.mark.parametrize("calls", [{"tool_calls": [{"id": "a"}]}, {"function_call": {"name": "python"}}])
def test_calls_are_the_assistants_in_an_executors_chat(calls):
    called = {"role": "assistant", "content": "", **calls}
    spoken, system = {"role": "user", "content": "I count."}, {"role": "system", "content": "Be brief."}
    told = {"role": "user", "content": EXECUTED["content"]}
    said = {"role": "assistant", "content": "I count."}
    assert as_the_model_sees([system, spoken, EXECUTED, called]) == [system, said, told, called]


def test_other_chats_stay_as_they_are():
    chat = [{"role": "assistant", "content": "The log says exitcode: 0 (execution succeeded)"}, {"role": "user"}]
    assert as_the_model_sees(chat) is chat
    by_user = [{**EXECUTED, "role": "user"}, {"role": "assistant", "content": "So."}]
    assert as_the_model_sees(by_user) is by_user
