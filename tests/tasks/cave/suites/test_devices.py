"""What the devices of a home do, worked out by hand."""

from typing import Any

from carryover.tasks.cave.suites.devices import Blinds, Camera, Door, Heating, Light, Player, Sensors


def test_a_light_keeps_within_its_range():
    light = Light(brightness=50)
    seen = []
    for by in (60, -30, -90):
        light.change(by)
        seen.append(light.brightness)
    assert seen == [100, 70, 0]
    levels = []
    for level in ("night", "dim", "bright", "very bright"):
        light.set_level(level)
        levels.append(light.brightness)
    assert levels == [10, 30, 80, 90]


def test_a_player_keeps_its_volume_when_it_stops():
    player = Player(volume=0, is_playing=False)
    seen = []
    for level in ("quiet", "medium", "party"):
        player.start(level)
        seen.append((player.is_playing, player.volume))
        player.stop()
        seen.append((player.is_playing, player.volume))
    assert seen == [(True, 20), (False, 20), (True, 40), (False, 40), (True, 60), (False, 60)]
    player.change(50)
    assert player.volume == 100
    player.change(-101)
    assert player.volume == 0


def test_blinds_close_within_their_range():
    blinds = Blinds(closed=5)
    seen = []
    for percent in (-1, 40, 101):
        blinds.move_to(percent)
        seen.append(blinds.closed)
    assert seen == [0, 40, 100]


def test_a_target_of_ones_own_is_manual_heating():
    heating = Heating(target=0, mode="")
    seen = []
    acts: list[tuple[Any, Any]] = [
        (heating.set_mode, "eco"), (heating.set_mode, "comfort"), (heating.set_target, 25), (heating.set_target, 9),
        (heating.set_target, 31),
    ]  # fmt: skip
    for act, wanted in acts:
        act(wanted)
        seen.append((heating.mode, heating.target))
    assert seen == [("eco", 18), ("comfort", 21), ("manual", 25), ("manual", 10), ("manual", 30)]


def test_a_camera_keeps_a_clip_of_what_it_recorded():
    camera = Camera(is_recording=False, clips=[])
    camera.stop(8)
    assert camera.clips == []
    camera.start()
    assert camera.is_recording
    camera.stop(9)
    camera.stop(10)
    assert (camera.is_recording, camera.clips) == (False, ["clip-9"])


def test_a_locked_door_does_not_open():
    door = Door(is_locked=False, opened=0)
    assert (door.open(), door.opened) == (True, 1)
    door.lock()
    assert (door.open(), door.opened) == (False, 1)
    door.unlock()
    assert (door.open(), door.opened) == (True, 2)


def test_the_hour_decides_on_darkness_and_temperature():
    sensors = Sensors(hour=6, outside_by_hour=list(range(24)), has_motion=False)
    seen = []
    for passed in (0, 1, 12, 1, 3, 1):
        sensors.pass_hours(passed)
        seen.append((sensors.hour, sensors.outside, sensors.is_dark))
    assert seen == [
        (6, 6, True), (7, 7, False), (19, 19, False), (20, 20, True), (23, 23, True), (0, 0, True),
    ]  # fmt: skip
