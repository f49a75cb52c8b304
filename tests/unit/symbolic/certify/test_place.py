"""What a place of a certificate keeps of what it computed."""

from dpverify.symbolic.certify.checker import k
from dpverify.symbolic.certify.place import FactList


def test_what_is_computed_is_kept_until_a_fact_comes() -> None:
    scope, x, asked = k.Scope({"x": "real"}, []), k.letter("x"), list[str]()

    def known(relation: str) -> bool:
        asked.append(relation)
        return bool(scope.holds(relation, scope.form(x)))

    place = FactList(None, scope, [])
    assert [
        place.cached(known, ">="),
        place.cached(known, ">="),
        place.cached(known, ">"),
    ] == [False, False, False]
    assert asked == [">=", ">"]
    scope.learn(">=", x)
    assert [place.cached(known, ">="), place.cached(known, ">")] == [True, False]
