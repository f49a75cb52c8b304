from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from dpverify.cli import main
from dpverify.conform.peers.page import PEERS_PAGE
from tests.for_each import for_each

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "my_optimizer.py"


def test_the_example_of_the_guide_conforms_and_a_mistake_in_it_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", f"{EXAMPLE}:make"]) == 0
    assert "No fault found" in capsys.readouterr().out
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        EXAMPLE.read_text().replace("SIGMA * clip *", "SIGMA / 2 * clip *")
    )
    assert main(["conform", f"{wrong}:make"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAULT  scale of noise")
    assert sum(line.startswith("FAULT") for line in lines) == 1
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 110
    assert main(["conform", f"{wrong}:make", "--verbose"]) == 1
    assert "It detects: " in capsys.readouterr().out


@for_each(
    ("text", "message"),
    [
        ("def make(): return 1, 2", "must return a PrivateOptimizer and a Promise"),
        ("def make(): return 1", "must return a PrivateOptimizer and a Promise"),
        ("def make(): return None", "must return a PrivateOptimizer and a Promise"),
        ("def make(): return 1, 2, 3", "must return a PrivateOptimizer and a Promise"),
        ("def make(): return {}", "or a dict of such pairs that is not empty"),
        ("make = 3", "must be a function"),
    ],
)
def test_what_is_no_optimizer_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    file = tmp_path / f"file_{abs(hash(text))}.py"
    file.write_text(text)
    assert main(["conform", f"{file}:make"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_report_says_what_was_found_of_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mistakes = EXAMPLE.parent / "peers" / "known_mistakes.py"
    names = [name for name in runpy.run_path(str(mistakes)) if name.startswith("make")]
    assert (
        main(
            [
                "conform",
                *(f"{mistakes}:{name}" for name in names),
                "--report",
                str(tmp_path),
            ]
        )
        == 1
    )
    capsys.readouterr()
    run = PEERS_PAGE.read(tmp_path)
    assert run is not None
    assert [peer.says for peer in run.peers if not peer.failed] == [
        "DP-SGD without a mistake, for comparison."
    ]
    assert len(run.peers) == len(names) >= 9
    assert all("https://github.com/" in peer.says for peer in run.peers if peer.failed)
    assert run.peers[0].versions.keys() == {"numpy"}
    assert (tmp_path / "peers.md").read_text("utf-8").count(
        "peers/known_mistakes.py:make_shuffled"
    ) == 2


def test_without_a_target_one_line_says_what_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["conform"]) == 2
    assert "at least one" in capsys.readouterr().err


SOME = """
from tests.unit.conform import catalogue
def some():
    return {name: catalogue.mistakes()[name] for name in ("no clipping", "each coordinate is clipped")}
def good():
    return {"DP-SGD": catalogue.right()["DP-SGD"]}
def bad():
    return {"a": 1}
def audit(given):
    "An auditor that looks at one run."
    return "too long" if abs(given.cases[0].sample(1, given.seed)[0]).max() > 1e3 else ""
"""


def test_a_dict_of_optimizers_is_judged_with_seeds_and_beside_others_and_peers_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, report = tmp_path / "some.py", tmp_path / "reports"
    file.write_text(SOME)
    assert main(["conform", f"{EXAMPLE}:make", "--report", str(report)]) == 0
    both = [
        f"{file}:some",
        f"{file}:good",
        "--seeds",
        "2",
        "--beside",
        f"{file}:audit",
        "--report",
        str(report),
    ]
    assert main(["conform", *both]) == 1
    said = capsys.readouterr().out
    assert (
        f"no clipping: 2 of 2; sensitivity; {tmp_path.name}/some.py:audit: too long"
        in said
    )
    assert f"DP-SGD: 0 of 2; {tmp_path.name}/some.py:audit: nothing" in said
    run = PEERS_PAGE.read(report)
    assert run is not None
    assert run.catalogue is not None
    assert (len(run.peers), len(run.catalogue.entries), run.catalogue.seeds) == (
        1,
        3,
        2,
    )
    assert list(run.catalogue.auditors.values()) == [
        "An auditor that looks at one run."
    ]
    assert main(["conform", f"{EXAMPLE}:make", "--report", str(report)]) == 0
    again = PEERS_PAGE.read(report)
    assert again is not None
    assert again.catalogue == run.catalogue


def test_one_optimizer_is_counted_over_seeds_and_recorded_with_the_versions_of_its_libraries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["conform", f"{EXAMPLE}:make", "--seeds", "2", "--report", str(tmp_path)])
        == 0
    )
    assert ": 0 of 2" in capsys.readouterr().out
    run = PEERS_PAGE.read(tmp_path)
    assert run is not None
    assert run.peers == []
    (seeded,) = run.seeded
    assert (seeded.seeds, seeded.runs, seeded.faults) == (2, 2, 0)
    assert seeded.versions.keys() == {"numpy"}


def test_what_is_no_dict_of_optimizers_and_no_seed_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "some_bad.py"
    file.write_text(SOME)
    assert main(["conform", f"{file}:bad"]) == 2
    assert "must return a PrivateOptimizer and a Promise" in capsys.readouterr().err
    assert main(["conform", f"{file}:good", "--seeds", "0"]) == 2
    assert "--seeds 0: must be at least 1" in capsys.readouterr().err


INCOMPLETE = """
from tests.unit.conform.test_replay import SHORT, released_momentum
from dpverify.conform import PrivateOptimizer
def make():
    return PrivateOptimizer(released_momentum), SHORT
def several():
    return {"momentum": make()}
"""


def test_a_test_that_cannot_be_run_is_part_of_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "incomplete.py"
    file.write_text(INCOMPLETE)
    assert main(["conform", f"{file}:make"]) == 1
    assert capsys.readouterr().out.startswith("Incomplete: 1 of")
    assert main(["conform", f"{file}:several"]) == 1
    assert capsys.readouterr().out == "momentum: 0 of 1; not tested: state\n"


FOREIGN = """
import ctypes, os, sys
from tests.unit.conform.catalogue import dp_sgd, promise
from dpverify.conform import PrivateOptimizer
PROMISE = promise(steps=2, dimension=2)
def pair(at_end):
    def step(state, g, rng):
        if len(g) == 4 * PROMISE.batch:
            at_end()
        return dp_sgd(state, g, rng)
    return PrivateOptimizer(step), PROMISE
def leave(): os._exit(0)
def hang(): ctypes.PyDLL(None).sleep(600)  # in C, with the interpreter's lock
def crash(): os.kill(os.getpid(), 9)
def leaving(): return pair(leave)
def hanging(): return pair(hang)
def crashing(): return pair(crash)
def exiting(): return pair(sys.exit)
def several(): return {"exits": exiting(), "leaves": leaving(), "is right": pair(lambda: None)}
def make_exits(): sys.exit(0)
def make_leaves(): os._exit(0)
"""


@for_each(
    ("name", "code", "message"),
    [
        (
            "leaving",
            1,
            "FAULT  calls in this optimizer: step ended its process with exit code 0",
        ),
        (
            "crashing",
            1,
            "FAULT  calls in this optimizer: step ended its process by signal 9",
        ),
        ("exiting", 1, "step raised SystemExit"),
        ("make_exits", 2, "raised SystemExit: 0"),
        ("make_leaves", 2, "ended its process with exit code 0"),
    ],
)
def test_code_that_exits_is_a_named_failure(
    name: str,
    code: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "foreign.py"
    file.write_text(FOREIGN)
    assert main(["conform", f"{file}:{name}"]) == code
    out, err = capsys.readouterr()
    assert message in out + err


def test_what_was_found_before_an_exit_is_kept_and_others_are_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "foreign.py"
    file.write_text(FOREIGN)
    assert (
        main(
            [
                "conform",
                f"{file}:several",
                f"{file}:leaving",
                f"{EXAMPLE}:make",
                "--report",
                str(tmp_path),
            ]
        )
        == 1
    )
    out = capsys.readouterr().out
    assert "exits: 1 of 1; every batch" in out
    assert "leaves: 1 of 1; calls; step ended its process with exit code 0" in out
    assert "is right: 0 of 1" in out
    assert "No fault found" in out
    run = PEERS_PAGE.read(tmp_path)
    assert run is not None
    assert [peer.failed for peer in run.peers][-1] == []
    (seeded,) = run.seeded
    assert [entry.found for entry in seeded.entries] == [1, 1, 0]


def test_code_that_hangs_in_c_is_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "foreign.py"
    file.write_text(FOREIGN)
    assert main(["conform", f"{file}:hanging", "--timeout", "10"]) == 1
    assert (
        "calls in this optimizer: step did not return within 10 s"
        in capsys.readouterr().out
    )


def test_a_limit_is_a_number_of_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", f"{EXAMPLE}:make", "--timeout", "-1"]) == 2
    assert "--timeout -1.0: must be at least 0" in capsys.readouterr().err


ON_DEVICE = """
import torch
from dpverify.conform import PrivateOptimizer, Promise

PROMISE = Promise(sigma=1.1, clip=0.7, divisor=8, steps=2, dimension=2, dtype="float32")


def make(device):
    def step(state, gradients, rng):
        g = torch.from_numpy(gradients).to(device, torch.float32)
        generator = torch.Generator(device).manual_seed(int(rng.integers(2**62)))
        g = g * (0.7 / g.norm(dim=1, keepdim=True).clamp(min=1e-12)).clamp(max=1.0)
        return state, (g.sum(dim=0) + 0.77 * torch.randn(2, generator=generator, device=device)) / 8

    return PrivateOptimizer(step), PROMISE


def without():
    return make("cpu")
"""


def test_a_target_gets_the_device_and_another_part_of_a_report_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    file = tmp_path / "on_device.py"
    file.write_text(ON_DEVICE)
    assert (
        main(["conform", f"{file}:make", "--device", "cpu", "--report", str(tmp_path)])
        == 0
    ), capsys.readouterr().out
    recorded = PEERS_PAGE.read(tmp_path)
    assert recorded is not None
    assert recorded.command.endswith("--device cpu")
    assert recorded.card is None
    capsys.readouterr()
    for target, device, message in (
        (
            "make",
            "meta",
            "--device meta: must be a device of this machine on which PyTorch computes",
        ),
        (
            "make",
            "cuda:99",
            "--device cuda:99: must be a device of this machine on which PyTorch computes",
        ),
        (
            "without",
            "cpu",
            "on_device.py:without: must have a parameter 'device' for --device",
        ),
        ("make", None, "make() missing 1 required positional argument: 'device'"),
    ):
        assert (
            main(
                [
                    "conform",
                    f"{file}:{target}",
                    *(["--device", device] if device else []),
                ]
            )
            == 2
        )
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
