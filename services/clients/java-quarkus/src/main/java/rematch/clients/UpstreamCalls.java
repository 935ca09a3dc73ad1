// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import com.fasterxml.jackson.core.JsonFactory;
import io.netty.channel.EventLoopGroup;
import io.quarkus.netty.MainEventLoopGroup;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.unchecked.Unchecked;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.eclipse.microprofile.rest.client.inject.RestClient;

/**
 * Calls of the upstream in the time allowed, which the REST client's own timeouts do not bound: they count the wait for
 * a connection and the silence of the other side each for itself. Time is kept by the event loops: Mutiny would run out
 * of it on a worker thread, and there is none while all of them wait for answers.
 */
@Singleton
final class UpstreamCalls {

    private static final JsonFactory JSON = new JsonFactory();

    private final Upstream upstream;
    private final Duration within;
    private final ScheduledExecutorService clock;
    private final Turnstile turnstile;
    private final boolean parallel;

    UpstreamCalls(@RestClient Upstream upstream, Settings settings,
            @MainEventLoopGroup EventLoopGroup eventLoops) {
        this.upstream = upstream;
        this.within = Duration.ofMillis(settings.upstreamTimeoutMs());
        this.clock = eventLoops;
        this.parallel = settings.calls() == Settings.Calls.PARALLEL;
        this.turnstile = new Turnstile(settings.upstreamConnections(), within, clock);
    }

    /** Asks for the phones of one client and the address of one, one after the other or at once. */
    <T> Uni<T> both(int phonesOf, int addressOf, BiFunction<List<Upstream.Phone>, Upstream.Address, T> answer) {
        return both(() -> phones(phonesOf), () -> address(addressOf), answer);
    }

    /** The same in the tuned craft. */
    <T> Uni<T> tuned(int phonesOf, int addressOf, BiFunction<Tokens.Phones, Upstream.Address, T> answer) {
        return both(() -> read(() -> upstream.bytesOfPhones(phonesOf), Tokens::phones),
                () -> read(() -> upstream.bytesOfAddress(addressOf), Tokens::address), answer);
    }

    private <P, A, T> Uni<T> both(Supplier<Uni<P>> phones, Supplier<Uni<A>> address, BiFunction<P, A, T> answer) {
        if (parallel) {
            return Uni.combine().all().unis(phones.get(), address.get()).with(answer);
        }
        return phones.get().flatMap(first -> address.get().map(second -> answer.apply(first, second)));
    }

    private Uni<List<Upstream.Phone>> phones(int id) {
        return inTime(() -> upstream.phones(id)).invoke(phones -> refuse(phones == null || phones.contains(null)));
    }

    private Uni<Upstream.Address> address(int id) {
        return inTime(() -> upstream.address(id)).invoke(address -> refuse(address == null));
    }

    private <T> Uni<T> read(Supplier<Uni<byte[]>> call, Tokens.Shape<T> shape) {
        return inTime(call).map(Unchecked.function(body -> {
            refuse(body == null);
            return shape.read(JSON.createParser(body));
        }));
    }

    private <T> Uni<T> inTime(Supplier<Uni<T>> call) {
        return turnstile.pass(call).ifNoItem().after(within).on(clock).fail();
    }

    /** Jackson cannot be told to refuse {@code null} where an object should be. */
    private static void refuse(boolean wrong) {
        if (wrong) {
            throw new Refusal.Refused(Refusal.UPSTREAM_BAD_ANSWER);
        }
    }
}
