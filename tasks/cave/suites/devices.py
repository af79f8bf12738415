"""Devices of a home, with named levels and sensors that follow the time."""

import dataclasses


@dataclasses.dataclass
class Light:
    """A lamp, off at 0, brightest at 100.

    Levels: night 10, dim 30, bright 80, very bright 90.
    """

    LEVELS = {"night": 10, "dim": 30, "bright": 80, "very bright": 90}  # noqa: RUF012
    brightness: int

    def set_level(self, level: str) -> None:
        """Set a named level."""
        self.brightness = self.LEVELS[level]

    def change(self, by: int) -> None:
        """Make it brighter, or darker if negative, within 0 and 100."""
        self.brightness = max(0, min(100, self.brightness + by))


@dataclasses.dataclass
class Player:
    """Plays music; volume 0 to 100. Levels: quiet 20, medium 40, party 60."""

    LEVELS = {"quiet": 20, "medium": 40, "party": 60}  # noqa: RUF012
    volume: int
    is_playing: bool

    def start(self, level: str) -> None:
        """Play at a named level."""
        self.is_playing = True
        self.volume = self.LEVELS[level]

    def stop(self) -> None:
        """Stop the music; the volume stays."""
        self.is_playing = False

    def change(self, by: int) -> None:
        """Make it louder, or quieter if negative, within 0 and 100."""
        self.volume = max(0, min(100, self.volume + by))


@dataclasses.dataclass
class Blinds:
    """Blinds of all windows; 0 is open, 100 closed."""

    closed: int

    def move_to(self, percent: int) -> None:
        """Close them so far, within 0 and 100."""
        self.closed = max(0, min(100, percent))


@dataclasses.dataclass
class Heating:
    """Heats to a target in degrees.

    Modes: eco 18, comfort 21; a target of one's own is the mode manual.
    """

    MODES = {"eco": 18, "comfort": 21}  # noqa: RUF012
    target: int
    mode: str

    def set_mode(self, mode: str) -> None:
        """Set eco or comfort, with its target."""
        self.mode = mode
        self.target = self.MODES[mode]

    def set_target(self, degrees: int) -> None:
        """Set a target, within 10 and 30."""
        self.mode = "manual"
        self.target = max(10, min(30, degrees))


@dataclasses.dataclass
class Camera:
    """A camera at the door."""

    is_recording: bool
    clips: list

    def start(self) -> None:
        """Begin to record."""
        self.is_recording = True

    def stop(self, hour: int) -> None:
        """End a recording, if any; keep it as `clip-HOUR`."""
        if self.is_recording:
            self.clips.append(f"clip-{hour}")
        self.is_recording = False


@dataclasses.dataclass
class Door:
    """The front door; it counts how often it was opened."""

    is_locked: bool
    opened: int

    def lock(self) -> None:
        """Lock it."""
        self.is_locked = True

    def open(self) -> bool:
        """Open it unless it is locked; return whether it opened."""
        if not self.is_locked:
            self.opened += 1
        return not self.is_locked

    def unlock(self) -> None:
        """Unlock it."""
        self.is_locked = False


@dataclasses.dataclass
class Sensors:
    """Clock and readings; it is dark from 20 o'clock until before 7."""

    hour: int
    outside_by_hour: list
    has_motion: bool

    @property
    def outside(self) -> int:
        """Degrees outside at this hour."""
        return self.outside_by_hour[self.hour]

    @property
    def is_dark(self) -> bool:
        """Whether it is dark at this hour."""
        return self.hour >= 20 or self.hour < 7

    def pass_hours(self, count: int) -> None:
        """Let time pass; the hour goes on after 23 with 0."""
        self.hour = (self.hour + count) % 24


DEVICES = (Light, Player, Blinds, Heating, Camera, Door, Sensors)
