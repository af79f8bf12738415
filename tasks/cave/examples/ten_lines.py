"""A frame and a function go in, a frame comes out."""

import pandas as pd

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.scripted import block, scripted

CODE = """\
orders["euro"] = [to_euros(amount, currency) for amount, currency in zip(orders.amount, orders.currency)]
totals = orders.groupby("customer", as_index=False).euro.sum()
print(totals.shape)"""


def to_euros(amount: float, currency: str) -> float:
    """Return an amount in euros."""
    return amount * {"usd": 0.5, "eur": 1.0}[currency]


def main() -> pd.DataFrame:
    """Return the sums by customer that the agent made."""
    orders = pd.DataFrame({"customer": ["ann", "bob"], "amount": [10.0, 20.0], "currency": ["usd", "eur"]})
    with Agent(scripted(block(CODE), "The sums are in totals.")) as agent:  # or Agent("name", endpoint="http://...")
        agent.inject("orders", orders, description="One row per order.")
        agent.inject("to_euros", to_euros)
        print(agent.ask("Sum the orders in euros by customer into a frame named totals."))
        print(agent.variables())
        return agent.retrieve("totals")


if __name__ == "__main__":
    print(main())
