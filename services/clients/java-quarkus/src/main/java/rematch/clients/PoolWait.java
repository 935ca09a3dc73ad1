// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.quarkus.reactive.pg.client.PgPoolCreator;
import io.vertx.pgclient.PgBuilder;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.SqlConnectOptions;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Bounds how long the reactive client waits for a connection, for which Quarkus has no property. */
@Singleton
public class PoolWait implements PgPoolCreator {

    private final Settings settings;

    PoolWait(Settings settings) {
        this.settings = settings;
    }

    @Override
    public Pool create(Input input) {
        return PgBuilder.pool()
                .with(input.poolOptions()
                        .setConnectionTimeout(settings.poolWaitMs())
                        .setConnectionTimeoutUnit(TimeUnit.MILLISECONDS))
                .connectingTo(List.<SqlConnectOptions>copyOf(input.pgConnectOptionsList()))
                .using(input.vertx())
                .build();
    }
}
