"""Downloads of benchmarks, made small and of the wheels' shape."""

import json
from pathlib import Path

from carryover.tasks.cave.importers.bfcl_multi_turn import MULTI_TURN_CATEGORIES, SIMULATORS

CLASS = """
class Folder:
    def __init__(self, parent):
        self.parent, self.names, self._made = parent, set(), 0

class NAME:
    def __init__(self):
        self.root = Folder(None)

    def _load_scenario(self, scenario, long_context=False):
        self.root.names |= set(scenario["names"])
        self.is_long = long_context

    def mkdir(self, name):
        if name in self.root.names:
            raise ValueError(f"{name} exists")
        self.root.names.add(name)

    def ls(self):
        return {"names": sorted(self.root.names)}
"""
NAME = {"type": "dict", "properties": {"name": {"type": "string", "description": "A name."}}, "required": ["name"]}
FUNCTIONS = [
    {"name": "mkdir", "description": "Make a folder.", "parameters": NAME},
    {"name": "ls", "description": "List.", "parameters": {"type": "dict", "properties": {}, "required": []}},
]
GOLD = [["mkdir(name='b')", "mkdir('a')"], ["ls()"]]


def made_multi_turn(place: Path) -> Path:
    """Write a folder with one task per category; in `miss_func` the function of the last turn comes with it."""
    data = place / "bfcl_eval/data"
    sources = place / "bfcl_eval/eval_checker/multi_turn_eval/func_source_code"
    for folder in (data / "possible_answer", data / "multi_turn_func_doc", sources):
        folder.mkdir(parents=True)
    for name, (module, document) in SIMULATORS.items():
        (sources / f"{module}.py").write_text(CLASS.replace("NAME", name))
        (data / f"multi_turn_func_doc/{document}.json").write_text("\n".join(map(json.dumps, FUNCTIONS)))
    for category in MULTI_TURN_CATEGORIES:
        is_late = category == "miss_func"
        task = {
            "id": category,
            "question": [[{"role": "user", "content": "Make b and a."}], [] if is_late else [{"content": "List."}]],
            "initial_config": {"GorillaFileSystem": {"names": ["a"]}},
            "involved_classes": ["GorillaFileSystem"],
            **({"missed_function": {"1": ["ls"]}} if is_late else {}),
        }
        (data / f"BFCL_v4_multi_turn_{category}.json").write_text(json.dumps(task))
        answer = json.dumps({"id": category, "ground_truth": GOLD})
        (data / f"possible_answer/BFCL_v4_multi_turn_{category}.json").write_text(answer)
    return place
