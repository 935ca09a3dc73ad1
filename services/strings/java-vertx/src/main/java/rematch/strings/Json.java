// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import rematch.strings.Refusal.Refused;

/** The tuned craft: a strict streaming reader and a writer of exactly the contract's bytes. */
final class Json implements Codec {

    static final int DEFAULT_FACTOR = 10;
    private static final int LARGEST_FACTOR = 1_000;
    private static final int LARGEST_DEPTH = 64;

    /**
     * Jackson's own limits on lengths are lifted because the body is bounded; its symbol table may meet hostile keys,
     * which is harmless for the same reason. Buffers come from a shared pool: virtual threads are too many for one each.
     */
    static final JsonFactory FACTORY = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
            .recyclerPool(JsonRecyclerPools.sharedConcurrentDequePool())
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(LARGEST_DEPTH)
                    .maxNumberLength(Body.LIMIT_BYTES)
                    .maxNameLength(Body.LIMIT_BYTES)
                    .maxStringLength(Body.LIMIT_BYTES)
                    .build())
            .build();

    private static final byte[] V_STRING = ascii("{\"v\":\"");
    private static final byte[] V_NUMBER = ascii("{\"v\":");
    private static final byte[] UPPER = ascii("{\"upper\":\"");
    private static final byte[] LOWER = ascii("\",\"lower\":\"");
    private static final byte[] REVERSED = ascii("\",\"reversed\":\"");
    private static final byte[] CRC32 = ascii("\",\"crc32\":\"");
    private static final byte[] FACTOR = ascii("\",\"factor\":");
    private static final byte[] SCORE = ascii(",\"score\":");
    private static final byte[] HEX = ascii("0123456789abcdef");

    @Override
    public Input read(byte[] body, boolean takesFactor) throws Refused {
        boolean escapes = checkBytes(body);
        try (JsonParser parser = FACTORY.createParser(body)) {
            return new Reader(parser, escapes, takesFactor).read();
        } catch (IOException notJson) {
            throw new Refused(Refusal.INVALID_JSON);
        }
    }

    @Override
    public byte[] uppercase(String v) {
        Writer out = new Writer(V_STRING.length + v.length() + 2);
        out.raw(V_STRING);
        out.text(v);
        out.raw('"');
        out.raw('}');
        return out.toBytes();
    }

    @Override
    public byte[] count(int v) {
        Writer out = new Writer(V_NUMBER.length + 11);
        out.raw(V_NUMBER);
        out.number(v);
        out.raw('}');
        return out.toBytes();
    }

    @Override
    public byte[] work(Strings.Work work) {
        Writer out = new Writer(96 + 3 * work.upper().length());
        out.raw(UPPER);
        out.text(work.upper());
        out.raw(LOWER);
        out.text(work.lower());
        out.raw(REVERSED);
        out.text(work.reversed());
        out.raw(CRC32);
        out.hex(work.crc32());
        out.raw(FACTOR);
        out.number(work.factor());
        out.raw(SCORE);
        out.number(Integer.toUnsignedLong(work.score()));
        out.raw('}');
        return out.toBytes();
    }

    /**
     * Refuses what Jackson would let through or guess at: malformed UTF-8, a byte order mark, and UTF-16 or UTF-32
     * (their JSON always holds a zero byte, which UTF-8 JSON never does).
     *
     * @return whether there are escapes, the only way left to write a lone surrogate
     */
    static boolean checkBytes(byte[] body) throws Refused {
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

    private static void checkUtf8(byte[] body) throws Refused {
        if (body[0] < 0) {
            throw new Refused(Refusal.INVALID_JSON); // no JSON text starts outside ASCII; Jackson would skip a BOM
        }
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body));
        } catch (CharacterCodingException malformed) {
            throw new Refused(Refusal.INVALID_JSON);
        }
    }

    static boolean isInRange(int factor) {
        return factor >= 0 && factor <= LARGEST_FACTOR;
    }

    static boolean hasLoneSurrogate(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!Character.isSurrogate(c)) {
                continue;
            }
            i++;
            if (Character.isLowSurrogate(c) || i == text.length() || !Character.isLowSurrogate(text.charAt(i))) {
                return true;
            }
        }
        return false;
    }

    private static byte[] ascii(String s) {
        return s.getBytes(StandardCharsets.US_ASCII);
    }

    /** Reads one body to its end before it judges what it found. */
    private static final class Reader {

        private final JsonParser parser;
        private final boolean escapes;
        private final boolean takesFactor;
        private String s;
        private int factor = DEFAULT_FACTOR;
        private boolean wrongType;
        private boolean unknownField;

        Reader(JsonParser parser, boolean escapes, boolean takesFactor) {
            this.parser = parser;
            this.escapes = escapes;
            this.takesFactor = takesFactor;
        }

        Input read() throws IOException, Refused {
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

        private void readFields() throws IOException, Refused {
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String name = parser.currentName();
                checkSurrogates(name);
                JsonToken value = parser.nextToken();
                if (name.equals("s")) {
                    readS(value);
                } else if (takesFactor && name.equals("factor")) {
                    readFactor(value);
                } else {
                    unknownField = true;
                    skipValue(value);
                }
            }
        }

        private void readS(JsonToken value) throws IOException, Refused {
            if (value == JsonToken.VALUE_STRING) {
                s = parser.getText();
                checkSurrogates(s);
            } else {
                wrongType = true;
                skipValue(value);
            }
        }

        private void readFactor(JsonToken value) throws IOException, Refused {
            if (value == JsonToken.VALUE_NUMBER_INT) {
                // JSON allows no leading zeros, so what is longer than "-1000" is out of range whatever it says.
                factor = parser.getTextLength() > 5 ? -1 : Integer.parseInt(parser.getText());
            } else {
                wrongType = true;
                skipValue(value);
            }
        }

        private void skipValue(JsonToken first) throws IOException, Refused {
            int depth = 0;
            JsonToken token = first;
            while (token != null) {
                if (token.isStructStart()) {
                    depth++;
                } else if (token.isStructEnd()) {
                    depth--;
                } else if (escapes && (token == JsonToken.VALUE_STRING || token == JsonToken.FIELD_NAME)) {
                    checkSurrogates(parser.getText());
                }
                if (depth == 0) {
                    return;
                }
                token = parser.nextToken();
            }
        }

        private void checkSurrogates(String text) throws Refused {
            if (escapes && hasLoneSurrogate(text)) {
                throw new Refused(Refusal.INVALID_JSON);
            }
        }

        private Input judge() throws Refused {
            if (wrongType) {
                throw new Refused(Refusal.WRONG_TYPE);
            }
            if (unknownField) {
                throw new Refused(Refusal.UNKNOWN_FIELD);
            }
            if (s == null) {
                throw new Refused(Refusal.MISSING_FIELD);
            }
            if (s.isEmpty()) {
                throw new Refused(Refusal.EMPTY_STRING);
            }
            if (!isInRange(factor)) {
                throw new Refused(Refusal.OUT_OF_RANGE);
            }
            return new Input(s, factor);
        }
    }

    /** Grows a byte array; sized so that plain ASCII fits at once and needs no copy at the end. */
    private static final class Writer {

        private byte[] bytes;
        private int size;

        Writer(int expectedBytes) {
            bytes = new byte[expectedBytes];
        }

        byte[] toBytes() {
            return size == bytes.length ? bytes : Arrays.copyOf(bytes, size);
        }

        void raw(byte[] token) {
            reserve(token.length);
            System.arraycopy(token, 0, bytes, size, token.length);
            size += token.length;
        }

        void raw(char c) {
            reserve(1);
            bytes[size++] = (byte) c;
        }

        void number(long n) {
            raw(ascii(Long.toString(n)));
        }

        void hex(int word) {
            for (int shift = Integer.SIZE - 4; shift >= 0; shift -= 4) {
                raw((char) HEX[word >>> shift & 0xf]);
            }
        }

        /** Writes the inside of a JSON string. */
        void text(String s) {
            int length = s.length();
            reserve(length);
            byte[] to = bytes;
            int from = size;
            for (int i = 0; i < length; i++) {
                char c = s.charAt(i);
                if (c < ' ' || c >= 0x80 || c == '"' || c == '\\') {
                    size = from + i;
                    codePoints(s, i);
                    return;
                }
                to[from + i] = (byte) c;
            }
            size = from + length;
        }

        private void codePoints(String s, int start) {
            for (int i = start; i < s.length(); ) {
                int c = s.codePointAt(i);
                i += Character.charCount(c);
                if (c < ' ' || c == '"' || c == '\\') {
                    escaped(c);
                } else {
                    utf8(c);
                }
            }
        }

        private void escaped(int c) {
            raw('\\');
            switch (c) {
                case '"', '\\' -> raw((char) c);
                case '\b' -> raw('b');
                case '\f' -> raw('f');
                case '\n' -> raw('n');
                case '\r' -> raw('r');
                case '\t' -> raw('t');
                default -> {
                    raw('u');
                    raw('0');
                    raw('0');
                    raw((char) HEX[c >>> 4]);
                    raw((char) HEX[c & 0xf]);
                }
            }
        }

        private void utf8(int c) {
            if (c < 0x80) {
                raw((char) c);
            } else if (c < 0x800) {
                raw((char) (0xc0 | c >>> 6));
                raw((char) (0x80 | c & 0x3f));
            } else if (c < 0x10000) {
                raw((char) (0xe0 | c >>> 12));
                raw((char) (0x80 | c >>> 6 & 0x3f));
                raw((char) (0x80 | c & 0x3f));
            } else {
                raw((char) (0xf0 | c >>> 18));
                raw((char) (0x80 | c >>> 12 & 0x3f));
                raw((char) (0x80 | c >>> 6 & 0x3f));
                raw((char) (0x80 | c & 0x3f));
            }
        }

        private void reserve(int more) {
            if (bytes.length - size < more) {
                bytes = Arrays.copyOf(bytes, Math.max(size + more, bytes.length * 2));
            }
        }
    }
}
