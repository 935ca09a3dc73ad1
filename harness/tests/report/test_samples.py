# SPDX-License-Identifier: Apache-2.0
"""Resource samples beside a file of requests."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.errors import InputError
from harness.report.output import main
from harness.report.samples import summarise_samples

MIB = 1 << 20


def samples(path: Path, *, clock: str = "monotonic_s", begin: float = 50.0) -> Path:
    """A service that uses half a core and grows by a MiB a second, and a generator with a tenth of that."""
    at = np.arange(0, 10, 0.05)
    frames = [
        pd.DataFrame({
            clock: begin + at, "role": role, "rss_bytes": ((100 + at) * MIB * share).astype(int),
            "cpu_s": 3 + 0.5 * at * share, "n_threads": np.where(np.arange(len(at)) % 10, np.nan, 9.0),
        })
        for role, share in (("service", 1.0), ("generator", 0.1))
    ]  # fmt: skip
    pd.concat(frames).sort_values(clock).to_csv(path, index=False)
    return path


def jtl(path: Path) -> Path:
    start = 1_700_000_002_000 + np.arange(600) * 10
    frame = {"timeStamp": start, "elapsed": 5 + np.arange(600) % 7, "label": "a", "success": "true"}
    pd.DataFrame(frame).to_csv(path, index=False)
    return path


def test_memory_and_cpu_are_summed_up_for_each_process(tmp_path: Path) -> None:
    found = summarise_samples(samples(tmp_path / "s.csv"), None)
    service = found.processes["service"]
    assert service.n_samples == 200
    assert service.cores == pytest.approx(0.5)
    assert service.rss_max_bytes == pytest.approx(109.95 * MIB, rel=1e-3)
    assert found.processes["generator"].cores == pytest.approx(0.05)
    assert "monotonic clock" in found.warnings[0]


def test_samples_on_the_wall_clock_are_cut_to_the_time_of_the_requests(tmp_path: Path) -> None:
    path = samples(tmp_path / "s.csv", clock="epoch_s", begin=1_700_000_000.0)
    found = summarise_samples(path, (1_700_000_002.0, 1_700_000_008.0))
    assert found.warnings == ()
    assert found.processes["service"].lasted_s == pytest.approx(6.0, abs=0.06)
    assert found.processes["service"].rss_max_bytes == pytest.approx(108 * MIB, rel=1e-3)
    nothing = summarise_samples(path, (0.0, 1.0))
    assert nothing.processes == {}
    assert "no sample overlaps" in nothing.warnings[0]


def test_what_the_samples_do_not_say_is_absent_and_not_zero(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("monotonic_s,cpu_s\n1.0,2.0\n")
    used = summarise_samples(path, None).processes["process"]
    assert (used.rss_max_bytes, used.cpu_s, used.cores) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "holds no samples"),
        ("monotonic_s,cpu_s\n1.0,much\n", "not a number"),
        ("monotonic_s,cpu_s\n1.0,9\n2.0,1\n", "runs backwards"),
        ("", "cannot be read"),
    ],
)
def test_a_file_that_is_none_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as problem:
        summarise_samples(path, None)
    assert "s.csv" in str(problem.value)


def test_the_report_shows_them_as_page_as_text_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request, sample = jtl(tmp_path / "r.jtl"), samples(tmp_path / "s.csv")
    main([request], samples=sample, html=tmp_path / "page.html")
    assert "service: 200 samples" in capsys.readouterr().out
    assert "<td>generator</td>" in (tmp_path / "page.html").read_text()
    main([request], samples=sample, as_json=True)
    plain = json.loads(capsys.readouterr().out)
    assert plain["resources"]["service"]["cores"] == pytest.approx(0.5)
    main([request], as_json=True)
    assert json.loads(capsys.readouterr().out)["resources"] is None
    with pytest.raises(InputError, match="belong to one file"):
        main([request, request], samples=sample)


@pytest.mark.parametrize("before", ["", "\n\n", "  \n"])
def test_a_heading_of_millions_of_columns_is_refused_before_each_gets_a_name(
    tmp_path: Path, before: str
) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(before + "," * 3_000_000)
    with pytest.raises(InputError, match=r"samples\.csv: .*more than 10000 columns"):
        summarise_samples(path, None)


def test_a_heading_that_never_closes_its_quote_is_left_to_the_reader_of_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text('"' + "x" * 300_000)
    with pytest.raises(InputError, match=r"samples\.csv"):
        summarise_samples(path, None)
