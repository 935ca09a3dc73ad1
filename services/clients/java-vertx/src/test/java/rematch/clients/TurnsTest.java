// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class TurnsTest {

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 7, 33, 50, 99, 100})
    void of_each_hundred_turns_that_many_are_minors(int percent) {
        Turns turns = new Turns(true, percent);
        for (int hundred = 0; hundred < 3; hundred++) {
            assertEquals(percent, LongStream.range(0, 100).filter(turn -> !turns.hello(null).adult()).count());
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 99", "50, 1", "100, 0", "2, 49"})
    void the_first_minor_comes_when_the_contract_says(int percent, int turn) {
        Turns turns = new Turns(true, percent);
        for (int before = 0; before < turn; before++) {
            assertTrue(turns.hello(null).adult());
        }
        assertEquals(17, turns.hello(null).age());
    }

    @Test
    void a_named_client_is_never_a_minor_and_takes_no_turn() {
        Turns turns = new Turns(true, 100);
        assertEquals(Client.ALL.get(6), turns.hello("client=7"));
        assertEquals(Client.ALL.get(9), turns.hello("x=client=1&client=10&clients=2"));
        assertEquals(Client.ALL.get(0).asMinor(), turns.hello("x=1"));
        assertEquals(Client.ALL.get(1), turns.db(null));
    }

    @ParameterizedTest
    @ValueSource(strings = {"client", "client=", "client=0", "client=11", "client=01", "client=+1", "client=%31",
        "client=1&client=1", "client=1&client", "&client=x", "client=1.0", "client=-1", "client=1 ", "client==1"})
    void anything_else_is_a_bad_client(String query) {
        Turns turns = new Turns(true, 0);
        assertEquals(Refusal.BAD_CLIENT,
                assertThrows(Refusal.Refused.class, () -> turns.hello(query)).refusal());
        assertEquals(1, turns.hello(null).id());
    }

    @Test
    void the_published_face_asks_for_no_name() {
        Turns turns = new Turns(false, 0);
        assertEquals(List.of(1, 2), List.of(turns.db("client=9").id(), turns.hello("client=x").id()));
    }

    @Test
    void loan_options_are_counted_in_cents() {
        assertEquals("[LoanOption[years=1, installment=300.00, maximum=3600.00, loan=3348.00], "
                + "LoanOption[years=2, installment=300.00, maximum=7200.00, loan=6696.00], "
                + "LoanOption[years=3, installment=300.00, maximum=10800.00, loan=10044.00]]",
                Client.ALL.get(9).loanOptions().toString());
    }
}
