from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from dpverify.bench.case import BenchCase, Target, sweep
from dpverify.bench.measure import YARDSTICK, FormTimes, Measured
from dpverify.bench.report.page import (
    METHOD,
    bench_page,
    check_bench,
    read_bench,
    recorded_bench,
    regenerate_bench,
    render_bench,
    write_bench,
)
from dpverify.bench.report.words import (
    show_bound,
    show_bytes,
    show_interval,
    show_seconds,
    show_value,
    three,
)
from dpverify.bench.results import Bench, busy, median_interval
from dpverify.ledger.records import encode
from dpverify.report.collect import ReportError
from dpverify.report.words import FIGURE_MARK, GENERATED
from tests.for_each import for_each
from tests.unit.bench.runs import bench, case, info, record
from tests.unit.report.rendering import cells, dead_links, raw_tables, shown, tables


def example() -> Bench:
    targets = [
        Target("ours", at_most=1.2),
        Target("ours", at_most=1e-3, kind="seconds"),
        Target("ours", at_least=9.0),
    ]
    one = record(
        case("sum", targets=targets, work=1000.0, item="step"),
        [{"limit": [1.0, 1.1], "ours": [1.1, 1.2]}] * 9,
    )
    grown = [
        Target("ours", at_most=1.1, kind="exponent"),
        Target("ours", at_most=1.5, kind="memory-exponent"),
    ]
    swept = []
    for each in sweep(
        case("tree-walk", targets=grown, parameters={"d": 3}), "T", (10, 100, 1000)
    ):
        size = each.parameters["T"]
        time = size**1.05
        swept.append(
            record(
                each,
                [
                    Measured(
                        {
                            "limit": FormTimes([time / 2]),
                            "ours": FormTimes(
                                [time * (1 + 0.01 * number)],
                                added=int(1000 * size) if number == 0 else None,
                            ),
                        }
                    )
                    for number in range(9)
                ],
            )
        )
    found = Measured(
        {"limit": FormTimes([2.0], peaks=[2**30])}, {"ours": "opacus is not installed"}
    )
    whole = record(case("whole", clock="wall"), [found], "verification")
    broken = record(case("broken"), [], error="ValueError: a | b")
    return bench(one, *swept, broken, whole)


@pytest.fixture(scope="module")
def page() -> str:
    return render_bench(example())["benchmarks.md"].decode()


def decode(data: bytes) -> Bench:
    return msgspec.json.decode(data, type=Bench)


def row(page: str, start: str) -> list[str]:
    return next(
        cells(line) for table in raw_tables(page) for line in table if start in line
    )


def test_targets_come_first_with_what_was_measured(page: str) -> None:
    assert "**5 targets: 3 met, 2 missed.**" in page
    assert page.index("5 targets:") < page.index("Each number is the ratio")
    assert row(page, "at most 1.2")[1:] == [
        "ours / limit",
        "at most 1.2",
        "1.10 (1.10 to 1.10)",
        "9",
        "✓ met",
    ]
    assert row(page, "at most 1 ms")[3:] == [
        "1.15 ms (1.15 to 1.15 ms)",
        "9",
        "✗ **missed**",
    ]
    assert row(page, "| at least 9 | 1.10 (1.10 to 1.10) | 9")[5] == "✗ **missed**"
    assert row(page, "exponent of the time of ours")[2:] == [
        "at most 1.1",
        "1.05 (1.05 to 1.05)",
        "9",
        "✓ met",
    ]
    assert (
        row(page, "exponent of the memory of ours")[3] == "1.00 (one run, no interval)"
    )


def test_every_form_has_its_row(page: str) -> None:
    assert row(page, "limit (the limit)")[2] == "1.05 ms a step"
    assert row(page, "| ours | 1.15 ms a step")[3:] == ["1.10 (1.10 to 1.10)", ""]
    assert "opacus is not installed" in page
    assert "1.00 GiB" in row(page, "2.00 s")
    assert "could not be measured: ValueError: a | b" in shown(page)


def test_a_limit_of_ours_is_called_so() -> None:
    run = bench(
        record(
            case("a", limit_is_ours=True),
            [{"limit": [1.0], "ours": [1.0], YARDSTICK: [1.0]}] * 6,
        )
    )
    assert "limit (the limit, ours)" in bench_page(run, {})
    assert YARDSTICK not in bench_page(run, {})
    assert decode(encode(run)).cases[0].forms[-1].samples == [[1.0]] * 6


def test_a_sweep_has_its_figure(page: str) -> None:
    assert re.search(r"!\[.*tree-walk.*\]\(figures/bench-noise\.svg\)", page)


def test_the_run_time_of_algorithm_4_stands_before_the_targets_with_its_exponents() -> (
    None
):
    passes = [
        [
            Measured(
                {
                    "limit": FormTimes([size]),
                    "ours": FormTimes([size ** (2 + 0.01 * number)]),
                }
            )
            for number in range(6)
        ]
        for size in (10.0, 100.0)
    ]
    sizes = sweep(case("over-t"), "T", (10, 100))
    made = render_bench(
        bench(
            *(
                record(one, found, "scaling")
                for one, found in zip(sizes, passes, strict=True)
            )
        )
    )
    page = made["benchmarks.md"].decode()
    assert "figures/bench-scaling.svg" in made
    assert page.count("(figures/bench-scaling.svg)") == 1
    front = page[: page.index("## Targets, one by one")]
    assert "(figures/bench-scaling.svg)" in front
    assert row(front, "ours")[1:] == ["2.02 (2.00 to 2.05)"]
    assert row(front, "limit")[1:] == ["1.00 (1.00 to 1.00)"]


def test_what_a_paper_prints_stands_beside_a_sweep() -> None:
    walk = case("walk", printed={"Table 4, of a paper": [(5.0, 3.52), (10.0, 18.04)]})

    def drawn(one: BenchCase) -> dict[str, bytes]:
        sizes = sweep(one, "T", (10, 100))
        return render_bench(
            bench(
                *(
                    record(each, [{"limit": [1.0], "ours": [each.parameters["T"]]}] * 9)
                    for each in sizes
                )
            )
        )

    found, without = drawn(walk), drawn(replace(walk, printed={}))
    told = "Printed of `walk`, on another machine: Table 4, of a paper: 3.52 s at T = 5, 18.04 s at T = 10."
    assert told in found["benchmarks.md"].decode()
    assert "Printed of" not in without["benchmarks.md"].decode()
    assert found["figures/bench-noise.svg"] != without["figures/bench-noise.svg"]


def test_growth_is_told_with_its_sizes() -> None:
    sizes = sweep(
        case("walk", targets=[Target("ours", at_most=1.1, kind="exponent")]),
        "T",
        (10, 100),
    )
    run = bench(
        *(
            record(each, [{"limit": [1.0], "ours": [each.parameters["T"] ** 1.5]}] * 9)
            for each in sizes
        )
    )
    told = row(bench_page(run, {}), "exponent of the time of ours")
    assert told[0].endswith("T = 10 to 100, 2 sizes")
    assert told[3].startswith("1.50")


def test_the_page_is_well_formed(page: str) -> None:
    for table in raw_tables(page):
        assert len({len(cells(line)) for line in table}) == 1
    assert tables(page) == len(list(raw_tables(page)))
    files = {"benchmarks.md": page}
    others = {*render_bench(example()), "data/benchmarks.json"}
    assert dead_links(files, others) == []
    assert " ".join(METHOD.split()) in page


def test_the_same_run_gives_the_same_bytes() -> None:
    assert render_bench(example()) == render_bench(decode(encode(example())))


def test_figures_are_pictures_without_a_date() -> None:
    for name, content in render_bench(example()).items():
        if name.endswith(".svg"):
            assert ET.fromstring(content).tag.endswith("svg")
            assert b"<dc:date>" not in content


def test_a_disturbed_a_quick_and_an_interrupted_run_say_so() -> None:
    quiet, disturbed = info(others=0.02, load_before=3.0), info(others=0.8)
    assert not busy(quiet)
    assert busy(disturbed)
    assert busy(info(load_before=1.0))
    run = example()
    told = bench_page(
        Bench(
            runs=[info(others=0.8, quick=True, interrupted=True)],
            groups=run.groups,
            cases=run.cases,
        ),
        {},
    )
    for words in (
        "Other processes were at work on the machine (0.8 cores",
        "was interrupted",
        "A quick run",
    ):
        assert words in told
        assert words not in bench_page(run, {})


def test_written_checked_and_written_again(tmp_path: Path) -> None:
    changed = write_bench(example(), tmp_path)
    assert "benchmarks.md" in changed
    assert "data/benchmarks.json" in changed
    assert check_bench(tmp_path) == []
    assert regenerate_bench(tmp_path) == []
    assert recorded_bench(tmp_path) == example()
    (tmp_path / "benchmarks.md").write_text(f"{GENERATED}\nchanged")
    (tmp_path / "figures" / "bench-old.svg").write_text(FIGURE_MARK)
    (tmp_path / "figures" / "tran2022-x.svg").write_text("of others")
    assert check_bench(tmp_path) == ["benchmarks.md", "figures/bench-old.svg"]
    assert regenerate_bench(tmp_path) == ["benchmarks.md", "figures/bench-old.svg"]
    assert (tmp_path / "figures" / "tran2022-x.svg").exists()


def test_a_page_without_data_goes_away(tmp_path: Path) -> None:
    assert check_bench(tmp_path) == []
    write_bench(example(), tmp_path)
    (tmp_path / "data" / "benchmarks.json").unlink()
    assert "benchmarks.md" in check_bench(tmp_path)
    regenerate_bench(tmp_path)
    assert check_bench(tmp_path) == []
    assert not (tmp_path / "benchmarks.md").exists()


def test_damaged_data_are_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "benchmarks.json").write_text("{")
    with pytest.raises(ReportError, match=r"data/benchmarks\.json: no JSON"):
        check_bench(tmp_path)


@for_each("value", [0.0, -1.0])
def test_times_that_no_clock_tells_are_refused(value: float, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(
        encode(
            bench(record(case("sum"), [{"limit": [1.0], "ours": [value + 2.0]}]))
        ).replace(str(value + 2.0).encode(), str(value).encode())
    )
    with pytest.raises(
        ReportError, match=f"run.json: sum, .*: {value}: a time is above 0"
    ):
        read_bench(file, file.name)


@for_each(
    ("value", "words"),
    [
        (1.5, "1.50 s"),
        (0.0123, "12.3 ms"),
        (4.56e-6, "4.56 µs"),
        (7.89e-8, "78.9 ns"),
        (1e-10, "0.100 ns"),
        (250, "250 s"),
    ],
)
def test_seconds(value: float, words: str) -> None:
    assert show_seconds(value) == words


@for_each(
    ("value", "words"), [(512, "512 B"), (2048, "2.00 KiB"), (3 * 2**20, "3.00 MiB")]
)
def test_bytes(value: float, words: str) -> None:
    assert show_bytes(value) == words


@for_each(
    ("value", "words"),
    [
        (1.0, "1.00"),
        (12.34, "12.3"),
        (104.4, "104"),
        (9.999, "10.0"),
        (0.0123, "0.0123"),
        (0, "0"),
    ],
)
def test_three_digits(value: float, words: str) -> None:
    assert three(value) == words


def test_bounds_and_exponents() -> None:
    assert show_bound(50e-6, "seconds") == "50 µs"
    assert show_bound(1.2, "ratio") == "1.2"
    assert show_value(-0.004, "exponent") == "0.00"


def test_an_interval_of_a_low_level_says_so() -> None:
    passes = [[1.0], [1.1], [1.2]]
    assert show_interval(median_interval(passes)) == "1.10 (1.00 to 1.20, 75%)"
    assert show_interval(median_interval(passes * 3)) == "1.10 (1.00 to 1.20)"
    assert (
        show_interval(median_interval(passes * 2), "seconds")
        == "1.10 s (1.00 to 1.20 s)"
    )
