// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import java.util.concurrent.atomic.AtomicLong;
import rematch.clients.Refusal.Refused;

/** Says which client a request is answered for. */
final class Turns {

    private static final int HUNDRED = 100;

    private final AtomicLong next = new AtomicLong();
    private final boolean asked;
    private final int minorPercent;

    /** @param asked whether {@code client=N} in the query is looked at */
    Turns(boolean asked, int minorPercent) {
        this.asked = asked;
        this.minorPercent = minorPercent;
    }

    /** The client of a {@code /hello}; of each hundred turns {@code minorPercent} are a minor's, evenly spread. */
    Client hello(String rawQuery) {
        Client named = named(rawQuery);
        if (named != null) {
            return named;
        }
        long turn = next.getAndIncrement();
        Client client = of(turn);
        int h = (int) (turn % HUNDRED);
        return (h + 1) * minorPercent / HUNDRED > h * minorPercent / HUNDRED ? client.asMinor() : client;
    }

    /** The client of a {@code /db}, which knows no minors. */
    Client db(String rawQuery) {
        Client named = named(rawQuery);
        return named != null ? named : of(next.getAndIncrement());
    }

    private static Client of(long turn) {
        return Client.ALL.get((int) (turn % Client.ALL.size()));
    }

    /** Null when the query names nobody; it is read as it was sent. */
    private Client named(String rawQuery) {
        if (rawQuery == null || !asked) {
            return null;
        }
        String found = null;
        for (String part : rawQuery.split("&", -1)) {
            if (part.equals("client") || part.startsWith("client=")) {
                if (found != null) {
                    throw new Refused(Refusal.BAD_CLIENT);
                }
                found = part;
            }
        }
        return found == null ? null : byText(found);
    }

    private static Client byText(String part) {
        for (Client client : Client.ALL) {
            if (part.equals("client=" + client.id())) {
                return client;
            }
        }
        throw new Refused(Refusal.BAD_CLIENT);
    }
}
