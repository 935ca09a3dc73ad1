// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import com.fasterxml.jackson.core.JacksonException;
import io.netty.channel.ConnectTimeoutException;
import io.vertx.core.json.DecodeException;
import java.util.Locale;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import rematch.clients.Refusal.Refused;

/** Turns what went wrong elsewhere into refusals, and tells stderr why, at most once a second. */
final class Faults {

    private static final long SECOND_NS = 1_000_000_000L;
    private static final int LONGEST_REASON = 300;

    private final AtomicLong last = new AtomicLong(System.nanoTime() - SECOND_NS);

    Refused upstream(Throwable why) {
        return told(switch (why) {
            case TimeoutException late -> Refusal.UPSTREAM_TIMEOUT;
            case ConnectTimeoutException late -> Refusal.UPSTREAM_TIMEOUT;
            case Upstream.BadAnswer bad -> Refusal.UPSTREAM_BAD_ANSWER;
            case DecodeException noJson -> Refusal.UPSTREAM_BAD_ANSWER;
            case JacksonException noJson -> Refusal.UPSTREAM_BAD_ANSWER;
            default -> Refusal.UPSTREAM_UNAVAILABLE;
        }, why);
    }

    /** No connection in time, a broken one, or a failed statement. */
    Refused database(Throwable why) {
        return told(Refusal.DATABASE_UNAVAILABLE, why);
    }

    private Refused told(Refusal refusal, Throwable why) {
        long now = System.nanoTime();
        long before = last.get();
        if (now - before >= SECOND_NS && last.compareAndSet(before, now)) {
            String reason = String.valueOf(why).replaceAll("\\p{Cntrl}", " ");
            System.err.println(refusal.name().toLowerCase(Locale.ROOT) + ": "
                    + (reason.length() > LONGEST_REASON ? reason.substring(0, LONGEST_REASON) : reason));
        }
        return new Refused(refusal);
    }
}
