// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.util.Optional;
import org.springframework.context.annotation.Profile;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/** The ledger in the database, in the statements that the contract asks of every implementation. */
@Component
@Profile("idiomatic")
final class Bank {

    static final String INSERT_ACCOUNT = """
            WITH created AS (
              INSERT INTO client (name, email, phone) VALUES ('', '', '') RETURNING id
            ), opening AS (
              INSERT INTO transaction (from_client_id, to_client_id, amount) SELECT 0, id, ? FROM created
            )
            SELECT id FROM created""";
    static final String INSERT_TRANSFER = """
            INSERT INTO transaction (from_client_id, to_client_id, amount)
            SELECT ?, ?, ? WHERE (SELECT count(*) FROM client WHERE id IN (?, ?)) = 2 RETURNING id""";
    static final String SELECT_BALANCE = """
            SELECT (SELECT coalesce(sum(amount), 0) FROM transaction WHERE to_client_id = client.id)
                 - (SELECT coalesce(sum(amount), 0) FROM transaction WHERE from_client_id = client.id)
            FROM client WHERE id = ?""";

    private final JdbcClient jdbc;

    Bank(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /** Makes a client and the transaction that pays in, both or none. */
    int open(int balance) {
        return jdbc.sql(INSERT_ACCOUNT).param(balance).query((row, number) -> row.getInt(1)).single();
    }

    /** Makes a transaction and returns its id; nothing when one of the clients is not there. */
    Optional<Integer> transfer(TransferOrder order) {
        return jdbc.sql(INSERT_TRANSFER)
                .param(order.fromClientId()).param(order.toClientId()).param(order.amount())
                .param(order.fromClientId()).param(order.toClientId())
                .query((row, number) -> row.getInt(1))
                .optional();
    }

    /** What a client received less what it sent; nothing when it is not there. */
    Optional<Long> balance(int clientId) {
        return jdbc.sql(SELECT_BALANCE).param(clientId).query((row, number) -> row.getLong(1)).optional();
    }
}
