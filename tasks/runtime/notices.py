"""Notices to the model, equal under every contract and backend.

The host words all of it. What it could not see for itself is told as the block's own account.
"""

ROLLED_BACK = "The interpreter was rolled back to its state before this step."
LOST = "The interpreter's state was lost: no name of earlier steps is alive."
PIPES_CHANGED = (
    "Pipes and similar objects were not rolled back; what these descriptors hold may have changed: {descriptors}."
)
PIPES_SHARED = "This branch shares pipes and similar objects with its origin, by these descriptors: {descriptors}."
MEMORY_SHARED = "Shared memory of a library was not rolled back, and is shared with other branches: {size} bytes."
THREADS_GONE = "Threads that earlier steps started are gone."
RUN_AGAIN = (
    "Earlier blocks were run again with their recorded tool results to get that state back; "
    "threads that they had started are gone, and those that they started again begin anew."
)
RAN_OTHERWISE = "Run again, they showed something else in steps {steps}."
UNDONE = "The block before this one is undone as well: no interpreter could go on after it."
VALUE_CUT = "The value's text is cut after {shown} characters."
HIDING_DROPPED = "By the block's own account, names that hide a builtin were dropped after the step: {names}."
TOOLS_RESTORED = "These names belong to tools, and what the block bound to them was dropped after the step: {names}."
NAMES_DROPPED = "By the block's own account, its names had more than {limit} characters; the last were dropped."
FIGURES_SHOWN = "Figures shown to the user: {count}. Figures that were left open are closed."
NO_MAGICS = "IPython's commands (lines that begin with % or !) are unavailable; write Python."
OUTPUT_FULL = "The output limit of a step ({limit} bytes) is spent; print less."
UNFIT = {
    "builtins": "it removed builtins such as print or len; assign to other names",
    "files": "it left too many files open; close them, as `with open(...)` does",
    "folder": "it left more in the scratch folder than its limit allows; remove files, or keep them smaller",
    "limits": "it lowered resource limits; leave them as they are",
    "memory": "it left no memory for another block, by its values or by a lower limit; delete what is not needed",
    "processes": "it left too many processes or threads running; wait for them to end",
    "timer": "it left a timer running; stop it with signal.setitimer(signal.ITIMER_REAL, 0) or signal.alarm(0)",
}
"""Reason why a process cannot continue after a block, by the kind that it reports."""
INTERRUPTED = "This step was interrupted: {reason}."
