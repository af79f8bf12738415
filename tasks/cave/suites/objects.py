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


@dataclasses.dataclass
class Person:
    """Somebody with an age and a town."""

    name: str
    age: int
    town: str

    def have_birthday(self) -> None:
        """Grow older by a year."""
        self.age += 1

    def greeting(self) -> str:
        """Return how the person introduces itself."""
        return f"{self.name} from {self.town}, {self.age}"


@dataclasses.dataclass
class Stack:
    """Last in, first out."""

    items: list

    def push(self, item: object) -> None:
        """Put an item on top."""
        self.items.append(item)

    def pop(self) -> object:
        """Take the top item and return it."""
        return self.items.pop()

    def peek(self) -> object:
        """Return the top item, which stays."""
        return self.items[-1]


@dataclasses.dataclass
class Cart:
    """A shopping cart: price in cents and quantity by product."""

    prices: dict
    quantities: dict

    def add(self, product: str, cents: int, quantity: int = 1) -> None:
        """Add pieces of a product at a price."""
        self.prices[product] = cents
        self.quantities[product] = self.quantities.get(product, 0) + quantity

    def total(self) -> int:
        """Return the cents to pay."""
        return sum(self.prices[product] * count for product, count in self.quantities.items())
