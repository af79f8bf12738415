from carryover.tasks.runtime.gate import ObjectGate
from carryover.tasks.runtime.runtime_spec import RuntimeSpec


def test_a_copied_gate_learns_classes_alone_and_shares_live_objects():
    gate = ObjectGate(RuntimeSpec())
    gate.types["int"] = int
    other = gate.copy()
    other.types["str"] = str
    assert (gate.types, other.types) == ({"int": int}, {"int": int, "str": str})
    assert other.references is gate.references
    assert other.spec is gate.spec
