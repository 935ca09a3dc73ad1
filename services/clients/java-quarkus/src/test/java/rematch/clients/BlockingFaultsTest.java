// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import org.junit.jupiter.api.condition.DisabledIfSystemProperty;

/** Threads that wait, and JDBC. */
@DisabledIfSystemProperty(named = "rematch.image", matches = ".+", disabledReason = "an image has mode reactive alone")
final class BlockingFaultsTest extends FaultsSuite {

    BlockingFaultsTest() {
        super("--mode=blocking");
    }
}
