// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * What the article's Helidon program answered and logged, carried over to a server that it never ran on: UTF-16 units
 * counted, a number sent as a string, status 200 for texts that are not there. Not carried over: its metrics.
 */
final class Published {

    record Answer(int status, byte[] body) {
    }

    private static final JsonFactory FACTORY = new JsonFactory();
    private static final String NO_DATA = "No data and/or empty string";
    private static final byte[] INVALID = "{\"error\":\"Invalid JSON\"}".getBytes(StandardCharsets.US_ASCII);

    private final Logger logger;

    private Published(Logger logger) {
        this.logger = logger;
    }

    static Published open(Settings settings) throws IOException {
        return new Published(
                PublishedLog.open(Published.class, settings, FileDescriptor.out, Level.WARNING, true));
    }

    Answer uppercase(byte[] body) throws IOException {
        String s;
        try {
            s = read(body);
        } catch (IOException notAnObject) {
            return new Answer(400, INVALID);
        }
        logger.info("Uppercase request: " + s);
        return new Answer(200, write(isMissing(s) ? NO_DATA : s.toUpperCase()));
    }

    Answer count(byte[] body) throws IOException {
        String s;
        try {
            s = read(body);
        } catch (IOException notAnObject) {
            return new Answer(400, INVALID);
        }
        logger.info("Count request: " + s);
        return new Answer(200, write(isMissing(s) ? NO_DATA : String.valueOf(s.length())));
    }

    private static boolean isMissing(String s) {
        return s == null || s.isBlank();
    }

    /** Returns {@code s} of the object, null where there is no such string. */
    private static String read(byte[] body) throws IOException {
        String s = null;
        try (JsonParser parser = FACTORY.createParser(body)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("not an object");
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                boolean isS = parser.currentName().equals("s");
                if (parser.nextToken() == JsonToken.VALUE_STRING && isS) {
                    s = parser.getText();
                }
                parser.skipChildren();
            }
        }
        return s;
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
