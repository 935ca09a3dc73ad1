// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.io.IOException;
import org.springframework.context.annotation.Profile;
import org.springframework.http.HttpHeaders;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Health and metrics, the same in both faces. */
final class OperationsController {

    /** Tells of the service, not of the database. */
    @RestController
    static final class Health {

        @GetMapping("/health")
        Answers.Health health() {
            return Answers.Health.UP;
        }
    }

    /** Everything that is counted. */
    @RestController
    @Profile("!lean")
    static final class Counted {

        private final Metrics metrics;

        Counted(Metrics metrics) {
            this.metrics = metrics;
        }

        @GetMapping("/metrics")
        ResponseEntity<byte[]> metrics() throws IOException {
            return ResponseEntity.ok().header(HttpHeaders.CONTENT_TYPE, Metrics.CONTENT_TYPE).body(metrics.text());
        }
    }

    private OperationsController() {
    }
}
