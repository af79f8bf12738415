"""The arms: ways to let one model act on the same case."""

from typing import Literal, NamedTuple

from carryover.tasks.traces.vocabulary import ContractName

ArmName = Literal["persistent_code", "stateless_code", "code_act", "json", "json_python"]


class Arm(NamedTuple):
    """Features of an arm."""

    contract: ContractName | None
    """Contract of the interpreter; None for an arm without one."""
    writes_code: bool
    """Whether a reply's block is what runs, and not a native call."""
    is_injected: bool
    """Whether the case's variables and data are live objects."""
    tells_results: bool = False
    """Whether new values of variables are told in the final answer, in place of a function that takes them."""

    @property
    def keeps_variables(self) -> bool:
        """Whether the interpreter holds the checked state.

        Else functions read and write it.
        """
        return self.is_injected and self.contract is ContractName.PERSISTENT


ARMS: dict[ArmName, Arm] = {
    "persistent_code": Arm(ContractName.PERSISTENT, writes_code=True, is_injected=True),
    "stateless_code": Arm(ContractName.STATELESS, writes_code=True, is_injected=True),
    "code_act": Arm(ContractName.PERSISTENT, writes_code=True, is_injected=False, tells_results=True),
    "json": Arm(None, writes_code=False, is_injected=False),
    "json_python": Arm(ContractName.PERSISTENT, writes_code=False, is_injected=False),
}
"""CaveAgent, CaveAgent without memory, CodeAct, native function calling, and that with a Python function."""
