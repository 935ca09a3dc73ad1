// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;

/** What is sent: JSON objects filled in the order of the contract's keys. */
final class Answers {

    /** Amounts are a {@link BigDecimal} with two decimals, or a {@link Double} in the published face. */
    record LoanOption(int years, Number installment, Number maximum, Number loan) {

        JsonObject json() {
            return new JsonObject().put("years", years).put("installment", installment).put("maximum", maximum)
                    .put("loan", loan);
        }
    }

    /** {@code year} and {@code cost} may be null. */
    record Film(String title, Short year, BigDecimal cost) {
    }

    private final boolean published;

    Answers(Settings.Face face) {
        this.published = face == Settings.Face.PUBLISHED;
    }

    Buffer hello(Client client, List<Upstream.Phone> phones, Upstream.Address address) {
        JsonArray phonesJson = new JsonArray();
        for (Upstream.Phone phone : phones) {
            phonesJson.add(new JsonObject().put("ddd", phone.ddd()).put("number", phone.number()));
        }
        JsonArray loanOptions = new JsonArray();
        if (client.adult()) {
            for (LoanOption option : published ? client.publishedLoanOptions() : client.loanOptions()) {
                loanOptions.add(option.json());
            }
        }
        return client(client)
                .put("phones", phonesJson)
                .put("address", address(address))
                .put("loan_options", loanOptions)
                .toBuffer();
    }

    Buffer db(Client client, List<Film> films) {
        JsonArray filmsJson = new JsonArray();
        for (Film film : films) {
            filmsJson.add(new JsonObject().put("title", film.title()).put("year", film.year())
                    .put("cost", cost(film.cost())));
        }
        return client(client).put("films", filmsJson).toBuffer();
    }

    private JsonObject client(Client client) {
        return new JsonObject()
                .put("id", client.id())
                .put("name", client.name())
                .put("age", client.age())
                .put("salary", published ? (Number) client.publishedSalary() : client.salary())
                .put("favourite_director", client.favouriteDirector());
    }

    private static JsonObject address(Upstream.Address address) {
        return new JsonObject().put("street", address.street()).put("number", address.number())
                .put("state", address.state()).put("country", address.country());
    }

    private Number cost(BigDecimal cost) {
        if (cost == null) {
            return null;
        }
        return published ? (Number) cost.doubleValue() : cost.setScale(Client.CENTS_DIGITS, RoundingMode.UNNECESSARY);
    }
}
