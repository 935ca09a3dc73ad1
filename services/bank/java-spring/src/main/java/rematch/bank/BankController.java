// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import org.springframework.context.annotation.Profile;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** The matched face in the idiomatic craft. */
@RestController
@Profile("idiomatic")
final class BankController {

    private final Bank bank;

    BankController(Bank bank) {
        this.bank = bank;
    }

    /** The body is read, within its limit, and ignored. */
    @PostMapping("/client/new/{balance}")
    Answers.Client open(@PathVariable String balance, Body body) {
        return new Answers.Client(bank.open(Asked.balance(balance)), "", "", "");
    }

    @PostMapping("/transaction")
    Answers.Transaction transfer(Body body) {
        TransferOrder order = TransferBinding.of(body);
        int id = bank.transfer(order).orElseThrow(() -> new Refused(Refusal.UNKNOWN_CLIENT));
        return new Answers.Transaction(id, order.amount(), order.fromClientId(), order.toClientId());
    }

    @GetMapping("/client/{id}/balance")
    Answers.Balance balance(@PathVariable String id) {
        return bank.balance(Asked.client(id))
                .map(Answers.Balance::new)
                .orElseThrow(() -> new Refused(Refusal.UNKNOWN_CLIENT));
    }
}
