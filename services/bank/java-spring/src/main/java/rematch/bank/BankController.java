// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import org.springframework.context.annotation.Profile;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** The matched face. */
@RestController
@Profile("matched")
final class BankController {

    private static final int LARGEST_BALANCE = 1_000_000_000;

    private final Bank bank;

    BankController(Bank bank) {
        this.bank = bank;
    }

    /** The body is read, within its limit, and ignored. */
    @PostMapping("/client/new/{balance}")
    Answers.Client open(@PathVariable String balance, Body body) {
        if (!Digits.areCanonical(balance) || !Digits.fit(balance, LARGEST_BALANCE)) {
            throw new Refused(Refusal.BAD_BALANCE);
        }
        return new Answers.Client(bank.open(Integer.parseInt(balance)), "", "", "");
    }

    @PostMapping("/transaction")
    Answers.Transaction transfer(Body body) {
        TransferOrder order = TransferOrder.of(body);
        int id = bank.transfer(order).orElseThrow(() -> new Refused(Refusal.UNKNOWN_CLIENT));
        return new Answers.Transaction(id, order.amount(), order.fromClientId(), order.toClientId());
    }

    @GetMapping("/client/{id}/balance")
    Answers.Balance balance(@PathVariable String id) {
        if (!Digits.areCanonical(id) || !Digits.isPositive(id)) {
            throw new Refused(Refusal.BAD_ID);
        }
        if (!Digits.fit(id, Integer.MAX_VALUE)) {
            throw new Refused(Refusal.UNKNOWN_CLIENT);
        }
        return bank.balance(Integer.parseInt(id))
                .map(Answers.Balance::new)
                .orElseThrow(() -> new Refused(Refusal.UNKNOWN_CLIENT));
    }
}
