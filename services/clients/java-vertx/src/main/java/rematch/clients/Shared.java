// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.Vertx;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** What all verticles of a process have in common. */
final class Shared {

    private final Turns turns;
    private final Faults faults = new Faults();
    private final AccessLog log;
    private final Metrics metrics;
    private final Upstream upstream;
    private final Database pool;
    private final List<Database> databases = new CopyOnWriteArrayList<>();
    private volatile int port;

    Shared(Vertx vertx, Settings settings, AccessLog log) {
        this.turns = new Turns(settings.face() == Settings.Face.MATCHED, settings.minorPercent());
        this.log = log;
        this.upstream = settings.lean() ? null : new Upstream(vertx, settings);
        this.pool = settings.lean() || settings.database() == Settings.DatabaseUse.PIPELINED
                ? null : new Database.Pooled(vertx, settings);
        if (pool != null) {
            databases.add(pool);
        }
        this.metrics = new Metrics();
        if (!settings.lean()) {
            metrics.connections("db_connections", "Connections to the database.", this::databaseInUse,
                    this::databaseIdle);
            metrics.connections("upstream_connections", "Connections to the upstream.", upstream::connectionsInUse,
                    upstream::connectionsIdle);
        }
    }

    Turns turns() {
        return turns;
    }

    Faults faults() {
        return faults;
    }

    AccessLog log() {
        return log;
    }

    Metrics metrics() {
        return metrics;
    }

    /** Null when lean. */
    Upstream upstream() {
        return upstream;
    }

    /** Null when each verticle has a connection of its own. */
    Database pool() {
        return pool;
    }

    void join(Database database) {
        databases.add(database);
    }

    void listening(int actualPort) {
        port = actualPort;
    }

    int port() {
        return port;
    }

    /** Statements beyond the number of connections wait for one. */
    private int databaseInUse() {
        return databases.stream().mapToInt(Shared::inUse).sum();
    }

    private int databaseIdle() {
        return databases.stream().mapToInt(database -> database.connectionsOpen() - inUse(database)).sum();
    }

    private static int inUse(Database database) {
        return Math.min(database.asking(), database.connectionsOpen());
    }
}
