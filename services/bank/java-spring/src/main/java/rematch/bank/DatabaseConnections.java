// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Properties;
import java.util.concurrent.atomic.LongAdder;
import javax.sql.DataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** Where connections come from, one for every unit of work or out of a pool, and how many there are. */
final class DatabaseConnections implements AutoCloseable {

    private static final int MS_PER_S = 1_000;
    private static final int LONGEST_VALIDATION_MS = 5_000;

    private final LongAdder opened = new LongAdder();
    private final LongAdder closed = new LongAdder();
    private final HikariDataSource pool;
    private final DataSource source;

    DatabaseConnections(Settings settings, DatabaseAddress database) {
        boolean pooled = settings.connections() == Settings.Connections.POOL;
        DataSource driver = new Driver(database, settings);
        pool = pooled ? pool(driver, settings) : null;
        source = pooled ? pool : driver;
    }

    DataSource source() {
        return source;
    }

    /** Connections opened since the start. */
    long opened() {
        return opened.sum();
    }

    /** Connections at work; without a pool, all that are open. */
    long inUse() {
        return pool == null ? opened() - closed.sum() : pool.getHikariPoolMXBean().getActiveConnections();
    }

    /** Connections that wait for work. */
    long idle() {
        return pool == null ? 0 : pool.getHikariPoolMXBean().getIdleConnections();
    }

    @Override
    public void close() {
        if (pool != null) {
            pool.close();
        }
    }

    /**
     * Opens on demand and keeps what it has, but for the repaired face; starts whether the database is there or not.
     */
    private static HikariDataSource pool(DataSource driver, Settings settings) {
        // HikariCP refuses waits below 250 ms unless told before its first configuration.
        System.setProperty("com.zaxxer.hikari.timeoutMs.floor", "1");
        HikariConfig config = new HikariConfig();
        config.setPoolName("bank");
        config.setDataSource(driver);
        config.setMaximumPoolSize(settings.poolSize());
        config.setInitializationFailTimeout(-1);
        if (settings.face() != Settings.Face.REPAIRED) { // which set the size alone: a pool that is always full
            config.setMinimumIdle(0);
            config.setIdleTimeout(0);
            config.setMaxLifetime(0);
            config.setConnectionTimeout(settings.poolWaitMs());
            config.setValidationTimeout(Math.min(LONGEST_VALIDATION_MS, settings.poolWaitMs()));
        }
        return new HikariDataSource(config);
    }

    /**
     * Opens a connection by {@code DriverManager} whenever it is asked for one.
     *
     * <p>In the matched face the server stops a statement that takes longer than the wait; should it not even say so,
     * the driver gives the connection up, which it can do in whole seconds only. The others set no limit.
     */
    private final class Driver extends DriverManagerDataSource {

        private final boolean countsClosed;

        Driver(DatabaseAddress database, Settings settings) {
            super(database.jdbcUrl(), database.user(), database.password());
            countsClosed = settings.connections() == Settings.Connections.PER_STATEMENT;
            Properties properties = new Properties();
            properties.setProperty("ApplicationName", "java-spring");
            if (settings.face() == Settings.Face.MATCHED) {
                String wholeSeconds = Integer.toString((settings.poolWaitMs() + MS_PER_S - 1) / MS_PER_S);
                properties.setProperty("options", "-c statement_timeout=" + settings.poolWaitMs());
                properties.setProperty("connectTimeout", wholeSeconds);
                properties.setProperty("socketTimeout", wholeSeconds);
                // Saves the two statements by which the driver otherwise sets up each connection.
                properties.setProperty("assumeMinServerVersion", "9.0");
                // What is used again is prepared when it is first used, as the Go services do; by itself the driver
                // waits for the fifth time. What is used once is not prepared.
                properties.setProperty("prepareThreshold", countsClosed ? "0" : "1");
            }
            setConnectionProperties(properties);
        }

        /** How long the pool, when it is closed, waits for a connection that is being opened. */
        @Override
        public int getLoginTimeout() {
            return 1;
        }

        @Override
        protected Connection getConnectionFromDriverManager(String url, Properties properties) throws SQLException {
            Connection connection = super.getConnectionFromDriverManager(url, properties);
            opened.increment();
            return countsClosed ? counted(connection) : connection;
        }

        private Connection counted(Connection connection) {
            return (Connection) Proxy.newProxyInstance(
                    Connection.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                        boolean closes = method.getName().equals("close") && !connection.isClosed();
                        try {
                            return method.invoke(connection, arguments);
                        } catch (InvocationTargetException failed) {
                            throw failed.getCause();
                        } finally {
                            if (closes) {
                                closed.increment();
                            }
                        }
                    });
        }
    }
}
