// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;

/** What the matched face sends: records whose components stand in the order of the contract's keys. */
final class Answers {

    /** Amounts have two decimals. */
    record LoanOption(int years, BigDecimal installment, BigDecimal maximum, BigDecimal loan) {
    }

    record Hello(int id, String name, int age, BigDecimal salary,
            @JsonProperty("favourite_director") String favouriteDirector, List<Upstream.Phone> phones,
            Upstream.Address address, @JsonProperty("loan_options") List<LoanOption> loanOptions) {
    }

    record Film(String title, Short year, BigDecimal cost) {
    }

    record Db(int id, String name, int age, BigDecimal salary,
            @JsonProperty("favourite_director") String favouriteDirector, List<Film> films) {
    }

    private Answers() {
    }

    static Hello hello(Client client, List<Upstream.Phone> phones, Upstream.Address address) {
        return new Hello(client.id(), client.name(), client.age(), client.salary(), client.favouriteDirector(), phones,
                address, client.adult() ? client.loanOptions() : List.of());
    }

    static Db db(Client client, List<Film> films) {
        return new Db(client.id(), client.name(), client.age(), client.salary(), client.favouriteDirector(),
                films == null ? List.of() : films);
    }

    /** @param year null when it is not known, as {@code cost} */
    static Film film(String title, Short year, BigDecimal cost) {
        return new Film(title, year,
                cost == null ? null : cost.setScale(Client.CENTS_DIGITS, RoundingMode.UNNECESSARY));
    }
}
