import pytest

from carryover.tasks.families.new import new_family
from carryover.tasks.services.errors import UserError


def test_a_new_family_is_a_short_file(tmp_path):
    file, class_name = new_family("log_triage", tmp_path)
    text = file.read_text()
    assert (file.name, class_name) == ("log_triage.py", "LogTriage")
    assert len(text.splitlines()) <= 80
    assert "carryover run --family log_triage.py:LogTriage" in text
    assert "{{" not in text


def test_a_file_is_never_overwritten(tmp_path):
    new_family("boxes", tmp_path)
    with pytest.raises(UserError, match="exists; choose another name"):
        new_family("boxes", tmp_path)


def test_a_name_that_no_module_has_is_refused(tmp_path):
    with pytest.raises(UserError, match="invalid name 'Log-Triage'"):
        new_family("Log-Triage", tmp_path)
