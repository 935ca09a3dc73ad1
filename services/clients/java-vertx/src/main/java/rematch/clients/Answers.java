// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;

/** What the matched face sends: JSON objects filled in the order of the contract's keys. */
final class Answers {

    /** Amounts have two decimals. */
    record LoanOption(int years, BigDecimal installment, BigDecimal maximum, BigDecimal loan) {

        JsonObject json() {
            return new JsonObject().put("years", years).put("installment", installment).put("maximum", maximum)
                    .put("loan", loan);
        }
    }

    /** {@code year} and {@code cost} may be null. */
    record Film(String title, Short year, BigDecimal cost) {
    }

    private Answers() {
    }

    static Buffer hello(Client client, List<Upstream.Phone> phones, Upstream.Address address) {
        JsonArray loanOptions = new JsonArray();
        if (client.adult()) {
            for (LoanOption option : client.loanOptions()) {
                loanOptions.add(option.json());
            }
        }
        return client(client)
                .put("phones", phones(phones))
                .put("address", address(address))
                .put("loan_options", loanOptions)
                .toBuffer();
    }

    static Buffer db(Client client, List<Film> films) {
        JsonArray filmsJson = new JsonArray();
        for (Film film : films) {
            filmsJson.add(new JsonObject().put("title", film.title()).put("year", film.year())
                    .put("cost", cost(film.cost())));
        }
        return client(client).put("films", filmsJson).toBuffer();
    }

    static JsonArray phones(List<Upstream.Phone> phones) {
        JsonArray phonesJson = new JsonArray();
        for (Upstream.Phone phone : phones) {
            phonesJson.add(new JsonObject().put("ddd", phone.ddd()).put("number", phone.number()));
        }
        return phonesJson;
    }

    static JsonObject address(Upstream.Address address) {
        return new JsonObject().put("street", address.street()).put("number", address.number())
                .put("state", address.state()).put("country", address.country());
    }

    private static JsonObject client(Client client) {
        return new JsonObject()
                .put("id", client.id())
                .put("name", client.name())
                .put("age", client.age())
                .put("salary", client.salary())
                .put("favourite_director", client.favouriteDirector());
    }

    private static BigDecimal cost(BigDecimal cost) {
        return cost == null ? null : cost.setScale(Client.CENTS_DIGITS, RoundingMode.UNNECESSARY);
    }
}
