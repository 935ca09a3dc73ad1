// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

/** The one statement of {@code /db}, and what is known of the connections it goes over. */
interface Movies {

    String STATEMENT = "select title, year, cost, director from movie";

    int connectionsInUse();

    int connectionsIdle();
}
