// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import org.springframework.context.annotation.Profile;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** The published and the repaired face: nothing is checked but what Spring checks by itself. */
@RestController
@Profile({"published", "repaired"})
final class PublishedController {

    private final PublishedBank bank;
    private final JsonMapper json;

    PublishedController(PublishedBank bank, JsonMapper json) {
        this.bank = bank;
        this.json = json;
    }

    @GetMapping(path = "/", produces = MediaType.APPLICATION_JSON_VALUE)
    String home() {
        return "{\"status\":\"Ok\"}";
    }

    /** Two inserts, and no transaction around them. */
    @PostMapping("/client/new/{balance}")
    Answers.Client open(@PathVariable int balance, Body body) {
        int id = bank.insertClient();
        bank.insertTransaction(new PublishedBank.Transaction(0, balance, 0, id));
        return new Answers.Client(id, "", "", "");
    }

    /** The body comes as bytes rather than bound, because no setting of Spring's bounds it. */
    @PostMapping("/transaction")
    PublishedBank.Transaction transfer(Body body) {
        try {
            return bank.insertTransaction(json.readValue(body.bytes(), PublishedBank.Transaction.class));
        } catch (JacksonException notJson) {
            throw new Refused(Refusal.INVALID_JSON);
        }
    }

    @GetMapping("/client/{id}/balance")
    Answers.Balance balance(@PathVariable int id) {
        return new Answers.Balance(bank.balance(id));
    }
}
