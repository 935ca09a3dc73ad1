// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * What the tuned craft sends: the bytes of the other craft, appended to an array that each thread keeps. Whoever sends
 * them copies them before the thread makes the next answer.
 */
final class AnswerBytes {

    private static final JsonFactory JACKSON = new JsonFactory();
    private static final ThreadLocal<AnswerBytes> OF_THREAD = ThreadLocal.withInitial(AnswerBytes::new);
    private static final int USUAL_BYTES = 2_048;
    private static final int LONGEST_NUMBER = 20;
    private static final int LONGEST_LOAN_YEARS = 3;

    /** Stands for a year or a cost that is null: no column holds such a number. */
    private static final int NONE = Integer.MIN_VALUE;

    private static final byte[] NULL = ascii("null");
    private static final byte[] ID = ascii("{\"id\":");
    private static final byte[] NAME = ascii(",\"name\":");
    private static final byte[] AGE = ascii(",\"age\":");
    private static final byte[] SALARY = ascii(",\"salary\":");
    private static final byte[] DIRECTOR = ascii(",\"favourite_director\":");
    private static final byte[] PHONES = ascii(",\"phones\":[");
    private static final byte[] DDD = ascii("{\"ddd\":");
    private static final byte[] NUMBER = ascii(",\"number\":");
    private static final byte[] STREET = ascii("],\"address\":{\"street\":");
    private static final byte[] STATE = ascii(",\"state\":");
    private static final byte[] COUNTRY = ascii(",\"country\":");
    private static final byte[] LOAN_OPTIONS = ascii("},\"loan_options\":[");
    private static final byte[] YEARS = ascii("{\"years\":");
    private static final byte[] INSTALLMENT = ascii(",\"installment\":");
    private static final byte[] MAXIMUM = ascii(",\"maximum\":");
    private static final byte[] LOAN = ascii(",\"loan\":");
    private static final byte[] FILMS = ascii(",\"films\":[");
    private static final byte[] TITLE = ascii("{\"title\":");
    private static final byte[] YEAR = ascii(",\"year\":");
    private static final byte[] COST = ascii(",\"cost\":");
    private static final byte[] END = ascii("]}");

    /** A film as it is answered. */
    record Film(String title, int year, long cents) {
    }

    private byte[] bytes = new byte[USUAL_BYTES];
    private int size;

    private AnswerBytes() {
    }

    /** The bytes are the first {@link #size} of it. */
    byte[] array() {
        return bytes;
    }

    int size() {
        return size;
    }

    static AnswerBytes hello(Client client, Tokens.Phones phones, Upstream.Address address) {
        AnswerBytes out = of(client);
        out.raw(PHONES);
        for (int i = 0; i < phones.size(); i += 2) {
            out.commaUnless(i == 0);
            out.raw(DDD);
            out.number(phones.integers()[i]);
            out.raw(NUMBER);
            out.number(phones.integers()[i + 1]);
            out.raw('}');
        }
        out.raw(STREET);
        out.text(address.street());
        out.raw(NUMBER);
        out.number(address.number());
        out.raw(STATE);
        out.text(address.state());
        out.raw(COUNTRY);
        out.text(address.country());
        out.raw(LOAN_OPTIONS);
        for (int years = 1; client.adult() && years <= LONGEST_LOAN_YEARS; years++) {
            out.commaUnless(years == 1);
            out.raw(YEARS);
            out.number(years);
            out.raw(INSTALLMENT);
            out.amount(client.installmentCents());
            out.raw(MAXIMUM);
            out.amount(client.maximumCents(years));
            out.raw(LOAN);
            out.amount(client.loanCents(years));
            out.raw('}');
        }
        out.raw(END);
        return out;
    }

    /** @param films null when the director has none */
    static AnswerBytes db(Client client, List<Film> films) {
        AnswerBytes out = of(client);
        out.raw(FILMS);
        for (int i = 0; films != null && i < films.size(); i++) {
            Film film = films.get(i);
            out.commaUnless(i == 0);
            out.raw(TITLE);
            out.text(film.title());
            out.raw(YEAR);
            if (film.year() == NONE) {
                out.raw(NULL);
            } else {
                out.number(film.year());
            }
            out.raw(COST);
            if (film.cents() == NONE) {
                out.raw(NULL);
            } else {
                out.amount(film.cents());
            }
            out.raw('}');
        }
        out.raw(END);
        return out;
    }

    /** @param year null when it is not known, as {@code cost} */
    static Film film(String title, Short year, BigDecimal cost) {
        return new Film(title, year == null ? NONE : year,
                cost == null ? NONE : cost.scaleByPowerOfTen(Client.CENTS_DIGITS).longValueExact());
    }

    /** What both answers begin with. */
    private static AnswerBytes of(Client client) {
        AnswerBytes out = OF_THREAD.get();
        out.size = 0;
        out.raw(ID);
        out.number(client.id());
        out.raw(NAME);
        out.text(client.name());
        out.raw(AGE);
        out.number(client.age());
        out.raw(SALARY);
        out.amount(client.salaryCents());
        out.raw(DIRECTOR);
        out.text(client.favouriteDirector());
        return out;
    }

    private void commaUnless(boolean first) {
        if (!first) {
            raw(',');
        }
    }

    private void raw(byte[] token) {
        reserve(token.length);
        System.arraycopy(token, 0, bytes, size, token.length);
        size += token.length;
    }

    private void raw(char ascii) {
        reserve(1);
        bytes[size++] = (byte) ascii;
    }

    /** A JSON string: plain ASCII in place, anything else as the other craft's library writes it. */
    private void text(String text) {
        int length = text.length();
        reserve(length + 2);
        int at = size;
        bytes[at++] = '"';
        for (int i = 0; i < length; i++) {
            char c = text.charAt(i);
            if (c < ' ' || c >= 0x80 || c == '"' || c == '\\') {
                raw(byJackson(text));
                return;
            }
            bytes[at++] = (byte) c;
        }
        bytes[at++] = '"';
        size = at;
    }

    private static byte[] byJackson(String text) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (JsonGenerator json = JACKSON.createGenerator(out)) {
            json.writeString(text);
        } catch (IOException noUnicode) { // half a pair of surrogates
            throw new UncheckedIOException(noUnicode);
        }
        return out.toByteArray();
    }

    private void number(long number) {
        reserve(LONGEST_NUMBER);
        long left = number;
        if (left < 0) {
            bytes[size++] = '-';
            left = -left;
        }
        int digits = 1;
        for (long power = 10; left >= power; power *= 10) {
            digits++;
        }
        size += digits;
        for (int at = size; digits > 0; digits--) {
            bytes[--at] = (byte) ('0' + left % 10);
            left /= 10;
        }
    }

    /** Two decimals. */
    private void amount(long cents) {
        long left = Math.abs(cents);
        if (cents < 0) {
            raw('-');
        }
        number(left / 100);
        raw('.');
        raw((char) ('0' + left / 10 % 10));
        raw((char) ('0' + left % 10));
    }

    private void reserve(int more) {
        if (bytes.length - size < more) {
            bytes = Arrays.copyOf(bytes, Math.max(size + more, 2 * bytes.length));
        }
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
