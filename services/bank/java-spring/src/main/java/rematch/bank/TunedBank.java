// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/** The ledger in the tuned craft: the statements of {@link Bank} by JDBC itself, without Spring's templates. */
@Component
@Profile("tuned")
final class TunedBank {

    private final DataSource source;

    TunedBank(DataSource source) {
        this.source = source;
    }

    /** Makes a client and the transaction that pays in, both or none. */
    int open(int balance) throws SQLException {
        try (Connection connection = source.getConnection();
                PreparedStatement statement = connection.prepareStatement(Bank.INSERT_ACCOUNT)) {
            statement.setInt(1, balance);
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                return rows.getInt(1);
            }
        }
    }

    /** Makes a transaction and returns its id. */
    int transfer(TransferOrder order) throws SQLException {
        try (Connection connection = source.getConnection();
                PreparedStatement statement = connection.prepareStatement(Bank.INSERT_TRANSFER)) {
            statement.setInt(1, order.fromClientId());
            statement.setInt(2, order.toClientId());
            statement.setInt(3, order.amount());
            statement.setInt(4, order.fromClientId());
            statement.setInt(5, order.toClientId());
            try (ResultSet rows = statement.executeQuery()) {
                return (int) only(rows);
            }
        }
    }

    /** What a client received less what it sent. */
    long balance(int clientId) throws SQLException {
        try (Connection connection = source.getConnection();
                PreparedStatement statement = connection.prepareStatement(Bank.SELECT_BALANCE)) {
            statement.setInt(1, clientId);
            try (ResultSet rows = statement.executeQuery()) {
                return only(rows);
            }
        }
    }

    /** The number of the one row; no row means that a client is missing. */
    private static long only(ResultSet rows) throws SQLException {
        if (!rows.next()) {
            throw new Refused(Refusal.UNKNOWN_CLIENT);
        }
        return rows.getLong(1);
    }
}
