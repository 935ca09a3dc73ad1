// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the article's program sent: other names and ids, and doubles. */
final class Published {

    private static final double SHARE_OF_SALARY = 0.03;
    private static final double DISCOUNT = 0.07;
    private static final int MONTHS = 12;
    private static final int LONGEST_YEARS = 3;

    @RegisterForReflection
    record LoanOption(int years, double loan, double monthlyInstallment) {
    }

    /** Address and phones are null in an answer about films. */
    @RegisterForReflection
    record Person(int id, String name, int age, int guardianID, double monthSalary, Upstream.Address address,
            List<Upstream.Phone> phones, String favoriteDirector) {
    }

    @RegisterForReflection
    record Hello(Person client, List<LoanOption> loanOptions) {
    }

    @RegisterForReflection
    record Film(String title, short year, double cost, String director) {
    }

    /** Both are null when the database fails, {@code movies} when the director has none. */
    @RegisterForReflection
    record Films(Person client, List<Film> movies) {
    }

    static final Films NO_DATABASE = new Films(null, null);

    private Published() {
    }

    static Hello hello(Client client, List<Upstream.Phone> phones, Upstream.Address address) {
        return new Hello(person(client, phones, address), client.adult() ? loanOptions(client) : List.of());
    }

    static Films films(Client client, List<Film> all) {
        Map<String, List<Film>> byDirector = new HashMap<>();
        for (Film film : all) {
            byDirector.computeIfAbsent(film.director(), director -> new ArrayList<>()).add(film);
        }
        return new Films(person(client, null, null), byDirector.get(client.favouriteDirector()));
    }

    private static Person person(Client client, List<Upstream.Phone> phones, Upstream.Address address) {
        return new Person(client.publishedId(), client.publishedName(), client.age(), 0, client.publishedSalary(),
                address, phones, client.favouriteDirector());
    }

    private static List<LoanOption> loanOptions(Client client) {
        List<LoanOption> options = new ArrayList<>();
        for (int years = 1; years <= LONGEST_YEARS; years++) {
            double installment = SHARE_OF_SALARY * client.publishedSalary();
            double maximum = installment * (MONTHS * years);
            options.add(new LoanOption(years, maximum - DISCOUNT * maximum, installment));
        }
        return options;
    }
}
