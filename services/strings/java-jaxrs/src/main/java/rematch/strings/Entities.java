// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.ext.MessageBodyReader;
import jakarta.ws.rs.ext.MessageBodyWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import rematch.strings.Refusal.Refused;

/** What resource methods take and give, and the providers that turn it from bytes and into bytes by the {@link Codec}. */
final class Entities {

    /** A request's entity; {@code bytesIn} is the length of its body. */
    sealed interface Asked permits Text, Task {
    }

    /** The entity of {@code /uppercase} and {@code /count}. */
    record Text(String s, int bytesIn) implements Asked {
    }

    /** The entity of {@code /work}. */
    record Task(String s, int factor, int bytesIn) implements Asked {
    }

    /** An answer's entity; {@code bytesIn} tells the log how long the question was. */
    record Answer(byte[] body, int bytesIn) {

        Response ok() {
            return with(200);
        }

        Response with(int status) {
            return response(status).build();
        }

        static Response refused(Refusal refusal, int bytesIn, String allow) {
            return new Answer(refusal.body(), bytesIn).response(refusal.status())
                    .header(HttpHeaders.ALLOW, allow)
                    .build();
        }

        private Response.ResponseBuilder response(int status) {
            return Response.status(status)
                    .entity(this)
                    .type(MediaType.APPLICATION_JSON_TYPE)
                    .header(HttpHeaders.CONTENT_LENGTH, Integer.toString(body.length)); // an Integer costs a look-up
        }
    }

    /** Reads {@link Asked} entities; refuses what the contract refuses. */
    static final class Reader implements MessageBodyReader<Asked> {

        private final Codec codec;

        Reader(Codec codec) {
            this.codec = codec;
        }

        @Override
        public boolean isReadable(Class<?> type, Type generic, Annotation[] annotations, MediaType mediaType) {
            return Asked.class.isAssignableFrom(type);
        }

        @Override
        public Asked readFrom(Class<Asked> type, Type generic, Annotation[] annotations, MediaType mediaType,
                              MultivaluedMap<String, String> headers, InputStream in) {
            byte[] body = Body.read(in, declaredBytes(headers));
            boolean takesFactor = type.equals(Task.class);
            try {
                Codec.Input input = codec.read(body, takesFactor);
                return takesFactor
                        ? new Task(input.s(), input.factor(), body.length)
                        : new Text(input.s(), body.length);
            } catch (Refused refused) {
                throw new Refused(refused.refusal(), body.length);
            }
        }
    }

    /** Writes {@link Answer} entities. */
    static final class Writer implements MessageBodyWriter<Answer> {

        @Override
        public boolean isWriteable(Class<?> type, Type generic, Annotation[] annotations, MediaType mediaType) {
            return type.equals(Answer.class);
        }

        @Override
        public void writeTo(Answer answer, Class<?> type, Type generic, Annotation[] annotations, MediaType mediaType,
                            MultivaluedMap<String, Object> headers, OutputStream out) throws IOException {
            out.write(answer.body);
        }
    }

    private Entities() {
    }

    /** The Content-Length, which Grizzly has checked, or -1 when there is none. */
    static long declaredBytes(MultivaluedMap<String, String> headers) {
        String length = headers.getFirst(HttpHeaders.CONTENT_LENGTH);
        return length == null || headers.containsKey("Transfer-Encoding") ? -1 : Long.parseLong(length);
    }
}
