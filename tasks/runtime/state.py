"""An interpreter's state: living names, journal, and how to restore."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from carryover.tasks.runtime import notices
from carryover.tasks.runtime.engine import Block, BlockKilledError, Dispatch, Engine, Recovery, Report, StateLostError
from carryover.tasks.runtime.inside.step import LAST_VALUE
from carryover.tasks.runtime.journal import BlockObservation, Dropped, Entry, Installed, Ran, RecordedAnswers, Replies
from carryover.tasks.runtime.lifetime import Bound, Lifetime, names_bound_by
from carryover.tasks.runtime.objects import Binding, InjectionError
from carryover.tasks.runtime.process.node import Canaries
from carryover.tasks.runtime.results import Difference, Display
from carryover.tasks.runtime.shaping import Shaping

Progress = Callable[[int, int], None]
"""Hears how many blocks of a replay have run, and of how many."""


class Memory(NamedTuple):
    """The host's record of a state."""

    active: tuple[str, ...]
    """User names that the next block finds."""
    bound: dict[str, Bound]
    """Last binding of each user name, as far as the lifetime asks for it."""
    canaries: Canaries
    """Words by which the next namespace and its folder must remember the last block; None for what must not."""
    journal: tuple[Entry, ...]
    """Steps whose replay restores the state."""


_NOTHING = Memory((), {}, Canaries(), ())


@dataclass(eq=False, repr=False)
class EpisodeSnapshot:
    """A state: its blocks, and any frozen process."""

    history: object
    """Owner token: only the interpreter that took it may restore it, and not after `reload()`."""
    frozen: Any
    memory: Memory
    is_closed: bool = False

    def close(self) -> None:
        """End the frozen process; the state cannot be restored any more."""
        self.is_closed = True
        if self.frozen is not None:
            self.frozen.release()
            self.frozen = None


class Done(NamedTuple):
    """A block that ran to its end or to its exception."""

    report: Report
    output: str
    """As the model sees it."""
    displays: tuple[Display, ...] = ()


class Recovered(NamedTuple):
    """Outcome of a rollback or restore."""

    event: Literal["rolled_back", "lost"]
    notices: tuple[str, ...]


class EpisodeState:
    """Keeps, drops and restores bindings by the lifetime policy."""

    def __init__(self, lifetime: Lifetime, engine: Engine, shaping: Shaping) -> None:
        self.engine = engine
        self._lifetime = lifetime
        self._shaping = shaping
        self._words: list[str] = []
        """Canaries of every block that ran."""
        self._history = object()
        self._recall(_NOTHING)

    def is_as_promised(self) -> bool:
        """Tell whether the next block's namespace and folder remember what they should.

        Raise `StateLostError` if its process has ended, or a block has made it forget or remember what never was: in a
        process that lives on, code of the agent's can write anything.
        """
        found = self.engine.canaries()
        if self.engine.has_folder and found.files != self._canaries.files:
            return False
        if found.names == self._canaries.names:
            return True
        # False blames the engine: names are there that were to end, or one that lets names go let go too many.
        # Whatever else is found, the agent's code may have written into a process that lives on.
        is_engines_doing = self._lifetime.runs_in == "fresh" or not self.engine.forgets
        is_kept_too_long = self._canaries.names is None and found.names in self._words and is_engines_doing
        is_let_go_too_early = self._canaries.names is not None and self.engine.forgets
        if is_kept_too_long or is_let_go_too_early:
            return False
        raise StateLostError("the namespace was changed between two steps: it does not remember the last block")

    def run(self, block: Block, answer: Dispatch, replies: Replies) -> Done:
        """Run a block and keep what outlives it.

        Raise `BlockKilledError` if the state must be rolled back.
        """
        report = self.engine.execute(block, answer)
        output = self.engine.output()
        displays = ()
        if report.shown_count:
            displays = self.engine.shown(block.step)
        error = None
        if report.error_type is not None:
            error = report.error_text
        observed = BlockObservation(output, report.result, error, report.names, report.state_hash)
        shaped = self._shaping.shape(output, block.step, can_keep=self._lifetime.keeps != "nothing")
        if shaped.kept_as is not None:
            self.engine.keep_output(shaped.kept_as)
            report = report._replace(names=tuple(sorted({*report.names, shaped.kept_as})))
        if report.result is not None:
            report = report._replace(result=self._shaping.shape(report.result, block.step, can_keep=False).text)
        let_go = self._let_go(block, report)
        # The block's own word, drawn anew each time, tells this block's namespace from that of any earlier one.
        self._words.append(report.canary)
        self._canaries = Canaries(
            names=None if let_go is None else report.canary, files=report.canary if self._lifetime.keeps_files else None
        )
        self.engine.finish(let_go)
        self.journal.append(Ran(block, replies(), observed))
        return Done(report, shaped.text, displays)

    def _let_go(self, block: Block, report: Report) -> list[str] | None:
        """Note the names that outlive a block; return the others.

        None stands for all.
        """
        is_some = self._lifetime.keeps == "some"
        anew = {}
        if is_some:
            anew = names_bound_by(block.code, block.step)
        unseen = Bound(block.step, is_definition=False)
        self._bound = {name: anew.get(name) or self._bound.get(name, unseen) for name in report.names}
        self.active = tuple(name for name, bound in self._bound.items() if self._lifetime.survives(bound, block.step))
        if self._lifetime.keeps == "nothing":
            return None
        names = {*report.names, LAST_VALUE} if is_some else report.names  # the last value has no step to count from
        return sorted(set(names).difference(self.active))

    def install(self, *bindings: Binding) -> None:
        """Bind objects for all blocks to come.

        Raise what the engine's `install` raises.
        """
        self.engine.install(*bindings)
        self.journal += (Installed(binding.name) for binding in bindings)

    def drop(self, name: str) -> bool:
        """Remove a name; return whether it existed."""
        if name not in self.active or self.engine.ask(("drop", [name])) != 1:
            return False
        self.engine.finish([])
        self.active = tuple(other for other in self.active if other != name)
        self.journal.append(Dropped(name))
        return True

    def roll_back(self, *, undoes_last: bool) -> Recovered:
        """Go back to before the step that was killed.

        Where the process ended between two steps and no copy is left, the last block is suspected, and undone as well.
        """
        recovered = self._recover(self.engine.roll_back(), undoes_last=undoes_last)
        if recovered.event == "lost":
            return recovered
        return Recovered("rolled_back", (notices.ROLLED_BACK, *recovered.notices))

    def snapshot(self) -> EpisodeSnapshot:
        """Freeze the state."""
        return EpisodeSnapshot(self._history, self.engine.freeze(), self._remember())

    def restore(self, snapshot: EpisodeSnapshot) -> Recovered:
        """Continue from a frozen state, or raise `ValueError`.

        A state is refused that is closed, of another interpreter, or of before a reload.
        """
        if snapshot.is_closed:
            raise ValueError("the snapshot is closed: its state is gone; close it after the last restore")
        if snapshot.history is not self._history:
            raise ValueError("the snapshot is from another interpreter or from before `reload()`; take a new one")
        self._recall(snapshot.memory)
        recovered = self._recover(self.engine.thaw(snapshot.frozen))
        return recovered._replace(notices=(*recovered.notices, *self.engine.due_notices()))

    def branch(self) -> tuple["EpisodeState", Recovered]:
        """Return a second state that equals this one and changes by itself."""
        engine, recovery = self.engine.branch()
        other = EpisodeState(self._lifetime, engine, self._shaping)
        other._words = list(self._words)
        other._recall(self._remember())
        return other, other._recover(recovery)

    def reload(self, entries: tuple[Entry, ...], progress: Progress | None = None) -> tuple[Difference, ...]:
        """Replay to another state, which ends all snapshots.

        Raise `StateLostError` if a block ends otherwise.
        """
        self._history = object()  # snapshots of before belong to another record: `restore` must refuse them
        return self._bring_about(entries, progress)

    def _bring_about(self, entries: Sequence[Entry], progress: Progress | None = None) -> tuple[Difference, ...]:
        """Run the record in a new namespace; return what differs."""
        installed = tuple(self.engine.installed)
        try:
            found = self._do_again(entries, list(installed), progress)
            self.engine.canaries()  # a state whose process ends again is not restored
        except (StateLostError, InjectionError) as error:
            self.engine.restart(installed)
            self._recall(_NOTHING)
            raise StateLostError(str(error)) from error
        return found

    def not_installed(self, entries: Iterable[Entry]) -> tuple[str, ...]:
        """Return recorded installations that are missing here, sorted."""
        recorded = Counter(entry.name for entry in entries if isinstance(entry, Installed))
        return tuple(sorted(recorded - Counter(binding.name for binding in self.engine.installed)))

    def _do_again(
        self, entries: Sequence[Entry], installed: list[Binding], progress: Progress | None
    ) -> tuple[Difference, ...]:
        """Repeat the record, installing what is installed here in turn.

        What was not recorded comes last.
        """
        self.engine.restart(())
        self._recall(_NOTHING)
        found: list[Difference] = []
        block_count = sum(isinstance(entry, Ran) for entry in entries)
        done_count = 0
        for entry in entries:
            match entry:
                case Dropped(name):
                    self.drop(name)
                case Installed(name):
                    first = [binding.name for binding in installed].index(name)
                    self.install(installed.pop(first))
                case Ran():
                    found += self._run_again(entry)
                    done_count += 1
                    if progress is not None:
                        progress(done_count, block_count)
        for binding in installed:
            self.install(binding)
        return tuple(found)

    def _run_again(self, entry: Ran) -> list[Difference]:
        """Run a recorded block again; return what differs.

        One that its time limit interrupted is left out: it would be interrupted elsewhere.
        """
        if entry.ended_anywhere:
            self.journal.append(entry)
            return [Difference(entry.block.step, "interrupted", "ran until it was interrupted", "not run again")]
        # Tools are not called again: they have changed the host's state once, and their replies are the record's.
        answers = RecordedAnswers(entry.replies)
        try:
            self.run(entry.block, answers, lambda: entry.replies)
        except BlockKilledError as error:
            raise StateLostError(f"step {entry.block.step} does not end as it did: {error}") from error
        ran = self.journal[-1]
        assert isinstance(ran, Ran)
        return entry.differences(ran.observed, answers.asked)

    def _recover(self, recovery: Recovery, *, undoes_last: bool = False) -> Recovered:
        """Classify the recovery, replaying the journal if needed."""
        found_notices = []
        if recovery == "without_threads":
            found_notices = [notices.THREADS_GONE]
        if recovery == "incomplete":
            try:
                found_notices = self._replay_journal(undoes_last=undoes_last)
            except StateLostError:
                recovery = "lost"
        if recovery == "lost":
            self._recall(_NOTHING)
            return Recovered("lost", (notices.LOST,))
        return Recovered("rolled_back", tuple(found_notices))

    def _replay_journal(self, *, undoes_last: bool) -> list[str]:
        """Run the journal again, or without its last block; return notices."""
        found_notices = [notices.RUN_AGAIN]
        # The last block ended well, but what it left running may have ended the process, and would again.
        undone = []
        if undoes_last:
            undone = [index for index, entry in enumerate(self.journal) if isinstance(entry, Ran)][-1:]
        if undone:
            found_notices.append(notices.UNDONE)
        found = self._bring_about([entry for index, entry in enumerate(self.journal) if index not in undone])
        if steps := sorted({difference.step for difference in found}):
            found_notices.append(notices.RAN_OTHERWISE.format(steps=", ".join(map(str, steps))))
        return found_notices

    def _remember(self) -> Memory:
        return Memory(self.active, self._bound, self._canaries, tuple(self.journal))

    def _recall(self, memory: Memory) -> None:
        self.active = memory.active
        self._bound = memory.bound
        self._canaries = memory.canaries
        self.journal = list(memory.journal)
        count = sum(isinstance(entry, Installed) for entry in self.journal)
        self.journal += [Installed(binding.name) for binding in self.engine.installed[count:]]  # no going back ends it
