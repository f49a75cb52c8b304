"""The application: its commands, and how a run ends. Heavy imports wait, so that ``--help`` answers at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from dpverify import __version__
from dpverify.cli.audit import audit
from dpverify.cli.bench import bench
from dpverify.cli.certify import certify
from dpverify.cli.conform import conform
from dpverify.cli.doctor import doctor
from dpverify.cli.experiments import calibrate, compare, party, train
from dpverify.cli.explain import explain
from dpverify.cli.listing import list_claims
from dpverify.cli.new_paper import new_paper
from dpverify.cli.output import BAD_INPUT, BROKEN_PIPE, INTERRUPTED, OK, BadInput, complain
from dpverify.cli.selftest import selftest
from dpverify.cli.site import site
from dpverify.cli.verify import verify


def build() -> App:
    """Build the application; a command returns its exit code."""
    app = App(
        name="dpverify",
        help="Executable checks of the theorems that papers on private optimization print.",
        help_epilogue="Exit codes: 0 no pinned verdict contradicted; 1 one contradicted, the sources disagree, a check "
        "broke or missed its planted fault, a proof is lost, or an audit refutes a claim; 2 bad input; 130 "
        "interrupted, with what was decided so far written.",
        help_format="plaintext",  # rich's markdown would cost --help a third of its time
        version=__version__,
        default_parameter=Parameter(negative=()),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    app.command(list_claims, name="list")
    app.command(new_paper, name="new-paper")
    using = (explain, train, party, compare, calibrate, audit, conform)
    for command in (verify, *using, certify, selftest, bench, site, doctor):
        app.command(command)
    app.register_install_completion_command(help="Teach your shell to complete commands, options and claims.")
    return app


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command. The exit code: 0, 1, 2 or 130 (141 where the reader of stdout went away)."""
    words = list(sys.argv[1:] if tokens is None else tokens)
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more when it ends
        return BROKEN_PIPE
    except SystemExit as error:
        if not isinstance(error.__context__, BrokenPipeError):  # rich's way to say so, with an exit code of 1
            raise
        return BROKEN_PIPE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    return code


def _run(words: list[str]) -> int:
    try:
        code = build()(words, exit_on_error=False, print_error=False, verbose=False)
    except (CycloptsError, BadInput) as error:
        complain(str(error))
        return BAD_INPUT
    except Exception as error:
        from dpverify.ledger.errors import SpecError  # not above: it would cost every --help the loading of the ledger

        if not isinstance(error, SpecError):
            raise
        complain(str(error))
        return BAD_INPUT
    return OK if code is None else int(code)  # --help and --version return nothing
