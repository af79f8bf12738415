"""Every table of the warehouse."""

from carryover.tasks.traces.result_rows import CaveTurnRow, CheckResultRow, ClaimRow, NightVerdictRow, StatisticRow
from carryover.tasks.traces.rows import EPISODE_TABLES, InstanceRow, ItemRow, Row
from carryover.tasks.traces.study_rows import PlanStageRow, ReusedEpisodeRow, RunEndRow, RunRow
from carryover.tasks.traces.training_rows import (
    PolicyUpdateRow,
    TraceVerdictRow,
    TrainingExampleRow,
    TrainingMetricRow,
    TrainingOverlapRow,
    TrainingRunRow,
)

TABLES: dict[str, type[Row]] = {
    row.TABLE: row
    for row in (
        *(RunRow, RunEndRow, PlanStageRow, ReusedEpisodeRow),
        *(InstanceRow, ItemRow),
        *(TraceVerdictRow, TrainingExampleRow, TrainingOverlapRow, TrainingRunRow, TrainingMetricRow),
        PolicyUpdateRow,
        *(CheckResultRow, StatisticRow, NightVerdictRow, ClaimRow, CaveTurnRow),
        *EPISODE_TABLES,
    )
}
"""Row models by the name of their table."""
