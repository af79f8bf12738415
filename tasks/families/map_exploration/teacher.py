"""The scripted teacher of map exploration: a walk that turns back."""

from carryover.tasks.families.family import Lesson
from carryover.tasks.families.idiom import Work, action_of, lay_out

_SENTENCES = {
    "start": ("I look around and walk.", "I begin to draw the map.", "First I see where the roads lead."),
    "go_on": ("I walk to the next place.", "I go on with the map.", "I explore further."),
    "repair": ("That failed, so I set up everything again.", "Something is gone. I draw the map again."),
}
_NAMES = {
    "plain": {"graph": "graph", "path": "path", "walk": "walk"},
    "other": {"graph": "roads", "path": "way", "walk": "explore"},
}
_SETUP = """{graph} = {{}}
{path} = []
for p in trail():
    {path} = {path}[:{path}.index(p) + 1] if p in {path} else {path} + [p]
    {graph}[p] = look(p)
"""
_BODY = """state = 'more'
while n > 0:
    p = {path}[-1]
    new = [q for q in {graph}[p] if q not in {graph}]
    q = {order} if new else {path}[-2] if len({path}) > 1 else p
    if q == p or energy() <= {graph}[p][q]:
        state = 'done'
        break
    go(q)
    if new:
        {path}.append(q)
        {graph}[q] = look(q)
        n -= 1
    else: {path}.pop()
"""
_ORDERS = {"nearest": "min(new, key={graph}[p].get)", "first": "new[0]"}
_SHOWN = {
    "graph": "print(state, {graph})\n",
    "place": "print(state, {path}[-1], energy())\n",
    "size": "print(state, len({graph}))\n",
}
_FINISH = "if state == 'done': finish()\n"


def write_block(lesson: Lesson) -> tuple[str, str]:
    """Return a sentence and a block that walks to new places.

    Habits: places per block, nearest or first neighbour, a helper function or none, names, and what is printed.
    """
    count = lesson.habits.choose("places_per_block", 1, 1, 2)
    has_helper = lesson.habits.choose("has_helper", True, False)
    names = _NAMES[lesson.habits.choose("names", *_NAMES)]
    order = _ORDERS[lesson.habits.choose("order", *_ORDERS)].format(**names)
    ending = _SHOWN[lesson.habits.choose("shown", *_SHOWN)] + _FINISH
    work = Work(
        setup=_SETUP.format(**names),
        function=names["walk"],
        body=_BODY.format(order=order, **names),
        ending=ending.format(**names),
    )
    sentence = lesson.chance.choice(_SENTENCES[action_of(lesson)])
    return sentence, lay_out(work, lesson, count=count, has_helper=has_helper)
