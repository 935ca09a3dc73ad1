# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the clients beside ratios: what was published, what each used, percentiles, and faces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from harness.analysis.load.load_segments import COLUMN as PART
from harness.analysis.stats.summaries import summarise
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.load_response import effect_between
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED
from harness.project import find_root
from harness.publish.cells import Cell
from harness.publish.display import Published, joined
from harness.publish.publisher import Publisher, slug
from harness.questions.clients.usage import PERCENTILES

FOLDER = Path("data") / "published"
NUMBERS = (
    "start_up_s", "cpu_max_percent", "rss_max_mb", "throughput_per_s", "latency_mean_ms", "latency_max_ms",
    *(name.replace("_s", "_ms") for name in PERCENTILES),
)  # fmt: skip
COLUMNS = ("source", "stack", "load", *NUMBERS)
#: Their words for what we call a variant; a native image is measured by `forms-clients`, not here.
LABELS = {
    "go-nethttp": "Go",
    "java-quarkus": "Quarkus, JVM",
    "java-quarkus-native": "Quarkus, native",
    "java-vertx": "Vert.x",
}
#: factor's level -> column -> word in the key
FACE_METRICS = {"mean": "latency_mean_s", "p99": "latency_p99_s", "cpu": "cpu_s_per_request"}


def published_clients(name: str, *, root: Path | None = None) -> pd.DataFrame:
    """Return the published numbers of ``clients-hello`` or ``clients-db``, a row a load; NaN: not printed.

    Raises:
        InputError: no such table, other columns, or what is no number above zero.
    """
    path = (root or find_root()) / FOLDER / f"{name}.csv"
    if not path.is_file():
        raise InputError("no published numbers", file=path, allowed="clients-hello, clients-db")
    frame = pd.read_csv(path, comment="#", dtype={"load": "str"})
    if tuple(frame.columns) != COLUMNS:
        raise InputError(
            "wrong columns", file=path, found=", ".join(frame.columns), allowed=", ".join(COLUMNS)
        )
    for column in NUMBERS:
        values = pd.to_numeric(frame[column], errors="coerce")
        if (values.isna() & frame[column].notna()).any() or (values <= 0).any():
            raise InputError("must be positive numbers", file=path, place=column)
        frame[column] = values.astype("float64")
    return frame


def beside_published(
    published: pd.DataFrame, parts: pd.DataFrame | None, evidence: Evidence | None
) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: each published load, and below it the same part of ours."""
    rows: list[Mapping[str, Cell] | None] = []
    for stack, theirs in published[published["load"] != "best"].groupby("stack", sort=False):
        if rows:
            rows.append(None)
        rows += [_published_row(row) for _, row in theirs.iterrows()]
        if parts is not None and evidence is not None and stack in set(parts["variant"]):
            rows += _our_rows(parts[parts["variant"] == stack], evidence)
    return rows


def _published_row(row: pd.Series) -> Mapping[str, Cell]:
    return {
        "stack": LABELS[str(row["stack"])],
        "who": "published",
        "part": str(row["load"]),
        "mean": _plain(row["latency_mean_ms"] / 1e3, "s"),
        "longest": _plain(row["latency_max_ms"] / 1e3, "s"),
        "right": _plain(row["throughput_per_s"], "1/s"),
        "memory": _plain(row["rss_max_mb"] * 1e6, "B"),
    }


def _our_rows(parts: pd.DataFrame, evidence: Evidence) -> list[Mapping[str, Cell]]:
    metrics = {
        "mean": "latency_mean_s",
        "longest": "latency_max_s",
        "right": "throughput_per_s",
        "memory": "rss_max_bytes",
    }
    found = [row for row in evidence.rows(parts, list(metrics.values()), by=[PART]) if row is not None]
    return [
        {"stack": row["variant"], "who": "here", "part": row[PART]}
        | {word: row[metric] for word, metric in metrics.items()}
        for row in found
    ]


def percentile_cells(
    used: pd.DataFrame, labels: Mapping[str, str], published: pd.DataFrame
) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: variant and percentiles, means over trials; then what was published.

    What so few requests cannot tell is a dash, and the table says why.
    """
    rows: list[Mapping[str, Cell] | None] = []
    for name, mine in _kept(used).groupby("variant", sort=False):
        cells: dict[str, Cell] = {column: _mean(mine, column, "s") for column in PERCENTILES}
        rows.append({"variant": labels.get(str(name), str(name)), "who": "here"} | cells)
    best = published[published["load"] == "best"]
    if rows and len(best):
        rows.append(None)
    for _, row in best.iterrows():
        theirs: dict[str, Cell] = {
            column: _plain(row[column.replace("_s", "_ms")] / 1e3, "s") for column in PERCENTILES
        }
        rows.append({"variant": LABELS[str(row["stack"])], "who": "published, best of five"} | theirs)
    return rows


def publish_use(
    publisher: Publisher, used: pd.DataFrame | None, variants: Mapping[str, str], *, prefix: str
) -> Published:
    """Publish ``<prefix>.{connections,cores}.<variant>``: most connections to the database that were open at
    once, and most CPUs kept busy for a second; means over trials."""
    said = []
    with publisher.together():
        for name in variants:
            mine = None if used is None else _at(used, "variant", name)
            for word, column, unit in (
                ("connections", "most_connections", "1"),
                ("cores", "most_cores", "cores"),
            ):
                key = f"{prefix}.{word}.{slug(name)}"
                if mine is None or mine.empty:
                    said.append(publisher.absent(key, unit, NOT_MEASURED))
                else:
                    said.append(publisher.number(key, _mean(mine, column, unit)))
    return joined(said)


def use_cells(used: pd.DataFrame, labels: Mapping[str, str]) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: variant, connections to the database, CPU, memory."""
    return [
        {
            "variant": labels.get(str(name), str(name)),
            "open": _mean(mine, "most_connections", "1"),
            "active": _mean(mine, "most_active", "1"),
            "cores": _mean(mine, "most_cores", "cores"),
            "memory": _mean(mine, "rss_max_bytes", "B"),
        }
        for name, mine in _kept(used).groupby("variant", sort=False)
    ]


def publish_faces(
    publisher: Publisher, used: pd.DataFrame | None, variants: Mapping[str, str], *, prefix: str
) -> Published:
    """Publish the published face over the matched one, ``<prefix>.<word>.{ratio,verdict}.<variant>`` for mean, p99 and
    CPU, and ``<prefix>.opened.<face>``: connections to the upstream that Go opened under load."""
    said = []
    with publisher.together():
        for name in variants:
            for word, metric in FACE_METRICS.items():
                found = effect_between(used, "face", metric, variant=name, base="matched", other="published")
                said.append(publisher.comparison(f"{prefix}.{word}", name, found))
        for face in ("published", "matched"):
            key, mine = f"{prefix}.opened.{face}", None if used is None else _at(used, "face", face)
            if mine is None or mine["upstream_opened"].isna().all():
                said.append(publisher.absent(key, "1", NOT_MEASURED))
            else:
                said.append(publisher.number(key, _mean(mine, "upstream_opened", "1")))
    return joined(said)


def face_cells(used: pd.DataFrame, labels: Mapping[str, str]) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: variant, face, latency, CPU, memory, connections opened to the upstream."""
    rows: list[Mapping[str, Cell] | None] = []
    for name, of_variant in _kept(used).groupby("variant", sort=False):
        if rows:
            rows.append(None)
        rows += [
            {
                "variant": labels.get(str(name), str(name)),
                "face": str(face),
                "mean": _mean(mine, "latency_mean_s", "s"),
                "p99": _mean(mine, "latency_p99_s", "s"),
                "cpu": _mean(mine, "cpu_s_per_request", "s/request"),
                "memory": _mean(mine, "rss_max_bytes", "B"),
                "opened": _mean(mine, "upstream_opened", "1", absent="only Go counts them"),
            }
            for face, mine in of_variant.groupby("face", sort=False)
        ]
    return rows


def _at(used: pd.DataFrame, column: str, value: str) -> pd.DataFrame:
    kept = _kept(used)
    chosen: pd.DataFrame = kept[kept[column] == value]
    return chosen


def _kept(used: pd.DataFrame) -> pd.DataFrame:
    return used[~used["excluded"].astype(bool) & ~used["duplicate"].astype(bool)]


def _plain(value: float, unit: str) -> Estimate | None:
    """A published number as a cell; ``None``: it was not printed."""
    if pd.isna(value):
        return None
    return Estimate(value=float(value), unit=unit, method="as is", estimand="published", n_trials=0)


def _mean(trials: pd.DataFrame, column: str, unit: str, *, absent: str | None = None) -> Estimate:
    """The mean over the trials that have a number; without any, why there is none."""
    told = trials.dropna(subset=[column])
    if told.empty:
        percentile = PERCENTILES.get(column)
        few = None if percentile is None else f"no trial has requests enough for p{percentile * 100:.6g}"
        why = absent or few or f"no trial has a {column}"
        return Estimate(value=None, unit=unit, method="none", estimand=column, n_trials=0, warnings=(why,))
    found: Estimate = summarise(told.assign(variant="all"), column, unit=unit).iloc[0]["estimate"]
    return found


__all__ = [
    "LABELS",
    "beside_published",
    "face_cells",
    "percentile_cells",
    "publish_faces",
    "publish_use",
    "published_clients",
    "use_cells",
]
