// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the article's program sent: other names and ids, doubles, and loan options in an array of their own. */
final class Published {

    private static final double SHARE_OF_SALARY = 0.03;
    private static final double DISCOUNT = 0.07;
    private static final int MONTHS = 12;
    private static final int LONGEST_YEARS = 3;

    record Film(String title, short year, double cost, String director) {

        JsonObject json() {
            return new JsonObject().put("title", title).put("year", year).put("cost", cost).put("director", director);
        }
    }

    private Published() {
    }

    /** Phones and address are null where their call failed. */
    static Buffer hello(Client client, List<Upstream.Phone> phones, Upstream.Address address) {
        return new JsonObject()
                .put("client", person(client, phones, address))
                .put("loanOptions", JsonArray.of(client.adult() ? loanOptions(client.publishedSalary()) : new JsonArray()))
                .toBuffer();
    }

    static Buffer films(Client client, List<Film> all) {
        Map<String, List<Film>> byDirector = new HashMap<>();
        for (Film film : all) {
            byDirector.computeIfAbsent(film.director(), director -> new ArrayList<>()).add(film);
        }
        List<Film> favourites = byDirector.get(client.favouriteDirector());
        JsonArray movies = favourites == null ? null : new JsonArray();
        for (Film film : favourites == null ? List.<Film>of() : favourites) {
            movies.add(film.json());
        }
        return new JsonObject().put("client", person(client, null, null)).put("movies", movies).toBuffer();
    }

    private static JsonObject person(Client client, List<Upstream.Phone> phones, Upstream.Address address) {
        return new JsonObject()
                .put("id", client.publishedId())
                .put("name", client.publishedName())
                .put("age", client.age())
                .put("guardianID", 0)
                .put("monthSalary", client.publishedSalary())
                .put("address", address == null ? null : Answers.address(address))
                .put("phones", phones == null ? null : Answers.phones(phones))
                .put("favoriteDirector", client.favouriteDirector());
    }

    private static JsonArray loanOptions(double salary) {
        JsonArray options = new JsonArray();
        for (int years = 1; years <= LONGEST_YEARS; years++) {
            double installment = salary * SHARE_OF_SALARY;
            double maximum = installment * MONTHS * years;
            options.add(new JsonObject().put("years", years).put("loan", maximum - maximum * DISCOUNT)
                    .put("monthlyInstallment", installment));
        }
        return options;
    }
}
