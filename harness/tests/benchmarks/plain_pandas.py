# SPDX-License-Identifier: Apache-2.0
"""The script a data analyst would write first: mean and percentiles of a JMeter result file. A peer, not a part."""

import json
import sys

import pandas as pd

frame = pd.read_csv(sys.argv[1])
elapsed = frame.loc[frame["success"], "elapsed"]
span_s = ((frame["timeStamp"] + frame["elapsed"]).max() - frame["timeStamp"].min()) / 1e3
said = {
    "requests": len(frame),
    "throughput_per_s": len(frame) / span_s,
    "mean_ms": elapsed.mean(),
    **{f"p{q * 100:g}_ms": value for q, value in elapsed.quantile([0.5, 0.9, 0.95, 0.99, 0.999]).items()},
}
print(json.dumps(said))
