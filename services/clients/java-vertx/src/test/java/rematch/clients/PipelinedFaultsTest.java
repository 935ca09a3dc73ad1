// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

/** One pipelined connection to the database. */
final class PipelinedFaultsTest extends FaultsSuite {

    PipelinedFaultsTest() {
        super("--database=pipelined");
    }
}
