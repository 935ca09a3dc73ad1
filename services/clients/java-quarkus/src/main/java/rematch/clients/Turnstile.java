// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.Cancellable;
import io.smallrye.mutiny.subscription.UniEmitter;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Lets as many calls of the upstream be under way as there are connections, so that the others wait here and not in the
 * REST client. There, Vert.x would lose a connection, or forget to close it, whenever a wait was given up while the
 * connection was being opened. For the same reason a call whose caller has given up goes on for a while: it is cancelled
 * when it has surely got its connection.
 */
final class Turnstile {

    private final Duration grace;
    private final ScheduledExecutorService clock;
    private final Queue<Call<?>> waiting = new ArrayDeque<>();
    private int free;

    /**
     * @param grace the longest time that getting a connection can take
     * @param clock with threads that nobody's waiting keeps busy
     */
    Turnstile(int calls, Duration grace, ScheduledExecutorService clock) {
        this.free = calls;
        this.grace = grace;
        this.clock = clock;
    }

    /** The call's outcome; who cancels it gives up waiting. */
    <T> Uni<T> pass(Supplier<Uni<T>> call) {
        return Uni.createFrom().emitter(caller -> enter(new Call<T>(call, caller)));
    }

    private void enter(Call<?> call) {
        synchronized (this) {
            if (free == 0) {
                waiting.add(call);
                return;
            }
            free--;
        }
        call.start();
    }

    /** The next one starts on the thread of the one that ends. */
    private void leave() {
        Call<?> next;
        synchronized (this) {
            next = waiting.poll();
            while (next != null && next.givenUp()) {
                next = waiting.poll();
            }
            if (next == null) {
                free++;
                return;
            }
        }
        next.start();
    }

    private final class Call<T> {

        private final Supplier<Uni<T>> source;
        private final UniEmitter<? super T> caller;
        private Cancellable underWay;
        private boolean givenUp;
        private boolean over;

        Call(Supplier<Uni<T>> source, UniEmitter<? super T> caller) {
            this.source = source;
            this.caller = caller;
            caller.onTermination(this::giveUp);
        }

        synchronized boolean givenUp() {
            return givenUp;
        }

        void start() {
            Cancellable started = Uni.createFrom().<T>deferred(source::get).subscribe().with(this::answered, this::failed);
            synchronized (this) {
                underWay = started;
                if (!givenUp || over) {
                    return;
                }
            }
            cancelLater();
        }

        private void answered(T answer) {
            if (end()) {
                caller.complete(answer);
                leave();
            }
        }

        private void failed(Throwable why) {
            if (end()) {
                caller.fail(why);
                leave();
            }
        }

        /** True for the first one that says so. */
        private synchronized boolean end() {
            boolean first = !over;
            over = true;
            return first;
        }

        private void giveUp() {
            synchronized (this) {
                givenUp = true;
                if (over || underWay == null) {
                    return;
                }
            }
            cancelLater();
        }

        private void cancelLater() {
            clock.schedule(this::cancel, grace.toMillis(), TimeUnit.MILLISECONDS);
        }

        private void cancel() {
            if (end()) {
                underWay.cancel();
                leave();
            }
        }
    }
}
