"""Scripted teachers as model clients, by bucket and contract."""

from collections.abc import Callable, Sequence
from functools import partial

from carryover.tasks.agent.protocol import Completion, CompletionRequest, CountTokens, Message
from carryover.tasks.agent.teachers.density import write_density_reply
from carryover.tasks.agent.teachers.injected import INJECTING, write_injected_reply
from carryover.tasks.agent.teachers.small import write_small_reply
from carryover.tasks.traces.vocabulary import TokenSource

WriteReply = Callable[[Sequence[Message], int], str]


class ScriptedTeacher:
    """A deterministic policy behind the protocol of a model client.

    It keeps nothing between calls: what it writes is a function of the conversation and the seed. Tokens are those
    that a model would have been charged: the whole conversation as prompt, the reply as completion.
    """

    token_source: TokenSource = "training_tokenizer"

    def __init__(self, model_name: str, write_reply: WriteReply, count_tokens: CountTokens | None = None) -> None:
        self.model_name = model_name
        self._write_reply = write_reply
        self._count_tokens = count_tokens

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the policy's next reply; without a counter its tokens are 0."""
        text = self._write_reply(request.messages, request.seed)
        return Completion(
            text=text,
            finish_reason="stop",
            prompt_tokens=self._count(request.messages),
            cached_prompt_tokens=0,
            completion_tokens=self._count([Message(role="assistant", content=text)]),
            model_seconds=0.0,
        )

    def _count(self, messages: Sequence[Message]) -> int:
        return 0 if self._count_tokens is None else self._count_tokens(messages)


def open_teacher(
    bucket: str,
    contract: str,
    count_tokens: CountTokens | None = None,
    *,
    inspections_per_turn: int | None = None,
    prints_table: bool = True,
) -> ScriptedTeacher:
    """Return the teacher of a bucket under a contract; raise `ValueError` for a bucket that none plays.

    `inspections_per_turn` is the density teacher's, `prints_table` the small one's.
    """
    write_reply: WriteReply
    match bucket:
        case "easy" | "hard" | "small" | "small_large" | "small_costly" if contract in INJECTING:
            write_reply = partial(write_injected_reply, contract, is_capped=bucket in ("easy", "hard"))
        case "easy" | "hard":
            write_reply = partial(write_density_reply, contract, inspections_per_turn=inspections_per_turn)
        case "small" | "small_large" | "small_costly":
            is_careful = bucket == "small_costly"
            write_reply = partial(write_small_reply, contract, prints_table=prints_table, is_careful=is_careful)
        case _:
            raise ValueError(
                f"no teacher plays bucket {bucket!r}; choose from easy, hard, small, small_large, small_costly"
            )
    return ScriptedTeacher("scripted", write_reply, count_tokens)
