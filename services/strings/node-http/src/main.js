// SPDX-License-Identifier: Apache-2.0
// Flags, wiring and signals.

import { AccessLog, Metrics } from "./observe.js";
import { leanServer, stringServer } from "./http.js";
import { readFlags, UsageError } from "./flags.js";

const GRACE_MS = 5000;

function main() {
  let flags;
  try {
    flags = readFlags(process.argv.slice(2));
  } catch (problem) {
    if (!(problem instanceof UsageError)) throw problem;
    process.stderr.write(`${problem.message}\n`);
    process.exit(2);
  }
  const log = new AccessLog(flags);
  const server = flags.lean ? leanServer() : stringServer(log, new Metrics());
  server.on("error", (problem) => {
    process.stderr.write(`cannot listen on ${flags.host}:${flags.port}: ${problem.message}\n`);
    process.exit(1);
  });
  server.listen(flags.port, flags.host, () => {
    process.stderr.write(`listening host=${flags.host} port=${server.address().port}\n`);
  });
  for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => stop(server, log));
}

/** Accept nothing new, let requests in flight end within GRACE_MS, write out the log. */
function stop(server, log) {
  const end = () => log.close(() => process.exit(0));
  server.close(end);
  setInterval(() => server.closeIdleConnections(), 20);
  server.closeIdleConnections();
  setTimeout(end, GRACE_MS);
}

main();
