# SPDX-License-Identifier: Apache-2.0
"""``rematch clean``: remove what sessions left elsewhere than in this folder."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.errors import InputError
from harness.project import find_root
from harness.toolchains import require_package


def clean_command(
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="this project's namespaces in the cluster of KUBECONFIG")
    ] = False,
) -> None:
    """Remove what sessions that were killed left behind. Nothing without this project's label is touched.

    A session that ends in an orderly way, or by Ctrl-C, leaves nothing. Built
    files, results and tools of this folder are removed by `make clean`.

    Examples:

        rematch clean --kubernetes
    """
    if not kubernetes:
        raise InputError("nothing to remove was named", allowed="--kubernetes")
    require_package("lightkube")
    from harness.launchers.kubernetes_cluster import Cluster, kubeconfig

    file = kubeconfig()
    if file is None:
        raise InputError("no kubeconfig", place="KUBECONFIG", allowed="the path of a cluster's kubeconfig")
    cluster = Cluster(file)
    try:
        gone = cluster.sweep(find_root(), living=True)
    finally:
        cluster.close()
    print(f"removed from {cluster.address}: {', '.join(gone) or 'nothing'}")
