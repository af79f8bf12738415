"""The events of a log and their cause, by instance."""

import random
from collections.abc import Mapping
from typing import Any, NamedTuple

Event = dict[str, Any]
"""A value by field, and whether the event `failed`."""

FIELDS = {
    "service": ("auth", "cart", "search", "mail", "pay"),
    "region": ("east", "west", "north", "south", "centre"),
    "version": ("v1", "v2", "v3", "v4", "v5"),
    "host": ("red", "blue", "green", "black", "white"),
    "client": ("web", "phone", "kiosk", "watch", "desk"),
}
FAILING_SHARE = 0.9
"""Share of the events of the cause that fail."""
NOISE_SHARE = 0.002
"""Share of the other events that fail."""


class LogSize(NamedTuple):
    """Difficulty of a bucket."""

    field_count: int
    value_count: int
    """Values of each field."""
    cause_count: int
    """Conditions that an event of the cause meets."""
    event_count: int
    query_count: int
    """Different queries that may be asked."""


SIZES = {
    "calm": LogSize(field_count=5, value_count=3, cause_count=4, event_count=2000, query_count=14),
    "busy": LogSize(field_count=5, value_count=4, cause_count=4, event_count=5000, query_count=16),
}


def draw_log(bucket: str, seed: int) -> dict[str, Any]:
    """Return fields, cause and size of a log."""
    size = SIZES[bucket]
    draw = random.Random(f"log {bucket} {seed}")
    names = sorted(draw.sample(sorted(FIELDS), size.field_count))
    fields = {name: sorted(draw.sample(FIELDS[name], size.value_count)) for name in names}
    causal = sorted(draw.sample(names, size.cause_count))
    cause = {name: draw.choice(fields[name]) for name in causal}
    return {
        "fields": fields,
        "cause": cause,
        "event_count": size.event_count,
        "query_count": size.query_count,
        "event_seed": draw.getrandbits(32),
    }


def make_events(log: Mapping[str, Any]) -> list[Event]:
    """Return a log's events in order."""
    draw = random.Random(log["event_seed"])
    events = []
    for _ in range(log["event_count"]):
        event: Event = {name: draw.choice(values) for name, values in log["fields"].items()}
        share = FAILING_SHARE if meets(event, log["cause"]) else NOISE_SHARE
        event["failed"] = draw.random() < share
        events.append(event)
    return events


def meets(event: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Tell whether an event has all of the given values."""
    return all(event.get(name) == value for name, value in where.items())
