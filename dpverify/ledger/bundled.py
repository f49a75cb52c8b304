"""Where the specs that come with dpverify lie: in the wheel beside the package, in a checkout beside its folder."""

from __future__ import annotations

from pathlib import Path

from dpverify.ledger.errors import SpecError

_PACKAGE = Path(__file__).resolve().parents[1]


def bundled_specs(package: Path = _PACKAGE) -> Path:
    """Return the folder of the bundled specs.

    Parameters
    ----------
    package
        Folder of the installed package.

    Returns
    -------
    Path
        ``_specs`` in the package if it was installed from a wheel, else ``specs`` beside it.

    Raises
    ------
    SpecError
        If there is neither.
    """
    places = (package / "_specs", package.parent / "specs")
    for place in places:
        if place.is_dir():
            return place
    tried = " and ".join(str(place) for place in places)
    raise SpecError(str(package), "", "", "", f"no bundled specs: looked for {tried}")
