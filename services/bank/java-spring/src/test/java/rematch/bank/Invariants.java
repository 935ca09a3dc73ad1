// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;

/** The contract's {@code invariants.sql}. */
final class Invariants {

    private static final Path STATEMENTS = Path.of("..", "contract", "invariants.sql");

    private Invariants() {
    }

    static void hold(DatabaseAddress database) throws Exception {
        int checked = 0;
        try (Connection connection = Postgres.connect(database); Statement statement = connection.createStatement()) {
            boolean rowsFollow = statement.execute(Files.readString(STATEMENTS));
            while (rowsFollow) {
                try (ResultSet rows = statement.getResultSet()) {
                    rows.next();
                    assertEquals(rows.getLong("expected"), rows.getLong("found"), rows.getString("name"));
                    checked++;
                }
                rowsFollow = statement.getMoreResults();
            }
        }
        assertEquals(4, checked);
    }
}
