// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import com.fasterxml.jackson.core.JacksonException;
import io.netty.channel.ConnectTimeoutException;
import jakarta.ws.rs.WebApplicationException;
import java.util.Locale;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import rematch.clients.Refusal.Refused;

/** Turns what went wrong elsewhere into refusals, and tells stderr why, at most once a second. */
final class Faults {

    private static final long SECOND_NS = 1_000_000_000L;
    private static final int LONGEST_REASON = 300;

    private final AtomicLong last = new AtomicLong(System.nanoTime() - SECOND_NS);

    /** A call to the upstream failed; the first cause that says something decides. */
    Refused upstream(Throwable why) {
        for (Throwable cause = why; cause != null; cause = cause.getCause()) {
            if (cause instanceof Refused refused) {
                return refused;
            }
            if (cause instanceof TimeoutException || cause instanceof ConnectTimeoutException
                    || cause instanceof io.smallrye.mutiny.TimeoutException) {
                return told(Refusal.UPSTREAM_TIMEOUT, cause);
            }
            if (cause instanceof WholeAnswers.BadAnswer || cause instanceof JacksonException
                    || cause instanceof WebApplicationException) {
                return told(Refusal.UPSTREAM_BAD_ANSWER, cause);
            }
        }
        return told(Refusal.UPSTREAM_UNAVAILABLE, why);
    }

    /** The same, where every fault of the upstream is a 500. */
    Refused publishedUpstream(Throwable why) {
        upstream(why);
        return new Refused(Refusal.INTERNAL);
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
