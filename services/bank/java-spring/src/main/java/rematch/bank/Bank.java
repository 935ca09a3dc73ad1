// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.util.Optional;
import org.springframework.context.annotation.Profile;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionOperations;

/** The ledger in the database, in the statements that the contract asks of every implementation. */
@Component
@Profile("matched")
final class Bank {

    private static final String INSERT_CLIENT = """
            INSERT INTO client (name, email, phone) VALUES ('', '', '') RETURNING id""";
    private static final String INSERT_OPENING = """
            INSERT INTO transaction (from_client_id, to_client_id, amount) VALUES (0, ?, ?)""";
    private static final String INSERT_TRANSFER = """
            INSERT INTO transaction (from_client_id, to_client_id, amount)
            SELECT ?, ?, ? WHERE (SELECT count(*) FROM client WHERE id IN (?, ?)) = 2 RETURNING id""";
    private static final String SELECT_BALANCE = """
            SELECT (SELECT coalesce(sum(amount), 0) FROM transaction WHERE to_client_id = client.id)
                 - (SELECT coalesce(sum(amount), 0) FROM transaction WHERE from_client_id = client.id)
            FROM client WHERE id = ?""";

    private final JdbcClient jdbc;
    private final TransactionOperations transactions;

    Bank(JdbcClient jdbc, TransactionOperations transactions) {
        this.jdbc = jdbc;
        this.transactions = transactions;
    }

    /** Makes a client and the transaction that pays in, both or none. */
    int open(int balance) {
        return transactions.execute(status -> {
            int id = jdbc.sql(INSERT_CLIENT).query((row, number) -> row.getInt(1)).single();
            jdbc.sql(INSERT_OPENING).param(id).param(balance).update();
            return id;
        });
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
