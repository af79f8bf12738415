"""What the functions of the hosts change, worked out by hand."""

import random

import pytest

from carryover.tasks.cave.suites.worlds import Brokerage, Building, Shop, open_world
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


def test_building_has_six_devices_a_room_and_refuses_unknown_ones():
    building = Building(random.Random(0))
    assert building.list_devices("lab") == ["lab-0", "lab-1", "lab-2", "lab-3", "lab-4", "lab-5"]
    kinds = [building.read_device(f"store-{number}")["kind"] for number in range(6)]
    assert kinds == ["lamp", "lamp", "lamp", "heater", "sensor", "sensor"]
    for call in (building.read_device, lambda name: building.set_device(name, 1)):
        with pytest.raises(ToolRuntimeException, match=r"^no device 'lab-6'; list_devices names them$"):
            call("lab-6")


@pytest.fixture
def brokerage():
    brokerage = Brokerage(random.Random(0))
    brokerage.prices = {"AXL": 10, "BRD": 7}
    brokerage.cash = {"north": 50, "south": 0}
    brokerage.shares = {"north": {"AXL": 3}, "south": {"AXL": 1}}
    return brokerage


def test_shares_are_bought_with_the_cash_that_is_there(brokerage):
    assert brokerage.quote("BRD") == 7
    for count in (0, 6):
        message = f"^north cannot buy {count} of AXL with 50 euros$"
        with pytest.raises(ToolRuntimeException, match=message):
            brokerage.buy("north", "AXL", count)
    assert brokerage.buy("north", "AXL", 1) == 40
    assert brokerage.buy("north", "BRD", 2) == 26
    assert brokerage.buy("north", "AXL", 2) == 6
    assert brokerage.state() == {
        "prices": {"AXL": 10, "BRD": 7},
        "cash": {"north": 6, "south": 0},
        "shares": {"north": {"AXL": 6, "BRD": 2}, "south": {"AXL": 1}},
    }


def test_shares_are_sold_as_far_as_they_are_held(brokerage):
    for ticker, count in (("AXL", 0), ("AXL", 4), ("BRD", 1)):
        with pytest.raises(ToolRuntimeException, match=f"^north does not hold {count} of {ticker}$"):
            brokerage.sell("north", ticker, count)
    assert brokerage.sell("north", "AXL", 1) == 60
    assert brokerage.sell("north", "AXL", 2) == 80
    assert brokerage.read_account("north") == {"cash": 80, "shares": {}}
    assert brokerage.read_account("south") == {"cash": 0, "shares": {"AXL": 1}}


def test_cash_moves_as_far_as_it_reaches(brokerage):
    for euros in (0, 51):
        with pytest.raises(ToolRuntimeException, match=f"^north cannot pay {euros} of 50 euros$"):
            brokerage.transfer("north", "south", euros)
    assert (brokerage.transfer("north", "south", 1), brokerage.transfer("north", "south", 49)) == (49, 0)
    assert brokerage.cash == {"north": 0, "south": 50}


@pytest.fixture
def shop():
    shop = Shop(random.Random(0))
    shop.products["tea-0"] |= {"price": 5, "stock": 4}
    shop.products["tea-1"] |= {"price": 9, "stock": 1}
    return shop


def test_pieces_in_a_cart_leave_the_stock(shop):
    assert shop.search("tea") == ["tea-0", "tea-1", "tea-2", "tea-3", "tea-4", "tea-5"]
    for count in (0, 5):
        with pytest.raises(ToolRuntimeException, match=f"^4 of tea-0 are in stock, not {count}$"):
            shop.add_to_cart("ana", "tea-0", count)
    assert [shop.add_to_cart("ana", "tea-0", count) for count in (1, 3)] == [3, 0]
    assert shop.add_to_cart("bo", "tea-1", 1) == 0
    assert (shop.read_cart("ana"), shop.read_cart("bo"), shop.read_cart("cem")) == ({"tea-0": 4}, {"tea-1": 1}, {})
    shop.read_cart("ana").clear()
    assert shop.read_cart("ana") == {"tea-0": 4}
    assert shop.read_product("tea-0") == {"price": 5, "stock": 0}


def test_an_order_empties_the_cart_and_is_paid_at_the_present_price(shop):
    shop.add_to_cart("ana", "tea-0", 3)
    shop.add_to_cart("ana", "tea-1", 1)
    assert (shop.restock("tea-0", 6), shop.reprice("tea-0", 7)) == (7, 5)
    assert shop.check_out("ana", 15) == 25  # 85 % of 30 euros are 25.5
    assert (shop.read_cart("ana"), shop.check_out("ana", 0)) == ({}, 0)
    assert shop.state()["orders"] == [["ana", 25], ["ana", 0]]
    shop.state()["orders"].clear()
    assert len(shop.orders) == 2


def test_public_methods_of_a_host_are_the_functions_of_its_world(shop):
    world = open_world(shop)
    names = ["search", "read_product", "restock", "reprice", "add_to_cart", "read_cart", "check_out"]
    assert [*world.functions] == names
    assert world.acting == {"restock", "reprice", "add_to_cart", "check_out"}
    world.functions["restock"]("tea-0", 1)
    assert world.state() == shop.state()
    assert set(world.state()) == {"products", "carts", "orders"}
