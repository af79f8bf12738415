"""An agent that directs two others and hands a frame on."""

import pandas as pd

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.asking import employ
from carryover.tasks.cave.scripted import block, scripted

ASKING = """\
clean = cleaner.ask("Drop the rows without a price.", give={"prices": prices}, take="clean")
means = analyst.ask("Find the mean price by city.", give={"clean": clean}, take="means")
print(means.price.max())"""
DIRECTOR = (block(ASKING), "The dearest city has a mean price of 30.")
CLEANER = (block("clean = prices.dropna()\nprint(len(clean), 'rows')"), "Two rows are left, in clean.")
ANALYST = (block("means = clean.groupby('city', as_index=False).price.mean()"), "The means are in means.")


def main() -> pd.DataFrame:
    """Return the frame that the second agent made of what the first one cleaned."""
    prices = pd.DataFrame({"city": ["bonn", "kiel", "kiel"], "price": [10.0, 30.0, None]})
    with (
        Agent(scripted(*DIRECTOR), name="director") as director,
        Agent(scripted(*CLEANER), name="cleaner", instructions="You clean frames.") as cleaner,
        Agent(scripted(*ANALYST), name="analyst", instructions="You compute statistics.") as analyst,
    ):
        employ(director, {"cleaner": cleaner, "analyst": analyst})
        director.inject("prices", prices)
        print(director.ask("Which mean price is the highest?"))
        return director.retrieve("means")


if __name__ == "__main__":
    print(main())
