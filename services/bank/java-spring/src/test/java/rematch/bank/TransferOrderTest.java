// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Both crafts read a transfer alike; what is refused and why is in the contract's cases, here is what a case cannot say. */
final class TransferOrderTest {

    @ParameterizedTest
    @ValueSource(strings = {
        "{\"from_client_id\":1,\"to_client_id\":2147483647,\"amount\":1000000000}",
        " {\"amount\" : 3, \"id\":[{\"x\":null}], \"to_client_id\":2, \"from_client_id\":1} ",
        "{\"from_client_id\":1,\"to\\u005fclient_id\":2,\"amount\":3}",
        "", " ", "null", "[]", "1", "{", "{}", "{}{}", "{\"amount\"}", "{1:2}", "{,}", "{\"amount\":1,}", "\ufeff{}", "{} x",
        "{\"amount\":1,\"amount\":1}", "{\"amount\":1,\"a\\u006dount\":1}", "{\"x\":\"\\ud800\"}", "{\"id\":\"\\ud800\"}",
        "{\"from_client_id\":-0,\"to_client_id\":2,\"amount\":3}", "{\"from_client_id\":1.0,\"to_client_id\":2,\"amount\":3}",
        "{\"from_client_id\":1e1,\"to_client_id\":2,\"amount\":3,\"x\":1}",
        "{\"from_client_id\":\"1\",\"to_client_id\":2,\"amount\":3}", "{\"from_client_id\":true,\"to_client_id\":2,\"amount\":3}",
        "{\"from_client_id\":null,\"to_client_id\":2,\"amount\":3}", "{\"from_client_id\":1,\"to_client_id\":2,\"amount\":3,\"x\":[]}",
        "{\"from_client_id\":[1],\"to_client_id\":2,\"amount\":3}", "{\"from_client_id\":{},\"to_client_id\":2,\"amount\":3}",
        "{\"from_client_id\":2147483648,\"to_client_id\":2,\"amount\":3}", "{\"from_client_id\":2,\"to_client_id\":2,\"amount\":3}",
        "{\"from_client_id\":99999999999999999999,\"to_client_id\":99999999999999999999,\"amount\":3}",
        "{\"from_client_id\":1,\"to_client_id\":2,\"amount\":1000000001}", "{\"from_client_id\":1,\"to_client_id\":2,\"amount\":0}"})
    void both_crafts_read_a_transfer_alike(String text) {
        Body body = new Body(text.getBytes(StandardCharsets.UTF_8));
        assertEquals(outcome(() -> TransferOrder.of(body)), outcome(() -> TransferBinding.of(body)));
    }

    private interface Reading {
        TransferOrder read();
    }

    private static Object outcome(Reading reading) {
        try {
            return reading.read();
        } catch (Refused refused) {
            return refused.refusal();
        }
    }
}
