from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpverify.cli.output import BadInput, check_folder, check_json
from dpverify.report.files import write_json
from tests.for_each import for_each


@for_each("target", ["", "--jobs", "."])
def test_a_json_target_that_is_no_file_is_refused(target: str) -> None:
    with pytest.raises(BadInput, match=r"--json"):
        check_json(target)


def test_a_json_target_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file or directory"):
        check_json(str(tmp_path / "absent" / "run.json"))


def test_checking_leaves_nothing_behind(tmp_path: Path) -> None:
    check_json(str(tmp_path / "run.json"))
    check_folder("--report", tmp_path / "out" / "deep")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "out"]
    check_json(None)
    check_json("-")


def test_a_report_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(BadInput, match=r"--report .*cannot be made a folder"):
            check_folder("--report", folder)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    target.write_bytes(b"old and longer")
    write_json("json", str(target), b"{}\n")
    assert target.read_bytes() == b"{}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask


def test_stdout_gets_the_bytes_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_json("json", "-", b"{}\n")
    assert capsys.readouterr() == ("{}\n", "")


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_json(str(pipe))
        write_json("json", str(pipe), b"{}\n")
        assert os.read(reader, 100) == b"{}\n"
        assert pipe.is_fifo()
    finally:
        os.close(reader)
