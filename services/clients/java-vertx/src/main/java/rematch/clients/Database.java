// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.pgclient.PgConnection;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.PoolOptions;
import io.vertx.sqlclient.PreparedQuery;
import io.vertx.sqlclient.PreparedStatement;
import io.vertx.sqlclient.Row;
import io.vertx.sqlclient.RowSet;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The table of movies. */
abstract sealed class Database {

    private static final String STATEMENT = "select title, year, cost, director from movie";

    private final int waitMs;
    private final AtomicInteger asking = new AtomicInteger();

    private Database(Settings settings) {
        this.waitMs = settings.poolWaitMs();
    }

    /** What a row is made into; {@code year} and {@code cost} may be null. */
    interface FilmOf<F> {
        F film(String title, Short year, BigDecimal cost);
    }

    /** All films by director, in the order of the rows; it fails when there is no answer within the pool's wait. */
    final <F> Future<Map<String, List<F>>> byDirector(FilmOf<F> of) {
        return rows().map(rows -> grouped(rows, of));
    }

    /** All films in the order of the rows, in the published face; what is null is 0. */
    final Future<List<Published.Film>> all() {
        return rows().map(Database::listed);
    }

    private Future<RowSet<Row>> rows() {
        asking.incrementAndGet();
        return ask()
                .timeout(waitMs, TimeUnit.MILLISECONDS)
                .onComplete(done -> asking.decrementAndGet());
    }

    final int asking() {
        return asking.get();
    }

    abstract int connectionsOpen();

    abstract Future<Void> close();

    abstract Future<RowSet<Row>> ask();

    private static <F> Map<String, List<F>> grouped(RowSet<Row> rows, FilmOf<F> of) {
        Map<String, List<F>> byDirector = new HashMap<>();
        for (Row row : rows) {
            byDirector.computeIfAbsent(row.getString(3), director -> new ArrayList<>())
                    .add(of.film(row.getString(0), row.getShort(1), row.getBigDecimal(2)));
        }
        return byDirector;
    }

    private static List<Published.Film> listed(RowSet<Row> rows) {
        List<Published.Film> films = new ArrayList<>();
        for (Row row : rows) {
            Short year = row.getShort("year");
            Double cost = row.getDouble("cost");
            films.add(new Published.Film(row.getString("title"), year == null ? 0 : year, cost == null ? 0 : cost,
                    row.getString("director")));
        }
        return films;
    }

    private static PgConnectOptions options(Settings.Surroundings surroundings) {
        return new PgConnectOptions()
                .setHost(surroundings.pgHost())
                .setPort(surroundings.pgPort())
                .setUser(surroundings.pgUser())
                .setPassword(surroundings.pgPassword())
                .setDatabase(surroundings.pgDatabase())
                .setCachePreparedStatements(true);
    }

    /** A pool that all verticles share; it opens connections when they are needed and keeps them. */
    static final class Pooled extends Database {

        private final Pool pool;

        Pooled(Vertx vertx, Settings settings) {
            super(settings);
            this.pool = PgBuilder.pool()
                    .with(new PoolOptions()
                            .setMaxSize(settings.poolSize())
                            .setConnectionTimeout(settings.poolWaitMs())
                            .setConnectionTimeoutUnit(TimeUnit.MILLISECONDS))
                    .connectingTo(options(settings.surroundings()))
                    .using(vertx)
                    .build();
        }

        @Override
        Future<RowSet<Row>> ask() {
            return pool.preparedQuery(STATEMENT).execute();
        }

        @Override
        int connectionsOpen() {
            return pool.size();
        }

        @Override
        Future<Void> close() {
            return pool.close();
        }
    }

    /**
     * One connection over which statements follow each other without waiting for answers, as published; every verticle
     * has its own. It is opened by {@link #prepare} or by the first request, and again by the first one after it broke.
     */
    static final class Pipelined extends Database {

        /** So many may be under way in the published face; in the other one as many as the client allows by itself. */
        private static final int PUBLISHED_LIMIT = 100_000;

        private final Vertx vertx;
        private final PgConnectOptions options;
        private final boolean published;
        private Future<PgConnection> connection;
        private Future<PreparedQuery<RowSet<Row>>> prepared;
        private volatile boolean open;

        Pipelined(Vertx vertx, Settings settings) {
            super(settings);
            this.vertx = vertx;
            this.options = options(settings.surroundings());
            this.published = settings.face() == Settings.Face.PUBLISHED;
            if (published) {
                options.setPipeliningLimit(PUBLISHED_LIMIT);
            }
        }

        /** In the published face: the statement, prepared once for each connection. */
        Future<PreparedQuery<RowSet<Row>>> prepare() {
            if (prepared == null) {
                prepared = connect().compose(connected -> connected.prepare(STATEMENT))
                        .<PreparedQuery<RowSet<Row>>>map(PreparedStatement::query)
                        .onFailure(failed -> prepared = null);
            }
            return prepared;
        }

        @Override
        Future<RowSet<Row>> ask() {
            return published ? prepare().compose(PreparedQuery::execute)
                    : connect().compose(connected -> connected.preparedQuery(STATEMENT).execute());
        }

        private Future<PgConnection> connect() {
            if (connection == null) {
                connection = PgConnection.connect(vertx, options).onComplete(this::keep, failed -> connection = null);
            }
            return connection;
        }

        private void keep(PgConnection connected) {
            open = true;
            connected.exceptionHandler(broken -> { }); // closing follows, and says enough
            connected.closeHandler(closed -> {
                open = false;
                connection = null;
                prepared = null;
            });
        }

        @Override
        int connectionsOpen() {
            return open ? 1 : 0;
        }

        @Override
        Future<Void> close() {
            return connection == null ? Future.succeededFuture() : connection.compose(PgConnection::close);
        }
    }
}
