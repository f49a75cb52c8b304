"""The application: its commands and exit codes. Heavy imports are inside functions, to keep ``--help`` fast."""

from __future__ import annotations

import errno
import inspect
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cyclopts import App, CycloptsError, Parameter

from dpverify import __version__
from dpverify.cli.audit import audit
from dpverify.cli.bench import bench
from dpverify.cli.claims import list_claims, units
from dpverify.cli.comparing import calibrate, compare
from dpverify.cli.conform import conform
from dpverify.cli.create import new_paper, site
from dpverify.cli.doctor import doctor
from dpverify.cli.explain import conditions, explain
from dpverify.cli.output import (
    BAD_INPUT,
    BROKEN_PIPE,
    INTERRUPTED,
    OK,
    BadInput,
    complain,
    internal_failure,
    open_closed_streams,
    stdout_failure,
)
from dpverify.cli.proofs import certify, prove, rules
from dpverify.cli.selftest import selftest
from dpverify.cli.training import (
    add_algorithms,
    algorithm_first,
    calibrate_options,
    party,
    train,
    train_options,
)
from dpverify.cli.verify import verify
from dpverify.foreign import interrupts_recorded

# errors when writing to an open stream
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


EXIT_CODES = """Exit codes:
  0    success
  1    a pinned verdict is contradicted, a claim without a pin is refuted,
       inconclusive or untested (if strict_pins is set), our algebra and our
       code disagree, a check raises an error or misses its planted fault, a
       proof is lost or not accepted, an audit refutes a claim, or conform
       finds a fault or cannot run a test
  2    bad input, or output that cannot be written
  3    internal failure; DPVERIFY_TRACEBACK=1 prints the traceback
  130  interrupted; the results so far are written
  141  the program that reads stdout has ended"""


GENERATED = {"train": train_options, "calibrate": calibrate_options}
"""Commands that have a subcommand for each algorithm."""


def build(words: Sequence[str] = ()) -> App:
    """Build the application. Subcommands for algorithms are added only to the command that ``words`` call."""
    app = App(
        name="dpverify",
        help="Check the claims of papers on private optimization, and private optimizers against their accounting.",
        help_epilogue=EXIT_CODES,
        # rendering markdown would take a third of the time of --help
        help_format="plaintext",
        version=__version__,
        default_parameter=Parameter(negative=()),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    using = (explain, train, party, compare, calibrate, audit, conform)
    for command in (
        list_claims,
        units,
        new_paper,
        verify,
        conditions,
        *using,
        prove,
        rules,
        certify,
        selftest,
        bench,
        site,
        doctor,
    ):
        command.__doc__ = unwrapped(command.__doc__ or "")
        name = {list_claims: "list", new_paper: "new-paper"}.get(
            command, command.__name__
        )
        if name in GENERATED:
            text = command.__doc__.partition("Parameters\n")[0].strip()
            app.command(
                App(name=name, help=text, help_epilogue="Exit codes: dpverify --help")
            )
            if words[:1] == [name]:
                add_algorithms(app[name], command, GENERATED[name], words)
        else:
            app.command(command, name=name, help_epilogue="Exit codes: dpverify --help")
    app.register_install_completion_command(
        help="Install completion of commands, options and claims for your shell."
    )
    return app


def unwrapped(text: str) -> str:
    """Return a numpydoc docstring with each paragraph on one line, so that it can be wrapped at any width."""
    lines: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        is_indented = line.startswith(" ")
        above = lines[-1] if lines else ""
        in_parameters = "----------" in lines
        if (
            line.strip()
            and above.strip()
            and above.startswith(" ") == is_indented
            and (is_indented or not in_parameters)
        ):
            if line == "----------":
                lines.append(line)
            else:
                lines[-1] = f"{above} {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1, 2, 3, 130, or 141 if the process that reads stdout has ended."""
    open_closed_streams()
    words = list(sys.argv[1:] if tokens is None else tokens)
    if tokens is None:
        # Inherited by child processes, including those of multiprocessing: none imports
        # from the working directory.
        os.environ["PYTHONSAFEPATH"] = "1"
    with interrupts_recorded():
        try:
            code = _run(words)
        except KeyboardInterrupt:
            complain("interrupted")
            return INTERRUPTED
        except SystemExit as error:  # rich exits with 1 if a pipe is closed
            code = (
                BROKEN_PIPE
                if isinstance(error.__context__, BrokenPipeError)
                else internal_failure(error)
            )
        except BrokenPipeError:
            code = BROKEN_PIPE
        except Exception as error:  # noqa: BLE001  a crash has an exit code of its own
            code = _crashed(error)
    if (failure := stdout_failure()) is None:
        return code
    if isinstance(failure, BrokenPipeError):
        return BROKEN_PIPE
    complain(f"output: cannot be written ({failure.strerror})")
    return BAD_INPUT


def _run(words: list[str]) -> int:
    try:
        if words[:1] and words[0] in GENERATED:
            words = algorithm_first(words)
        code = build(words)(
            words, exit_on_error=False, print_error=False, verbose=False
        )
    except (CycloptsError, BadInput) as error:
        complain(str(error))
        return BAD_INPUT
    except Exception as error:
        # imported here, because --help must not load the ledger
        from dpverify.ledger.errors import SpecError

        if not isinstance(error, SpecError):
            raise
        complain(str(error))
        return BAD_INPUT
    return OK if code is None else int(code)  # --help and --version return nothing


def _crashed(error: Exception) -> int:
    """Report an unexpected exception: as bad input if the environment caused it, otherwise as an internal failure."""
    # an open stream
    if (
        isinstance(error, OSError)
        and error.filename is None
        and error.errno in UNWRITABLE
    ):
        stdout_failure()
        complain(f"output: cannot be written ({error.strerror})")
        return BAD_INPUT
    try:
        Path.cwd()
    except OSError as missing:
        complain(
            f"working directory: cannot be read ({missing.strerror}): it must exist"
        )
        return BAD_INPUT
    return internal_failure(error)
