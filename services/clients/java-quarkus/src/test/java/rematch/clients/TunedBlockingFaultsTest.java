// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import org.junit.jupiter.api.condition.DisabledIfSystemProperty;

/** The tuned craft, with threads that wait. */
@DisabledIfSystemProperty(named = "rematch.image", matches = ".+", disabledReason = "an image has the idiomatic craft alone")
final class TunedBlockingFaultsTest extends FaultsSuite {

    TunedBlockingFaultsTest() {
        super("--craft=tuned", "--mode=blocking");
    }
}
