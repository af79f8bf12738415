"""Summary of a linted data set, one row per declared contract."""

import polars as pl


def summarise_lint(lint: pl.DataFrame) -> pl.DataFrame:
    """Return shares and rates per declared contract.

    Args:
        lint: What `lint_traces` returned.

    Returns:
        One row per declared contract, nulls last: `declared_contract`, `trace_count`, shares of traces in [0, 1] by
        idiom, `contradicting_share` and `early_read_share`, rates per block over all blocks, and `restated_share` of
        all tokens.
    """
    idiom = pl.col("idiom")
    blocks, tokens = pl.col("block_count").sum(), pl.col("token_count").sum()
    return (
        lint.group_by("declared_contract")
        .agg(
            trace_count=pl.len(),
            needs_persistence_share=(idiom == "needs_persistence").mean(),
            mixed_share=(idiom == "mixed").mean(),
            stateless_safe_share=(idiom == "stateless_safe").mean(),
            single_block_share=(idiom == "single_block").mean(),
            unjudged_share=(idiom == "unjudged").mean(),
            no_code_share=(idiom == "no_code").mean(),
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
