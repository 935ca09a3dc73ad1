// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

/** Event loops, and PostgreSQL's reactive client. */
final class ReactiveFaultsTest extends FaultsSuite {

    ReactiveFaultsTest() {
        super("--mode=reactive");
    }
}
