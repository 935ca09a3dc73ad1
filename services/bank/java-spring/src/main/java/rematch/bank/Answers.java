// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;

/** What is answered; Jackson writes the components in the order given here. */
final class Answers {

    /** A new client. */
    @JsonPropertyOrder({"id", "name", "email", "phone"})
    record Client(int id, String name, String email, String phone) {
    }

    /** A transaction that was made. */
    @JsonPropertyOrder({"id", "amount", "from_client_id", "to_client_id"})
    record Transaction(int id, int amount, @JsonProperty("from_client_id") int fromClientId,
                       @JsonProperty("to_client_id") int toClientId) {
    }

    /** What a client has; null where a program of 2018 or 2019 does not know. */
    record Balance(Long balance) {
    }

    /** Whether the service can answer. */
    record Health(String status) {
        static final Health UP = new Health("up");
    }

    private Answers() {
    }
}
