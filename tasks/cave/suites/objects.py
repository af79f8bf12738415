"""Classes whose instances the object cases hold."""

import dataclasses


@dataclasses.dataclass
class Thermostat:
    """Keeps a room warm."""

    target: int
    mode: str

    def shift(self, degrees: int) -> None:
        """Raise the target by some degrees; 10 to 30 are possible, others are cut off."""
        self.target = max(10, min(30, self.target + degrees))


@dataclasses.dataclass
class Account:
    """A bank account in whole cents."""

    owner: str
    cents: int

    def deposit(self, cents: int) -> None:
        """Add cents."""
        self.cents += cents

    def fee(self, percent: int) -> int:
        """Take a fee of the balance, rounded down, and return it."""
        taken = self.cents * percent // 100
        self.cents -= taken
        return taken


@dataclasses.dataclass
class Playlist:
    """Songs in order."""

    title: str
    songs: list

    def add(self, song: str) -> None:
        """Append a song unless it is there."""
        if song not in self.songs:
            self.songs.append(song)

    def rotate(self, count: int) -> None:
        """Move the first songs to the end."""
        count %= max(1, len(self.songs))
        self.songs = self.songs[count:] + self.songs[:count]


@dataclasses.dataclass
class Shelf:
    """Boxes by label."""

    capacity: int
    boxes: dict

    def put(self, label: str, count: int) -> int:
        """Add boxes as far as there is room, and return how many fitted."""
        fitting = min(count, self.capacity - sum(self.boxes.values()))
        self.boxes[label] = self.boxes.get(label, 0) + fitting
        return fitting


@dataclasses.dataclass
class Robot:
    """Stands on a grid and faces one of four ways."""

    x: int
    y: int
    facing: int

    def turn(self, quarters: int) -> None:
        """Turn clockwise; 0 is north."""
        self.facing = (self.facing + quarters) % 4

    def walk(self, steps: int) -> None:
        """Go forward."""
        self.x += (0, 1, 0, -1)[self.facing] * steps
        self.y += (1, 0, -1, 0)[self.facing] * steps


@dataclasses.dataclass
class Course:
    """Marks of participants, from 0 to 100."""

    name: str
    marks: dict

    def grade(self, participant: str, mark: int) -> None:
        """Set a mark, cut to 0 and 100."""
        self.marks[participant] = max(0, min(100, mark))

    def mean(self) -> float:
        """Return the mean mark."""
        return sum(self.marks.values()) / len(self.marks)
