"""Classes of a user's module that use one another, as ordinary programs have them."""

import enum
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Annotated, Generic, Literal, NamedTuple, Optional, TypeVar

from pydantic import BaseModel, Field, RootModel

LIMIT = 10
SECRET = "what no block should see"
T = TypeVar("T")


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Order:
    level: Level = Level.HIGH
    limit: int = LIMIT
    tags: list[str] = field(default_factory=list)

    def is_secret(self, text: str) -> bool:
        return text == SECRET


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    home: Optional["Home"] = None


class Home(BaseModel):
    owners: list[Owner] = []


class Page(BaseModel, Generic[T]):
    items: list[T]


class Numbers(Page[int]):
    total: int = 0


class Rows(RootModel[list[int]]):
    pass


@dataclass
class Box(Generic[T]):
    item: T


def tagged(kind: type) -> type:
    kind.tag = "tagged"
    return kind


class Registered(type):
    pass


@tagged
class Marked(metaclass=Registered):
    def __init__(self) -> None:
        self.mark = 1


class Car:
    class Colour(enum.Enum):
        RED = 1

    def __init__(self) -> None:
        self.colour = Car.Colour.RED


class Place(NamedTuple):
    x: int
    y: int = 0


class Corner(Place):
    __slots__ = ()

    def doubled(self) -> int:
        return 2 * self.x


class Span(namedtuple("Span", "start end", defaults=[5])):
    @property
    def length(self) -> int:
        return self.end - self.start


class Word(str):
    pass


WORDS = (Word("a"), 1)
DIGITS = 10**5000
LOOP: list = []
LOOP.append(LOOP)


class Worded:
    words = WORDS


class Long:
    digits = DIGITS


class Endless:
    loop = LOOP


class Shape:
    @staticmethod
    def twice(size: int) -> int:
        return 2 * size


def refuse_the_sandbox() -> int:
    import sys

    if "pytest" not in sys.modules:
        raise NameError("no host here")
    return 1


class HostOnly:
    host = refuse_the_sandbox()


class Refusing:
    """Has a subclass only in the host's module."""

    def __init_subclass__(cls) -> None:
        if __name__ == "__main__":
            raise ValueError("no such option")


class Hosted(Refusing):
    pass
