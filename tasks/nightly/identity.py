"""Identity of a cell's episodes, and its differences from a baseline."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from carryover.tasks.plans.difference import describe_difference
from carryover.tasks.running.source_digest import canonical_json

ENVIRONMENT = ("python", "system", "machine", "gpu", "packages")
"""Fields of a run's environment that can change a reply; its command line cannot."""
PARTS = ("code", "prompt", "contract", "environment", "server", "weights")
"""Parts that decide an episode, beside its instance and its decoding seeds."""
SENTENCES = 5
"""Most differences that a note lists."""


class RunFacts(NamedTuple):
    """Environment and servers of a run."""

    environment: Mapping[str, Any]
    servers: tuple[Mapping[str, Any], ...]
    """Servers that answered for its models."""


Identity = dict[str, Any]
"""Values by the names of `PARTS`; None if one is unknown, as the weights behind an endpoint are."""


def identify(episodes: pl.DataFrame, facts: RunFacts) -> Identity:
    """Return what decided the episodes of a cell, which one run played."""
    declared = [json.loads(text) for text in episodes["contract_json"].unique().sort()]
    apart = ("code_digest", "prompt_digest")
    return {
        "code": sorted({str(each.get("code_digest")) for each in declared}),
        "prompt": sorted({str(each.get("prompt_digest")) for each in declared}),
        "contract": [{name: value for name, value in each.items() if name not in apart} for each in declared],
        "environment": {name: facts.environment.get(name) for name in ENVIRONMENT},
        # without folders and models, which lie elsewhere on another machine
        "server": [
            {**server, "command": [word for word in server.get("command", ()) if "/" not in word]}
            for server in facts.servers
        ],
        "weights": None if episodes["model_digest"].null_count() else sorted(episodes["model_digest"].unique()),
    }


def digests(identity: Identity) -> dict[str, str | None]:
    """Return a digest of each value that is known."""
    return {
        name: None if value is None else hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]
        for name, value in identity.items()
    }


def differing(identity: Identity, baseline: Identity) -> tuple[str, ...]:
    """Return the names whose known values differ. A run with several servers has one per plan part."""
    known = [name for name in identity if None not in (identity[name], baseline[name])]
    names = [name for name in known if name != "server" and identity[name] != baseline[name]]
    if any(server not in baseline["server"] for server in identity["server"]):
        names.append("server")
    return tuple(names)


def describe(identity: Identity, baseline: Identity, names: tuple[str, ...]) -> str | None:
    """Return the differences in words, as far as more than a digest is known."""
    told = [name for name in names if name in ("contract", "environment", "server")]
    sentences = describe_difference({name: baseline[name] for name in told}, {name: identity[name] for name in told})
    more = f"; {len(sentences) - SENTENCES} more" if len(sentences) > SENTENCES else ""
    return "; ".join(sentences[:SENTENCES]) + more if sentences else None
