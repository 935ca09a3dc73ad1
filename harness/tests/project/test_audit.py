# SPDX-License-Identifier: Apache-2.0
"""`make sbom` lists what is locked, and `make audit` never calls a package safe that it did not ask about."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from setup import audit, sbom
from setup.say import SetupError

PROJECT = Path(__file__).resolve().parents[3]


def test_the_bill_lists_every_locked_package_with_its_hashes() -> None:
    made = sbom.document(PROJECT)
    lock = (PROJECT / "requirements.lock").read_text("utf-8")
    pinned = set(re.findall(r"^([A-Za-z0-9][\w.-]*==[^\s;\\]+)", lock, re.MULTILINE))
    components = made["components"]
    assert isinstance(components, list)
    listed = {f"{one['name']}=={one['version']}" for one in components}
    assert pinned <= listed and len(pinned) > 100
    content = {
        one["hashes"][0]["content"] for component in components for one in component["externalReferences"]
    }
    assert set(re.findall(r"sha256:([0-9a-f]{64})", lock)) <= content


def test_the_bill_has_the_form_of_cyclonedx_and_the_same_bytes_each_time() -> None:
    made = sbom.document(PROJECT)
    assert made["bomFormat"] == "CycloneDX" and made["specVersion"] == "1.6"
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", str(made["serialNumber"]))
    components = made["components"]
    assert isinstance(components, list)
    references = [one["bom-ref"] for one in components]
    assert len(set(references)) == len(references)
    assert all(one["type"] == "library" and one["purl"].startswith("pkg:pypi/") for one in components)
    assert json.dumps(made) == json.dumps(sbom.document(PROJECT))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("numpy>=2\n", r"line 1: found 'numpy>=2'"),
        ("numpy==2.0\n", r"numpy has no hash"),
    ],
)
def test_a_lock_without_pins_or_hashes_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.lock").write_text(text)
    with pytest.raises(SetupError, match=said):
        sbom.read_pins(tmp_path / "a.lock")


def test_a_marker_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.lock").write_text(
        f"a.b_c==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:{'0' * 64}\n"
    )
    (pin,) = sbom.read_pins(tmp_path / "a.lock")
    assert pin.marker == "sys_platform == 'win32'" and pin.purl == "pkg:pypi/a-b-c@1.0"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a lock of one package, and a program in the place of pip-audit that says what it is told."""
    for lock in sbom.LOCKS:
        (tmp_path / lock).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / lock).write_text(f"a==1.0 \\\n    --hash=sha256:{'0' * 64}\n")
    (tmp_path / audit.PIN).write_text("pip-audit==0\n")
    program = tmp_path / audit.FOLDER / "bin" / "pip-audit"
    program.parent.mkdir(parents=True)
    (tmp_path / audit.FOLDER / "pins.txt").write_text("pip-audit==0\n")
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\nsaid = os.environ['SAID']\n"
        "if not said:\n    sys.exit('ConnectionError: no route to the data')\n"
        "open(sys.argv[sys.argv.index('--output') + 1], 'w').write(said)\n"
    )
    program.chmod(0o755)
    return tmp_path


def test_known_vulnerabilities_are_named_and_fail(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["1.1"]}
    said = json.dumps({"dependencies": [{"name": "a", "version": "1.0", "vulns": [known]}]})
    assert audit.audit(project, {"SAID": said}) == 1
    assert "a 1.0: PYSEC-1 (CVE-1); mended in 1.1" in capsys.readouterr().out


def test_nothing_known_of_any_package_is_success(project: Path) -> None:
    said = {"dependencies": [{"name": "a", "version": "1.0", "vulns": []}]}
    assert audit.audit(project, {"SAID": json.dumps(said)}) == 0


def test_an_index_that_knows_no_package_has_audited_nothing(project: Path) -> None:
    said = {"dependencies": [{"name": "a", "skip_reason": "not found"}]}
    with pytest.raises(SetupError, match="a: not found"):
        audit.audit(project, {"SAID": json.dumps(said)})


def test_what_was_left_out_is_said_and_is_no_success(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dependencies = [{"name": "a", "version": "1.0", "vulns": []}, {"name": "b", "skip_reason": "not found"}]
    assert audit.audit(project, {"SAID": json.dumps({"dependencies": dependencies})}) == 2
    said = capsys.readouterr().out
    assert (
        "0 known vulnerabilities" in said and "b: not found" in said and "1 packages were not audited" in said
    )


def test_without_the_data_nothing_is_called_audited(project: Path) -> None:
    with pytest.raises(SetupError, match="ConnectionError: no route to the data"):
        audit.audit(project, {"SAID": ""})


def test_an_unknown_service_is_refused(project: Path) -> None:
    with pytest.raises(SetupError, match="allowed: pypi, osv"):
        audit.audit(project, {"SAID": "", "AUDIT_SERVICE": "mine"})


def test_pip_audit_itself_is_pinned_by_hash() -> None:
    pins = sbom.read_pins(PROJECT / audit.PIN)
    assert "pip-audit" in {pin.name for pin in pins} and all(pin.sha256 for pin in pins)
