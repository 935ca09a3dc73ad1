// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/**
 * The ledger as the programs of 2018 and of the rematch kept it: a connection for every statement, opened for it or out
 * of a pool, and given back by try-with-resources; a statement that fails is printed and swallowed, and the caller gets
 * what there is; a number that a transfer does not say is null and ends in a 500.
 *
 * <p>In 2018 a connection that could not be opened ended in a 500, as the null did that the program went on with. In the
 * rematch it is a failure like others: a wait for the pool that was too long is swallowed, too.
 */
@Component
@Profile({"published", "repaired"})
final class PublishedBank {

    private static final String INSERT_CLIENT =
            "INSERT INTO client (name, email, phone) VALUES (?, ?, ?) RETURNING id";
    private static final String INSERT_TRANSACTION =
            "INSERT INTO transaction (from_client_id, to_client_id, amount) VALUES (?, ?, ?) RETURNING id";
    private static final String SELECT_BALANCE = """
            SELECT received.total - sent.total
            FROM (SELECT coalesce(sum(amount), 0) AS total FROM transaction WHERE to_client_id = ?) received,
                 (SELECT coalesce(sum(amount), 0) AS total FROM transaction WHERE from_client_id = ?) sent""";

    /** What is asked and answered; null is what the caller did not say. */
    @JsonPropertyOrder({"id", "amount", "from_client_id", "to_client_id"})
    record Transaction(Integer id, Integer amount, @JsonProperty("from_client_id") Integer fromClientId,
                       @JsonProperty("to_client_id") Integer toClientId) {
    }

    private final DataSource source;
    private final AccessLog log;
    private final boolean swallowsNoConnection;

    PublishedBank(DataSource source, AccessLog log, Settings settings) {
        this.source = source;
        this.log = log;
        this.swallowsNoConnection = settings.face() == Settings.Face.REPAIRED;
    }

    /** Returns the new client's id, 0 when the statement failed. */
    int insertClient() {
        try (Connection connection = connect();
                PreparedStatement statement = connection.prepareStatement(INSERT_CLIENT)) {
            statement.setString(1, "");
            statement.setString(2, "");
            statement.setString(3, "");
            int id = first(statement);
            log.published("Created client with id " + id);
            return id;
        } catch (SQLException swallowed) {
            System.err.println(swallowed);
            return 0;
        }
    }

    /** Returns the transaction with its new id, or as it was when the statement failed. */
    Transaction insertTransaction(Transaction asked) {
        try (Connection connection = connect();
                PreparedStatement statement = connection.prepareStatement(INSERT_TRANSACTION)) {
            statement.setInt(1, asked.fromClientId());
            statement.setInt(2, asked.toClientId());
            statement.setInt(3, asked.amount());
            int id = first(statement);
            log.published("Created transaction with id " + id);
            return new Transaction(id, asked.amount(), asked.fromClientId(), asked.toClientId());
        } catch (SQLException swallowed) {
            System.err.println(swallowed);
            return asked;
        }
    }

    /** Returns what was received less what was sent, null when the statement failed or 32 bits are too few. */
    Long balance(int clientId) {
        try (Connection connection = connect();
                PreparedStatement statement = connection.prepareStatement(SELECT_BALANCE)) {
            statement.setInt(1, clientId);
            statement.setInt(2, clientId);
            long balance = first(statement);
            log.published("Get balance for client with id " + clientId);
            return balance;
        } catch (SQLException swallowed) {
            System.err.println(swallowed);
            return null;
        }
    }

    private Connection connect() throws SQLException {
        try {
            return source.getConnection();
        } catch (SQLException refused) {
            if (swallowsNoConnection) {
                throw refused;
            }
            System.err.println("Error open DB connection.");
            throw new IllegalStateException("no connection to the database", refused);
        }
    }

    private static int first(PreparedStatement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery()) {
            rows.next(); // these statements return a row or fail
            return rows.getInt(1);
        }
    }
}
