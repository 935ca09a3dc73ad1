// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** A request's body, read to its end; never more of it, nor longer, than the contract allows. */
record Body(byte[] bytes) {

    static final int LIMIT_BYTES = 65_536;

    /** Where a request keeps how many bytes of its body were read: the log needs it of a chunked one. */
    static final String BYTES_READ = "rematch.bytes_read";

    /** Set on a request whose body came too slowly; {@link ErrorValve} then reads no more of it. */
    static final String GIVEN_UP = "rematch.given_up";

    private static final long LONGEST_NS = TimeUnit.SECONDS.toNanos(30);

    static Body of(HttpServletRequest request) {
        long declaredBytes = request.getContentLengthLong();
        if (declaredBytes > LIMIT_BYTES) {
            throw new Refused(Refusal.BODY_TOO_LARGE);
        }
        try {
            // A declared length gives one array of the right size; otherwise one byte too many tells of more.
            byte[] bytes = read(request, new byte[declaredBytes >= 0 ? (int) declaredBytes : LIMIT_BYTES + 1]);
            if (bytes.length > LIMIT_BYTES) {
                throw new Refused(Refusal.BODY_TOO_LARGE);
            }
            return new Body(bytes);
        } catch (IOException brokenOff) {
            request.setAttribute(GIVEN_UP, true);
            throw new Refused(Refusal.INVALID_JSON); // bad chunks, or a peer that is slow or gone
        }
    }

    private static byte[] read(HttpServletRequest request, byte[] bytes) throws IOException {
        InputStream in = request.getInputStream();
        long started = System.nanoTime();
        int size = 0;
        while (size < bytes.length) {
            int more = in.read(bytes, size, bytes.length - size);
            if (more < 0) {
                break;
            }
            size += more;
            request.setAttribute(BYTES_READ, size);
            if (System.nanoTime() - started > LONGEST_NS) {
                throw new IOException("the body took too long");
            }
        }
        return size == bytes.length ? bytes : Arrays.copyOf(bytes, size);
    }
}
