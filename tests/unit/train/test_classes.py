"""More than two classes: files and bundled sets, every method that has gradients of examples, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpverify.cli import main
from dpverify.compare.records import CompareRequest
from dpverify.compare.run import compare
from dpverify.problems.data import load_dataset
from dpverify.problems.errors import MOST_CLASSES, DataError
from dpverify.train.command import summary
from dpverify.train.records import Request
from dpverify.train.run import train
from tests.for_each import for_each


def table(folder: Path, classes: int = 3, each: int = 20) -> Path:
    """Points around a place for each class, which a linear score tells apart."""
    rng, lines = np.random.default_rng(0), []
    for k in range(classes):
        centre = np.eye(classes)[k] * 3
        lines += [
            ",".join(f"{v:.4f}" for v in centre + rng.normal(size=classes)) + f",c{k}"
            for _ in range(each)
        ]
    file = folder / "d.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


@for_each("algorithm", ["dp-nsgd", "sr-nsgd", "dp-srm", "dpageem", "dp-sgd"])
def test_every_method_lowers_the_loss_and_has_the_constants_of_softmax(
    tmp_path: Path, algorithm: str
) -> None:
    result = train(
        Request(algorithm, data=table(tmp_path), sigma=0.0, epochs=20, lam=0.0)
    )
    assert result.data.classes == ("c0", "c1", "c2")
    assert (result.data.d, len(result.w)) == (9, 9)
    assert result.constants.lipschitz == pytest.approx(2**0.5, rel=1e-13)
    assert result.constants.smoothness == 0.5
    assert result.path[0].loss == pytest.approx(np.log(3))
    assert result.path[-1].loss < 0.9 * np.log(3)
    assert "classes c0, c1 and c2" in summary(result)


def test_privacy_is_certified_and_noise_follows_the_constants(tmp_path: Path) -> None:
    file = table(tmp_path)
    three = train(Request(data=file, epsilon=2.0, delta=1e-5, epochs=2))
    assert three.epsilon == 2.0
    assert any("the classes are read from the data" in note for note in three.notes)
    lines = [line for line in file.read_text().splitlines() if not line.endswith("c2")]
    file.write_text("\n".join(lines) + "\n")
    assert not any(
        "the classes" in note
        for note in train(Request(data=file, sigma=1.0, epochs=2)).notes
    )


def test_a_comparison_counts_wrong_classes(tmp_path: Path) -> None:
    result = compare(
        CompareRequest(
            data=table(tmp_path, each=60), epsilon=8.0, delta=1e-5, epochs=20, seeds=2
        )
    )
    errors = {
        method.name: [one.test_error for one in method.outcomes]
        for method in result.methods
    }
    assert max(errors["dp-gd"]) < 0.4  # a guess is wrong in two of three
    assert max(errors["nsgd"]) < 0.4


def test_bundled_sets_have_names_unless_a_file_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, n, classes in (("iris", 150, 3), ("wine", 178, 3), ("digits", 1797, 10)):
        found = load_dataset(Path(name), most=MOST_CLASSES)
        assert (found.name, len(found.x), len(found.classes), found.standardised) == (
            name,
            n,
            classes,
            True,
        )
        assert set(np.unique(found.y)) == set(range(classes))
    with pytest.raises(DataError, match="iris: has 3 classes, at most 2"):
        load_dataset(Path("iris"))
    Path("iris").write_text("0 1:1\n1 1:2\n")
    assert len(load_dataset(Path("iris")).x) == 2


@for_each(
    ("algorithm", "labels", "message"),
    [
        ("ddp-srm", "abcabc", "labels must be two classes, found 3: a, b, c"),
        (
            "dp-nsgd",
            "abcdef",
            "labels must be 2 to 1000 classes, of two examples or more on the average, found 6",
        ),
        ("dp-nsgd", "aaaaaa", "found 1: a"),
    ],
)
def test_what_is_no_classification_is_refused(
    tmp_path: Path, algorithm: str, labels: str, message: str
) -> None:
    file = tmp_path / "d.csv"
    file.write_text("".join(f"{k},{label}\n" for k, label in enumerate(labels)))
    with pytest.raises(DataError, match=message):
        train(Request(algorithm, data=file))


def test_the_command_takes_what_the_function_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [
        "train",
        "--data",
        "iris",
        "--epochs",
        "1",
        "--sigma",
        "1",
        "--json",
        "run.json",
    ]
    assert main(words) == 0
    assert json.loads((tmp_path / "run.json").read_bytes())["data"]["classes"] == [
        "setosa",
        "versicolor",
        "virginica",
    ]
    assert main([*words, "--algorithm", "ddp-srm", "--batch", "9"]) == 2
