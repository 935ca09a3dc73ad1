// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import java.math.BigDecimal;
import java.util.List;

/** One of the ten clients, who are part of the program. */
record Client(int id, String name, int age, long salaryCents, String favouriteDirector) {

    private static final int OF_AGE = 18;
    private static final int GUARDIAN = 1;
    static final int CENTS_DIGITS = 2;
    private static final int MONTHS = 12;

    /** All of them, in the order of their ids. */
    static final List<Client> ALL = List.of(
            of(1, 18, 3_000, "J J Abrams"),
            of(2, 19, 3_500, "Louis Leterrier"),
            of(3, 20, 4_000, "Rob Marshall"),
            of(4, 21, 4_500, "Joss Whedon"),
            of(5, 22, 5_000, "Anthony Russo & Joe Russo"),
            of(6, 23, 6_000, "Sam Raimi"),
            of(7, 24, 7_000, "James Mangold"),
            of(8, 25, 8_000, "Gore Verbinski"),
            of(9, 26, 9_000, "Zack Snyder & Joss Whedon"),
            of(10, 27, 10_000, "Rian Johnson"));

    private static Client of(int id, int age, int salary, String favouriteDirector) {
        return new Client(id, "Client " + id, age, salary * 100L, favouriteDirector);
    }

    Client asMinor() {
        return new Client(id, name, OF_AGE - 1, salaryCents, favouriteDirector);
    }

    boolean adult() {
        return age >= OF_AGE;
    }

    /** Whose address is answered: a minor's is the guardian's, which is the same client for all. */
    int addressId() {
        return adult() ? id : GUARDIAN;
    }

    /** The salary with two decimals. */
    BigDecimal salary() {
        return amount(salaryCents);
    }

    /** For 1, 2 and 3 years, in whole cents: every salary is a multiple of 100.00, so nothing is ever rounded. */
    List<Answers.LoanOption> loanOptions() {
        return List.of(loanOption(1), loanOption(2), loanOption(3));
    }

    private Answers.LoanOption loanOption(int years) {
        return new Answers.LoanOption(years, amount(installmentCents()), amount(maximumCents(years)),
                amount(loanCents(years)));
    }

    long installmentCents() {
        return salaryCents * 3 / 100;
    }

    long maximumCents(int years) {
        return installmentCents() * MONTHS * years;
    }

    long loanCents(int years) {
        long maximum = maximumCents(years);
        return maximum - maximum * 7 / 100;
    }

    private static BigDecimal amount(long cents) {
        return BigDecimal.valueOf(cents, CENTS_DIGITS);
    }

    /** Of the published table, whose ids begin with 0. */
    int publishedId() {
        return id - 1;
    }

    /** Of the published table: A to J. */
    String publishedName() {
        return String.valueOf((char) ('A' + publishedId()));
    }

    /** The guardian of all is client 0 there. */
    int publishedAddressId() {
        return adult() ? publishedId() : 0;
    }

    double publishedSalary() {
        return salaryCents / 100.0;
    }
}
