"""Plays a teacher's trusted blocks in this process, without a sandbox."""

import contextlib
import functools
import io
import json

from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.environment import KnapsackEnvironment
from carryover.tasks.runtime.inside.tools import ToolError
from carryover.tasks.runtime.results import BlockError, BlockResult
from tests.tasks.agent.playing import opening_messages


class Namespace:
    """What a contract does to the names of trusted blocks, without processes."""

    def __init__(self, contract, tools):
        self.contract, self.tools, self.names = contract, tools, {}
        self.calls_per_block = []

    def drop_name(self, name):
        return self.names.pop(name, None) is not None

    def alive(self):
        return () if self.contract == "stateless" else tuple(self.names.keys() - self.tools.keys())

    def run(self, code):
        if self.contract == "stateless" or not self.names:
            self.names = {name: self.counted(tool) for name, tool in self.tools.items()}
        self.calls_per_block.append(0)
        output, error = io.StringIO(), None
        try:
            with contextlib.redirect_stdout(output):
                exec(code, self.names)
        except (NameError, ToolError) as raised:
            error = BlockError("interpreter", type(raised).__name__, f"{type(raised).__name__}: {raised}")
        return BlockResult(output.getvalue(), None, error, (), (), (), "kept", None, (), 0.0)

    def counted(self, tool):
        """Return a tool that counts its calls."""

        @functools.wraps(tool)
        def count(*values, **named):
            self.calls_per_block[-1] += 1
            return tool(*values, **named)

        return count


def play_conversation(write_reply, contract, instance, prompt_set="compact"):
    """Return the conversation, the calls per block and the outcome of a teacher without faults."""
    environment = KnapsackEnvironment(instance)
    namespace = Namespace(contract, environment.tools)
    messages = list(opening_messages(prompt_set, instance, contract))
    while not environment.is_over and len(messages) < 200:
        reply = write_reply(contract, messages, seed=len(messages))
        result = namespace.run(reply.partition("```python\n")[2].removesuffix("\n```"))
        assert result.error is None, f"{result.error} in {reply}"
        observation = {"observation": {"output": result.output, "error": None}}
        messages.append(Message(role="assistant", content=reply))
        messages.append(Message(role="user", content=json.dumps(observation)))
    return messages, namespace.calls_per_block, environment.outcome()
