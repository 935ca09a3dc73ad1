// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

/** A pool of connections to the database. */
final class PoolFaultsTest extends FaultsSuite {

    PoolFaultsTest() {
        super("--database=pool");
    }
}
