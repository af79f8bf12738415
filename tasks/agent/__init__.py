"""Episodes: one machine asks a model and lets its replies act.

It yields events, which a recorder makes rows of.

Read `machine.py` first: `EpisodeMachine` holds budgets, faults and stop reasons for every loop. `speaker.py` is what
differs between loops, `study_speaker.py` the study's own; `episode.py` plays one of its episodes from instance to rows.
`family.py` is all that an episode needs of a problem: nothing here knows the knapsack.

What must stay true: recorded replies give the recorded rows (`tests/tasks/agent/test_recorded_episodes.py`); every
loop reads replies by `reply.py` (`test_reply.py`); a fault of the runtime is an end and never an exception
(`test_loop_runtime.py`).
"""
