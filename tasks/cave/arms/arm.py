"""The arms: ways to let one model act on the same case."""

from typing import Literal, NamedTuple

from carryover.tasks.runtime.contract import CONTRACTS, Contract
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.vocabulary import ContractName

ArmName = Literal["persistent_code", "stateless_code", "code_act", "code_to_file", "json", "json_python"]


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
    has_files: bool = False
    """Whether the variables and data are files of a working directory, which outlive the block."""

    @property
    def keeps_variables(self) -> bool:
        """Whether the interpreter holds the checked state.

        Else functions read and write it.
        """
        return self.is_injected and self.contract is ContractName.PERSISTENT

    @property
    def interpreter_contract(self) -> Contract:
        """Contract of the interpreter, with what it promises about files.

        Raises:
            ValueError: The arm has no interpreter.
        """
        if self.contract is None:
            raise ValueError("the arm has no interpreter")
        contract = CONTRACTS[self.contract]
        if not self.has_files:
            return contract
        return contract.model_copy(update={"keeps_files": True})

    def runtime_spec(self, spec: RuntimeSpec) -> RuntimeSpec:
        """Return the settings of the arm's interpreters: only files have a folder."""
        if self.has_files:
            return spec.with_folder()
        return spec


ARMS: dict[ArmName, Arm] = {
    "persistent_code": Arm(ContractName.PERSISTENT, writes_code=True, is_injected=True),
    "stateless_code": Arm(ContractName.STATELESS, writes_code=True, is_injected=True),
    "code_act": Arm(ContractName.PERSISTENT, writes_code=True, is_injected=False, tells_results=True),
    "code_to_file": Arm(ContractName.STATELESS, writes_code=True, is_injected=False, has_files=True),
    "json": Arm(None, writes_code=False, is_injected=False),
    "json_python": Arm(ContractName.PERSISTENT, writes_code=False, is_injected=False),
}
"""CaveAgent, CaveAgent without memory, CodeAct, scripts over files, native function calling, and that with Python."""
