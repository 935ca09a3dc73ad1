// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

/** The tuned craft, over a pool. */
final class TunedFaultsTest extends FaultsSuite {

    TunedFaultsTest() {
        super("--craft=tuned");
    }
}
