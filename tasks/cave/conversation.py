"""The semantic stream: the model's short text history (section 3)."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from carryover.tasks.agent.protocol import Message
from carryover.tasks.cave.prompting import fill

Kind = Literal["system", "question", "reply", "observation", "summary"]
_ROLES: dict[str, Literal["system", "assistant"]] = {"system": "system", "reply": "assistant"}
"""Of kinds that are no user messages."""
_TOKENS_PER_CHARACTER = 0.25
"""Until an endpoint has counted; the paper's repository uses the same."""
_NEVER_SUMMARIZED = 4
"""Newest entries that stay word for word."""


class Entry(NamedTuple):
    """A message with what it is in the agent's course."""

    kind: Kind
    text: str


class SemanticStream:
    """The messages of a conversation, and their estimated tokens."""

    def __init__(
        self, entries: Sequence[Entry] = (), question: str = "", tokens_per_character: float = _TOKENS_PER_CHARACTER
    ) -> None:
        self.entries = list(entries)
        self.question = question
        """The latest question, which no compaction loses."""
        self.tokens_per_character = tokens_per_character
        """As the endpoint counted last."""

    def copy(self) -> "SemanticStream":
        """Return a stream that goes on from here by itself."""
        return SemanticStream(self.entries, self.question, self.tokens_per_character)

    def add(self, kind: Kind, text: str) -> None:
        """Append an entry, joining two user messages in a row.

        Chat templates want roles to alternate. A merged message that holds a question counts as one, so that compaction
        never removes it.
        """
        last = None
        if self.entries:
            last = self.entries[-1]
        if last is not None and kind not in _ROLES and last.kind not in _ROLES:
            merged: Kind = last.kind if kind == "observation" else kind
            self.entries[-1] = Entry(merged, f"{last.text}\n\n{text}")
        else:
            self.entries.append(Entry(kind, text))

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation as the model is sent it."""
        return tuple(Message(role=_ROLES.get(kind, "user"), content=text) for kind, text in self.entries)

    def token_count(self) -> int:
        """Return the estimated size of the conversation in tokens."""
        return round(self._length() * self.tokens_per_character)

    def calibrate(self, prompt_tokens: int) -> None:
        """Learn from an endpoint's count of the messages; 0 is ignored."""
        if prompt_tokens and self.entries:
            self.tokens_per_character = prompt_tokens / self._length()

    def remove_old_outputs(self, kept_count: int) -> int:
        """Replace outputs of older observations by their length, and count."""
        places = [place for place, entry in enumerate(self.entries) if entry.kind == "observation"]
        removed = 0
        for place in places[: len(places) - kept_count]:
            text = self.entries[place].text
            shorter = fill("removed_output", length=len(text))
            if len(shorter) < len(text):
                self.entries[place] = Entry("observation", shorter)
                removed += 1
        return removed

    def older_half(self) -> list[Entry]:
        """Return the entries for a summary; empty if all are new.

        What stays begins with a reply, so that a summary in front of it is a user message between the two.
        """
        start = 1 if self.entries and self.entries[0].kind == "system" else 0
        middle = start + (len(self.entries) - start + 1) // 2
        last_cut = len(self.entries) - _NEVER_SUMMARIZED
        cuts = [
            place for place, entry in enumerate(self.entries) if entry.kind == "reply" and start < place <= last_cut
        ]
        cut = next((place for place in cuts if place >= middle), cuts[-1] if cuts else start)
        # a summary alone is not summarized again
        if cut - start > 1:
            return self.entries[start:cut]
        return []

    def replace_oldest(self, count: int, summary: str) -> None:
        """Replace the oldest entries after the system message by a summary."""
        start = 1 if self.entries[0].kind == "system" else 0
        self.entries[start : start + count] = [Entry("summary", summary)]

    def _length(self) -> int:
        return sum(len(text) for _, text in self.entries)
