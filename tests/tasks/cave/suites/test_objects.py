"""Objects of the cases do as their documentation says."""

import pytest

from carryover.tasks.cave.suites.objects import (
    Account,
    Cart,
    Course,
    Person,
    Playlist,
    Robot,
    Shelf,
    Stack,
    Thermostat,
)


@pytest.mark.parametrize(("degrees", "target"), [(5, 25), (10, 30), (11, 30), (-10, 10), (-11, 10)])
def test_a_thermostat_is_cut_off_at_10_and_30(degrees, target):
    thermostat = Thermostat(20, "auto")
    thermostat.shift(degrees)
    assert thermostat.target == target


def test_a_fee_is_rounded_down():
    account = Account("Ada", 100)
    account.deposit(99)
    assert (account.fee(10), account.cents) == (19, 180)


def test_a_playlist_has_a_song_once_and_rotates():
    playlist = Playlist("Mix", [])
    playlist.rotate(3)
    for song in ("a", "b", "a", "c"):
        playlist.add(song)
    playlist.rotate(4)
    assert playlist.songs == ["b", "c", "a"]


def test_a_shelf_takes_boxes_as_far_as_there_is_room():
    shelf = Shelf(5, {"a": 1})
    assert [shelf.put("a", 2), shelf.put("b", 9), shelf.put("a", 1)] == [2, 2, 0]
    assert shelf.boxes == {"a": 3, "b": 2}


@pytest.mark.parametrize(("quarters", "place"), [(0, (0, 2)), (1, (2, 0)), (2, (0, -2)), (3, (-2, 0)), (5, (2, 0))])
def test_a_robot_walks_where_it_faces(quarters, place):
    robot = Robot(0, 0, 0)
    robot.turn(quarters)
    robot.walk(2)
    assert (robot.x, robot.y, robot.facing) == (*place, quarters % 4)


def test_marks_are_cut_to_0_and_100():
    course = Course("Logic", {"a": 50})
    for participant, mark in (("b", 101), ("c", -1)):
        course.grade(participant, mark)
    assert (course.marks, course.mean()) == ({"a": 50, "b": 100, "c": 0}, 50)


def test_a_person_grows_older():
    person = Person("Ada", 36, "London")
    person.have_birthday()
    assert person.greeting() == "Ada from London, 37"


def test_a_stack_gives_back_what_came_last():
    stack = Stack([1])
    stack.push(2)
    assert [stack.peek(), stack.pop(), stack.peek(), stack.items] == [2, 2, 1, [1]]


def test_a_cart_adds_up_pieces_at_their_last_price():
    cart = Cart({}, {})
    cart.add("tea", 300, 2)
    cart.add("tea", 250)
    cart.add("cup", 100)
    assert (cart.quantities, cart.total()) == ({"tea": 3, "cup": 1}, 850)
