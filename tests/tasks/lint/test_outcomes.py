"""What a block's error or output says of the names that it leaves, and of the runtime."""

import pytest

from carryover.tasks.lint.lint import Take, lint_trace
from carryover.tasks.lint.runtime import infer_runtime
from carryover.tasks.lint.verdict import runtime_sentence
from carryover.tasks.readers.trace import Block, Reply, Trace


def lint_outcomes(*outcomes):
    """Lint blocks with what came back: pairs of a code and its error, null for none."""
    blocks = tuple(Block(code, output=error or "ok", error=error) for code, error in outcomes)
    return lint_trace(Trace(trace_id="trace", replies=(Reply("", blocks),)))


@pytest.mark.parametrize("binding", ["import json", "json = 1"])
@pytest.mark.parametrize(
    ("errors", "is_after_error", "is_of_failed_block"),
    [((True, False), False, False), ((False, True), True, False), ((False, False), False, False)],
)
def test_a_take_tells_errors_since_its_name_was_left(binding, errors, is_after_error, is_of_failed_block):
    before, between = ("ZeroDivisionError" if raises else None for raises in errors)
    found = lint_outcomes(("1 / 0", before), (binding, None), ("1 / 0", between), ("json", None))
    assert found.takes == (Take(4, "names", "json", is_after_error, is_of_failed_block),)


@pytest.mark.parametrize("binding", ["import json", "json = 1"])
def test_a_take_tells_that_its_name_is_of_a_failed_block(binding):
    found = lint_outcomes((f"{binding}\n1 / 0", "ZeroDivisionError: division by zero"), ("json", None))
    assert found.takes == (Take(2, "names", "json", is_of_failed_block=True),)


@pytest.mark.parametrize(
    ("error", "carried", "early"),
    [
        ("ZeroDivisionError: division by zero", ("kept", "never"), ()),
        ('File "<string>", line 2, in <module>\nZeroDivisionError: division by zero', ("kept",), ("never",)),
        ("NameError: name 'lost' is not defined", ("kept",), ("never",)),
        ("Code execution failed at line 'never = lost' due to: InterpreterError: no", ("kept",), ("never",)),
        ("Code execution failed at line 'ept' due to: InterpreterError: no", ("kept", "never"), ()),
        ('File "<string>", line 1, in <module>\nValueError', (), ("kept", "never")),
    ],
)
def test_a_block_leaves_what_it_bound_before_it_raised(error, carried, early):
    found = lint_outcomes(("kept = 1\nnever = lost\nlast = 2", error), ("print(kept, never)", None))
    assert (found.carried_names, found.early_names) == (carried, early)


def test_an_error_before_the_first_statement_leaves_the_block_as_it_is():
    found = lint_outcomes(("# A comment\n\nkept = 1", 'File "<string>", line 1\nValueError'), ("print(kept)", None))
    assert (found.carried_names, found.early_names) == (("kept",), ())


@pytest.mark.parametrize("error", ["SyntaxError: '(' was never closed", "IndentationError: unexpected indent"])
def test_a_block_that_python_refused_ran_nothing(error):
    blocks = (Block("x = 1\ny = (", output=error, error=error), Block("x = 2\nprint(x)", output="2"))
    found = lint_trace(Trace(trace_id="trace", replies=(Reply("", blocks),)))
    assert (found.idiom, found.unjudged_count, found.error_count) == ("stateless_safe", 0, 1)


def test_a_syntax_error_at_work_leaves_names_bound():
    error = "SyntaxError: '(' was never closed"
    blocks = (Block("x = 1\neval('(')", output=error, error=error), Block("print(x)", output="1"))
    found = lint_trace(Trace(trace_id="trace", replies=(Reply("", blocks),)))
    assert (found.carried_names, found.error_count) == (("x",), 1)


def test_failed_reads_show_a_fresh_process():
    missing = "NameError: name 'rows' is not defined"
    found = lint_outcomes(("rows = [1]", None), ("print(rows)", missing), ("rows = [1]\nprint(rows)", None))
    assert (found.runtime, found.failed_read_count, found.observed_read_count) == ("stateless", 1, 1)
    assert found.runtime_confidence == 0.75  # one failure of one, under a uniform prior
    assert found.verdict == (
        "takes `rows` from earlier blocks, first at block 2; code assumes persistence; "
        "the runtime seems to have been a fresh process (1 of 1 reads of earlier names failed, confidence 0.75)"
    )
    assert (found.error_count, found.missing_name_count) == (1, 1)


def test_a_failed_read_that_the_block_caught_shows_a_fresh_process():
    message = "name 'rows' is not defined"
    reading = "try:\n    print(rows)\nexcept Exception as e:\n    print(e)"
    blocks = (Block("rows = [1]", output=""), Block(reading, output=message, caught=message))
    found = lint_trace(Trace(trace_id="trace", replies=(Reply("", blocks),)))
    assert (found.runtime, found.failed_read_count, found.observed_read_count) == ("stateless", 1, 1)
    assert (found.error_count, found.missing_name_count) == (0, 0)


def test_reads_that_succeed_show_a_persistent_runtime():
    found = lint_outcomes(("a = 1\nb = 2", None), ("print(a, b)", None), ("print(a)", None))
    assert (found.runtime, found.failed_read_count, found.observed_read_count) == ("persistent", 0, 3)
    assert found.runtime_confidence == 1 - 1 / 16


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (infer_runtime(0, 0, is_fresh=False), None),
        (infer_runtime(0, 0, is_fresh=True), "the runtime was a fresh process per call"),
        (
            infer_runtime(3, 3, is_fresh=True),
            "the runtime was a fresh process per call (3 of 3 reads of earlier names failed, confidence 1.00)",
        ),
        (
            infer_runtime(2, 0, is_fresh=False),
            "the runtime seems to have been persistent (0 of 2 reads of earlier names failed, confidence 0.88)",
        ),
        (
            infer_runtime(3, 3, is_fresh=False),
            "the runtime was a fresh process (3 of 3 reads of earlier names failed, confidence 0.94)",
        ),
    ],
)
def test_a_runtime_is_told_with_its_evidence(found, sentence):
    assert runtime_sentence(found) == sentence


def test_restating_after_a_loss_is_no_habit():
    missing = "NameError: name 'rows' is not defined"
    assert lint_outcomes(("rows = [1]", None), ("print(rows)", missing), ("rows = [1]", None)).idiom == (
        "needs_persistence"
    )


@pytest.mark.parametrize(
    ("observed", "failed", "runtime", "confidence"),
    [(0, 0, None, None), (2, 1, "stateless", 0.5), (1, 1, "stateless", 0.75), (3, 1, "persistent", 0.6875)],
)
def test_a_runtime_is_what_most_reads_agree_with(observed, failed, runtime, confidence):
    found = infer_runtime(observed, failed, is_fresh=False)
    assert (found.runtime, found.confidence) == (runtime, confidence)
