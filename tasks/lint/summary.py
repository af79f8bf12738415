"""Summary of a linted data set, one row per declared contract."""

from typing import get_args

import polars as pl

from carryover.tasks.lint.lint import Idiom


def summarise_lint(lint: pl.DataFrame) -> pl.DataFrame:
    """Return one row per declared contract, nulls last, from what `lint_traces` returned.

    Shares of traces are in [0, 1], rates per block over all blocks, and `restated_share` is of all tokens.
    """
    blocks, tokens = pl.col("block_count").sum(), pl.col("token_count").sum()
    return (
        lint.group_by("declared_contract")
        .agg(
            trace_count=pl.len(),
            **{f"{idiom}_share": (pl.col("idiom") == idiom).mean() for idiom in get_args(Idiom)},
            unjudged_block_count=pl.col("unjudged_count").sum(),
            unread_call_count=pl.col("unread_count").sum(),
            contradicting_share=pl.col("contradiction").is_not_null().mean(),
            early_read_share=(pl.col("early_read_count") > 0).mean(),
            reimports_per_block=pl.col("reimport_count").sum() / blocks,
            redefinitions_per_block=pl.col("redefinition_count").sum() / blocks,
            restated_share=pl.col("restated_token_count").sum() / tokens,
        )
        .sort("declared_contract", nulls_last=True)
    )
