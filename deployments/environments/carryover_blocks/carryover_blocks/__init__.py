"""Carryover's environment for verifiers: a taskset, its task and its harness."""

from carryover.tasks.environment.for_verifiers import BlockHarness, BlockTaskset

__all__ = ["BlockHarness", "BlockTaskset"]
