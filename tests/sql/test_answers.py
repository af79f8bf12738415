"""The ten questions: every query binds, and every printed answer is what the query gives."""

import pytest

from carryover.flows.cli.folders import find_results
from carryover.flows.cli.results.tables import training_bucket
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.questions import (
    ABOUT_EPISODES,
    ABOUT_PAPERS,
    ABOUT_TRACES,
    KEPT_RESULTS,
    answer_table,
    questions_text,
    read_questions,
)
from carryover.tasks.collect import collect_episodes
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.shards import teacher_shards
from carryover.tasks.stages.results import open_results
from carryover.tasks.stages.runs import start_run
from tests.tasks.made import make_instances

PAGE = questions_text()
QUESTIONS = {question.number: question for question in read_questions(PAGE)}


@pytest.mark.parametrize("number", QUESTIONS)
def test_a_query_has_the_columns_of_its_answer(warehouse, number):
    question = QUESTIONS[number]
    header = answer_table(warehouse.connection.sql(question.about("plan", "small")).pl()).splitlines()[0]
    assert question.answer.splitlines()[0] == header


@pytest.fixture(scope="module")
def kept():
    with open_results(find_results(KEPT_RESULTS)) as results:
        yield results


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """The scripted teachers' episodes on the first twelve training instances, played here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CARRYOVER_HOME", str(tmp_path_factory.mktemp("teachers")))
        with start_run("toy", resolve_plan("smoke", Overrides(train_count=12)), Limits()) as run:
            (part,) = run.plan.parts
            make_instances(run, part.train_instances)
            for shard in teacher_shards(run, part, None):
                collect_episodes.fn(run, shard)
        with Warehouse.open(run.landing) as landed:
            yield landed, run.plan.digest


@pytest.mark.parametrize("number", ABOUT_EPISODES)
def test_an_answer_about_episodes_is_what_the_kept_rows_give(kept, number):
    question = QUESTIONS[number]
    query = question.about(KEPT_RESULTS, training_bucket(kept, KEPT_RESULTS))
    assert question.answer == answer_table(kept.sql(query).polars()), (
        f"`carryover questions --results {KEPT_RESULTS} --write sql/questions.md` writes the present answers"
    )


@pytest.mark.parametrize("number", ABOUT_TRACES)
def test_an_answer_about_traces_is_what_the_scripted_teachers_do(traces, number):
    question, (landed, plan_digest) = QUESTIONS[number], traces
    assert question.answer == answer_table(landed.sql(question.about(plan_digest, "small")).polars())


@pytest.mark.parametrize("number", ABOUT_PAPERS)
def test_an_answer_from_published_numbers_is_what_the_query_gives(warehouse, number):
    question = QUESTIONS[number]
    assert question.answer == answer_table(warehouse.connection.sql(question.sql).pl())
