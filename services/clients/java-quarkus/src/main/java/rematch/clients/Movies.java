// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import java.math.BigDecimal;

/** The one statement of {@code /db}, and what is known of the connections it goes over. */
interface Movies {

    String STATEMENT = "select title, year, cost, director from movie";

    /** What a row is made into; {@code year} and {@code cost} may be null. */
    interface FilmOf<F> {
        F film(String title, Short year, BigDecimal cost);
    }

    int connectionsInUse();

    int connectionsIdle();
}
