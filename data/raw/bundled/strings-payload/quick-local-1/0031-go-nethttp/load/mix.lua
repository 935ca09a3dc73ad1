-- SPDX-License-Identifier: Apache-2.0
-- Written for one load. 2 threads, each with its own copy of this script.
-- One request: wrk builds it once and calls nothing per request.
wrk.method = "POST"
wrk.path = "/work"
wrk.body = "{\034s\034:\034xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\034,\034factor\034:10}"
wrk.headers["Content-Type"] = "application/json"

-- Exact numbers; the text that wrk prints is rounded. Times are in microseconds.
function done(summary, latency, requests)
  local e, quantiles = summary.errors, {}
  for _, p in ipairs({ 50, 75, 90, 95, 99, 99.9, 99.99 }) do
    quantiles[#quantiles + 1] = string.format('"p%s": %d', p, latency:percentile(p))
  end
  local file = assert(io.open("{trial}/load/wrk.json", "w"))
  file:write(string.format(
    '{"duration_us": %d, "requests": %d, "bytes": %d, "errors": {"connect": %d, "read": %d, "write": %d, ' ..
    '"status": %d, "timeout": %d}, "latency_us": {"min": %d, "mean": %.3f, "stdev": %.3f, "max": %d, %s}}\n',
    summary.duration, summary.requests, summary.bytes, e.connect, e.read, e.write, e.status, e.timeout,
    latency.min, latency.mean, latency.stdev, latency.max, table.concat(quantiles, ", ")))
  file:close()
end
