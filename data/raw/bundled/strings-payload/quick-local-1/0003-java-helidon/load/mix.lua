-- SPDX-License-Identifier: Apache-2.0
-- Written for one load. 2 threads, each with its own copy of this script.
-- One request: wrk builds it once and calls nothing per request.
wrk.method = "POST"
wrk.path = "/work"
wrk.body = "{\034s\034:\034xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\034,\034factor\034:10}"
wrk.headers["Content-Type"] = "application/json"

-- wrk's histogram as it lies in memory. latency(i) walks it from its start for every i, which takes long after
-- a long pause; here it is read once. That this is how it lies there is checked by what wrk itself says of it.
local function histogram(latency)
  local ffi = require("ffi")
  ffi.cdef("typedef struct { uint64_t count, limit, min, max; uint64_t data[]; } wrk_stats;")
  local stats = ffi.cast("wrk_stats **", latency)[0]
  local least, most = tonumber(stats.min), tonumber(stats.max)
  if least ~= latency.min or most ~= latency.max or most >= tonumber(stats.limit) then
    error("this wrk keeps its histogram in another way", 0)
  end
  return stats.data, least, most
end

local function write_histogram(data, least, most)
  local file = assert(io.open("{trial}/load/wrk_latency.csv", "w"))
  local rows, before = 0, 0
  file:write("step_us,count\n")
  for value = least, most do
    if data[value] ~= 0 then
      file:write(string.format("%d,%d\n", value - before, tonumber(data[value])))
      rows, before = rows + 1, value
    end
  end
  file:close()
  return rows
end

-- Exact numbers; the text that wrk prints is rounded. Times are in microseconds. wrk has corrected them all.
function done(summary, latency, requests)
  local e, quantiles = summary.errors, {}
  for _, p in ipairs({ 50, 75, 90, 95, 99, 99.9, 99.99 }) do
    quantiles[#quantiles + 1] = string.format('"p%s": %d', p, latency:percentile(p))
  end
  local kept, data, least, most = pcall(histogram, latency)
  local rows = kept and string.format('"histogram_rows": %d', write_histogram(data, least, most))
    or string.format('"histogram_refused": "%s"', tostring(data):gsub('[%c"\\]', " "))
  local file = assert(io.open("{trial}/load/wrk.json", "w"))
  file:write(string.format(
    '{"duration_us": %d, "requests": %d, "bytes": %d, "errors": {"connect": %d, "read": %d, "write": %d, ' ..
    '"status": %d, "timeout": %d}, "latency_us": {"min": %d, "mean": %.3f, "stdev": %.3f, "max": %d, %s}, %s}\n',
    summary.duration, summary.requests, summary.bytes, e.connect, e.read, e.write, e.status, e.timeout,
    latency.min, latency.mean, latency.stdev, latency.max, table.concat(quantiles, ", "), rows))
  file:close()
end
