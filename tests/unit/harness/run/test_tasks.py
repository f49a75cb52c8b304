"""What a block gives does not hang on what its process did before."""

from __future__ import annotations

from flint import ctx

from dpverify.harness.run.tasks import run_task
from dpverify.symbolic.exact.numbers import working_precision


class Precision:
    """Work that gives the precision which it finds, and leaves another one behind."""

    def run(self, block: int) -> int:
        found, ctx.prec = int(ctx.prec), 100 + block
        return found


def test_a_block_finds_one_precision_of_balls_and_leaves_its_processes_as_it_was() -> (
    None
):
    with working_precision(256):
        assert [run_task(Precision(), block).part for block in range(2)] == [53, 53]
        assert ctx.prec == 256
