// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.netty.channel.EventLoopGroup;
import io.quarkus.netty.MainEventLoopGroup;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.inject.Instance;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicInteger;

/** The table of movies, asked without waiting over PostgreSQL's reactive client. */
@Singleton
final class ReactiveMovies implements Movies {

    /** There is none in mode {@code blocking}, so it is looked up when it is needed. */
    private final Instance<Pool> pool;
    private final Duration within;
    private final ScheduledExecutorService clock;
    private final AtomicInteger asking = new AtomicInteger();

    ReactiveMovies(Instance<Pool> pool, Settings settings,
            @MainEventLoopGroup EventLoopGroup eventLoops) {
        this.pool = pool;
        this.within = Duration.ofMillis(settings.poolWaitMs());
        this.clock = eventLoops;
    }

    /** All films by director, in the order of the rows; it fails when there is no answer within the pool's wait. */
    <F> Uni<Map<String, List<F>>> byDirector(FilmOf<F> of) {
        return rows().map(rows -> grouped(rows, of));
    }

    /** All films in the order of the rows; what is null is 0. */
    Uni<List<Published.Film>> published() {
        return rows().map(ReactiveMovies::listed);
    }

    private Uni<RowSet<Row>> rows() {
        asking.incrementAndGet();
        return pool.get().preparedQuery(STATEMENT).execute()
                .ifNoItem().after(within).on(clock).fail()
                .onTermination().invoke(asking::decrementAndGet);
    }

    private static List<Published.Film> listed(RowSet<Row> rows) {
        List<Published.Film> films = new ArrayList<>();
        for (Row row : rows) {
            films.add(new Published.Film(row.getString(0), row.getShort(1) == null ? 0 : row.getShort(1),
                    row.getDouble(2) == null ? 0 : row.getDouble(2), row.getString(3)));
        }
        return films;
    }

    private static <F> Map<String, List<F>> grouped(RowSet<Row> rows, FilmOf<F> of) {
        Map<String, List<F>> byDirector = new HashMap<>();
        for (Row row : rows) {
            byDirector.computeIfAbsent(row.getString(3), director -> new ArrayList<>())
                    .add(of.film(row.getString(0), row.getShort(1), row.getBigDecimal(2)));
        }
        return byDirector;
    }

    /** Statements beyond the number of connections wait for one. */
    @Override
    public int connectionsInUse() {
        return Math.min(asking.get(), pool.get().size());
    }

    @Override
    public int connectionsIdle() {
        return pool.get().size() - connectionsInUse();
    }
}
