// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/** The article's service, flaws included: UTF-16 units counted, a number sent as a string, a loose reader. */
final class Published {

    private static final JsonFactory FACTORY = new JsonFactory();

    private final AccessLog log;

    Published(AccessLog log) {
        this.log = log;
    }

    byte[] uppercase(byte[] body) throws IOException, Refusal.Refused {
        String s = read(body);
        String v = s.toUpperCase();
        log.published("uppercase", s, v);
        return write(v);
    }

    byte[] count(byte[] body) throws IOException, Refusal.Refused {
        String s = read(body);
        String v = String.valueOf(s.length());
        log.published("count", s, v);
        return write(v);
    }

    private static String read(byte[] body) throws Refusal.Refused {
        try (JsonParser parser = FACTORY.createParser(body)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new Refusal.Refused(Refusal.WRONG_TYPE);
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                boolean isS = parser.currentName().equals("s");
                JsonToken value = parser.nextToken();
                if (isS && value == JsonToken.VALUE_STRING) {
                    return parser.getText();
                }
                parser.skipChildren();
            }
            throw new Refusal.Refused(Refusal.MISSING_FIELD);
        } catch (IOException notJson) {
            throw new Refusal.Refused(Refusal.INVALID_JSON);
        }
    }

    private static byte[] write(String v) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (JsonGenerator generator = FACTORY.createGenerator(out)) {
            generator.writeStartObject();
            generator.writeStringField("v", v);
            generator.writeEndObject();
        }
        return out.toByteArray();
    }
}
