// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.cfg.MutableCoercionConfig;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.type.LogicalType;
import java.io.IOException;
import java.util.HexFormat;
import rematch.strings.Refusal.Refused;

/** The idiomatic craft: records bound by Jackson's mapper. */
final class Binding implements Codec {

    record Text(String s) {
    }

    record Task(String s, Integer factor) {
    }

    record Uppercase(String v) {
    }

    record Count(int v) {
    }

    record Worked(String upper, String lower, String reversed, String crc32, int factor, long score) {
    }

    private static final JsonMapper MAPPER = JsonMapper.builder(Json.FACTORY)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
            .disable(JsonWriteFeature.WRITE_HEX_UPPER_CASE)
            .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
            .withCoercionConfig(LogicalType.Textual, Binding::refuseScalars)
            .withCoercionConfig(LogicalType.Integer, Binding::refuseScalars)
            .build();

    private final ObjectReader text = MAPPER.readerFor(Text.class);
    private final ObjectReader task = MAPPER.readerFor(Task.class);
    private final ObjectWriter writer = MAPPER.writer();
    private final Json strict = new Json();

    private static void refuseScalars(MutableCoercionConfig config) {
        for (CoercionInputShape shape : CoercionInputShape.values()) {
            config.setCoercion(shape, CoercionAction.Fail);
        }
    }

    /** What the records do not take as it is, the strict reader judges: it knows which error comes first. */
    @Override
    public Input read(byte[] body, boolean takesFactor) throws Refused {
        boolean escapes = Json.checkBytes(body); // else Jackson guesses an encoding
        Task asked = bound(body, takesFactor);
        if (asked == null || asked.s == null || asked.s.isEmpty() || asked.factor == null // absent, or null
                || !Json.isInRange(asked.factor) || escapes && Json.hasLoneSurrogate(asked.s)) {
            return strict.read(body, takesFactor);
        }
        return new Input(asked.s, asked.factor);
    }

    /** Null where the records do not fit: other JSON, or none. */
    private Task bound(byte[] body, boolean takesFactor) {
        try {
            if (takesFactor) {
                return task.readValue(body);
            }
            Text asked = text.readValue(body);
            return asked == null ? null : new Task(asked.s, Json.DEFAULT_FACTOR);
        } catch (IOException notBound) {
            return null;
        }
    }

    @Override
    public byte[] uppercase(String v) {
        return bytes(new Uppercase(v));
    }

    @Override
    public byte[] count(int v) {
        return bytes(new Count(v));
    }

    @Override
    public byte[] work(Strings.Work work) {
        return bytes(new Worked(work.upper(), work.lower(), work.reversed(), HexFormat.of().toHexDigits(work.crc32()),
                work.factor(), Integer.toUnsignedLong(work.score())));
    }

    private byte[] bytes(Object answer) {
        try {
            return writer.writeValueAsBytes(answer);
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
