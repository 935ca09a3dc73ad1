// SPDX-License-Identifier: Apache-2.0
package rematch.strings.api;

import java.util.logging.Logger;
import javax.ws.rs.Consumes;
import javax.ws.rs.GET;
import javax.ws.rs.POST;
import javax.ws.rs.Path;
import javax.ws.rs.Produces;
import javax.ws.rs.core.MediaType;

/** The published resource, a new one for each request: beans in and out, and a line before the work. */
@Path("/")
public final class StringService {

    private static final Logger LOGGER = Logger.getLogger(StringService.class.getName());
    private static final String EMPTY = "request value is empty";

    @GET
    @Produces(MediaType.TEXT_PLAIN)
    public String greet() {
        return "Got it!";
    }

    @POST
    @Path("uppercase")
    @Consumes(MediaType.APPLICATION_JSON)
    @Produces(MediaType.APPLICATION_JSON)
    public Answer uppercase(Asked asked) {
        if (isEmpty(asked)) {
            return empty();
        }
        LOGGER.info("uppercase request: " + asked.getS());
        return new Answer(asked.getS().toUpperCase());
    }

    @POST
    @Path("count")
    @Consumes(MediaType.APPLICATION_JSON)
    @Produces(MediaType.APPLICATION_JSON)
    public Answer count(Asked asked) {
        if (isEmpty(asked)) {
            return empty();
        }
        LOGGER.info("count request: " + asked.getS());
        return new Answer(String.valueOf(asked.getS().length()));
    }

    private static boolean isEmpty(Asked asked) {
        return asked == null || asked.getS() == null || asked.getS().isEmpty();
    }

    private static Answer empty() {
        LOGGER.warning(EMPTY);
        return new Answer(EMPTY);
    }

    /** Bound by JSON-B. */
    public static final class Asked {

        private String s;

        public String getS() {
            return s;
        }

        public void setS(String s) {
            this.s = s;
        }
    }

    /** Written by JSON-B. */
    public static final class Answer {

        private final String v;

        Answer(String v) {
            this.v = v;
        }

        public String getV() {
            return v;
        }
    }
}
