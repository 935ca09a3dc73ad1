// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.quarkus.resteasy.reactive.server.EndpointDisabled;
import io.smallrye.common.annotation.NonBlocking;
import jakarta.inject.Singleton;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.nio.charset.StandardCharsets;

/** {@code --lean}: the answer for client 1 as a constant. */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@NonBlocking
@Singleton
@EndpointDisabled(name = "rematch.lean", stringValue = "false")
public class LeanResource {

    private static final byte[] HELLO = ("{\"id\":1,\"name\":\"Client 1\",\"age\":18,\"salary\":3000.00,"
            + "\"favourite_director\":\"J J Abrams\",\"phones\":[" + phones() + "],"
            + "\"address\":{\"street\":\"123 Main St\",\"number\":42,\"state\":\"CA\",\"country\":\"USA\"},"
            + "\"loan_options\":["
            + "{\"years\":1,\"installment\":90.00,\"maximum\":1080.00,\"loan\":1004.40},"
            + "{\"years\":2,\"installment\":90.00,\"maximum\":2160.00,\"loan\":2008.80},"
            + "{\"years\":3,\"installment\":90.00,\"maximum\":3240.00,\"loan\":3013.20}]}")
            .getBytes(StandardCharsets.US_ASCII);

    @GET
    @Path("hello")
    public byte[] hello() {
        return HELLO;
    }

    /** What the upstream has for client 1. */
    private static String phones() {
        StringBuilder phones = new StringBuilder();
        for (int i = 0; i < 19; i++) {
            phones.append(i == 0 ? "" : ",").append("{\"ddd\":").append(11 + (7 + i * 5) % 89)
                    .append(",\"number\":").append(900_000_000 + (7_368_787 + i * 1_299_709) % 100_000_000).append('}');
        }
        return phones.toString();
    }
}
