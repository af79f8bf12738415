"""A recursive language model (arXiv 2512.24601) on a long text.

A text too long for any prompt is a variable, read piece by piece.
"""

from collections.abc import Sequence

from carryover.tasks.agent.protocol import Message
from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.asking import language_model
from carryover.tasks.cave.scripted import block, scripted, scripted_by

READ = """\
pieces = [text[start:start + 2000] for start in range(0, len(text), 2000)]
found = [reply for reply in (llm("Which word is a colour? " + piece) for piece in pieces) if reply != "none"]
print(found)"""


def name_colour(messages: Sequence[Message]) -> str:
    """Stand in for a model that reads one piece."""
    return "vermilion" if "vermilion" in messages[-1].content else "none"


def main(contract: str = "persistent") -> str:
    """Return the answer about a text of 100,000 words."""
    text = "grey rain " * 25_000 + "vermilion " + "grey rain " * 25_000
    with Agent(scripted(block(READ), "It is vermilion."), contract=contract) as agent:  # or Agent("name", endpoint=...)
        agent.inject("text", text, description="Too long to print.")
        agent.inject("llm", language_model(scripted_by(name_colour)))
        return str(agent.ask("Find the colour in the text."))


if __name__ == "__main__":
    print(main())
