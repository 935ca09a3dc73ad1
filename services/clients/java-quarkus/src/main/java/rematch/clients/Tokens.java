// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonParser.NumberType;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.Arrays;

/** The tuned craft's reading of the upstream: token by token, and the same shapes as in the other craft. */
final class Tokens {

    private static final int USUAL_INTS = 64;

    /** Area code and number of each phone in turn: {@code size} integers, of which none is missing. */
    record Phones(int[] integers, int size) {
    }

    /** Reads one whole answer and closes its parser; what is of another shape is told as what is no JSON. */
    interface Shape<T> {
        T read(JsonParser json) throws IOException;
    }

    private Tokens() {
    }

    static Phones phones(JsonParser parser) throws IOException {
        try (JsonParser json = parser) {
            expect(json, json.nextToken() == JsonToken.START_ARRAY);
            int[] integers = new int[USUAL_INTS];
            int size = 0;
            while (json.nextToken() != JsonToken.END_ARRAY) {
                expect(json, json.currentToken() == JsonToken.START_OBJECT);
                if (size == integers.length) {
                    integers = Arrays.copyOf(integers, 2 * size);
                }
                phone(json, integers, size);
                size += 2;
            }
            expect(json, json.nextToken() == null);
            return new Phones(integers, size);
        }
    }

    private static void phone(JsonParser json, int[] integers, int at) throws IOException {
        boolean hasDdd = false;
        boolean hasNumber = false;
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            switch (json.currentName()) {
                case "ddd" -> {
                    integers[at] = integer(json);
                    hasDdd = true;
                }
                case "number" -> {
                    integers[at + 1] = integer(json);
                    hasNumber = true;
                }
                default -> skip(json);
            }
        }
        expect(json, hasDdd && hasNumber);
    }

    static Upstream.Address address(JsonParser parser) throws IOException {
        try (JsonParser json = parser) {
            expect(json, json.nextToken() == JsonToken.START_OBJECT);
            String street = null;
            int number = 0;
            boolean hasNumber = false;
            String state = null;
            String country = null;
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                switch (json.currentName()) {
                    case "street" -> street = text(json);
                    case "number" -> {
                        number = integer(json);
                        hasNumber = true;
                    }
                    case "state" -> state = text(json);
                    case "country" -> country = text(json);
                    default -> skip(json);
                }
            }
            expect(json, street != null && hasNumber && state != null && country != null);
            expect(json, json.nextToken() == null);
            return new Upstream.Address(street, number, state, country);
        }
    }

    /** The next value, which has to be a whole number of 32 bits. */
    private static int integer(JsonParser json) throws IOException {
        expect(json, json.nextToken() == JsonToken.VALUE_NUMBER_INT && json.getNumberType() == NumberType.INT);
        return json.getIntValue();
    }

    private static String text(JsonParser json) throws IOException {
        expect(json, json.nextToken() == JsonToken.VALUE_STRING);
        return json.getText();
    }

    private static void skip(JsonParser json) throws IOException {
        json.nextToken();
        json.skipChildren();
    }

    private static void expect(JsonParser json, boolean right) throws JsonParseException {
        if (!right) {
            throw new JsonParseException(json, "another shape");
        }
    }
}
