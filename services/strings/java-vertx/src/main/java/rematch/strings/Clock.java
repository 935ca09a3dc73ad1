// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.vertx.core.Vertx;
import io.vertx.core.http.HttpHeaders;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** The {@code Date} of answers, made once a second for all event loops: Vert.x sends none of its own. */
final class Clock {

    private static final long SECOND_MS = 1_000;
    private static final DateTimeFormatter HTTP =
            DateTimeFormatter.ofPattern("EEE, dd MMM uuuu HH:mm:ss 'GMT'", Locale.ENGLISH).withZone(ZoneOffset.UTC);

    private volatile CharSequence date = now();

    Clock(Vertx vertx) {
        vertx.setPeriodic(SECOND_MS, tick -> date = now());
    }

    CharSequence date() {
        return date;
    }

    private static CharSequence now() {
        return HttpHeaders.createOptimized(HTTP.format(Instant.now()));
    }
}
