"""Cache of a teacher's responses, keyed by a hash of the request."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError

from carryover.tasks.agent.protocol import Completion, ReplyNotKeptError
from carryover.tasks.services.errors import name_write_remedy
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.services.whole_files import written_whole

_FILE = TypeAdapter(dict[str, JsonValue])
_COMPLETION = TypeAdapter(Completion)


class ResponseCache:
    """Completions as small JSON files, one per request.

    Any number of processes may share a folder.

    A file is written under another name and renamed, so a reader finds a whole response or none. What the response
    cost when it was asked for is kept with it, and which episode asked: that one has paid, every other one replays. The
    key of the endpoint is never stored. A response that another one follows stays beside it, named after its episode.
    """

    def __init__(self, folder: Path, *, asks_anew: bool = False) -> None:
        """Keep responses in a folder; `asks_anew` replays none of other episodes."""
        self._folder = folder
        self._asks_anew = asks_anew

    def find(self, request: dict[str, Any], episode_id: str) -> Completion | None:
        """Return the cached response of an equal request, or None.

        An episode that was killed before it landed asks again under its own id, and pays for the response itself.
        """
        content = _read(self._file(request))
        if content is None:
            return None
        is_replayed = content.pop("episode_id", None) != episode_id
        if is_replayed and self._asks_anew:
            return None
        try:
            return _COMPLETION.validate_python(content | {"is_replayed": is_replayed})
        except ValidationError:
            return None

    def keep(self, request: dict[str, Any], completion: Completion, episode_id: str) -> None:
        """Keep a response with its episode; raise `ReplyNotKeptError` on failure."""
        file = self._file(request)
        content = completion._asdict() | {"episode_id": episode_id}
        del content["is_replayed"]
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            former = _read(file)
            if former is not None and former.get("episode_id") != episode_id:
                shutil.copyfile(file, file.with_name(f"{file.stem}-{former.get('episode_id')}.json"))
            with written_whole(file) as unfinished:
                unfinished.write_text(json.dumps(content), encoding="utf-8")
        except OSError as error:
            raise ReplyNotKeptError(
                f"cannot keep a reply in {self._folder}: {error.strerror}; {name_write_remedy(error)} and start again",
                completion,
            ) from error

    def _file(self, request: dict[str, Any]) -> Path:
        digest = hashlib.sha256(canonical_json(request).encode()).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"


def _read(file: Path) -> dict[str, JsonValue] | None:
    try:
        return _FILE.validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None
