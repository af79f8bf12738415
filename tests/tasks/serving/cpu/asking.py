"""Requests to the CPU server, and an engine that can be held meanwhile."""

import threading
from typing import Any

from carryover.tasks.serving.cpu.model_engine import ModelEngine

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say something."}]
CONTEXT_TOKENS = 600
TOOL: Any = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}


class HeldEngine(ModelEngine):
    """An engine that can be held while requests are in its batch, and remembers all that it was given."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.submitted = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def submit(self, request):
        self.submitted.append(request)
        super().submit(request)

    def step(self):
        if self.submitted[-1].cache is not None:
            self.may_go_on.wait()
        return super().step()


def ask(client, messages=MESSAGES, *, model="base", max_completion_tokens=20, **settings):
    return client.chat.completions.create(
        model=model, messages=messages, max_completion_tokens=max_completion_tokens, **settings
    )


def text_of(completion):
    return completion.choices[0].message.content
