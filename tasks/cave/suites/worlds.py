"""Three worlds of interdependent functions over a host's state.

The token study of arXiv 2601.01569, in own words.
"""

import random
from copy import deepcopy
from itertools import product
from typing import Any

from carryover.tasks.cave.suites.case import World
from carryover.tasks.cave.suites.values import Json
from carryover.tasks.runtime.inside.tools import ToolRuntimeException

ROOMS = ("lobby", "lab", "store", "office")
ACCOUNTS = ("north", "south", "west")
TICKERS = ("AXL", "BRD", "CYN", "DOR", "ELM")
CATEGORIES = ("tea", "lamps", "tools")
CUSTOMERS = ("ana", "bo", "cem")


class Host:
    """State that public methods read and change; all of it is checked."""

    acting: tuple[str, ...]
    """Functions that change it."""

    def state(self) -> dict[str, Json]:
        """Return what it holds."""
        return deepcopy(vars(self))


class Building(Host):
    """Devices by id, each in a room."""

    acting = ("set_device", "raise_alert")

    def __init__(self, random_source: random.Random) -> None:
        kinds = ("lamp", "lamp", "lamp", "heater", "sensor", "sensor")
        self.devices = {
            f"{room}-{number}": {"room": room, "kind": kind, "value": random_source.randrange(5, 95)}
            for room, (number, kind) in product(ROOMS, enumerate(kinds))
        }
        self.alerts: list[str] = []

    def list_devices(self, room: str) -> list:
        """Return the ids of a room's devices."""
        return [name for name, device in self.devices.items() if device["room"] == room]

    def read_device(self, device_id: str) -> dict:
        """Return a device's kind (lamp, heater, sensor) and its value."""
        device = self._known(device_id)
        return {"kind": device["kind"], "value": device["value"]}

    def set_device(self, device_id: str, value: int) -> bool:
        """Set the value of a lamp or a heater; returns whether it changed."""
        device = self._known(device_id)
        if device["kind"] == "sensor":
            raise ToolRuntimeException(f"{device_id} is a sensor and cannot be set")
        changed = device["value"] != value
        device["value"] = value
        return changed

    def raise_alert(self, text: str) -> int:
        """Add an alert; returns how many there are."""
        self.alerts.append(text)
        return len(self.alerts)

    def _known(self, device_id: str) -> dict[str, Any]:
        if device_id not in self.devices:
            raise ToolRuntimeException(f"no device {device_id!r}; list_devices names them")
        return self.devices[device_id]


class Brokerage(Host):
    """Accounts with cash and shares, in whole euros."""

    acting = ("buy", "sell", "transfer")

    def __init__(self, random_source: random.Random) -> None:
        self.prices = {ticker: random_source.randrange(8, 120) for ticker in TICKERS}
        self.cash = {name: random_source.randrange(900, 6000) for name in ACCOUNTS}
        self.shares = {name: {one: random_source.randrange(1, 40) for one in TICKERS[:4]} for name in ACCOUNTS}

    def read_account(self, account: str) -> dict:
        """Return an account's cash and its shares by ticker."""
        return {"cash": self.cash[account], "shares": {one: n for one, n in self.shares[account].items() if n}}

    def quote(self, ticker: str) -> int:
        """Return the price of one share."""
        return self.prices[ticker]

    def buy(self, account: str, ticker: str, count: int) -> int:
        """Buy shares; returns the cash that is left."""
        if count < 1 or self.prices[ticker] * count > self.cash[account]:
            raise ToolRuntimeException(f"{account} cannot buy {count} of {ticker} with {self.cash[account]} euros")
        self.shares[account][ticker] = self.shares[account].get(ticker, 0) + count
        self.cash[account] -= self.prices[ticker] * count
        return self.cash[account]

    def sell(self, account: str, ticker: str, count: int) -> int:
        """Sell shares; returns the cash after it."""
        if not 1 <= count <= self.shares[account].get(ticker, 0):
            raise ToolRuntimeException(f"{account} does not hold {count} of {ticker}")
        self.shares[account][ticker] -= count
        self.cash[account] += self.prices[ticker] * count
        return self.cash[account]

    def transfer(self, source: str, target: str, euros: int) -> int:
        """Move cash between accounts; returns what is left at the source."""
        if not 1 <= euros <= self.cash[source]:
            raise ToolRuntimeException(f"{source} cannot pay {euros} of {self.cash[source]} euros")
        self.cash[source] -= euros
        self.cash[target] += euros
        return self.cash[source]


class Shop(Host):
    """Products with prices and stock, and carts by customer."""

    acting = ("restock", "reprice", "add_to_cart", "check_out")

    def __init__(self, random_source: random.Random) -> None:
        self.products = {
            f"{category}-{number}": {
                "category": category,
                "price": random_source.randrange(4, 90),
                "stock": random_source.randrange(0, 30),
            }
            for category, number in product(CATEGORIES, range(6))
        }
        self.carts: dict[str, dict[str, int]] = {name: {} for name in CUSTOMERS}
        self.orders: list[list] = []

    def search(self, category: str) -> list:
        """Return the ids of a category's products."""
        return [name for name, product in self.products.items() if product["category"] == category]

    def read_product(self, product_id: str) -> dict:
        """Return a product's price in euros and how many are in stock."""
        product = self.products[product_id]
        return {"price": product["price"], "stock": product["stock"]}

    def restock(self, product_id: str, count: int) -> int:
        """Add pieces to the stock; returns the stock after it."""
        self.products[product_id]["stock"] += count
        return self.products[product_id]["stock"]

    def reprice(self, product_id: str, price: int) -> int:
        """Set a price; returns the one before."""
        before = self.products[product_id]["price"]
        self.products[product_id]["price"] = price
        return before

    def add_to_cart(self, customer: str, product_id: str, count: int) -> int:
        """Reserve pieces for a customer; returns the stock that is left."""
        product = self.products[product_id]
        if not 1 <= count <= product["stock"]:
            raise ToolRuntimeException(f"{product['stock']} of {product_id} are in stock, not {count}")
        product["stock"] -= count
        self.carts[customer][product_id] = self.carts[customer].get(product_id, 0) + count
        return product["stock"]

    def read_cart(self, customer: str) -> dict:
        """Return the pieces in a customer's cart by product."""
        return dict(self.carts[customer])

    def check_out(self, customer: str, discount_percent: int) -> int:
        """Order what is in the cart; returns the euros to pay, rounded down."""
        cart = self.carts[customer]
        self.carts[customer] = {}
        total = sum(self.products[name]["price"] * count for name, count in cart.items())
        self.orders.append([customer, total * (100 - discount_percent) // 100])
        return self.orders[-1][1]


def open_world(host: Host) -> World:
    """Return the world of a host: its public methods are the functions."""
    names = [name for name in vars(type(host)) if not name.startswith("_") and name != "acting"]
    return World(
        functions={name: getattr(host, name) for name in names},
        acting=frozenset(host.acting),
        read_state=host.state,
    )
