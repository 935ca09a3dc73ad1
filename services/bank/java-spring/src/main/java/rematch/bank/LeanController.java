// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.nio.charset.StandardCharsets;
import org.springframework.context.annotation.Profile;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** The least that this framework can do for a request. */
@RestController
@Profile("lean")
final class LeanController {

    private static final byte[] CLIENT = ascii("{\"id\":1,\"name\":\"\",\"email\":\"\",\"phone\":\"\"}");
    private static final byte[] TRANSACTION =
            ascii("{\"id\":2,\"amount\":1,\"from_client_id\":1,\"to_client_id\":2}");
    private static final byte[] BALANCE = ascii("{\"balance\":0}");

    @PostMapping(path = "/client/new/{balance}", produces = MediaType.APPLICATION_JSON_VALUE)
    byte[] open() {
        return CLIENT;
    }

    @PostMapping(path = "/transaction", produces = MediaType.APPLICATION_JSON_VALUE)
    byte[] transfer() {
        return TRANSACTION;
    }

    @GetMapping(path = "/client/{id}/balance", produces = MediaType.APPLICATION_JSON_VALUE)
    byte[] balance() {
        return BALANCE;
    }

    private static byte[] ascii(String s) {
        return s.getBytes(StandardCharsets.US_ASCII);
    }
}
