# SPDX-License-Identifier: Apache-2.0
"""Set-up brings what ``.venv`` lacks or has in another version, and leaves what a user installed: with the real uv."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from setup import python_env

#: The one that environments are made from: it has pip more often than one of them.
PYTHON = getattr(sys, "_base_executable", sys.executable)
REPOSITORY = Path(__file__).resolve().parents[3]
#: Builds a project that is nothing but its script, so that no package has to be fetched for it.
BACKEND = """
import zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "rematch-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        info = "rematch-0.1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: rematch\\nVersion: 0.1.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\\nrematch = sys:exit\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""


class Packaged:
    """A project with an index of its own: a folder of wheels."""

    def __init__(self, root: Path) -> None:
        self.root, self.wheels = root, root / "wheels"
        for folder in ("wheels", "setup/pins", ".tools"):
            (root / folder).mkdir(parents=True)
        for name in ("setup/pins/uv.txt", "setup/python_env.py", "setup/light.py"):
            (root / name).write_bytes((REPOSITORY / name).read_bytes())
        (root / "setup/pins/build.txt").write_text("")
        (root / "backend.py").write_text(BACKEND)
        (root / "pyproject.toml").write_text(
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
            '[project]\nname = "rematch"\nversion = "0.1.0"\n'
        )
        for uv in (REPOSITORY / ".tools").glob("uv-*"):
            (root / ".tools" / uv.name).symlink_to(uv.resolve())
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("UV_")},
            "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(self.wheels), "UV_CACHE_DIR": str(root / "cache"),
        }  # fmt: skip

    def lock(self, **versions: str) -> None:
        lines = [
            f"{name}=={version} --hash=sha256:{self.wheel(name, version)}\n"
            for name, version in versions.items()
        ]
        (self.root / "requirements.lock").write_text("".join(lines))

    def wheel(self, name: str, version: str) -> str:
        """Write a package without content; return its hash."""
        path, info = self.wheels / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
        if not path.exists():
            files = {
                "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
                "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                "RECORD": "",
            }
            with zipfile.ZipFile(path, "w") as wheel:
                for file, text in files.items():
                    wheel.writestr(f"{info}/{file}", text)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def make(self) -> None:
        python_env.make_environment(self.root, PYTHON, self.environ)

    def by_hand(self, *words: str) -> None:
        uv = next((self.root / ".tools").glob("uv-*")) / "bin/uv"
        python = self.root / ".venv/bin/python"
        command = [str(uv), "pip", "install", "-q", "--python", str(python), *words]
        subprocess.run(command, env=self.environ, check=True)

    @property
    def current(self) -> bool:
        return python_env.environment_is_current(self.root, PYTHON)

    @property
    def there(self) -> list[str]:
        return python_env.installed(self.root)


@pytest.fixture
def packaged(tmp_path: Path) -> Packaged:
    made = Packaged(tmp_path / "project")
    made.lock(numbers="1.0", tables="2.0")
    made.make()
    assert made.current and made.there == ["numbers==1.0", "rematch==0.1.0", "tables==2.0"]
    return made


def test_what_a_user_installed_makes_nothing_stale_and_stays(packaged: Packaged) -> None:
    packaged.wheel("plots", "3.0")
    packaged.by_hand("plots")
    assert packaged.current and "plots==3.0" in packaged.there
    packaged.lock(numbers="1.1", tables="2.0")
    assert not packaged.current
    packaged.make()
    assert packaged.current
    assert packaged.there == ["numbers==1.1", "plots==3.0", "rematch==0.1.0", "tables==2.0"]


def test_a_locked_package_in_another_version_is_put_right(packaged: Packaged) -> None:
    packaged.wheel("numbers", "9.0")
    packaged.by_hand("numbers==9.0")
    assert not packaged.current
    packaged.make()
    assert packaged.current and "numbers==1.0" in packaged.there


def test_what_set_up_installed_for_an_earlier_lock_file_goes(packaged: Packaged) -> None:
    packaged.lock(numbers="1.0")
    packaged.make()
    assert packaged.current and packaged.there == ["numbers==1.0", "rematch==0.1.0"]
