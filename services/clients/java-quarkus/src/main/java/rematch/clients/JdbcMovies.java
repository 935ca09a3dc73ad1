// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.agroal.api.AgroalDataSource;
import jakarta.enterprise.inject.Instance;
import jakarta.inject.Singleton;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The table of movies, asked by JDBC over Agroal's pool. */
@Singleton
final class JdbcMovies implements Movies {

    /** There is none in mode {@code reactive}, so it is looked up when it is needed. */
    private final Instance<AgroalDataSource> database;

    JdbcMovies(Instance<AgroalDataSource> database) {
        this.database = database;
    }

    /** All films by director, in the order of the rows. */
    <F> Map<String, List<F>> byDirector(FilmOf<F> of) throws SQLException {
        try (Connection connection = database.get().getConnection();
                PreparedStatement statement = connection.prepareStatement(STATEMENT);
                ResultSet rows = statement.executeQuery()) {
            Map<String, List<F>> byDirector = new HashMap<>();
            while (rows.next()) {
                byDirector.computeIfAbsent(rows.getString(4), director -> new ArrayList<>())
                        .add(of.film(rows.getString(1), year(rows), rows.getBigDecimal(3)));
            }
            return byDirector;
        }
    }

    /** All films in the order of the rows, by a statement that is not prepared; what is null is 0. */
    List<Published.Film> published() throws SQLException {
        try (Connection connection = database.get().getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(STATEMENT)) {
            List<Published.Film> films = new ArrayList<>();
            while (rows.next()) {
                films.add(new Published.Film(rows.getString("title"), rows.getShort("year"), rows.getDouble("cost"),
                        rows.getString("director")));
            }
            return films;
        }
    }

    private static Short year(ResultSet rows) throws SQLException {
        short year = rows.getShort(2);
        return rows.wasNull() ? null : Short.valueOf(year);
    }

    @Override
    public int connectionsInUse() {
        return Math.toIntExact(database.get().getMetrics().activeCount());
    }

    @Override
    public int connectionsIdle() {
        return Math.toIntExact(database.get().getMetrics().availableCount());
    }
}
