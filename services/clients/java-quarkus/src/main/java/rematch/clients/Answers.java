// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;

/** What is sent: records whose components stand in the order of the contract's keys. */
final class Answers {

    /** Amounts are a {@link BigDecimal} with two decimals, or a {@link Double} in the published face. */
    record LoanOption(int years, Number installment, Number maximum, Number loan) {
    }

    record Hello(int id, String name, int age, Number salary,
            @JsonProperty("favourite_director") String favouriteDirector, List<Upstream.Phone> phones,
            Upstream.Address address, @JsonProperty("loan_options") List<LoanOption> loanOptions) {
    }

    record Film(String title, Short year, Number cost) {
    }

    record Db(int id, String name, int age, Number salary,
            @JsonProperty("favourite_director") String favouriteDirector, List<Film> films) {
    }

    private final boolean published;

    Answers(Settings.Face face) {
        this.published = face == Settings.Face.PUBLISHED;
    }

    Hello hello(Client client, List<Upstream.Phone> phones, Upstream.Address address) {
        return new Hello(client.id(), client.name(), client.age(), salary(client), client.favouriteDirector(), phones,
                address, client.adult() ? loanOptions(client) : List.of());
    }

    Db db(Client client, List<Film> films) {
        return new Db(client.id(), client.name(), client.age(), salary(client), client.favouriteDirector(),
                films == null ? List.of() : films);
    }

    /** @param year null when it is not known, as {@code cost} */
    Film film(String title, Short year, BigDecimal cost) {
        if (cost == null) {
            return new Film(title, year, null);
        }
        return new Film(title, year, published ? Double.valueOf(cost.doubleValue())
                : cost.setScale(Client.CENTS_DIGITS, RoundingMode.UNNECESSARY));
    }

    private Number salary(Client client) {
        return published ? Double.valueOf(client.publishedSalary()) : client.salary();
    }

    private List<LoanOption> loanOptions(Client client) {
        return published ? client.publishedLoanOptions() : client.loanOptions();
    }
}
