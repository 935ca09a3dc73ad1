// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import org.junit.jupiter.api.condition.DisabledIfSystemProperty;

/** The tuned craft on event loops. */
@DisabledIfSystemProperty(named = "rematch.image", matches = ".+", disabledReason = "an image has the idiomatic craft alone")
final class TunedReactiveFaultsTest extends FaultsSuite {

    TunedReactiveFaultsTest() {
        super("--craft=tuned", "--mode=reactive");
    }
}
