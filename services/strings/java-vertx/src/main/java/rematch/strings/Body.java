// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import java.util.function.Consumer;

/** Reads request bodies, and never more of them than the contract allows; Vert.x reads and drops what is left. */
final class Body {

    static final int LIMIT_BYTES = 65_536;

    private final Buffer read = Buffer.buffer();
    private boolean refused;

    private Body() {
    }

    /**
     * Reads a body to its end on the event loop of its request.
     *
     * @param whole is given the body
     * @param tooLarge is run in its place, once
     */
    static void read(HttpServerRequest request, Consumer<byte[]> whole, Runnable tooLarge) {
        if (declaredBytes(request) > LIMIT_BYTES) {
            tooLarge.run();
            return;
        }
        Body body = new Body();
        request.handler(part -> {
            if (body.overflows(part)) {
                tooLarge.run();
            }
        }).endHandler(end -> {
            if (!body.refused) {
                whole.accept(body.read.getBytes());
            }
        });
    }

    /** The Content-Length, which Netty has checked, or -1 when there is none. */
    static long declaredBytes(HttpServerRequest request) {
        String length = request.getHeader(HttpHeaders.CONTENT_LENGTH);
        return length == null ? -1 : Long.parseLong(length.trim());
    }

    /** Keeps a part, or tells that it is the one that makes the body too large. */
    private boolean overflows(Buffer part) {
        if (refused) {
            return false;
        }
        refused = read.length() + part.length() > LIMIT_BYTES;
        if (!refused) {
            read.appendBuffer(part);
        }
        return refused;
    }
}
