# SPDX-License-Identifier: Apache-2.0
"""What an experiment may say of its backing services, and that older definitions keep their hash."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.definitions import load_study
from harness.errors import InputError
from harness.measure.session import prepare
from harness.model import BackingSettings
from harness.tests.support.ledger_sessions import ledger_assembly, make_ledger_project, real_database
from harness.tests.support.sessions import REPOSITORY, make_session_project

#: Of the ledger's experiment with an index, as it was before passwords could be checked in two ways.
TINY_WITH_INDEX = "59a00868ef90bd7ae3c61e95a8959ec420e1b2cc49851dbedeb5a912dbf2e773"
MD5 = 'backing = { authentication = "md5" }'


@pytest.mark.parametrize(
    ("backing", "words"),
    [
        ("backing = { max_connection = 3 }", "max_connection: unknown key.*did you mean 'max_connections'"),
        ("backing = { max_connections = 3 }", "backing.max_connections: must be greater than or equal to 5"),
        ('backing = { storage = "tape" }', "backing.storage: must be 'disk' or 'memory'"),
        ('backing = { seed = "nothing" }', "backing.seed: unknown seed; found 'nothing'; allowed: balanced"),
        (
            "backing = { upstream = { wort = 1 } }",
            "backing.upstream: unknown setting of upstream-api.*'word'",
        ),
        ('[factors.room.small]\nbacking = { seed = "x" }', "factors.room.small.backing.seed: unknown seed"),
    ],
)
def test_a_wrong_backing_setting_is_one_line_with_its_place(tmp_path: Path, backing: str, words: str) -> None:
    root = make_ledger_project(tmp_path, backing=backing)
    with pytest.raises(InputError, match=words):
        load_study(root, "tiny")


def test_needs_and_settings_that_do_not_fit_are_one_line(tmp_path: Path) -> None:
    root = make_ledger_project(tmp_path / "ledger")
    (root / "services/ledger/contract/schema.sql").unlink()
    with pytest.raises(InputError, match=r"schema\.sql: missing, and a database is needed"):
        load_study(root, "tiny")
    service = root / "services/ledger/python-ledger/service.toml"
    service.write_text(service.read_text().replace('"postgresql", ', '"mysql", '))
    with pytest.raises(InputError, match=r"service\.toml: needs\.0: must be 'postgresql' or 'upstream'"):
        load_study(root, "tiny")
    root = make_session_project(tmp_path / "session")
    experiment = root / "harness/experiments/tiny.toml"
    experiment.write_text(experiment.read_text() + "\n[backing]\nindex = true\n")
    with pytest.raises(InputError, match="backing: not supported here: no variant needs a backing service"):
        load_study(root, "tiny")


def test_levels_change_the_backing_services_and_keep_what_they_do_not_name(tmp_path: Path) -> None:
    factors = (
        "backing = { max_connections = 50 }\n[factors.room.small]\nbacking = { max_connections = 10 }\n"
        "[factors.room.indexed]\nbacking = { index = true }\n[factors.room.stock]\n"
    )
    root = make_ledger_project(tmp_path, backing=factors)
    assembly = ledger_assembly(root, real_database(tmp_path))
    plan = prepare(assembly, "tiny", profile="smoke", host="local", seed=1).plan
    found = {trial.configuration.levels["room"]: trial.configuration.backing for trial in plan.trials}
    assert found == {
        "small": BackingSettings(max_connections=10),
        "indexed": BackingSettings(max_connections=50, index=True),
        "stock": BackingSettings(max_connections=50),
    }


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("strings-payload", "6e6a259756616d867c7fda892a23189fbe5d6745bcdc98f9c042d289c8ee3f49"),
        ("strings-startup", "aec75a6005c22e5c2b3bdb49fd11194194a7aa725b5fbfb4ef4988ccc35300a0"),
    ],
)
def test_an_experiment_keeps_its_hash_from_when_definitions_could_say_less(name: str, digest: str) -> None:
    """Sessions measured before carry their hash; it tells whether their definition still stands."""
    assert load_study(REPOSITORY, name).definition_sha256 == digest


def test_a_changed_backing_setting_is_another_definition_and_an_old_hash_is_kept(tmp_path: Path) -> None:
    named = 'backing = { index = true, authentication = "scram-sha-256", beside = "generator" }'
    backings = ("", "backing = { index = true }", named, "backing = { fsync = false }", MD5)
    hashes = [
        load_study(make_ledger_project(tmp_path / str(n), backing=backing), "tiny").definition_sha256
        for n, backing in enumerate(backings)
    ]
    assert hashes[1] == hashes[2] == TINY_WITH_INDEX
    assert len(set(hashes)) == 4
