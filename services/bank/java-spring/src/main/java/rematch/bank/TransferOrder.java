// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.util.JsonRecyclerPools;

/**
 * What {@code POST /transaction} asks for, read from JSON by the contract's rules.
 *
 * <p>Jackson's data binding would answer the first mistake it meets; the contract has an order among mistakes, so the
 * streaming parser reads to the end before anything is judged.
 */
record TransferOrder(int fromClientId, int toClientId, int amount) {

    static final int LARGEST_AMOUNT = 1_000_000_000;
    private static final int LARGEST_DEPTH = 64;

    /**
     * Jackson's own limits on lengths are lifted because the body is bounded; its symbol table may meet hostile keys,
     * which is harmless for the same reason. Buffers come from a shared pool: virtual threads are too many for one each.
     */
    static final JsonFactory FACTORY = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
            .disable(TokenStreamFactory.Feature.INTERN_PROPERTY_NAMES)
            .disable(TokenStreamFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
            .recyclerPool(JsonRecyclerPools.sharedConcurrentDequePool())
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(LARGEST_DEPTH)
                    .maxNumberLength(Body.LIMIT_BYTES)
                    .maxNameLength(Body.LIMIT_BYTES)
                    .maxStringLength(Body.LIMIT_BYTES)
                    .build())
            .build();

    static TransferOrder of(Body body) {
        boolean escapes = checkBytes(body.bytes());
        try (JsonParser parser = FACTORY.createParser(ObjectReadContext.empty(), body.bytes())) {
            return new Reader(parser, escapes).read();
        } catch (JacksonException notJson) {
            throw new Refused(Refusal.INVALID_JSON);
        }
    }

    /**
     * Refuses what Jackson would let through or guess at: malformed UTF-8, a byte order mark, and UTF-16 or UTF-32
     * (their JSON always holds a zero byte, which UTF-8 JSON never does).
     *
     * @return whether there are escapes, the only way left to write a lone surrogate
     */
    static boolean checkBytes(byte[] body) {
        boolean ascii = true;
        boolean escapes = false;
        for (byte b : body) {
            if (b <= 0) {
                if (b == 0) {
                    throw new Refused(Refusal.INVALID_JSON);
                }
                ascii = false;
            } else if (b == '\\') {
                escapes = true;
            }
        }
        if (!ascii) {
            checkUtf8(body);
        }
        return escapes;
    }

    private static void checkUtf8(byte[] body) {
        if (body[0] < 0) {
            throw new Refused(Refusal.INVALID_JSON); // no JSON text starts outside ASCII; Jackson would skip a BOM
        }
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body));
        } catch (CharacterCodingException malformed) {
            throw new Refused(Refusal.INVALID_JSON);
        }
    }

    /** Reads one body; numbers stay the text they were, because they may have any number of digits. */
    private static final class Reader {

        private final JsonParser parser;
        private final boolean escapes;
        private String from;
        private String to;
        private String amount;
        private boolean wrongType;
        private boolean unknownField;

        Reader(JsonParser parser, boolean escapes) {
            this.parser = parser;
            this.escapes = escapes;
        }

        TransferOrder read() {
            JsonToken first = parser.nextToken();
            if (first == JsonToken.START_OBJECT) {
                readFields();
            } else if (first != null) {
                wrongType = true;
                skipValue(first);
            }
            if (first == null || parser.nextToken() != null) {
                throw new Refused(Refusal.INVALID_JSON);
            }
            return judge();
        }

        private void readFields() {
            while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = parser.currentName();
                checkSurrogates(name);
                JsonToken value = parser.nextToken();
                switch (name) {
                    case "from_client_id" -> from = integer(value);
                    case "to_client_id" -> to = integer(value);
                    case "amount" -> amount = integer(value);
                    case "id" -> skipValue(value);
                    default -> {
                        unknownField = true;
                        skipValue(value);
                    }
                }
            }
        }

        private String integer(JsonToken value) {
            if (value == JsonToken.VALUE_NUMBER_INT) {
                return parser.getString();
            }
            wrongType = true;
            skipValue(value);
            return null;
        }

        private void skipValue(JsonToken first) {
            int depth = 0;
            JsonToken token = first;
            while (token != null) {
                if (token.isStructStart()) {
                    depth++;
                } else if (token.isStructEnd()) {
                    depth--;
                } else if (escapes && (token == JsonToken.VALUE_STRING || token == JsonToken.PROPERTY_NAME)) {
                    checkSurrogates(parser.getString());
                }
                if (depth == 0) {
                    return;
                }
                token = parser.nextToken();
            }
        }

        private void checkSurrogates(String text) {
            if (!escapes) {
                return;
            }
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (!Character.isSurrogate(c)) {
                    continue;
                }
                i++;
                if (Character.isLowSurrogate(c) || i == text.length() || !Character.isLowSurrogate(text.charAt(i))) {
                    throw new Refused(Refusal.INVALID_JSON);
                }
            }
        }

        private TransferOrder judge() {
            if (wrongType) {
                throw new Refused(Refusal.WRONG_TYPE);
            }
            if (unknownField) {
                throw new Refused(Refusal.UNKNOWN_FIELD);
            }
            if (from == null || to == null || amount == null) {
                throw new Refused(Refusal.MISSING_FIELD);
            }
            if (!Digits.isPositive(from) || !Digits.isPositive(to)) {
                throw new Refused(Refusal.BAD_ID);
            }
            if (!Digits.isPositive(amount) || !Digits.fit(amount, LARGEST_AMOUNT)) {
                throw new Refused(Refusal.BAD_AMOUNT);
            }
            if (from.equals(to)) { // JSON has one way to write a positive integer
                throw new Refused(Refusal.SAME_CLIENT);
            }
            if (!Digits.fit(from, Integer.MAX_VALUE) || !Digits.fit(to, Integer.MAX_VALUE)) {
                throw new Refused(Refusal.UNKNOWN_CLIENT);
            }
            return new TransferOrder(Integer.parseInt(from), Integer.parseInt(to), Integer.parseInt(amount));
        }
    }
}
