"""What the tests against independent routes share: the comparison, and the table that it fills."""

import pytest

from tests.oracle.conformance import PAGE, Agreement, Ledger, declared, route_of, write

LEDGER = pytest.StashKey[Ledger]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-conformance", action="store_true", help="Write the table of docs/conformance.md.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "oracle(what, by, held, relative=False): a row of docs/conformance.md")
    config.stash[LEDGER] = Ledger()


@pytest.fixture
def agree(request: pytest.FixtureRequest) -> Agreement:
    """Compares a number with what its test's route gives, and keeps how far apart they were."""
    mark = request.node.get_closest_marker("oracle")
    return Agreement(route_of(mark), request.config.stash[LEDGER])


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if session.config.getoption("--write-conformance", default=False) and exitstatus == 0:
        try:
            write(PAGE, session.config.stash[LEDGER], declared())
        except ValueError as error:
            print(f"\n{PAGE.name} is not written: {error}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
