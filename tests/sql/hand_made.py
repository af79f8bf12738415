"""What the tests of the tables share: blocks of known behaviour, and the columns that every row repeats."""

GROUP = {"variant": "main", "base": "common", "visibility": "declared", "header": "names", "bucket": "small"}
OURS = {"measured_on": "laptop, not Qwen3-8B"}
OTHER_SETTINGS = (
    {"plan_digest": "other"},
    {"variant": "other"},
    {"base": "other"},
    {"visibility": "as_trained"},
    {"header": "none"},
    {"bucket": "other"},
)
"""Columns of `GROUP`, and the plan, each with another value."""

REUSING = [
    ("import json\nids = json.loads(list_items())\nbest = 0", ["best", "ids"]),
    ("for item in ids:\n    best += 1", ["best", "ids", "item"]),
    ("print(best, ids)", ["best", "ids", "item"]),
]
"""Lifespans 3, 3 and 1; in the interpreter 3, 3 and 2; one import, one use over a gap of 2, one redefinition."""

REPEATING = [("import json\nids = 1", []), ("print(ids)", []), ("import json\nids = 2\nids", [])]
"""One name over three steps under a reset, two imports."""

CELLS = ("P->P", "P->S", "S->P", "S->S")
PAIR = {
    "comparison_group": "native_vs_mismatched",
    "train_a": "persistent",
    "runtime_a": "persistent",
    "train_b": "persistent",
    "runtime_b": "stateless",
}


def without_differences(*columns):
    """Return empty difference columns, as every scale but the paper's has them."""
    return {f"{column}_difference": None for column in columns}


def cells(rows, *columns):
    """Return some columns of every row by condition."""
    return {row["condition"]: tuple(row[column] for column in columns) for row in rows}


def add_pairs(warehouse, numbers, cells=CELLS, **values):
    """Add an episode of each cell on each instance."""
    for number in numbers:
        for cell in cells:
            warehouse.episode(cell, f"i{number}", **{"score": 0.9, **values})
