"""What the model is told beside an error; equal under every contract and backend."""

ROLLED_BACK = "The interpreter was rolled back to its state before this step."
LOST = "The interpreter's state was lost: no name of earlier steps is alive."
THREADS_GONE = "Threads that earlier steps started are gone."
RUN_AGAIN = (
    "Earlier blocks were run again with their recorded tool results to get that state back; "
    "threads that they had started are gone, and those that they started again begin anew."
)
RAN_OTHERWISE = "Run again, they showed something else in steps {steps}."
INTERRUPTED = "This step was interrupted: {reason}."
