import polars as pl

from carryover.tasks.analysis.questions import (
    ABOUT_EPISODES,
    ABOUT_PAPERS,
    ABOUT_TRACES,
    Question,
    answer_table,
    questions_text,
    read_questions,
    replace_answers,
)

TEXT = """# Warehouse

**1. How many?**

```sql
select 1 as episodes
```

| episodes |
|---:|
| 0 |

**9. Which one?**

```sql
select 'a' as name
```

| name |
|---|
| a |
"""


def test_questions_are_read_with_query_and_answer():
    first, last = read_questions(TEXT)
    assert first == (1, "How many?", "select 1 as episodes", "| episodes |\n|---:|\n| 0 |\n")
    assert (last.number, last.words) == (9, "Which one?")


def test_answers_are_replaced_and_the_rest_stays():
    written = replace_answers(TEXT, {1: pl.DataFrame({"episodes": [7, 8]})})
    assert written == TEXT.replace("| 0 |\n", "| 7 |\n| 8 |\n")


def test_numbers_keep_their_digits_and_stand_to_the_right():
    frame = pl.DataFrame({"cell": ["P->P", "a|b"], "score": [0.998, 3015.0], "share": [None, 1.0]})
    assert answer_table(frame) == (
        "| cell | score | share |\n|---|---:|---:|\n| P->P | 0.998 |  |\n| a\\|b | 3015 | 1 |\n"
    )


def test_the_readme_asks_ten_questions_each_of_which_something_answers():
    numbers = [question.number for question in read_questions(questions_text())]
    assert numbers == [*ABOUT_EPISODES, *ABOUT_TRACES, *ABOUT_PAPERS] == list(range(1, 11))


def test_a_question_is_asked_about_a_plan_and_a_bucket():
    question = Question(1, "How many?", "select $bucket, x from t where p = $plan_digest", "")
    assert question.about("abc", "small") == "select 'small', x from t where p = 'abc'"
