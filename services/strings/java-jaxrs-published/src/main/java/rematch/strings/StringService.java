// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.io.FileDescriptor;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;

/** The published resource, made anew for every request: beans in, beans out, a line before the work. */
@Path("/")
public final class StringService {

    private static final Logger LOGGER = Logger.getLogger(StringService.class.getName());
    private static final String EMPTY = "request value is empty";

    /** Says where the lines go, and whether there are any. */
    static void log(Settings settings) throws IOException {
        PublishedLog.open(StringService.class, settings, FileDescriptor.err, Level.SEVERE, false);
    }

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

    /** What is asked, bound by JSON-B. */
    public static final class Asked {

        private String s;

        public String getS() {
            return s;
        }

        public void setS(String s) {
            this.s = s;
        }
    }

    /** What is answered, written by JSON-B. */
    public static final class Answer {

        private String v;

        public Answer() {
        }

        Answer(String v) {
            this.v = v;
        }

        public String getV() {
            return v;
        }

        public void setV(String v) {
            this.v = v;
        }
    }
}
