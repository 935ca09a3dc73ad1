// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

/** Threads that wait, and JDBC. */
final class BlockingFaultsTest extends FaultsSuite {

    BlockingFaultsTest() {
        super("--mode=blocking");
    }
}
