"""The catalogue: what is needed, and in which order."""

from __future__ import annotations

import pytest

from headrace.errors import ServiceError
from headrace.services.catalog import SERVICES, with_needs


def names(*wanted: str) -> list[str]:
    return [service.name for service in with_needs(wanted)]


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        (("redis",), ["redis"]),
        (("connect",), ["kafka", "connect"]),
        (("registry", "postgres"), ["kafka", "postgres", "registry"]),
        (("redis", "redis"), ["redis"]),
    ],
)
def test_a_service_comes_with_those_it_needs(
    wanted: tuple[str, ...], given: list[str]
) -> None:
    assert names(*wanted) == given


def test_without_names_the_usual_services_are_meant() -> None:
    unusual = set(SERVICES) - set(names())

    assert unusual == {"mariadb"}
    assert names("mariadb") == ["mariadb"]


def test_a_service_stands_after_those_it_needs() -> None:
    order = list(SERVICES)

    for service in SERVICES.values():
        for need in service.needs:
            assert order.index(need) < order.index(service.name)


def test_an_unknown_service_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ServiceError) as refused:
        names("redis", "zookeeper")

    assert refused.value.slug == "service-unknown"
    assert "zookeeper" in refused.value.fact
    assert all(name in (refused.value.hint or "") for name in SERVICES)
