"""What the functions of the hosts change, worked out by hand."""

import random

import pytest

from carryover.tasks.cave.suites.worlds import Brokerage, Building, Shop
from carryover.tasks.runtime.inside.tools import ToolRuntimeException


def test_building_keeps_alerts_and_values_of_devices():
    building = Building(random.Random(0))
    lamp, *_, sensor = building.list_devices("lab")
    value = building.read_device(lamp)["value"]
    assert (building.set_device(lamp, value), building.set_device(lamp, value + 1)) == (False, True)
    assert building.read_device(lamp) == {"kind": "lamp", "value": value + 1}
    with pytest.raises(ToolRuntimeException, match="is a sensor"):
        building.set_device(sensor, 1)
    assert (building.raise_alert("smoke"), building.raise_alert("water")) == (1, 2)
    assert building.state()["alerts"] == ["smoke", "water"]


def test_brokerage_moves_cash_and_shares():
    brokerage = Brokerage(random.Random(0))
    cash = brokerage.read_account("north")["cash"]
    held = brokerage.read_account("north")["shares"]["AXL"]
    price = brokerage.quote("AXL")
    assert brokerage.buy("north", "AXL", 1) == cash - price
    assert brokerage.read_account("north")["shares"]["AXL"] == held + 1
    assert brokerage.sell("north", "AXL", held + 1) == cash + held * price
    assert "AXL" not in brokerage.read_account("north")["shares"]
    there = brokerage.read_account("south")["cash"]
    assert brokerage.transfer("north", "south", 5) == cash + held * price - 5
    assert brokerage.read_account("south")["cash"] == there + 5


def test_shop_reserves_pieces_and_orders_what_is_in_the_cart():
    shop = Shop(random.Random(0))
    tea = shop.search("tea")[0]
    stock = shop.read_product(tea)["stock"]
    assert shop.restock(tea, 3) == stock + 3
    before = shop.read_product(tea)["price"]
    assert (shop.reprice(tea, 7), shop.read_product(tea)["price"]) == (before, 7)
    assert shop.add_to_cart("ana", tea, 3) == stock
    assert shop.read_cart("ana") == {tea: 3}
    assert shop.check_out("ana", 10) == 18  # nine tenths of 3 x 7, rounded down
    assert (shop.read_cart("ana"), shop.state()["orders"]) == ({}, [["ana", 18]])
