import os

from carryover.tasks.runtime.inside.open_files import OpenFiles, identity_of


def test_file_of_another_device_with_the_same_inode_stays(tmp_path):
    (tmp_path / "kept").write_bytes(b"kept")
    (tmp_path / "moved").write_bytes(b"moved")
    with (tmp_path / "kept").open("rb") as opened:
        files = OpenFiles()
        files.note([opened.fileno()])
        device, inode = identity_of(os.fstat(opened.fileno()))
        assert files.put_back({(device + 1, inode): str(tmp_path / "moved")}) == {}
        assert opened.read() == b"kept"


def test_number_that_leads_to_another_file_by_now_is_left_alone(tmp_path):
    former = os.open(tmp_path / "former", os.O_RDWR | os.O_CREAT)
    os.write(former, b"former")
    (tmp_path / "former").unlink()
    files = OpenFiles()
    files.note([former])
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    os.write(other, b"other")
    os.dup2(other, former)
    files.put_back({})
    assert os.pread(other, 10, 0) == b"other"
    os.close(former)
    os.close(other)
