# SPDX-License-Identifier: Apache-2.0
"""``extends``: how a definition and its bases become one, and the one line where they cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.definitions import load_study, read_definition
from harness.definitions.extending import BASES
from harness.errors import InputError
from harness.project import EXPERIMENTS
from harness.tests.support.sessions import make_session_project

BASE = """
mix = "hello"
[backing]
seed = "small"
index = true
[all_variants]
settings = { face = "matched" }
[variants]
go = { implementation = "go-nethttp", runtime = { cpus = 1 } }
java = { implementation = "java-helidon", runtime = { gc = "g1", jvm_flags = ["-a"] } }
[profiles.quick]
blocks = 5
loads.one = { generator = "wrk", profile = { model = "closed", users = 16 } }
loads.two = { generator = "k6" }
"""


def merged(folder: Path, own: str, **bases: str) -> dict[str, Any]:
    """Write a definition, and bases beside it, and return what they say together."""
    (folder / BASES).mkdir(exist_ok=True)
    for name, text in bases.items():
        (folder / BASES / f"{name}.toml").write_text(text)
    path = folder / "own.toml"
    path.write_text(own)
    return read_definition(folder, path).content()


def test_tables_merge_values_win_lists_are_replaced_and_false_takes_a_table_out(tmp_path: Path) -> None:
    own = """
    extends = "base"
    mix = "work"
    [backing]
    index = false
    [variants.java.runtime]
    jvm_flags = ["-b"]
    [profiles.quick]
    loads.one.profile.users = 8
    loads.two = false
    """
    assert merged(tmp_path, own, base=BASE) == {
        "mix": "work", "backing": {"seed": "small", "index": False},
        "variants": {"java": {
            "implementation": "java-helidon", "settings": {"face": "matched"}, "runtime": {"gc": "g1", "jvm_flags": ["-b"]},
        }},
        "profiles": {"quick": {
            "blocks": 5, "loads": {"one": {"generator": "wrk", "profile": {"model": "closed", "users": 8}}},
        }},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("own", "names"),
    [
        ("", ["go", "java"]),
        ("[variants]\njava = {}\ngo = {}", ["java", "go"]),
        ("[variants]\njava = {}", ["java"]),
        ("[variants]\njava = false", ["go"]),
        ('[variants]\nother = { extends = "go" }\ngo = {}', ["other", "go"]),
    ],
)
def test_the_variants_are_those_named_in_order_or_all(tmp_path: Path, own: str, names: list[str]) -> None:
    variants = merged(tmp_path, f'extends = "base"\n{own}', base=BASE)["variants"]
    assert list(variants) == names


def test_a_variant_extends_another_and_all_variants_lies_between_both(tmp_path: Path) -> None:
    own = """
    extends = "base"
    [all_variants]
    settings = { craft = "tuned" }
    runtime = { cpus = 2 }
    [variants]
    large = { extends = "go", settings = { mode = "x" }, runtime = { cpus = 8 } }
    larger = { extends = "large", runtime = { cpus = 16 } }
    lean = { extends = "go", settings = false }
    """
    variants = merged(tmp_path, own, base=BASE)["variants"]
    settings = {"face": "matched", "craft": "tuned", "mode": "x"}
    assert variants == {
        "large": {"implementation": "go-nethttp", "settings": settings, "runtime": {"cpus": 8}},
        "larger": {"implementation": "go-nethttp", "settings": settings, "runtime": {"cpus": 16}},
        "lean": {"implementation": "go-nethttp", "runtime": {"cpus": 2}},
    }
    assert list(variants["large"]["settings"]) == list(settings)  # the order is part of a definition's hash


def test_of_several_bases_the_later_one_wins_and_a_base_may_have_bases(tmp_path: Path) -> None:
    result = merged(
        tmp_path,
        'extends = ["one", "two"]\nb = 3',
        zero="a = 0\nb = 0\nc = 0",
        one='extends = "zero"\na = 1',
        two="c = 2",
    )
    assert result == {"a": 1, "b": 3, "c": 2}
    definition = read_definition(tmp_path, tmp_path / "own.toml")
    assert [file.stem for file in definition.files] == ["zero", "one", "two", "own"]


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ("extends = 1", ["own.toml: extends: must be a name or a list of names", "found 1"]),
        ('extends = "bass"', ["own.toml: extends: unknown base (did you mean 'base'?)", "'bass'", "ring"]),
        ('extends = "ring"', ["loop.toml: extends: leads back to itself", "own -> ring -> loop -> ring"]),
        ('extends = "base"\nall_variants = 1', ["own.toml: all_variants: must be a table", "found 1"]),
        ('extends = "base"\nvariants.go = true', ["variants.go: must be a table", "true|True", "false"]),
        ('extends = "base"\nvariants.rust = false', ["variants.rust: unknown inherited variant", "go, java"]),
        (
            'extends = "base"\nvariants.x.extends = "rust"',
            ["variants.x.extends: unknown variant", "'rust'", "go, java"],
        ),
        (
            'extends = "base"\nvariants.x.extends = "y"\nvariants.y.extends = "x"',
            ["variants.y.extends: leads back to itself", "x -> y -> x"],
        ),
    ],
)
def test_what_cannot_be_merged_is_one_line(tmp_path: Path, own: str, words: list[str]) -> None:
    with pytest.raises(InputError) as problem:
        merged(tmp_path, own, base=BASE, ring='extends = "loop"', loop='extends = "ring"')
    for word in words:
        assert any(part in str(problem.value) for part in word.split("|")), str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_mistake_of_a_base_names_the_file_of_the_base(tmp_path: Path) -> None:
    root = make_session_project(tmp_path)
    experiment = root / EXPERIMENTS / "tiny.toml"
    experiment.write_text(f'extends = "windows"\n{experiment.read_text()}')
    base = root / EXPERIMENTS / BASES / "windows.toml"
    base.parent.mkdir()
    base.write_text("[profiles.smoke]\nsettle = 2\n")
    with pytest.raises(InputError, match=r"bases/windows\.toml: profiles\.smoke\.settle: unknown key"):
        load_study(root, "tiny")
    base.write_text("[profiles.smoke]\nidle_s = 2\n")
    assert load_study(root, "tiny").experiment.profiles["smoke"].idle_s == 2
