"""Entry point for ``python -m dpverify``."""

import sys

# Python puts the working directory first in sys.path. Move it to the end, as for the
# command dpverify, so that a file there cannot replace a library; unless dpverify
# itself is in the working directory.
if not sys.flags.safe_path and sys.path[0] != __file__.removesuffix(
    "/dpverify/__main__.py"
):
    sys.path.append(sys.path.pop(0))

from dpverify.cli import main

if __name__ == "__main__":
    sys.exit(main())
