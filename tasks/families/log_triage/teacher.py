"""The scripted teacher of log triage.

It adds the value with the highest share of failures until most events fail.
"""

from carryover.tasks.families.family import Lesson
from carryover.tasks.families.idiom import Work, action_of, lay_out

_SENTENCES = {
    "start": (
        "I look at the events and take the worst value.",
        "First I query all events.",
        "I start without a filter.",
    ),
    "go_on": ("I narrow the filter down.", "I add the next value.", "I go on with what fails most."),
    "repair": ("That failed, so I set up everything again.", "Something is gone. I rebuild the filter."),
}
_NAMES = {
    "plain": {"where": "where", "rows": "rows", "best": "best", "narrow": "narrow"},
    "other": {"where": "filters", "rows": "events", "best": "worst", "narrow": "add_value"},
}
_SETUP = "fields = list_fields()\n{where} = {{}}\n"
_BODY = """state = 'more'
for step in range(n):
    {rows} = query({where})
    {best} = None
    for f in fields:
        if f in {where}: continue
        for v in fields[f]:
            own = [r['failed'] for r in {rows} if r[f] == v]
            rate = sum(own) / (len(own) + 3)
            if {best} is None or rate > {best}[0]: {best} = (rate, f, v)
    if {best} is None:
        state = 'done'
        break
    {where}[{best}[1]] = {best}[2]
    own = [r['failed'] for r in query({where})]
    if 4 * sum(own) > 3 * len(own):
        state = 'done'
        break
"""
_SHOWN = {
    "filter": "print(state, {where})\n",
    "size": "print(state, len({where}))\n",
    "state": "print(state)\n",
}
_FINISH = "if state == 'done':\n    report({where})\n    finish()\n"


def write_block(lesson: Lesson) -> tuple[str, str]:
    """Return a sentence and a block that adds values to the filter.

    Habits: values per block, a helper function or none, names, and what is printed.
    """
    per_block = lesson.habits.choose("values_per_block", 1, 1, 2)
    has_helper = lesson.habits.choose("has_helper", True, False)
    names = _NAMES[lesson.habits.choose("names", *_NAMES)]
    ending = _SHOWN[lesson.habits.choose("shown", *_SHOWN)] + _FINISH
    work = Work(
        setup=_SETUP.format(**names),
        function=names["narrow"],
        body=_BODY.format(**names),
        ending=ending.format(**names),
    )
    count = per_block * (len(lesson.turns) + 1) if lesson.starts_anew else per_block
    sentence = lesson.chance.choice(_SENTENCES[action_of(lesson)])
    return sentence, lay_out(work, lesson, count=count, has_helper=has_helper)
