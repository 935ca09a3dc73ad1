// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;
import org.springframework.context.annotation.Profile;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** The matched face in the tuned craft: a transfer is read token by token, and answers are built as bytes. */
@RestController
@Profile("tuned")
final class TunedController {

    private final TunedBank bank;

    TunedController(TunedBank bank) {
        this.bank = bank;
    }

    /** The body is read, within its limit, and ignored. */
    @PostMapping("/client/new/{balance}")
    void open(@PathVariable String balance, Body body, HttpServletResponse response) throws IOException, SQLException {
        int id = bank.open(Asked.balance(balance));
        new AnswerBytes().put("{\"id\":").put(id).put(",\"name\":\"\",\"email\":\"\",\"phone\":\"\"}").send(response);
    }

    @PostMapping("/transaction")
    void transfer(Body body, HttpServletResponse response) throws IOException, SQLException {
        TransferOrder order = TransferOrder.of(body);
        int id = bank.transfer(order);
        new AnswerBytes().put("{\"id\":").put(id)
                .put(",\"amount\":").put(order.amount())
                .put(",\"from_client_id\":").put(order.fromClientId())
                .put(",\"to_client_id\":").put(order.toClientId())
                .put("}")
                .send(response);
    }

    @GetMapping("/client/{id}/balance")
    void balance(@PathVariable String id, HttpServletResponse response) throws IOException, SQLException {
        long balance = bank.balance(Asked.client(id));
        new AnswerBytes().put("{\"balance\":").put(balance).put("}").send(response);
    }
}
