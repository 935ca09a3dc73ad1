// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.ObjectReader;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.type.LogicalType;

/**
 * Reads a transfer in the idiomatic craft: a record, bound by Jackson's mapper. What the record does not take as it is,
 * {@link TransferOrder} judges: it knows which mistake comes first.
 */
final class TransferBinding {

    @JsonIgnoreProperties("id")
    record Transfer(@JsonProperty("from_client_id") Integer from, @JsonProperty("to_client_id") Integer to, Integer amount) {

        /** Whether all three are there and in range. */
        boolean mayBeTried() {
            return from != null && to != null && amount != null && from > 0 && to > 0 && !from.equals(to)
                    && amount > 0 && amount <= TransferOrder.LARGEST_AMOUNT;
        }
    }

    private static final ObjectReader READER = JsonMapper.builder(TransferOrder.FACTORY)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
            .withCoercionConfig(LogicalType.Integer, config -> {
                for (CoercionInputShape shape : CoercionInputShape.values()) {
                    config.setCoercion(shape, CoercionAction.Fail);
                }
            })
            .build()
            .readerFor(Transfer.class);

    private TransferBinding() {
    }

    static TransferOrder of(Body body) {
        boolean escapes = TransferOrder.checkBytes(body.bytes()); // else Jackson guesses an encoding
        Transfer asked = escapes ? null : bound(body);
        if (asked == null || !asked.mayBeTried()) {
            return TransferOrder.of(body);
        }
        return new TransferOrder(asked.from, asked.to, asked.amount);
    }

    /** Null where the record does not fit: other JSON, or none. */
    private static Transfer bound(Body body) {
        try {
            return READER.readValue(body.bytes());
        } catch (JacksonException notBound) {
            return null;
        }
    }
}
