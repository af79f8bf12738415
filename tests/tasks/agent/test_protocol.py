"""Messages as an endpoint reads them."""

from carryover.tasks.agent.protocol import FunctionCall, Message


def test_a_plain_message_has_no_word_of_calls():
    assert Message(role="user", content="Go.").wire() == {"role": "user", "content": "Go."}


def test_a_message_names_its_calls_and_an_answer_its_call():
    call = FunctionCall("c1", "look", '{"place": 1}')
    function = {"name": "look", "arguments": '{"place": 1}'}
    assert Message(role="assistant", content="", tool_calls=(call,)).wire() == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    answer = Message(role="tool", content="gold", tool_call_id="c1")
    assert answer.wire() == {"role": "tool", "content": "gold", "tool_call_id": "c1"}
